# SPDX-License-Identifier: Apache-2.0
"""What is said of a pool and a volume is what the models say."""

from hypothesis import given
from hypothesis import settings
import numpy as np
import testtools

from serifos.facts.cluster import Cluster
from serifos.facts.workload import Workload
from serifos.plan import acceptance
from serifos.plan import explain
from serifos.plan import outcomes
from serifos.plan.problem import Problem
from serifos.plan.state import State
from tests.fakes.settings import Limits
from tests.unit.plan import clusters
from tests.unit.plan.clusters import pool
from tests.unit.plan.clusters import volume


def state(cluster, limits=Limits()):
    return State.of(Problem.of(
        cluster, clusters.models_of(cluster), limits))


def latency(cluster, name):
    return float(state(cluster).mean_us[
        [each.name for each in cluster.pools].index(name)])


class ExplainingTest(testtools.TestCase):

    @given(clusters.clusters(5, 8))
    @settings(deadline=None, max_examples=40)
    def test_without_a_volume_and_with_it_elsewhere(self, cluster):
        at = state(cluster)
        for one in cluster.pools:
            parts = explain.parts(at, one.name)
            shown = [part.without_us for part in parts]
            known = [us for us in shown if us is not None]
            self.assertEqual(sorted(known), known)
            for part in parts:
                if part.volume.workload is None or (
                        part.volume.pool != one.name):
                    continue
                self.assertTrue(0 <= part.share <= 1 + 1e-9)
                less = cluster.without(part.volume)
                left = latency(less, one.name)
                if np.isnan(left):
                    self.assertIsNone(part.without_us)
                elif None not in [v.workload for v in cluster.volumes]:
                    self.assertAlmostEqual(left, part.without_us, 6)
                for goal in part.goals:
                    self.assertIsNone(part.why)
                    self.assertFalse(goal.barred)

    @given(clusters.clusters(5, 6))
    @settings(deadline=None, max_examples=40)
    def test_what_speaks_against_a_pool_is_the_rule_of_planning(
            self, cluster):
        at = state(cluster)
        place = {each.name: i for i, each in enumerate(cluster.pools)}
        for row, one in enumerate(at.problem.volumes):
            part = explain.part(at, one.id)
            if part.why is not None:
                continue
            for goal in part.goals:
                target = np.array([place[goal.pool]])
                found = outcomes.outcomes(at, np.array([row]), target)
                fits = outcomes.allowed(at, np.array([row]))[0, target[0]]
                self.assertEqual(fits, not goal.barred)
                if goal.why is None:
                    self.assertTrue(fits)
                if fits and acceptance.accepted(at, found)[0]:
                    self.assertIsNone(goal.why)

    def test_the_heaviest_is_the_first(self):
        cluster = Cluster((pool('a'), pool('b'), pool('c')), (
            volume('u', 'a', 16), volume('v', 'a', 128),
            volume('w', 'a', 4, movable='pinned'), volume('x', 'b', 4),
            volume('i', 'a', workload=clusters.IDLE)))
        at = state(cluster)
        self.assertEqual(
            [('v', 200, None, 'c'), ('u', 1320, None, 'c'),
             ('w', 1440, 'pinned', None)],
            [(part.volume.id, part.without_us, part.why,
              part.goals[0].pool if part.goals else None)
             for part in explain.parts(at, 'a')])
        heat = explain.heat(at, 'a')
        self.assertEqual((1480, 1520 / 3), (heat.figure_us, heat.level_us))
        self.assertIsNone(explain.heat(at, 'c'))

    def test_all_pools_those_that_may_take_it_first(self):
        cluster = Cluster(
            (pool('a', zone='z'), pool('b', zone='z', free_gib=5),
             pool('c', zone='y'), pool('d', zone='z'), pool('e', None)),
            (volume('u', 'a', 64), volume('v', 'a', 64),
             volume('w', 'd', 8)))
        goals = explain.part(state(cluster), 'u').goals
        self.assertEqual(
            [('d', None), ('b', 'b has 5 GiB free, 10 needed'),
             ('c', 'c is in another zone, y')],
            [(goal.pool, goal.why) for goal in goals])
        self.assertEqual((80, 720), (goals[0].was_us, goals[0].then_us))

    def test_a_pool_without_a_model_and_a_volume_without_a_pool(self):
        cluster = Cluster((pool('a', None), pool('b')), (
            volume('u', 'a'), volume('v', 'gone'),
            volume('w', 'b', workload=clusters.IDLE)))
        at = state(cluster)
        part, = explain.parts(at, 'a')
        self.assertEqual((None, 'a has no model', ()), (
            part.without_us, part.why, part.goals))
        self.assertIsNone(explain.heat(at, 'a'))
        lost = explain.part(at, 'v')
        self.assertEqual(('the cluster has no pool gone', ()),
                         (lost.why, lost.goals))
        self.assertEqual('', explain.part(at, 'w').why)
        self.assertEqual((), explain.parts(at, 'b'))

    def test_pools_of_one_device_are_looked_at_together(self):
        cluster = Cluster(
            (pool('a', device='sda'), pool('b', device='sda'), pool('c')),
            (volume('u', 'a'), volume('v', 'b', 64)))
        found = explain.parts(state(cluster), 'a')
        self.assertEqual([('v', 160), ('u', 640)], [
            (part.volume.id, part.without_us) for part in found])

    def test_a_violated_slo(self):
        cluster = Cluster((pool('a'),), (
            volume('u', 'a', max_latency_us=100.0),
            volume('v', 'a', max_latency_us=1e6,
                   workload=Workload(50, 16, 4))))
        late = {part.volume.id: part.late
                for part in explain.parts(state(cluster), 'a')}
        self.assertEqual({'u': True, 'v': False}, late)
