# SPDX-License-Identifier: Apache-2.0

import math

import ddt
import testtools

from serifos.facts import pool_errors as pe

NOW = 1_800_000_000
NOW -= NOW % pe.HOUR_S


def hours(*ratios, rounds=12, end=NOW, far=None):
    """Hours up to now, in each of which the ratio was the same."""
    found = []
    for nth, ratio in enumerate(ratios):
        hour = pe.Hour(end - (len(ratios) - 1 - nth) * pe.HOUR_S)
        for _ in range(rounds):
            hour = hour.with_one(pe.Check.of(
                1000 * ratio, 1000, (-0.2, 0.25)))
        found.append(hour)
    return found


@ddt.ddt
class CheckTest(testtools.TestCase):

    @ddt.data((1240, 0), (1260, 1), (810, 0), (790, -1))
    @ddt.unpack
    def test_far_is_outside_of_the_interval(self, seen_us, far):
        check = pe.Check.of(seen_us, 1000, (-0.2, 0.25))
        self.assertEqual(far, check.far)
        self.assertAlmostEqual(math.log(seen_us / 1000), check.error)


class TogetherTest(testtools.TestCase):

    def test_hours_together_are_as_one_of_all_their_rounds(self):
        some = hours(2.0, 0.5, rounds=3) + hours(2.0, rounds=6)
        whole = pe.together(some)
        self.assertEqual((12, 9, 3), (whole.rounds, whole.above, whole.below))
        self.assertEqual((1625, 1000), (whole.mean_seen_us,
                                        whole.mean_predicted_us))
        self.assertAlmostEqual(math.log(2) / 2, whole.mean_error)
        self.assertEqual(some[0], pe.together(some[:1]))


@ddt.ddt
class CorrectionTest(testtools.TestCase):

    @ddt.data(((2.0,) * 6, 1.0, 2.0), ((2.0,) * 6, 0.5, math.sqrt(2)),
              ((0.5,) * 24, 0.5, math.sqrt(0.5)), ((1.0,) * 6, 1.0, 1.0))
    @ddt.unpack
    def test_what_is_off_for_all_hours_is_corrected(self, ratios, share,
                                                    found):
        self.assertAlmostEqual(found, pe.correction(hours(*ratios), share))

    @ddt.data((2, 2, 2, 2, 1, 1), (2, 2, 2, 2, 0.7, 1.0),
              (2, .5, 2, .5, 2, .5), (4, 4, 4, 4, 1.3, 1.2))
    @ddt.unpack
    def test_what_the_newest_hours_do_not_prove_is_not_used(self, *ratios):
        self.assertEqual(1.0, pe.correction(hours(*ratios), 1.0))

    def test_of_few_hours_or_rounds_nothing_is_known(self):
        self.assertIsNone(pe.correction(hours(*[2.0] * 5), 1.0))
        self.assertIsNone(pe.correction(hours(*[2.0] * 9, rounds=2), 1.0))

    def test_a_share_of_0_corrects_nothing(self):
        self.assertEqual(1.0, pe.correction(hours(*[2.0] * 9), 0.0))


@ddt.ddt
class DriftingTest(testtools.TestCase):

    @ddt.data((1.0, 2.0, 2.0, 2.0), (2.0,) * 5, (0.5,) * 3)
    @ddt.unpack
    def test_hours_in_a_row(self, *ratios):
        said = pe.drifting(hours(*ratios), NOW + 600)
        number = len([ratio for ratio in ratios if ratio != 1])
        self.assertEqual(
            f'its tenants see {ratios[-1]:g} times what its model predicts, '
            f'for {number} hours now', said)

    @ddt.data((2.0, 2.0), (2.0, 2.0, 1.0, 2.0, 2.0), (2.0, 2.0, 2.0, 1.0),
              (2.0, 2.0, 0.5, 0.5), (1.2,) * 9, (0.85,) * 9)
    @ddt.unpack
    def test_no_drift(self, *ratios):
        self.assertIsNone(pe.drifting(hours(*ratios), NOW + 600))

    def test_the_hour_that_has_just_begun_is_not_looked_at(self):
        three = hours(2.0, 2.0, 2.0, end=NOW - pe.HOUR_S)
        self.assertIsNotNone(pe.drifting(
            [*three, *hours(1.0, rounds=2)], NOW + 600))
        self.assertIsNone(pe.drifting([*three, *hours(1.0)], NOW + 600))

    def test_what_was_hours_ago_is_over(self):
        found = hours(2.0, 2.0, 2.0)
        self.assertIsNotNone(pe.drifting(found, NOW + 2 * pe.HOUR_S))
        self.assertIsNone(pe.drifting(found, NOW + 3 * pe.HOUR_S))

    def test_hours_with_a_gap_are_not_in_a_row(self):
        found = [*hours(2.0, 2.0, end=NOW - 6 * pe.HOUR_S), *hours(2.0, 2.0)]
        self.assertIsNone(pe.drifting(found, NOW + 600))
