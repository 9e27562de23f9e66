# SPDX-License-Identifier: Apache-2.0

import ddt
from hypothesis import given
from hypothesis import strategies
import testtools

from serifos.bench import precondition


@ddt.ddt
class SteadyTest(testtools.TestCase):

    @ddt.data(
        # (rounds, excursion, slope): a line of slope b changes by 4 b.
        ((100, 100, 100, 100, 100), 0.0, 0.0, True),
        ((97.5, 98.75, 100, 101.25, 102.5), 0.05, 0.05, True),
        ((94, 97, 100, 103, 106), 0.12, 0.12, False),    # too steep
        ((106, 103, 100, 97, 94), 0.12, 0.12, False),    # downwards too
        ((110, 95, 90, 95, 110), 0.20, 0.0, True),       # just within
        ((111, 94.5, 89, 94.5, 111), 0.22, 0.0, False))  # too far apart
    @ddt.unpack
    def test_the_rule(self, rounds, excursion, slope, ok):
        found = precondition.steadiness(rounds)
        self.assertAlmostEqual(excursion, found.excursion)
        self.assertAlmostEqual(slope, found.slope)
        self.assertEqual(ok, found.ok)

    def test_four_rounds_are_too_few(self):
        self.assertFalse(precondition.steadiness([100.0] * 4).ok)

    @given(strategies.lists(strategies.floats(1, 1e6), min_size=0,
                            max_size=10),
           strategies.floats(1, 1e6))
    def test_only_the_last_five_rounds_count(self, before, value):
        self.assertTrue(precondition.steadiness([*before, *[value] * 5]).ok)
