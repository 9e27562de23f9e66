from serifos.facts import phrases
# SPDX-License-Identifier: Apache-2.0
"""What a person reads of a plan."""

import dataclasses
import itertools

import testtools

from serifos.balancer import planning
from serifos.facts.cluster import Cluster
from serifos.facts import refusals
from serifos.facts.workload import Workload
from serifos.plan import relieve
from serifos.report import plan_text
from serifos.report import wording
from tests.fakes.settings import Limits
from tests.unit.plan import clusters
from tests.unit.plan.clusters import pool
from tests.unit.plan.clusters import volume

HOT = tuple(volume(f'v{i}', 'stor1@s#s', 64, size_gib=50) for i in range(2))
POOLS = pool('stor1@s#s'), pool('stor2@s#s')
SNAPSHOT = refusals.Reason('a snapshot holds it', 'snapshots')


def seen(pools, volumes, limits=Limits()):
    cluster = Cluster(tuple(pools), tuple(volumes))
    return planning.outlook(
        clusters.planned(relieve, cluster, limits),
        planning.state(cluster, limits, clusters.MODELS), clusters.MODELS)


def said(*cloud, age_s=0.0, **more):
    return plan_text.text(seen(*cloud, **more), age_s, 900.0)


def _words(found):
    """Its text with each run of spaces and line ends as one space."""
    return ' '.join(found.split())


class HeadlineTest(testtools.TestCase):

    def test_a_pool_from_what_to_what_at_which_price(self):
        found = _words(said(POOLS, HOT))
        self.assertTrue(found.startswith(
            'stor1 1.28 → 0.64 ms, 50 GiB copied in about 8.33 min; '
            'tenants there wait up to '), found)
        self.assertIn('1 pool gets slower: stor2 0 → 0.64 ms.', found)

    def test_slos_that_are_mended_and_those_that_are_not(self):
        gold = [dataclasses.replace(each, max_latency_us=most_us)
                for each, most_us in zip(HOT, (700, 500))]
        found = _words(said(POOLS, gold))
        self.assertIn('1 of 2 forecast SLO violations avoided', found)
        self.assertIn('Trade-off: 1 of 2 forecast SLO violations stays.',
                      found)

    def test_nothing_to_do(self):
        found = _words(said(POOLS, [
            volume('v', 'stor1@s#s'), volume('w', 'stor2@s#s')]))
        self.assertIn('Nothing has to be moved: no pool is hot and no '
                      'SLO is violated. The slowest pool is stor1 with '
                      '0.16 ms.', found)

    def test_nothing_can_be_done(self):
        found = _words(said(POOLS, [dataclasses.replace(
            each, movable=SNAPSHOT) for each in HOT]))
        self.assertIn('Nothing can be moved, though 1 pool is hot. The '
                      'slowest pool is stor1 with 1.28 ms.', found)
        self.assertIn('100 % of all load may not be moved at all: 100 % '
                      '(2 volumes): snapshots hold it.', found)

    def test_no_model_at_all(self):
        self.assertIn('no pool has a model', said(
            [pool('a', None)], [volume('v', 'a')]))

    def test_a_gain_that_may_not_be_seen(self):
        self.assertNotIn('too small to measure', said(POOLS, HOT))
        wide = dataclasses.replace(clusters.MODELS['flat'],
                                   quality={'interval': (-0.6, 0.6)})
        cluster = Cluster(POOLS, HOT)
        found = planning.outlook(
            clusters.planned(relieve, cluster, Limits()), planning.state(
                cluster, Limits(), {'flat': wide}), {'flat': wide})
        self.assertIn(
            'The gain of stor1 lies within the 90 % interval of its model, '
            '0.512 to 2.05 ms now: it may be too small to measure.',
            _words(plan_text.text(found, 0.0, 900.0)))

    def test_a_mean_that_rises_and_a_slowest_pool_that_stays(self):
        fast = pool('stor1@s#s'), pool('stor2@s#s', 'slow')
        found = _words(said(fast, [
            *HOT, *(volume(f'w{i}', 'stor1@s#s', 64) for i in range(8))]))
        self.assertIn('The mean over all pools rises', found)
        stays = [volume('x', 'stor3@s#s', 256, movable='pinned')]
        self.assertIn(
            'The slowest pool, stor3 with 2.56 ms, is not touched.',
            _words(said((*POOLS, *(pool(f'stor{i}@s#s') for i in range(3, 9))),
                        [*HOT, *stays])))


