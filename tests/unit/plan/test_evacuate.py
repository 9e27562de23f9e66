# SPDX-License-Identifier: Apache-2.0
import ddt
import testtools

from serifos import errors
from serifos.facts.cluster import Cluster
from serifos.plan import evacuate
from tests.fakes.settings import Limits
from tests.unit.plan import clusters
from tests.unit.plan.clusters import pool
from tests.unit.plan.clusters import volume


def _plan(pools, volumes, name='a'):
    cluster = Cluster(tuple(pools), tuple(volumes))
    them = clusters.models_of(cluster)
    return evacuate.plan(cluster, them, Limits(), name)


def _steps(plan):
    return [(move.volume, move.target) for move in plan.moves]


@ddt.ddt
class EvacuateTest(testtools.TestCase):

    def test_an_slo_is_broken_last(self):
        plan = _plan([pool('a'), pool('b'), pool('c', 'slow')],
                     [volume('u', 'a', 40),
                      volume('v', 'b', 1, max_latency_us=100)])
        self.assertEqual([('u', 'c')], _steps(plan))

    def test_each_to_the_pool_that_then_is_fastest(self):
        plan = _plan(
            [pool('a'), pool('b'), pool('c', 'slow')],
            [volume('u', 'a', 64), volume('v', 'a', 16),
             volume('w', 'b', 4)])
        # u on b: 680, on c: 1920; then v on b: 840, on c: 480.
        self.assertEqual([('u', 'b'), ('v', 'c')], _steps(plan))
        self.assertEqual((800, 0), (plan.latency_us['a'].before,
                                    plan.latency_us['a'].after))
        self.assertEqual((40, 680), (plan.moves[0].target_before_us,
                                     plan.moves[0].target_after_us))

    def test_idle_and_unknown_volumes_go_where_space_is(self):
        plan = _plan(
            [pool('a'), pool('b', free_gib=100), pool('c', free_gib=200)],
            [volume('u', 'a', workload=None, size_gib=150),
             volume('v', 'a', workload=clusters.IDLE)])
        self.assertEqual([('u', 'c'), ('v', 'b')], _steps(plan))
        self.assertIn('no telemetry', plan.moves[0].reason)

    @ddt.data(
        ({'movable': 'attached'}, 'attached'),
        ({'size_gib': 400}, 'b has 300 GiB free, 400 needed'))
    @ddt.unpack
    def test_what_cannot_go_is_refused(self, more, reason):
        plan = _plan([pool('a'), pool('b', free_gib=300)],
                     [volume('u', 'a', **more), volume('v', 'a')])
        self.assertEqual([('v', 'b')], _steps(plan))
        self.assertEqual([('u', reason)],
                         [(r.volume, r.reason) for r in plan.refused])

    @ddt.data({'state': 'down'}, {'model': None}, {'zone': 'west'},
              {'device': 'x'})
    def test_no_pool_to_go_to(self, change):
        plan = _plan([pool('a', device='x'), pool('b', **change)],
                     [volume('u', 'a')])
        self.assertEqual((), plan.moves)
        self.assertIn('no other pool is up', plan.refused[0].reason)

    def test_a_disabled_pool_without_a_model_is_emptied(self):
        plan = _plan([pool('a', None, state='disabled'), pool('b')],
                     [volume('u', 'a', 8)])
        self.assertEqual([('u', 'b')], _steps(plan))
        self.assertIsNone(plan.moves[0].source_before_us)

    def test_space_is_spent_once(self):
        plan = _plan([pool('a'), pool('b', free_gib=15)],
                     [volume('u', 'a', 8), volume('v', 'a', 4)])
        self.assertEqual([('u', 'b')], _steps(plan))
        self.assertEqual('b has 5 GiB free, 10 needed',
                         plan.refused[0].reason)

    def test_a_pool_that_is_down_cannot_be_emptied(self):
        error = self.assertRaises(
            errors.InputError, _plan, [pool('a', state='down'), pool('b')],
            [volume('u', 'a')])
        self.assertIn('a is down', str(error))
