# SPDX-License-Identifier: Apache-2.0

import copy
import functools
import itertools
import json
import pathlib
import warnings

import ddt
from hypothesis import given
from hypothesis import settings
from hypothesis import strategies
import numpy as np
import testtools

from serifos.design import d_optimal
from serifos import errors
from serifos.facts.dataset import Dataset
from serifos.facts.dataset import FIGURES
from serifos.facts.dataset import Sample
from serifos.facts.workload import Workload
from serifos.lab.regression import inputs
from serifos.lab.regression import lrm
from serifos.lab.regression import mars
from serifos.lab.regression import splines
from serifos.model import fit
from serifos.model import kinds
from tests.unit.papers import earth_cases
from tests.unit.papers import golden
from tests.unit import samples

_RUNS = d_optimal.runs(80)
_EVERY = mars.Spans(least=1, end=1)

# (data, degree) → GCV and R² of earth 5.3.2, with R:
#   Rscript -e 'library(earth); a <- earth(Volume ~ ., data = trees,
#     degree = 1, minspan = 1, endspan = 1, fast.k = 0); cat(a$gcv, a$rsq)'
# and likewise earth(O3 ~ ., data = ozone1, ...).
_EARTH = {('trees', 1): (10.5653213, 0.98637756),
          ('ozone1', 1): (14.4910327, 0.80907130)}

# earth's exact search, which its fast update is not: degree → GCV and RSS of
#   Rscript -e 'library(earth); a <- earth(O3 ~ ., data = ozone1, degree = 1,
#     minspan = 1, endspan = 1, fast.k = 0, weights = rep(1, 330),
#     Force.weights = TRUE); cat(format(c(a$gcv, a$rss), digits = 12))'
_EARTH_EXACT = {1: (14.502948124, 4034.852013168),
                2: (13.905810620, 3704.518483930)}

# The same of degree 2 with Adjust.endspan = 0.
_EARTH_ENDS = 13.603884298

# The same with its standard spans, of fitted runs of a part of earth_cases.
_EARTH_FEW = 3.80020619395, 31.38234792425

# Rscript -e 'library(earth); a <- earth(mpg ~ ., data = mtcars)
#   cat(format(c(a$gcv, a$rss), digits = 12))'
_EARTH_CARS = 6.91211691989, 157.46666358118

# Rscript -e 'options(digits = 12); coef(lm(Volume ~ Girth * Height, trees))'
_LM_TREES = {(): 69.396315559307, (0,): -5.855847929654,
             (1,): -1.297083371665, (0, 1): 0.134654394364}

# Rscript -e 'library(earth); for (f in c(O3 ~ temp * ibh * doy,
#   O3 ~ temp * ibh * I(2 * temp))) print(summary(lm(f, ozone1))$r.squared,
#   digits = 8)'
_LM_OZONE = {'doy': 0.69340202, 'twice temp': 0.69607166}

kinds_with_settings = [
    ('lrm', {}), ('mars', {}), ('mars', {'degree': 1}),
    ('mars', {'nnodes': 800, 'threshold': 0}),
    ('mars', {'nnodes': 3, 'nprune': 2})]


def _data(name):
    """Inputs, and what they shall explain, of a public dataset."""
    path = pathlib.Path(__file__).with_name('data') / f'{name}.csv'
    table = np.genfromtxt(path, delimiter=',', skip_header=1, names=True)
    explained = {
        'trees': 'Volume', 'ozone1': 'O3', 'mtcars': 'mpg'}[name]
    return {column: table[column] for column in table.dtype.names
            if column != explained}, table[explained]


def _matrix(name):
    columns, y = _data(name)
    return np.column_stack([*columns.values()]), y


@functools.cache
def _parameters(kind, given_=()):
    loads = [samples.load(run) for run in _RUNS]
    return kinds.of(kind).fit(
        loads, np.array([samples.cliff(run) for run in _RUNS]), dict(given_))


def _explained(y, found):
    return 1 - ((y - found) ** 2).sum() / ((y - y.mean()) ** 2).sum()