class WarningsTest(testtools.TestCase):

    def test_an_old_observation(self):
        self.assertNotIn('old', said(POOLS, HOT, age_s=899.0))
        self.assertIn('The observation is 3 h old', said(
            POOLS, HOT, age_s=10800.0))
        self.assertIn('is not known', said(POOLS, HOT, age_s=None))

    def test_pools_that_are_left_out(self):
        found = _words(said(
            (*POOLS, pool('stor3@s#s', None),
             pool('stor4@s#s', state='without fresh telemetry')),
            [*HOT, volume('w', 'stor3@s#s')]))
        self.assertIn('1 pool without a model, with 1 volume, is neither '
                      'source nor target: stor3.', found)
        self.assertIn('1 pool not up, with 0 volumes, is neither source nor '
                      'target: stor4 (without fresh telemetry).', found)

    def test_a_model_outside_of_its_range(self):
        narrow = dataclasses.replace(clusters.MODELS['flat'], range={
            **clusters.WIDE, 'block_kib': (4, 32)})
        cluster = Cluster(POOLS, HOT)
        found = _words(plan_text.text(planning.outlook(
            clusters.planned(relieve, cluster, Limits()), planning.state(
                cluster, Limits(), {'flat': narrow}), {'flat': narrow}),
            0.0, 900.0))
        self.assertIn('2 pools of 2 are loaded beyond what the models were '
                      'trained on (stor1, stor2)', found)
        self.assertIn('1.28*', found)
        self.assertTrue(found.startswith('stor1 1.28 → 0.64 ms'), found)


class MeasuredTest(testtools.TestCase):
    """What tenants see is set against what is predicted."""

    @staticmethod
    def busy(name, home, latency_us, most_us=None):
        return volume(name, home, max_latency_us=most_us, workload=Workload(
            50, 64, 1, iops=1000.0, latency_us=latency_us))

    def words(self, *volumes, pools=POOLS):
        return _words(said(pools, volumes))

    def gold(self, *latencies, **more):
        """Two volumes that have an SLO of 1 ms on one pool."""
        return [dataclasses.replace(
            self.busy(name, 'stor1@s#s', sees, 1000.0), **more)
            for name, sees in zip('vw', latencies)]

    def test_pools_that_do_not_fit_come_first(self):
        cluster = planning.measured(Cluster(POOLS, tuple(
            volume(name, home, workload=Workload(
                50, 64, iops=8e6 / us, latency_us=us))
            for name, home, us in (('v', 'stor1@s#s', 100.0),
                                   ('w', 'stor2@s#s', 640.0)))),
            Limits(), clusters.MODELS)
        found = _words(said(cluster.pools, cluster.volumes))
        self.assertTrue(found.startswith(
            '1 of 2 pools does not fit its model: rebuild or refine before '
            'you move anything (stor1: its tenants see 0.1 ms, its model '
            'predicts 0.64 ms). '), found)

    def test_measured_violations_are_restored_and_forecasts_avoided(self):
        self.assertIn('1 of 1 SLO violation restored, 1 of 1 forecast SLO '
                      'violation avoided, ', self.words(*self.gold(
                          1300.0, 900.0)))

    def test_what_stays_is_counted_by_what_is_measured(self):
        self.assertIn('2 SLOs are violated. The slowest', self.words(
            *self.gold(1300.0, 1300.0, movable='pinned')))
        self.assertIn('1 SLO is violated and 1 SLO is forecast to be '
                      'violated. The slowest', self.words(
                          *self.gold(1300.0, 900.0, movable='pinned')))

    def test_what_a_restored_slo_costs(self):
        found = self.words(*self.gold(1300.0, 1300.0))
        self.assertIn('GiB copied: 5 for each restored SLO, 15.6 for each '
                      'ms by which the pools that are left get faster.',
                      found)


