# SPDX-License-Identifier: Apache-2.0

import math

import ddt
import testtools

from serifos.facts import pool_errors

NOW = 1_800_000_000
NOW -= NOW % pool_errors.HOUR_S


def hours(*ratios, rounds=12, end=NOW, far=None):
    """Hours up to now, in each of which the ratio was the same."""
    found = []
    for nth, ratio in enumerate(ratios):
        hour = pool_errors.Hour(end - (len(ratios) - 1 - nth)
                                * pool_errors.HOUR_S)
        for _ in range(rounds):
            hour = hour.with_one(pool_errors.Check.of(
                1000 * ratio, 1000, (-0.2, 0.25)))
        found.append(hour)
    return found


@ddt.ddt
class CheckTest(testtools.TestCase):

    @ddt.data((1240, 0), (1260, 1), (810, 0), (790, -1))
    @ddt.unpack
    def test_far_is_outside_of_the_interval(self, seen_us, far):
        check = pool_errors.Check.of(seen_us, 1000, (-0.2, 0.25))
        self.assertEqual(far, check.far)
        self.assertAlmostEqual(math.log(seen_us / 1000), check.error)


class TogetherTest(testtools.TestCase):

    def test_hours_together_are_as_one_of_all_their_rounds(self):
        some = hours(2.0, 0.5, rounds=3) + hours(2.0, rounds=6)
        whole = pool_errors.together(some)
        self.assertEqual((12, 9, 3), (whole.rounds, whole.above, whole.below))
        self.assertEqual((1625, 1000), (whole.mean_seen_us,
                                        whole.mean_predicted_us))
        self.assertAlmostEqual(math.log(2) / 2, whole.mean_error)
        self.assertEqual(some[0], pool_errors.together(some[:1]))


class SpreadTest(testtools.TestCase):

    def test_it_is_that_of_the_last_hours(self):
        ratios = (9.0, 1.0, 2.0, 1.0, 2.0, 1.0, 2.0)
        self.assertAlmostEqual(math.log(2) * math.sqrt(0.3),
                               pool_errors.spread(hours(*ratios)))

    def test_of_few_hours_or_rounds_nothing_is_known(self):
        self.assertEqual(pool_errors.SPREAD,
                         pool_errors.spread(hours(1.0, 2.0)))
        self.assertEqual(pool_errors.SPREAD, pool_errors.spread(
            hours(*[1.0, 2.0] * 4, rounds=2)))


@ddt.ddt
class CorrectionTest(testtools.TestCase):

    @ddt.data((0.1, 0.1, 0, 0.5), (0.1, 9.0, 0, 0.0), (9.0, 0.1, 0, 1.0),
              (0.1, 9.0, 1, 1.0), (0.0, 0.0, 0, 0.0))
    @ddt.unpack
    def test_as_far_as_what_is_measured_is_surer(self, model, seen, far, of):
        """All of it where it is outside of the interval."""
        check = pool_errors.Check(1.2, 1.0, far, model)
        self.assertAlmostEqual(1.2 ** of, check.correction(seen), 3)

    def test_a_model_is_as_sure_as_its_interval_is_narrow(self):
        ends = [math.exp(sign * 1.645 * 0.2) - 1 for sign in (-1, 1)]
        self.assertAlmostEqual(0.2,
                               pool_errors.Check.of(1.0, 1.0, ends).log_std)


@ddt.ddt
class DriftingTest(testtools.TestCase):

    @ddt.data((1.0, 2.0, 2.0, 2.0), (2.0,) * 5, (0.5,) * 3)
    @ddt.unpack
    def test_hours_in_a_row(self, *ratios):
        said = pool_errors.drifting(hours(*ratios), NOW + 600)
        number = len([ratio for ratio in ratios if ratio != 1])
        self.assertEqual(
            f'its tenants see {ratios[-1]:g} times what its model predicts, '
            f'for {number} hours now', said)

    @ddt.data((2.0, 2.0), (2.0, 2.0, 1.0, 2.0, 2.0), (2.0, 2.0, 2.0, 1.0),
              (2.0, 2.0, 0.5, 0.5), (1.2,) * 9, (0.85,) * 9)
    @ddt.unpack
    def test_no_drift(self, *ratios):
        self.assertIsNone(pool_errors.drifting(hours(*ratios), NOW + 600))

    def test_the_hour_that_has_just_begun_is_not_looked_at(self):
        three = hours(2.0, 2.0, 2.0, end=NOW - pool_errors.HOUR_S)
        self.assertIsNotNone(pool_errors.drifting(
            [*three, *hours(1.0, rounds=2)], NOW + 600))
        self.assertIsNone(pool_errors.drifting([*three, *hours(1.0)],
                                               NOW + 600))

    def test_what_was_hours_ago_is_over(self):
        found = hours(2.0, 2.0, 2.0)
        self.assertIsNotNone(pool_errors.drifting(found, NOW + 2
                                                  * pool_errors.HOUR_S))
        self.assertIsNone(pool_errors.drifting(found,
                                               NOW + 3 * pool_errors.HOUR_S))

    def test_hours_with_a_gap_are_not_in_a_row(self):
        found = [*hours(2.0, 2.0, end=NOW - 6 * pool_errors.HOUR_S),
                 *hours(2.0, 2.0)]
        self.assertIsNone(pool_errors.drifting(found, NOW + 600))
