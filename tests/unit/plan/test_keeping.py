# SPDX-License-Identifier: Apache-2.0
"""SLOs of many pools are kept again at once, in rounds."""

import collections
import dataclasses

import testtools

from serifos.facts.cluster import Cluster
from serifos.plan.plan import Cause
from serifos.plan import relieve
from tests.fakes.settings import Limits
from tests.unit.plan import clusters

LATE = 20
"""Pools with three volumes of which one was SLO what two would show;
there are as many without a volume, so that it is no small cloud."""


def _cloud(free_gib: float = 1000.0, slo_us: float = 350.0) -> Cluster:
    return Cluster(
        tuple(clusters.pool(f'p{i:02}', free_gib=free_gib)
              for i in range(2 * LATE)),
        tuple(clusters.volume(
            f'v{i:02}{j}', f'p{i:02}',
            max_latency_us=slo_us if j == 0 else None)
            for i in range(LATE) for j in range(3)))


def _plan(cluster, **limits):
    return clusters.planned(relieve, cluster, Limits(
        hot_ratio=100.0, **limits))


class KeepingTest(testtools.TestCase):

    def test_each_of_many_pools_loses_one_volume(self):
        plan = _plan(_cloud())

        self.assertEqual((LATE, 0), (plan.slo_misses.before,
                                     plan.slo_misses.after))
        self.assertEqual({f'p{i:02}' for i in range(LATE)},
                         {move.source for move in plan.moves})
        self.assertEqual(LATE, len(plan.moves))
        self.assertEqual({Cause.FORECAST_AVOIDED}, {
            each.cause for each in plan.moves})

    def test_where_nothing_keeps_an_slo_it_is_exceeded_by_less(self):
        plan = _plan(_cloud(slo_us=100.0))

        self.assertEqual(LATE, plan.slo_misses.after)
        self.assertEqual({Cause.FORECAST_REDUCED}, {
            each.cause for each in plan.moves})
        self.assertEqual(LATE, len({move.source for move in plan.moves}))
        self.assertLessEqual(plan.max_us.after, 320.0)

    def test_max_moves_is_of_each_pool(self):
        cloud = _cloud()
        cloud = dataclasses.replace(cloud, volumes=tuple(
            dataclasses.replace(volume, max_latency_us=350.0)
            for volume in cloud.volumes) + tuple(
                clusters.volume(f'w{i:02}{j}', f'p{i:02}')
                for i in range(LATE) for j in range(3)))
        for most in 1, 2:
            plan = _plan(cloud, max_moves=most)

            self.assertEqual(
                {most}, set(collections.Counter(
                    move.source for move in plan.moves).values()))

    def test_only_volumes_with_violated_slos_are_refused(self):
        plan = _plan(_cloud(free_gib=5.0))

        self.assertEqual({f'v{i:02}0' for i in range(LATE)},
                         {refusal.volume for refusal in plan.refused})
        self.assertIn('5 GiB free, 10 needed', plan.refused[0].reason)

    def test_all_of_hot_pools_are_refused(self):
        plan = clusters.planned(relieve, _cloud(free_gib=5.0), Limits())

        self.assertEqual(3 * LATE, len(plan.refused))
