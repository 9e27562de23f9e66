# SPDX-License-Identifier: Apache-2.0
"""How runs are divided, and what is said of kinds on the parts."""

import ddt
from hypothesis import given
from hypothesis import settings
from hypothesis import strategies
import numpy as np
import testtools

from serifos.design import d_optimal
from serifos import errors
from serifos.facts.dataset import Sample
from serifos.facts.workload import Workload
from serifos.lab.compare import compare
from serifos.lab.regression import inputs
from serifos.model import fit_runs
from tests.unit.model import fake
from tests.unit import samples


def runs_of(runs):
    return fit_runs.runs(samples.dataset(runs, fake.truth).samples)


DATA = runs_of(d_optimal.runs(60))


def blocks(data, which):
    return [inputs.of(data.loads[i])[2] for i in which]


def counts(data, which):
    return [data.counts[i] for i in which]


@ddt.ddt
class PartsTest(testtools.TestCase):

    def test_edges_lie_beyond_all_that_is_trained_on(self):
        parts = compare.parts(DATA)
        self.assertEqual([compare.INSIDE, *compare.BEYOND], [*parts.tested])
        training = blocks(DATA, parts.training)
        self.assertLess(max(blocks(DATA, parts.tested['small blocks'])),
                        min(training))
        self.assertGreater(min(blocks(DATA, parts.tested['large blocks'])),
                           max(training))
        self.assertGreater(min(counts(DATA, parts.tested['high counts'])),
                           max(counts(DATA, parts.training)))
        for part in compare.BEYOND:
            share = len(parts.tested[part]) / len(DATA.y)
            self.assertTrue(0.1 <= share <= 0.25, share)

    @settings(max_examples=15, deadline=None)
    @given(strategies.integers(0, 99), strategies.floats(0.05, 0.5))
    def test_no_run_is_on_two_sides(self, seed, share):
        parts = compare.parts(DATA, seed, share)
        unseen = set(np.concatenate([*parts.tested.values()]))
        self.assertEqual(set(), unseen & set(parts.training))
        self.assertEqual(set(range(len(DATA.y))),
                         unseen | set(parts.training))
        inner = len(parts.training) + len(parts.tested[compare.INSIDE])
        self.assertEqual(max(1, round(share * inner)),
                         len(parts.tested[compare.INSIDE]))

    def test_rounds_of_one_run_stay_together(self):
        data = runs_of([*d_optimal.runs(30)] * 3)
        parts = compare.parts(data)
        inside = {data.keys[i] for i in parts.tested[compare.INSIDE]}
        self.assertEqual(set(), inside & {
            data.keys[i] for i in parts.training})

    def test_a_range_without_an_edge_has_none(self):
        data = runs_of([(Workload(w, 8, q),)
                        for w in range(0, 100, 10) for q in (1, 2, 4)])
        self.assertEqual([compare.INSIDE], [*compare.parts(data).tested])

    def test_an_edge_of_many_equal_runs_is_none(self):
        # A third of the runs has the smallest block: leaving them out would
        # tell of another dataset.
        data = runs_of([(Workload(w, s),) for w in range(0, 100, 10)
                        for s in (4, 64, 65)])
        self.assertEqual([compare.INSIDE], [*compare.parts(data).tested])

    def test_too_few_runs(self):
        self.assertRaises(errors.InputError, compare.parts,
                          runs_of(d_optimal.runs(15)))

    def test_all_runs_are_fitted_to_where_none_is_held_out(self):
        parts = compare.parts(DATA, 0, 0)
        self.assertEqual([*range(len(DATA.y))], parts.training.tolist())
        self.assertEqual({}, parts.tested)

    @ddt.data(-0.1, 0.9, float('nan'))
    def test_an_absurd_share(self, share):
        self.assertRaises(errors.InputError, compare.parts, DATA, 0, share)


