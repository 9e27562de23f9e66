# SPDX-License-Identifier: Apache-2.0
"""Noise of one observation moves nothing; a load that stays does."""

import dataclasses
import itertools

import testtools

from serifos.balancer import planning
from serifos.facts.cluster import Cluster
from serifos.facts.cluster import Pool
from serifos.facts.cluster import Volume
from serifos.facts.inventory import Type
from serifos.facts.workload import mean
from serifos.facts.workload import Workload
from serifos.files import documents
from serifos.plan import recent
from tests.fakes.settings import Limits
from tests.unit.balancer import cloud
from tests.unit.balancer.cloud import A
from tests.unit.plan import clusters


def observed(latest, cluster, now=0.0):
    """The rounds with one more, in which no pool was hot."""
    return latest.after(recent.Round(now, cluster, frozenset(), frozenset()))


class RoundsTest(cloud.Case):

    def rounds_of(self, *workloads, pauses_s=()):
        """The numbers of moves of rounds that observe these workloads.

        Their latencies are no device's, and correct nothing.

        :param pauses_s: before each round, beside the interval
        """
        latest = recent.Recent(3, 300.0)
        found = []
        for each, pause_s in itertools.zip_longest(
                workloads, pauses_s, fillvalue=0):
            self.cinder.workloads = each
            self.now += 300 + pause_s
            plan, latest = self.after(latest, self.balancer)
            found.append(len(plan.moves))
        return found

    def test_a_pool_that_is_hot_for_three_rounds_is_relieved(self):
        busy = dict(self.cinder.workloads)
        self.assertEqual([0, 0, 1], self.rounds_of(busy, busy, busy))
        self.assertNotEqual([A, A], [self.homes()[name] for name in 'uv'])

    def test_rounds_that_are_days_apart_are_not_in_a_row(self):
        busy = dict(self.cinder.workloads)
        self.assertEqual([0, 0, 0, 0, 1], self.rounds_of(
            *[busy] * 5, pauses_s=(0, 0, 10 * 86400)))

    def test_rounds_that_take_their_time_are_in_a_row(self):
        busy = dict(self.cinder.workloads)
        self.assertEqual([0, 0, 1], self.rounds_of(
            *[busy] * 3, pauses_s=(0, 300, 100)))

    def test_the_scheduler_is_told_of_corrections(self):
        self.cinder.workloads = {
            'u': cloud.busy(64, 1000), 'v': cloud.busy(32, 1000)}
        self.balancer.observer.observe()
        seen = documents.read_cluster(self.settings.cluster_file)
        self.assertEqual([True, False, False], [
            1 < pool.correction < 1000 / 960 for pool in seen.pools])

    def test_a_shorter_hold_counts_from_the_next_round_on(self):
        busy, latest = dict(self.cinder.workloads), recent.Recent(3, 300.0)
        found = []
        for hold in 3, 1:
            self.cinder.workloads = busy
            self.now += 300
            plan, latest = self.after(
                dataclasses.replace(latest, hold=hold), self.balancer)
            found.append(len(plan.moves))
        self.assertEqual([0, 1], found)

    def test_a_burst_of_one_round_moves_nothing(self):
        self.cinder = self.cloud([
            *map(cloud.record, 'uv'), cloud.record('w', cloud.B),
            cloud.record('x', cloud.C)])
        level = dict.fromkeys('uwx', cloud.busy(64))
        burst = {**level, 'v': cloud.busy(128)}
        self.assertEqual([0] * 5, self.rounds_of(
            level, level, burst, level, level))
        self.assertEqual([0, 0, 1], self.rounds_of(burst, burst, burst))


class SloTest(cloud.Case):
    """u has an SLO of 1.2 ms, which its pool a shows for blocks of 120 KiB."""

    def setUp(self):
        super().setUp()
        self.calm = {'u': cloud.busy(50), 'v': cloud.busy(40),
                     'w': cloud.busy(60)}
        self.late = {**self.calm, 'v': cloud.busy(80)}
        self.cinder = self.cloud(
            [cloud.record('u', volume_type='gold'), cloud.record('v'),
             cloud.record('w', cloud.B)], types=[Type('gold', {
                 'serifos:max_latency_us': '1200',
                 'volume_backend_name': 'ssd'})])
        self.set(limits=Limits(hot_ratio=9.0))

    def rounds_of(self, *workloads, latest=None):
        """(moves planned, moves asked for) of rounds with these workloads."""
        latest = latest or recent.Recent(3, 300.0)
        found = []
        for each in workloads:
            self.cinder.workloads = each
            self.now += 300
            before = len(self.cinder.asked)
            plan, latest = self.after(latest, self.balancer)
            found.append((len(plan.moves), len(self.cinder.asked) - before))
        return found

    def test_one_observation_after_a_start_moves_nothing(self):
        self.assertEqual([(1, 0), (0, 0), (0, 0)], self.rounds_of(
            self.late, self.calm, self.calm))
        self.assertIn(f'stays for now: no SLO on {A} was violated by the '
                      'mean in each of the last rounds', self.log.output)

    def test_an_slo_that_stays_broken_is_kept_again(self):
        self.assertEqual([(1, 0), (1, 0), (1, 1)],
                         self.rounds_of(*[self.late] * 3))

    def test_one_that_is_broken_later(self):
        # By the mean of three it is broken from the third such round on.
        self.assertEqual([(0, 0)] * 5 + [(1, 0), (1, 0), (1, 1)],
                         self.rounds_of(*[self.calm] * 3, *[self.late] * 5))

    def test_with_a_hold_of_one_it_is_kept_again_at_once(self):
        self.assertEqual([(1, 1)], self.rounds_of(
            self.late, latest=recent.Recent(1)))

    def test_what_is_moved_may_be_another_volume_of_its_device(self):
        self.cinder.change('u', snapshots=1)
        self.assertEqual([(1, 0), (1, 0), (1, 1)],
                         self.rounds_of(*[self.late] * 3))
        self.assertEqual(['v'], [name for name, _ in self.cinder.asked])


