# SPDX-License-Identifier: Apache-2.0

import ddt
import numpy as np
import testtools

from serifos.design import design
from serifos.design import full
from serifos.facts.workload import Workload
from serifos.model import fit
from serifos.model.model import Model
from tests.unit.papers import golden
from tests.unit import samples

_TABLE6 = golden.SERIFOS['table6_consolidation']


def _table6(ssd, count, run):
    intercept, per_write, per_kib, _ = _TABLE6[ssd][count]
    return (intercept + per_write * sum(w.write_pct for w in run)
            + per_kib * sum(w.block_kib for w in run))


def _sets(counts):
    return list(full.sets(design.Space(
        (25, 50, 75), (4, 8, 32, 128), counts)))


@ddt.ddt
class Table6Test(testtools.TestCase):
    """From a dataset with its coefficients, Table 6's predictions."""

    def _fit(self, ssd, noise=0.0):
        rng = np.random.default_rng(0)
        dataset = samples.dataset(
            _sets((1, 2, 3)), lambda run: _table6(ssd, str(len(run)), run)
            * (1 + noise * rng.standard_normal()))
        return fit.fit(dataset, 'consolidation', ssd)

    @ddt.data('SSD1', 'SSD2')
    def test_predictions_are_the_tables(self, ssd):
        model = self._fit(ssd)
        for run in _sets((1, 2, 3)):
            self.assertAlmostEqual(
                _table6(ssd, str(len(run)), run),
                model.predict(model.load(run)), places=5)

    @ddt.data('SSD1', 'SSD2')
    def test_terms_that_the_table_lacks_are_removed(self, ssd):
        parameters = self._fit(ssd).parameters
        for count in '123':
            for ours, theirs in zip(parameters[count].values(),
                                    _TABLE6[ssd][count]):
                self.assertAlmostEqual(theirs, ours, places=6)
                self.assertEqual(theirs == 0, ours == 0)

    @ddt.data('SSD1', 'SSD2')
    def test_noise_moves_the_block_coefficient_little(self, ssd):
        parameters = self._fit(ssd, noise=0.02).parameters
        for count in '123':
            expected = _TABLE6[ssd][count][2]
            self.assertAlmostEqual(
                1, parameters[count]['sum_block_kib'] / expected, places=1)

    @ddt.data('SSD1', 'SSD2')
    def test_a_file_of_the_table_predicts_the_table(self, ssd):
        names = ('intercept_us', 'sum_write_pct', 'sum_block_kib')
        model = Model(
            ssd, 'consolidation',
            {label: dict(zip(names, row))
             for label, row in _TABLE6[ssd].items()}, {}, {})
        rng = np.random.default_rng(1)
        for count in range(1, 11):
            run = [Workload(float(rng.integers(101)),
                            float(2 ** rng.integers(3, 9)))
                   for _ in range(count)]
            label = str(count) if count <= 5 else '5+'
            self.assertAlmostEqual(_table6(ssd, label, run),
                                   model.predict(model.load(run)), places=5)


class FitTest(testtools.TestCase):

    def test_a_count_with_few_runs_uses_the_extended_model(self):
        runs = [*_sets((1,)), *_sets((2,))[:5]]
        model = fit.fit(samples.dataset(
            runs, lambda run: 100 + 20 * samples.load(run).sum_block_kib),
            'consolidation')
        self.assertEqual(['1', '5+'], list(model.parameters))

    def test_the_extended_model_is_fitted_on_all_counts(self):
        dataset = samples.dataset(
            _sets((1, 2, 3)),
            lambda run: 1000 * len(run) + 20 * samples.load(
                run).sum_block_kib)
        model = fit.fit(dataset, 'consolidation')
        self.assertAlmostEqual(1000, model.parameters['1']['intercept_us'],
                               places=5)
        self.assertAlmostEqual(3000, model.parameters['3']['intercept_us'],
                               places=5)
        self.assertGreater(model.parameters['5+']['intercept_us'], 1000)

    def test_runs_of_one_write_ratio_can_be_fitted(self):
        space = design.Space((50,), (4, 8, 16, 32, 64, 128, 256), (1,))
        dataset = samples.dataset(
            full.sets(space),
            lambda run: 100 + 20 * run[0].block_kib)
        row = fit.fit(dataset, 'consolidation').parameters['1']
        self.assertEqual(0, row['sum_write_pct'])
        self.assertAlmostEqual(100, row['intercept_us'], places=5)

    def test_adjusted_r2_tells_a_poor_fit_without_an_intercept(self):
        rng = np.random.default_rng(2)
        runs = _sets((1, 2))
        dataset = samples.dataset(
            runs, lambda run: float(rng.uniform(900, 1100)))
        model = fit.fit(dataset, 'consolidation')
        # About the mean nothing is explained; about zero, as R has it
        # without an intercept, almost everything would be.
        self.assertLess(model.quality['adj_r2']['5+'], 0.1)
