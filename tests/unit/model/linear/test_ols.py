# SPDX-License-Identifier: Apache-2.0

import ddt
import numpy as np
import statsmodels.api
import testtools

from serifos.design import full as full_design
from serifos import errors
from serifos.facts.dataset import Dataset
from serifos.lab.study import study
from serifos.model.linear import ols
from tests.unit.papers import golden
from tests.unit import samples


class EliminateTest(testtools.TestCase):

    def setUp(self):
        super().setUp()
        rng = np.random.default_rng(0)
        self.columns = {'one': np.ones(200), 'a': rng.uniform(0, 10, 200),
                        'b': rng.uniform(0, 10, 200)}
        self.noise = rng.normal(0, 1, 200)

    def test_what_plays_no_role_goes_and_the_rest_is_refitted(self):
        y = 5 * self.columns['a'] + self.noise
        found = ols.eliminate(self.columns, y)
        self.assertEqual(['a'], list(found))
        a = self.columns['a']
        self.assertAlmostEqual(a @ y / (a @ a), found['a'], places=9)

    def test_everything_stays_that_matters(self):
        y = 50 + 5 * self.columns['a'] + 3 * self.columns['b'] + self.noise
        found = ols.eliminate(self.columns, y)
        full = statsmodels.api.OLS(
            y, np.column_stack(list(self.columns.values()))).fit()
        for ours, theirs in zip(found.values(), full.params):
            self.assertAlmostEqual(theirs, ours, places=9)

    def test_the_last_term_stays_whatever_its_p(self):
        found = ols.eliminate(self.columns, self.noise)
        self.assertEqual(1, len(found))

    def test_a_term_that_repeats_another_is_dropped(self):
        columns = {**self.columns, 'c': 2 * self.columns['a'] + 3}
        y = 50 + 5 * self.columns['a'] + self.noise
        self.assertNotIn('c', ols.eliminate(columns, y))


@ddt.ddt
class StudyTest(testtools.TestCase):
    """Tables 3 and 4 come back from data that they made."""

    def _dataset(self, table, sigma):
        rng = np.random.default_rng(0)

        def latency(run):
            w, x, s = (run[0].write_pct, run[0].random_pct, run[0].block_kib)
            factors = {'INTCP': 1, 'W': w, 'X': x, 'S': s, 'W:X': w * x,
                       'W:S': w * s, 'X:S': x * s, 'W^2': w * w,
                       'X^2': x * x, 'S^2': s * s}
            # The paper's polynomials fall below zero for small blocks: a
            # constant keeps them latencies and moves the intercept alone.
            return 2000 + sum(table[name] * factors[name] for name in factors
                              if name in table) + rng.normal(0, sigma)
        return samples.dataset(
            full_design.sets(full_design.STUDY), latency)

    @ddt.data('SSD1', 'SSD2')
    def test_polynomial(self, ssd):
        table = golden.SERIFOS['table3_polynomial'][ssd]
        polynomial, _ = study.tables(self._dataset(table, 1e-3))
        for name, value in table.items():
            if name not in ('adj_r2', 'INTCP'):
                self.assertAlmostEqual(
                    value, polynomial.coefficients[name], places=4)
        self.assertAlmostEqual(
            table['INTCP'] + 2000, polynomial.coefficients['INTCP'],
            places=2)

    @ddt.data('SSD1', 'SSD2')
    def test_linear(self, ssd):
        table = golden.SERIFOS['table4_linear'][ssd]
        # The noise that leaves the paper's adjusted R².
        spread = table['S'] * 91
        sigma = spread * np.sqrt(1 / table['adj_r2'] - 1)
        _, linear = study.tables(self._dataset(table, sigma))
        self.assertAlmostEqual(1, linear.coefficients['S'] / table['S'],
                               places=1)
        self.assertAlmostEqual(table['adj_r2'], linear.adj_r2, delta=0.02)
        self.assertLess(linear.p_values['S'], 1e-100)
        self.assertLess(linear.p_values['W'], 1e-6)

    def test_randomness_without_a_role_has_a_high_p(self):
        _, linear = study.tables(self._dataset(
            {'INTCP': 0, 'W': 9, 'S': 24}, 300))
        self.assertGreater(linear.p_values['X'], 0.05)

    def test_the_order_of_terms_plays_no_role(self):
        rng = np.random.default_rng(1)
        factors = {'W': rng.uniform(0, 100, 60)}
        factors['S'] = factors['W'] + rng.uniform(0, 30, 60)
        y = 3 * factors['W'] + factors['S'] + rng.normal(0, 40, 60)
        one = ols.anova(y, factors, ('W', 'S'))
        other = ols.anova(y, factors, ('S', 'W'))
        self.assertAlmostEqual(one.p_values['W'], other.p_values['W'])

    def test_a_dataset_without_the_study_is_refused(self):
        dataset = samples.dataset(
            full_design.sets(full_design.TRAINING), lambda run: 100)
        exc = self.assertRaises(errors.InputError, study.tables, Dataset(
            dataset.header, dataset.samples[:50]))
        self.assertIn('random_pct', str(exc))