class SmoothedTest(testtools.TestCase):

    def cluster(self, pool, *pattern):
        return Cluster((Pool('a'), Pool('b')), (Volume(
            'v', pool, 1, workload=Workload(*pattern[:2], 8, 100,
                                            *pattern[2:])),))

    def test_a_volume_does_what_it_does_in_the_mean(self):
        latest = recent.Recent(2)
        for pool, pattern, expected in (
                ('a', (0, 4, 100, 1000), (0, 4, 100, 0.1)),
                ('a', (100, 64, 300, 1000), (75, 49, 200, 0.2)),
                ('a', (100, 64, 300, 1000), (100, 64, 300, 0.3)),
                ('b', (0, 4, 100, 1000), (0, 4, 100, 0.1))):
            there = self.cluster(pool, *pattern)
            seen = latest.smoothed(there, 0.0)
            latest = observed(latest, there)
            found = seen.volume('v').workload
            for value, wanted in zip(
                    (found.write_pct, found.block_kib, found.iops,
                     found.outstanding), expected):
                self.assertAlmostEqual(wanted, value)

    def test_what_was_done_long_ago_is_no_part_of_the_mean(self):
        latest = recent.Recent(2, interval_s=300.0)
        for now, kib in (0, 4), (86400, 64), (86700, 32):
            there = self.cluster('a', 0, kib)
            seen = latest.smoothed(there, now)
            latest = observed(latest, there, now)
            self.assertEqual({0: 4, 86400: 64, 86700: 48}[now],
                             seen.volume('v').workload.block_kib)

    def test_a_volume_without_a_rate_keeps_its_depth_in_the_mean(self):
        one, two = Workload(0, 4, 4), Workload(100, 8, 12)
        self.assertEqual(Workload(75, 7, 8), mean([one, two]))

    def test_a_volume_that_was_never_busy_is_not(self):
        idle = Workload(0, 4, iops=0, latency_us=0)
        self.assertEqual(idle, mean([idle, idle]))


class GapTest(testtools.TestCase):
    """u is busy on a; for a round there is no telemetry of it."""

    def cluster(self, workload, pool='a'):
        return Cluster(
            tuple(clusters.pool(name) for name in 'abc'),
            (clusters.volume('u', pool, volume_type='t', workload=workload),
             clusters.volume('v', 'a', 10),
             clusters.volume('x', 'b', 8, volume_type='t')))

    def smoothed(self, *workloads, **last):
        latest = recent.Recent(3)
        for workload in workloads:
            latest = observed(latest, self.cluster(workload))
        return latest.smoothed(self.cluster(None, **last), 0.0)

    def figure_us(self, cluster):
        return planning.make_plan(
            'relieve', cluster, Limits(),
            clusters.MODELS).latency_us['a'].before

    def test_what_it_lately_did_stands_in(self):
        found = self.smoothed(Workload(50, 96), Workload(50, 128))
        self.assertEqual(112, found.volume('u').workload.block_kib)
        self.assertAlmostEqual(1220, self.figure_us(found))

    def test_it_is_not_moved(self):
        found = self.smoothed(Workload(50, 128))
        plan = planning.make_plan('relieve', found, Limits(), clusters.MODELS)
        self.assertNotIn('u', [move.volume for move in plan.moves])
        self.assertIn(('u', 'no telemetry'), [
            (refusal.volume, refusal.reason) for refusal in plan.refused])

    def test_one_that_may_not_move_keeps_its_reason(self):
        latest = observed(recent.Recent(3), self.cluster(Workload(50, 128)))
        gap = self.cluster(None)
        attached = dataclasses.replace(gap, volumes=tuple(
            dataclasses.replace(v, movable='attached') for v in gap.volumes))
        self.assertEqual('attached', latest.smoothed(
            attached, 0.0).volume('u').movable)

    def test_a_pool_is_as_hot_without_it_as_with_it(self):
        busy, gap = Workload(50, 128), self.cluster(None)
        seen = recent.filled(gap, self.smoothed(busy))
        self.assertEqual(*(planning.hot_pools(
            planning.problem_of(each, Limits(), clusters.MODELS)) for each in (
                seen, self.cluster(busy))))
        self.assertAlmostEqual(self.figure_us(self.cluster(busy)),
                               self.figure_us(seen))

    def test_a_gap_of_as_many_rounds_as_count_is_filled_by_its_type(self):
        found = self.smoothed(Workload(50, 128), None, None)
        self.assertIsNone(found.volume('u').workload)
        self.assertAlmostEqual(180, self.figure_us(found))

    def test_what_it_did_on_another_pool_does_not_count(self):
        self.assertIsNone(self.smoothed(
            Workload(50, 128), pool='b').volume('u').workload)
