# SPDX-License-Identifier: Apache-2.0
"""Tests of capacity and score."""

import ddt
import numpy as np
import testtools

from serifos.facts.cluster import Cluster
from serifos.plan import capacity
from serifos.plan import state
from tests.unit.plan.clusters import pool
from tests.unit.plan.clusters import volume


@ddt.ddt
class CapacityTestCase(testtools.TestCase):

    POOLS = (pool('a', free_gib=100), pool('b', free_gib=300),
             pool('c', free_gib=300), pool('d', free_gib=900, state='down'))

    @ddt.data((10, 'b'), (300, 'b'), (301, None))
    @ddt.unpack
    def test_the_pool_with_the_most_free_space(self, size_gib, name):
        self.assertEqual(name, capacity.place(
            volume('v', '', size_gib=size_gib), Cluster(self.POOLS, ())))

    def test_of_the_volume_types_backend(self):
        pools = (pool('a', backend_name='hdd'),
                 pool('b', free_gib=50, backend_name='ssd'))
        self.assertEqual('b', capacity.place(
            volume('v', '', required_backend_name='ssd'),
            Cluster(pools, ())))

    def test_volume_by_volume_it_levels_space(self):
        cluster = Cluster((pool('a', free_gib=90), pool('b')), ())
        for i in range(4):
            new = volume(f'v{i}', '', size_gib=300)
            where = capacity.place(new, cluster)
            cluster = cluster.place(new, where) if where else cluster
        self.assertEqual(['b'] * 3, [v.pool for v in cluster.volumes])


class ScoreTestCase(testtools.TestCase):

    def test_pools_without_a_figure_are_in_none(self):
        self.assertEqual(state.Score(4, 3, 1), state.Score.of(
            np.array([2, np.nan, 4])))
        self.assertEqual(state.Score(0, 0, 0), state.Score.of(
            np.array([np.nan])))
