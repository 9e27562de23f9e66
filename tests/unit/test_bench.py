# SPDX-License-Identifier: Apache-2.0
"""tools/bench, on what a moment can do."""

import importlib
import itertools
import pathlib
import sys
from unittest import mock

import numpy as np
import testtools

from serifos.plan import limits as lm

BENCH = pathlib.Path(__file__).parents[2] / 'tools/bench'


class BenchTestCase(testtools.TestCase):

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        with mock.patch.object(sys, 'path', [str(BENCH), *sys.path]):
            cls.clusters, cls.algorithm_1, cls.optimum = map(
                importlib.import_module,
                ('clusters', 'algorithm_1', 'optimum'))

    def test_plain_python_and_the_planner_move_alike(self):
        cluster = self.clusters.make_cluster(60, 10, seed=3, blur=True)
        for gain in (0.0, 0.1):
            limits = lm.Limits(gain)
            self.assertEqual(
                len(self.clusters.plan('bfd', cluster, limits).moves),
                self.algorithm_1.migrations(cluster, limits))

    def test_the_optimum_is_the_least_of_all_placements(self):
        cluster = self.clusters.make_cluster(5, 3, seed=1)
        known = self.clusters.make_fleet(cluster)
        own = known.loads(v.workload for v in cluster.volumes)
        least = min(
            known.latency(np.arange(3), np.array([
                own[np.array(homes) == pool].sum(axis=0)
                for pool in range(3)])).max()
            for homes in itertools.product(range(3), repeat=5)
            if all(sum(v.size_gib for v, h in zip(cluster.volumes, homes)
                       if h == i) <= pool.total_gib
                   for i, pool in enumerate(cluster.pools)))
        best, bound = self.optimum.least_worst(cluster)
        np.testing.assert_allclose((best, bound), least, rtol=1e-3)
        for planner in self.clusters.PLANNERS:
            plan = self.clusters.plan(planner, cluster, lm.Limits())
            self.assertGreaterEqual(plan.max_us.after, least * (1 - 1e-9))
