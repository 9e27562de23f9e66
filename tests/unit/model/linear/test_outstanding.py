# SPDX-License-Identifier: Apache-2.0

import fixtures
from hypothesis import given
from hypothesis import settings
from hypothesis import strategies
import numpy as np
import testtools

from serifos.design import d_optimal
from serifos.facts.workload import Workload
from serifos.model import fit
from tests.unit import samples

_TRUTH = {'intercept_us': 90.0, 'sum_q_r': 6.0, 'sum_q_w': 11.0,
          'sum_q_s_r': 1.5, 'sum_q_s_w': 2.5}
_RUNS = d_optimal.runs(60)


def _truth(run):
    load = samples.load(run)
    return _TRUTH['intercept_us'] + sum(
        value * getattr(load, term) for term, value in _TRUTH.items()
        if term != 'intercept_us')


class OutstandingTest(testtools.TestCase):

    def test_it_recovers_what_made_the_data(self):
        model = fit.fit(samples.dataset(_RUNS, _truth), 'outstanding')
        for term, value in _TRUTH.items():
            self.assertAlmostEqual(value, model.parameters[term], places=6)
        self.assertLess(model.quality['mre'], 1e-6)

    def test_one_outstanding_weighs_less_than_32(self):
        model = fit.fit(samples.dataset(_RUNS, _truth), 'outstanding')
        thin, deep = (model.predict(model.load([Workload(50, 64, q)]))
                      for q in (1, 32))
        self.assertGreater(deep, 10 * thin)

    def test_a_measured_q_counts_in_place_of_the_iodepth(self):
        model = fit.fit(samples.dataset(_RUNS, _truth), 'outstanding')
        seen = Workload(50, 64, 32, iops=1000, latency_us=2000)
        asked = Workload(50, 64, 2)
        self.assertEqual(model.predict(model.load([asked])),
                         model.predict(model.load([seen])))

    @settings(max_examples=25, deadline=None)
    @given(strategies.integers(0, 2 ** 32 - 1))
    def test_no_coefficient_is_negative_whatever_was_measured(self, seed):
        rng = np.random.default_rng(seed)
        model = fit.fit(samples.dataset(
            _RUNS[:20], lambda run: rng.lognormal(7, 2)), 'outstanding')
        self.assertTrue(all(value >= 0
                            for value in model.parameters.values()))

    def test_small_latencies_count_as_much_as_large_ones(self):
        rng = np.random.default_rng(4)
        dataset = samples.dataset(
            _RUNS, lambda run: _truth(run) * rng.lognormal(0, 0.05))
        model = fit.fit(dataset, 'outstanding')
        small = [s for s in dataset.samples if s.latency_us < 300]
        self.assertGreater(len(small), 3)
        for sample in small:
            predicted = model.predict(model.load(sample.workloads))
            self.assertAlmostEqual(1, predicted / _truth(sample.workloads),
                                   delta=0.15)

    def test_auto_takes_the_kind_of_least_held_out_error(self):
        model = fit.fit(samples.dataset(_RUNS[:20], _truth), 'auto')
        self.assertEqual('outstanding', model.kind)
        by_kind = model.quality['mre_by_kind']
        self.assertEqual(set(fit.AUTO), set(by_kind))
        self.assertEqual(min(by_kind.values()), by_kind['outstanding'])
        self.assertRegex(
            model.quality['why'], r'error of outstanding is 0.0 %, of '
            r'\w+ [\d.]+ %, of \w+ [\d.]+ %; tenant is worse by more than '
            r'two standard errors over 20 patterns.$')

    def test_auto_takes_the_papers_where_it_is_better(self):
        # The paper's own world: q plays no role, the sum of blocks does.
        self.useFixture(fixtures.MonkeyPatch(
            'serifos.model.fit.AUTO', ('consolidation', 'outstanding')))
        model = fit.fit(samples.dataset(
            _RUNS[:20], lambda run: 50 + 5 * samples.load(run).sum_write_pct
            + 20 * samples.load(run).sum_block_kib), 'auto')
        self.assertEqual('consolidation', model.kind)