class VerdictTest(testtools.TestCase):

    def setUp(self):
        super().setUp()
        self.useFixture(fake.Kind())
        self.parts = compare.parts(DATA)

    def judged(self, kind=fake.KIND, chosen=None, predicts='latency_us',
               dataset=''):
        return compare.judge(kind, predicts, DATA, self.parts, chosen,
                             dataset)

    def test_the_right_settings_err_nowhere(self):
        exact = self.judged(chosen={'power': 1.25})
        self.assertTrue(exact.tuned)
        self.assertAlmostEqual(1, exact.r2)
        for value in (*exact.mre.values(), *exact.mre_by_count.values()):
            self.assertAlmostEqual(0, value)

    def test_the_standard_errs_and_says_what_it_was(self):
        standard = self.judged()
        self.assertEqual((False, {'power': 0.5, 'unused': 1}),
                         (standard.tuned, standard.settings))
        self.assertGreater(standard.mre[compare.INSIDE], 0.2)
        self.assertGreater(standard.mre['small blocks'], 0.5)

    def test_no_fit_sees_what_it_is_tested_on(self):
        y = DATA.y.copy()
        unseen = np.setdiff1d(np.arange(len(y)), self.parts.training)
        y[unseen] *= 100
        other = compare.judge(
            fake.KIND, 'latency_us', fit_runs.Runs(DATA.loads, y, DATA.keys),
            self.parts, {'power': 1.25})
        self.assertAlmostEqual(0.99, other.mre[compare.INSIDE])
        self.assertAlmostEqual(1, other.r2)

    def test_lines_compare_with_the_standard_and_the_best(self):
        standard, tuned = self.judged(), self.judged(
            chosen={'power': 1.2})
        linear = self.judged('outstanding')
        lines = compare.lines([standard, tuned, linear])
        self.assertEqual([('power', False), ('power', True),
                          ('outstanding', False)],
                         [(line.kind, line.tuned) for line in lines])
        first, second, third = lines
        self.assertIsNone(first.change)
        self.assertAlmostEqual(
            tuned.mre[compare.INSIDE] / standard.mre[compare.INSIDE] - 1,
            second.change)
        self.assertLess(second.change, -0.5)
        self.assertLess(second.p_of_tuning, 0.05)
        self.assertIsNone(second.p_of_best)
        self.assertLess(first.p_of_best, 0.05)
        self.assertLess(third.p_of_best, 0.05)

    def test_the_mean_of_several_figures(self):
        verdicts = [self.judged(predicts=figure, chosen=chosen)
                    for figure in ('read_iops', 'write_iops')
                    for chosen in (None, {'power': 1.0})]
        *_, standard, tuned = compare.lines(verdicts)
        self.assertEqual(('mean', 'mean'), (standard.predicts,
                                            tuned.predicts))
        self.assertAlmostEqual(verdicts[0].mre[compare.INSIDE],
                               standard.mre[compare.INSIDE])
        self.assertLess(tuned.change, 0)

    def test_each_dataset_and_their_mean(self):
        verdicts = [self.judged(kind, dataset=dataset)
                    for dataset in ('a', 'b')
                    for kind in ('power', 'outstanding')]
        lines = compare.lines(verdicts)
        self.assertEqual(
            [(dataset, kind) for dataset in ('a', 'b', 'mean')
             for kind in ('power', 'outstanding')],
            [(line.dataset, line.kind) for line in lines])
        self.assertAlmostEqual(lines[0].main, lines[4].main)
        self.assertEqual({}, lines[4].settings)

    def test_a_kind_that_lacks_a_figure_is_in_no_mean(self):
        lines = compare.lines([
            self.judged(predicts='read_iops'),
            self.judged(predicts='write_iops'),
            self.judged('outstanding', predicts='write_iops')])
        self.assertEqual(['power'], [line.kind for line in lines
                                     if line.predicts == 'mean'])


class PairedTestTest(testtools.TestCase):

    def test_it_is_that_of_a_textbook(self):
        # Student's sleep data (The Probable Error of a Mean, 1908): the
        # difference of the two drugs has t = 4.0621 with 9 degrees of
        # freedom, p = 0.00283.
        one = np.array([.7, -1.6, -.2, -1.2, -.1, 3.4, 3.7, .8, 0, 2.0])
        two = np.array([1.9, .8, 1.1, .1, -.1, 4.4, 5.5, 1.6, 4.6, 3.4])
        self.assertAlmostEqual(
            0.00283, compare.p_value([one[:4], one[4:]], [two[:4], two[4:]]),
            places=5)

    def test_a_single_run_tells_nothing(self):
        self.assertIsNone(compare.p_value([np.ones(1)], [np.zeros(1)]))

    def test_the_same_errors_do_not_differ(self):
        self.assertEqual(1, compare.p_value([np.ones(3)], [np.ones(3)]))


def run(*seen, **others):
    return Sample(
        tuple(Workload(25.0, 16.0, float(2 + i))
              for i in range(len(seen))), 100.0, seen=seen, **others)


class AsOneTest(testtools.TestCase):

    def test_rates_are_summed_and_latencies_are_of_all_requests(self):
        found = compare.as_one(run(
            {'iops': 400.0, 'read_iops': 300.0, 'write_iops': 100.0,
             'latency_us': 200.0, 'read_latency_us': 100.0,
             'write_latency_us': 500.0, 'read_p99_us': 900.0},
            {'iops': 200.0, 'read_iops': 100.0, 'write_iops': 100.0,
             'latency_us': 500.0, 'read_latency_us': 300.0,
             'write_latency_us': 700.0, 'read_p99_us': 900.0}))
        self.assertEqual((Workload(25.0, 16.0, 5.0),), found.workloads)
        self.assertEqual({
            'iops': 600.0, 'read_iops': 400.0, 'write_iops': 200.0,
            'latency_us': 300.0, 'read_latency_us': 150.0,
            'write_latency_us': 600.0}, found.seen[0])
        self.assertEqual(300.0, found.latency_us)
        self.assertEqual(400.0, found.figure('read_iops'))

    def test_what_no_workload_has_is_left_out(self):
        found = compare.as_one(run(
            *[{'latency_us': 100.0, 'read_latency_us': None,
               'read_iops': 0.0, 'write_iops': 50.0}] * 2))
        self.assertEqual({'read_iops': 0.0, 'write_iops': 100.0,
                          'latency_us': 100.0}, found.seen[0])

    def test_without_rates_each_volume_counts_once(self):
        found = compare.as_one(run({'latency_us': 100.0},
                                   {'latency_us': 300.0}))
        self.assertEqual(200.0, found.latency_us)

    def test_a_run_of_one_stays_as_it_is(self):
        one = run({'iops': 400.0, 'latency_us': 100.0})
        self.assertEqual(one, compare.as_one(one))

    def test_nothing_but_the_latency_of_the_run(self):
        found = compare.as_one(run({}, {}, round=2))
        self.assertEqual((100.0, 2), (found.latency_us, found.round))

    def test_unlike_workloads_are_refused(self):
        for other in (Workload(75.0, 16.0), Workload(25.0, 4.0),
                      Workload(25.0, 16.0, think_time_us=10.0)):
            with testtools.ExpectedException(
                    errors.InputError, '.*is not one workload on several'):
                compare.as_one(Sample(
                    (Workload(25.0, 16.0), other), 100.0))