@ddt.ddt
class MarsTest(testtools.TestCase):

    @ddt.data(('trees', 1, 1e-7), ('ozone1', 1, 0.005))
    @ddt.unpack
    def test_it_is_as_good_as_earth(self, name, degree, near):
        x, y = _matrix(name)
        found = mars.splines_of(x, y, degree=degree, spans=_EVERY)
        gcv, r2 = _EARTH[name, degree]
        self.assertAlmostEqual(1, found.gcv / gcv, delta=near)
        self.assertAlmostEqual(
            r2, _explained(y, _values(found, x)), delta=near)

    @ddt.data(*_EARTH_EXACT)
    def test_it_is_earths_exact_search(self, degree):
        found = mars.splines_of(*_matrix('ozone1'), degree=degree,
                                spans=_EVERY)
        gcv, rss = _EARTH_EXACT[degree]
        self.assertAlmostEqual(1, found.gcv / gcv, delta=1e-8)
        self.assertAlmostEqual(1, found.rss / rss, delta=1e-8)

    def test_knots_of_products_that_end_as_others_differ_in_earth(self):
        found = mars.splines_of(*_matrix('ozone1'), spans=mars.Spans(
            least=1, end=1, products=1))
        self.assertAlmostEqual(13.539199, found.gcv, 5)
        self.assertAlmostEqual(1, found.gcv / _EARTH_ENDS, delta=0.005)

    @ddt.data(1, 2)
    def test_a_pair_is_where_an_exhaustive_search_would_have_it(self, degree):
        x, y = _matrix('ozone1')
        x, y = x[:60, 3:6], y[:60]
        space = mars.HingeSearch(
            x, y, degree, mars.Spans(1, 1, products=1))
        products = [()]
        for _ in range(3):
            gain, found = space.best(products)
            self.assertAlmostEqual(
                _exhaustive(x, y, products, degree),
                space.rss - gain, delta=1e-6 * space.rss)
            products += [one for one in found if space.add(one)]

    def test_it_finds_the_knot_and_no_other_term(self):
        x = np.random.default_rng(1).uniform(0, 10, (50, 3))
        x[7, 1] = 4.0
        y = 5 + 3 * np.maximum(0, x[:, 1] - 4)
        found = mars.splines_of(x, y, spans=_EVERY)
        self.assertEqual(
            ((), (splines.Factor(1, splines.ABOVE, 4.0),)), found.products)
        self.assertTrue(np.allclose([5, 3], found.coefficients))

    def test_no_input_is_twice_in_a_term(self):
        for product in mars.splines_of(*_matrix('ozone1')).products:
            used = [factor.input for factor in product]
            self.assertEqual(len(set(used)), len(used))

    def test_settings_bound_the_terms(self):
        x, y = _matrix('ozone1')

        def terms(**given_):
            return len(mars.splines_of(x, y, **given_).products)
        self.assertLessEqual(terms(nnodes=5), 5)
        self.assertEqual(3, terms(nprune=3))
        self.assertEqual(1, terms(threshold=0.999))
        self.assertLess(terms(threshold=0.05), terms(threshold=0.001))

    def test_without_interactions_terms_have_one_factor(self):
        x, y = _matrix('ozone1')
        self.assertEqual(1, max(map(len, mars.splines_of(
            x, y, degree=1).products)))

    @ddt.data((1, 10), (2, 30))
    @ddt.unpack
    def test_spans_keep_knots_from_the_ends_and_apart(self, factors, end):
        active = np.arange(660) % 2 == 1
        allowed = np.flatnonzero(mars.Spans().allowed(
            active, 9, factors))
        # 3 - log2(0.05 / 9) = 10.5; -log2(-ln(0.95) / (9 * 330)) / 2.5 = 6.3
        self.assertEqual((2 * end + 1, 2 * 6),
                         (allowed[0], allowed[1] - allowed[0]))
        self.assertTrue(12 > 2 * (330 - end) - allowed[-1] > 0)

    @ddt.data(0, 17, 18, 19)
    def test_few_runs_have_a_knot_in_their_middle_or_none(self, runs):
        # 3 - log2(0.05 / 4) = 9.3
        allowed = mars.Spans().allowed(np.ones(runs, bool), 4, 1)
        self.assertEqual([9] if runs > 18 else [],
                         np.flatnonzero(allowed).tolist())

    def test_the_pair_that_takes_it_too_far_is_left_out(self):
        part = itertools.islice(
            earth_cases.parts('friedman1', {}, 31), 3, None)
        x, y, *_ = next(part)
        found = mars.splines_of(x, y, degree=1)
        self.assertTrue(np.allclose(_EARTH_FEW, (found.gcv, found.rss), 1e-9))

    def test_the_first_pair_is_enough_where_it_is_in_earth(self):
        """Backwards, one of it goes early, and four others stay."""
        found = mars.splines_of(*_matrix('mtcars'), degree=1)
        self.assertEqual(3, len(found.products))
        self.assertTrue(np.allclose(
            _EARTH_CARS, (found.gcv, found.rss), 1e-9))

    def test_straight_lines_of_few_runs_are_those_of_earth(self):
        its, = (row['earth'] for row in golden.EARTH['squares'] if (
            row['set'], row['runs'], row['degree']) == ('friedman2', 31, 2))
        ours = earth_cases.serifos_squares('friedman2', {}, 31, 2)
        self.assertTrue(np.allclose(its, ours, 1e-6))

    def test_a_straight_line_has_no_knot_and_goes_on(self):
        x = np.arange(60.0).reshape(-1, 1) + 40
        found = mars.splines_of(x, 7 + 2 * x[:, 0])
        self.assertEqual(((), (splines.Factor(0),)), found.products)
        self.assertAlmostEqual(27, _values(found, np.array([[10.0]]))[0])

    def test_products_foretell_as_well_as_those_of_earth(self):
        name, runs, parts = 'ssd latency_us', 60, 10
        its, = (row['earth'] for row in golden.EARTH['squares'] if (
            row['set'], row['runs'], row['degree']) == (name, runs, 2))
        ours = earth_cases.serifos_squares(
            name, golden.CUBIST['sets'][name], runs, 2, parts)
        self.assertLess(np.mean(np.log(np.divide(ours, its[:parts]))),
                        2 * np.log(1.02))

    def test_a_single_wild_run_bends_nothing(self):
        x = np.linspace(1, 100, 60)[:, None]
        y = 90 + 2 * x[:, 0]
        y[-1] *= 30
        far = np.array([[200.0]])
        kept, bent = (
            _values(mars.splines_of(x, y, spans=spans), far)[0]
            for spans in (mars.Spans(), _EVERY))
        self.assertLess(10 * kept, bent)


