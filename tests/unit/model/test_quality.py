# SPDX-License-Identifier: Apache-2.0

import ddt
from hypothesis import given
from hypothesis import strategies
import numpy as np
from scipy import stats
import testtools

from serifos.model import quality


@ddt.ddt
class QualityTest(testtools.TestCase):

    def test_mre_is_a_fraction_of_the_measured(self):
        self.assertAlmostEqual(
            0.15, quality.mre(np.array([100.0, 200.0]),
                              np.array([110.0, 160.0])))

    def test_nine_of_ten_runs_are_within_the_factor(self):
        predicted = np.array([2.0, 0.5, *[1.0] * 8])
        found = [quality.factor(np.array([1.0] * 9 + [wild]), predicted)
                 for wild in (1.0, 1e5)]
        self.assertAlmostEqual(2.0, found[0])
        self.assertLess(found[1], 7)

    def test_mre_by_label(self):
        self.assertEqual(
            {1: 0.5, 2: 0.25},
            quality.mre_by([2, 1, 1], np.array([4.0, 2.0, 2.0]),
                           np.array([5.0, 1.0, 3.0])))

    def test_r2_by_label_is_as_scipy_has_it_of_a_line(self):
        x, measured = [1, 2, 3, 4], [10.0, 21.0, 29.0, 42.0]
        line = stats.linregress(x, measured)
        predicted = [line.intercept + line.slope * each for each in x]
        found = quality.r2_by(
            ['read'] * 4 + ['write'] * 2 + ['alike'],
            np.array([*measured, 5.0, 7.0, 5.0]),
            np.array([*predicted, 5.0, 6.0, 6.0]))
        self.assertEqual({'read', 'write'}, set(found))
        self.assertAlmostEqual(line.rvalue ** 2, found['read'])
        self.assertAlmostEqual(0.5, found['write'])

    @given(strategies.lists(strategies.integers(0, 20), min_size=2,
                            max_size=80),
           strategies.integers(0, 99))
    def test_rounds_of_one_run_are_never_on_both_sides(self, keys, seed):
        tested = []
        for train, test in quality.splits(keys, seed):
            self.assertEqual(
                set(), {keys[i] for i in train} & {keys[i] for i in test})
            self.assertEqual(len(keys), len(train) + len(test))
            tested.extend(test)
        self.assertEqual(list(range(len(keys))), sorted(tested))

    def test_there_are_ten_folds_and_the_seed_decides(self):
        keys = list(range(40))
        first = [list(test) for _, test in quality.splits(keys, 1)]
        self.assertEqual(10, len(first))
        self.assertEqual(
            first, [list(test) for _, test in quality.splits(keys, 1)])
        self.assertNotEqual(
            first, [list(test) for _, test in quality.splits(keys, 2)])

    def test_the_interval_holds_ninety_percent_of_new_runs(self):
        rng = np.random.default_rng(0)
        covered = []
        for _ in range(200):
            y = 1000 * rng.lognormal(0, 0.2, size=81)
            low, high = quality.interval(y[:80], np.full(80, 1000.0))
            covered.append(1000 * (1 + low) <= y[80] <= 1000 * (1 + high))
        self.assertTrue(0.85 <= np.mean(covered) <= 0.97, np.mean(covered))

    def test_tenants_of_one_run_err_alike(self):
        rng, covered = np.random.default_rng(0), []
        for _ in range(300):
            numbers = 2 ** rng.integers(0, 7, size=30)
            keys = np.repeat(np.arange(30), numbers).tolist()
            low, high = quality.deviations(
                np.exp(rng.normal(size=30))[keys], np.ones(len(keys)), 1.0,
                keys)
            covered.append(low <= rng.normal() <= high)
        self.assertTrue(0.85 <= np.mean(covered) <= 0.95, np.mean(covered))

    @ddt.data(6, 12, 18, 19, 30, 80)
    def test_few_patterns_have_wider_intervals(self, number):
        rng, covered = np.random.default_rng(0), []
        for _ in range(500):
            low, high = quality.deviations(
                np.exp(rng.normal(size=number)), np.ones(number), 1.0,
                range(number))
            covered.append(low <= rng.normal() <= high)
        self.assertTrue(0.85 <= np.mean(covered) <= 0.95, np.mean(covered))

    def test_a_prediction_of_nothing_leaves_the_interval_finite(self):
        low, high = quality.interval(np.full(30, 100.0), np.zeros(30))
        self.assertTrue(np.isfinite([low, high]).all())

    def test_adjusted_r2_of_the_mean_is_not_positive(self):
        y = np.array([1.0, 2.0, 3.0, 4.0])
        self.assertLessEqual(quality.adjusted_r2(y, np.full(4, 2.5), 0), 0)
        self.assertEqual(1, quality.adjusted_r2(y, y, 1))

    def test_adjusted_r2_needs_more_runs_than_terms(self):
        y = np.array([1.0, 2.0])
        self.assertIsNone(quality.adjusted_r2(y, y, 1))