class TablesTest(testtools.TestCase):

    def test_moves_say_whose_volume_it_is(self):
        owned = [dataclasses.replace(
            each, name=f'db{i}', project_id='0123456789abcdef',
            volume_type='gold', server='web1') for i, each in enumerate(HOT)]
        found = seen(POOLS, owned)
        line, = [line for line in plan_text.text(found, 0.0, 900.0).split('\n')
                 if 'stor1 1.28 → 0.64' in line and 'GiB copied' not in line]
        for word in ('db', ' 50 ', '8.33', 'stor2 0 → 0.64', '-50 %', 'gold',
                     'web1', '0123456789abcdef', found.plan.moves[0].volume):
            self.assertIn(word, line)

    def test_refusals_are_counted_by_reason(self):
        held = [volume(f's{i}', 'stor1@s#s', movable=SNAPSHOT,
                       workload=Workload(50, 16, q))
                for i, q in enumerate((2, 9))]
        found = _words(said(POOLS, [*HOT, *held]))
        self.assertRegex(
            found, r'2 41 % snapshots hold it stor1 s1 delete them: Cinder')

    def test_a_large_cloud_is_cut_to_the_slow_and_the_touched(self):
        pools = [pool(f'stor{i}@s#s') for i in range(1, 101)]
        rest = [volume(f'w{i}', f'stor{i}@s#s', 4) for i in range(3, 101)]
        found = seen(pools, [*HOT, *rest])
        shown = [each.pool.name for each in plan_text.chosen(found)]
        self.assertLessEqual(len(shown), plan_text.MOST)
        self.assertLessEqual({'stor1@s#s', 'stor2@s#s'}, {*shown})
        self.assertIn(
            f'and {100 - len(shown)} other pools, 0 of them touched by the '
            'plan; at most 0.04 ms now, 0.04 after.',
            _words(plan_text.text(found, 0.0, 900.0)))
        few = seen(pools[:plan_text.ALL],
                   [*HOT, *rest[:plan_text.ALL - 2]])
        self.assertEqual([*few.pools], plan_text.chosen(few))

    def test_many_moves_are_cut_to_those_that_gain_most(self):
        pools = [pool(f'stor{i}@s#s') for i in range(60)]
        volumes = [volume(f'{name}{i}', f'stor{i}@s#s', 16 + i)
                   for i, name in itertools.product(range(30), 'uv')]
        found = seen(pools, volumes)
        shown = plan_text.text(found, 0.0, 900.0)
        more = len(found.plan.moves) - 20
        self.assertGreater(more, 0)
        self.assertIn(f'and {more} more, all of them in -f json', shown)
        gains = sorted((move.source_before_us - move.source_after_us
                        for move in found.plan.moves), reverse=True)
        self.assertIn(f'stor29 {phrases.ms(2 * gains[0])} → ', shown)

    def test_names_that_a_terminal_would_obey(self):
        evil = [dataclasses.replace(
            each, name='a\x1b[2Jb\nc\u202ed', server='\x07', project_id='\r',
            volume_type='\x9b') for each in HOT]
        for each in said(POOLS, evil).split('\n'):
            self.assertTrue(each.isprintable(), each)
        self.assertIn('a?[2Jb?c?d', said(POOLS, evil))


class WordingTest(testtools.TestCase):

    def test_names_are_whole_or_told_by_their_id(self):
        def called(name, *shared):
            return wording.volume(dataclasses.replace(
                volume('0123456789', 'a'), name=name), shared)

        self.assertEqual('x' * 64, called('x' * 64))
        self.assertEqual(f'{"x" * 32}…{"x" * 29}yz (01234567)',
                         called('x' * 63 + 'yz'))
        self.assertEqual('db (01234567)', called('db', 'db'))
        self.assertEqual('0123456789', called(None, 'db'))

    def test_a_clause_is_cut_at_its_end(self):
        self.assertEqual('x' * 23 + '…', wording.plain('x' * 25, 24))
        self.assertEqual('x' * 24, wording.plain('x' * 24, 24))

    def test_what_is_cut_or_folded_is_measured_in_columns(self):
        self.assertEqual('漢' * 11 + ' …', wording.plain('漢' * 13, 24))
        self.assertEqual('漢' * 12, wording.name('漢' * 12, 24))
        self.assertEqual('漢字漢字漢 … 字漢字漢1',
                         wording.name('漢字' * 10 + '漢1', 22))
        self.assertEqual(['漢字 漢字', '漢字'],
                         wording.folded('漢字 漢字 漢字', 10))

    def test_three_digits(self):
        self.assertEqual(['–', '0', '0.123', '12.3', '1,235'], [
            phrases.ms(us) for us in (None, 0, 123.4, 12345, 1234567)])

    def test_several(self):
        self.assertEqual('a, b, c', phrases.several('abc'))
        self.assertEqual('a, b, c and 2 more', phrases.several('abcde'))