@ddt.ddt
class LrmTest(testtools.TestCase):

    def test_the_coefficients_are_those_of_r(self):
        products, coefficients = lrm.interactions(*_matrix('trees'))
        found = {tuple(factor.input for factor in product): value
                 for product, value in zip(products, coefficients)}
        self.assertEqual(set(_LM_TREES), set(found))
        for columns, value in _LM_TREES.items():
            self.assertAlmostEqual(value, found[columns], places=7)

    @ddt.data(*_LM_OZONE)
    def test_three_columns_explain_what_they_do_in_r(self, third):
        columns, y = _data('ozone1')
        x = np.column_stack([
            columns['temp'], columns['ibh'],
            columns.get(third, 2 * columns['temp'])])
        products, coefficients = lrm.interactions(x, y)
        found = sum(value * splines.values(product, x)
                    for product, value in zip(products, coefficients))
        self.assertAlmostEqual(_LM_OZONE[third], _explained(y, found), 6)

    @ddt.data((80, 5), (60, 3), (20, 1))
    @ddt.unpack
    def test_few_runs_have_products_of_few_inputs(self, runs, most):
        x = np.random.default_rng(1).uniform(1, 2, (runs, 5))
        products, _ = lrm.interactions(x, x.sum(axis=1))
        self.assertEqual(most, max(map(len, products)))


def _values(found, x):
    return sum(value * splines.values(product, x)
               for product, value in zip(found.products, found.coefficients))


def _exhaustive(x, y, products, degree):
    """The least sum of squares that any pair at any run leaves."""
    before = [splines.values(one, x) for one in products]
    found = []
    for product, base in zip(products, before):
        used = {factor.input for factor in product}
        for column in set(range(x.shape[1])) - used:
            for knot in x[base > 0, column] if len(product) < degree else ():
                terms = np.column_stack([*before, *(
                    base * splines.Factor(column, side, knot).of_many(
                        x[:, column])
                    for side in (splines.ABOVE, splines.BELOW))])
                length = np.sqrt((terms ** 2).sum(axis=0))
                terms = terms / np.where(length, length, 1)
                left = y - terms @ np.linalg.lstsq(terms, y, 1e-9)[0]
                found.append(left @ left)
    return min(found)


