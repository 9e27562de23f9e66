# SPDX-License-Identifier: Apache-2.0

import math

import ddt
from hypothesis import given
from hypothesis import HealthCheck
from hypothesis import settings
from hypothesis import strategies
import testtools

from serifos.scheduler import prediction_cache

LATENCY = strategies.floats(0, 1e300, allow_subnormal=False)


@ddt.ddt
class LineTest(testtools.TestCase):

    def line(self, *points):
        found = prediction_cache.FittedLine()
        for point in points:
            found.add(*point)
        return found

    @ddt.data(((), 7), (((5, 10),), 14), (((0, 10),), 10),
              (((5, 10), (5, 20)), 21), (((0, 1), (10, 21)), 15),
              (((0, 10), (10, 0)), 5))
    @ddt.unpack
    def test_through_the_points_and_never_falling(self, points, at_seven):
        self.assertAlmostEqual(at_seven, self.line(*points).at(7))

    @settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
    @given(strategies.lists(strategies.tuples(LATENCY, LATENCY), max_size=6),
           LATENCY)
    def test_whatever_the_points_it_is_no_nonsense(self, points, x):
        found = self.line(*points).at(x)
        self.assertTrue(0 <= found <= math.inf, found)

    def test_a_model_without_points_follows_the_others(self):
        lines = prediction_cache.Lines()
        lines.add('a', 1.0, 2.0)
        lines.add('b', 1.0, 4.0)
        self.assertEqual([2.0, 4.0, 3.0],
                         [lines.at(name, 1.0) for name in 'abc'])
