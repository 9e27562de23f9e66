# SPDX-License-Identifier: Apache-2.0
"""The packing that knows the day is near the best of all."""

import itertools

import numpy as np
import testtools

from serifos.lab.backtest import packing


def best(parts, size_gib, total_gib):
    """Of all placements."""
    volumes, pools, _ = parts.shape
    found = np.inf
    for home in itertools.product(range(pools), repeat=volumes):
        busy = np.zeros(parts.shape[1:])
        room = total_gib.copy()
        for volume, pool in enumerate(home):
            busy[pool] += parts[volume, pool]
            room[pool] -= size_gib[volume]
        if (room >= 0).all():
            found = min(found, busy.max())
    return found


class LeastWorstTest(testtools.TestCase):

    def test_near_the_best_of_all_placements(self):
        rng = np.random.default_rng(1)
        ratios = []
        for _ in range(20):
            parts = np.exp(rng.normal(0, 1, (7, 1, 1))) * rng.uniform(
                0.5, 1, (7, 3, 3))
            size_gib, total_gib = rng.uniform(10, 50, 7), np.full(3, 150.0)
            found = packing.least_worst(parts, size_gib, total_gib)
            least = best(parts, size_gib, total_gib)
            self.assertGreaterEqual(found, least * (1 - 1e-9))
            ratios.append(found / least)
        self.assertTrue(np.mean(ratios) < 1.1, ratios)

    def test_a_volume_goes_where_it_fits(self):
        parts = np.ones((2, 2, 1))
        self.assertEqual(2.0, packing.least_worst(
            parts, np.array([10.0, 10.0]), np.array([20.0, 5.0])))
        self.assertEqual(1.0, packing.least_worst(
            parts, np.array([10.0, 10.0]), np.array([20.0, 15.0])))

    def test_a_day_is_packed_by_itself_the_one_before_and_the_first(self):
        first = np.array([[[2.0], [2.0]], [[2.0], [2.0]], [[1.0], [1.0]]])
        then = first[[2, 2, 0]]
        rates, room = np.ones(3), np.full(2, 3.0)
        known, before, once = packing.over_days(
            [first, then, then, first], rates, room)
        self.assertEqual((3.0, 2.0, 2.0, 3.0), known)
        self.assertEqual((3.0, 3.0, 2.0, 4.0), before)
        self.assertEqual((3.0, 3.0, 3.0, 3.0), once)