@ddt.ddt
class PredictorTest(testtools.TestCase):

    @ddt.data(*kinds_with_settings)
    @ddt.unpack
    def test_numpy_and_the_standard_library_agree(self, kind, given_):
        predictor = kinds.predictor(
            kind, _parameters(kind, tuple(given_.items())))

        @given(strategies.lists(samples.workloads(), max_size=12))
        @settings(max_examples=40, deadline=None)
        def check(run):
            load = samples.load(run)
            one = predictor.predict(load)
            many, = predictor.many(np.array([load.vector]))
            self.assertTrue(0 <= one < np.inf)
            self.assertLessEqual(abs(one - many), 1e-9 * max(1, one))
            self.assertEqual(0, one * (not run))
        check()

    @ddt.data(*kinds_with_settings)
    @ddt.unpack
    def test_a_file_predicts_what_the_fit_did(self, kind, given_):
        parameters = _parameters(kind, tuple(given_.items()))
        again = json.loads(json.dumps(parameters, allow_nan=False))
        self.assertEqual(parameters, again)
        self.assertEqual(kinds.predictor(kind, parameters),
                         kinds.predictor(kind, again))

    def test_each_row_is_predicted_alike_in_any_company(self):
        predictor = kinds.predictor('mars', _parameters('mars'))
        rows = np.array([samples.load(run).vector for run in _RUNS])
        alone = [predictor.many(row[None])[0] for row in rows]
        self.assertEqual(alone, predictor.many(rows).tolist())

    def test_a_person_can_read_the_terms(self):
        predictor = splines.from_parameters('mars', {'terms': [
            {'coefficient': 113.4, 'factors': []},
            {'coefficient': 3.2, 'factors': [
                {'input': 'block_kib', 'above': 16},
                {'input': 'count', 'below': 4}]}]})
        self.assertEqual(
            [('term 1', '113.4'),
             ('term 2', '3.2 max(0, block_kib - 16) max(0, 4 - count)')],
            predictor.lines())
        self.assertEqual(1, predictor.terms)
        run = [Workload(0, 20)] * 3
        self.assertAlmostEqual(113.4 + 3.2 * 4 * 1,
                               predictor.predict(samples.load(run)))

    @ddt.data(*kinds_with_settings)
    @ddt.unpack
    def test_every_term_is_shown(self, kind, given_):
        predictor = kinds.predictor(
            kind, _parameters(kind, tuple(given_.items())))
        self.assertEqual(1 + predictor.terms, len(dict(predictor.lines())))

    def test_lrm_reads_as_products(self):
        lines = kinds.predictor('lrm', _parameters('lrm')).lines()
        self.assertTrue(any(formula.endswith(' count block_kib')
                            for _, formula in lines))

    @ddt.data(
        ({}, 'list of terms'), ({'terms': []}, 'list of terms'),
        ({'terms': {}}, 'list of terms'), ({'terms': [3]}, 'Term 1'),
        ({'terms': [{'coefficient': 1}]}, 'Term 1'),
        ({'terms': [{'coefficient': '1', 'factors': []}]}, 'Term 1'),
        ({'terms': [{'coefficient': True, 'factors': []}]}, 'Term 1'),
        ({'terms': [{'coefficient': float('nan'), 'factors': []}]}, 'Term 1'),
        ({'terms': [{'coefficient': 1e200, 'factors': []}]}, 'Term 1'),
        ({'terms': [{'coefficient': 1, 'factors': 7}]}, 'Term 1'))
    @ddt.unpack
    def test_bad_files_are_refused(self, parameters, word):
        for kind in splines.HINGES:
            self._refused(kind, parameters, word)

    @ddt.data(None, [], 'count', {}, {'input': 'wind', 'above': 1},
              {'input': ['count'], 'above': 1}, {'above': 1},
              {'input': 'count', 'beside': 1}, {'input': 'wind'},
              {'input': 'count', 'above': None},
              {'input': 'count', 'above': 1, 'below': 2},
              {'input': 'count', 'above': float('inf')})
    def test_bad_hinges_are_refused(self, factor):
        self._refused('mars', {'terms': [
            {'coefficient': 1, 'factors': [factor]}]}, 'not a hinge of')

    def test_lrm_has_no_hinges_and_no_squares(self):
        self._refused('lrm', {'terms': [{'coefficient': 1, 'factors': [
            {'input': 'count', 'above': 1}]}]}, 'not an input')
        self._refused('lrm', {'terms': [{'coefficient': 1, 'factors': [
            {'input': 'count'}] * 2}]}, 'twice')

    def _refused(self, kind, parameters, word):
        before = copy.deepcopy(parameters)
        error = self.assertRaises(
            errors.FormatError, kinds.predictor, kind, parameters)
        self.assertIn(word, str(error))
        self.assertEqual(1, str(error).count('.'))
        self.assertEqual(repr(before), repr(parameters))


@ddt.ddt
class FitTest(testtools.TestCase):

    @ddt.data(*kinds_with_settings)
    @ddt.unpack
    def test_degenerate_runs(self, kind, given_):
        one = Workload(30, 16)
        line = [[Workload(10 * i, 4 * i, i + 1)] for i in range(1, 9)]
        for runs in ([[one]] * 6, [[one] * n for n in range(1, 7)],
                     _RUNS[:6], _RUNS[:6] * 3, line, [*_RUNS[:1]]):
            loads = [samples.load(run) for run in runs]
            for y in (np.full(len(runs), 7.0), np.arange(1.0, len(runs) + 1),
                      np.arange(1.0, len(runs) + 1) ** 2 * 1e6):
                with warnings.catch_warnings():
                    warnings.simplefilter('error')
                    predictor = kinds.predictor(kind, kinds.of(kind).fit(
                        loads, y, given_))
                    found = predictor.many(np.array([x.vector for x in loads]))
                self.assertTrue(np.isfinite(found).all())
                if len(set(y)) == 1:
                    self.assertTrue(np.allclose(y, found))

    @ddt.data('lrm', 'mars')
    def test_every_figure_is_fitted(self, kind):
        dataset = Dataset(samples.HEADER, tuple(
            _measured(run) for run in _RUNS))
        load = dataset.samples[0].workloads
        for i, predicts in enumerate(FIGURES):
            model = fit.fit(dataset, kind, predicts=predicts)
            self.assertEqual((kind, predicts), (model.kind, model.predicts))
            self.assertLess(model.quality['mre_of_fit'], 0.25)
            measured = _measured(load).latency_us * 10 ** i
            self.assertLess(abs(model.predict(model.load(load)) / measured
                                - 1), 0.25)

    def test_inputs_that_never_change_are_left_out(self):
        loads = [samples.load([Workload(50, 4 * n)]) for n in range(1, 30)]
        y = np.array([90 + 2 * load.sum_block_kib for load in loads])
        for kind in ('lrm', 'mars'):
            predictor = kinds.predictor(kind, kinds.of(kind).fit(loads, y, {}))
            self.assertTrue(all('block_kib' in formula
                                for _, formula in predictor.lines()[1:]))
            self.assertAlmostEqual(
                90 + 2 * 33, predictor.predict(
                    samples.load([Workload(50, 33)])), places=6)

    @ddt.data({'nnodes': 2}, {'threshold': 1}, {'nprune': 1},
              {'degree': 3}, {'degree': 1.5}, {'minsplit': 4},
              {'nnodes': float('nan')})
    def test_absurd_settings_are_refused(self, given_):
        self.assertRaises(errors.InputError, kinds.of('mars').fit,
                          [], np.zeros(0), given_)

    def test_inputs_have_the_names_that_files_use(self):
        for term in _parameters('mars')['terms']:
            for factor in term['factors']:
                self.assertIn(factor['input'], inputs.INPUTS)


def _measured(run):
    """Each figure is ten times the one before it."""
    latency = 90 + 2 * samples.load(run).sum_block_kib
    seen = {name: latency * 10 ** i for i, name in enumerate(FIGURES)}
    return Sample(tuple(run), latency, latency * 10,
                  seen=(seen,) * len(run))
