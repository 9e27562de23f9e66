# SPDX-License-Identifier: Apache-2.0

import copy
import functools
import importlib.util
import json
import pathlib

import ddt
import fixtures
from hypothesis import given
from hypothesis import settings
from hypothesis import strategies
import numpy as np
import testtools

from serifos.design import d_optimal
from serifos import errors
from serifos.facts.workload import Workload
from serifos.lab.regression import cubist
from serifos.lab.regression import growth
from serifos.lab.regression import inputs
from serifos.model import kinds
from serifos.model.model import Model
from tests.unit.papers import cubist_cases
from tests.unit.papers import golden
from tests.unit import samples
from tests.unit import tree_rows

_RUNS = d_optimal.runs(60)
_X, _Y, _FRESH, _TRUTH = (
    np.array(golden.TREES[name]) for name in ('x', 'y', 'fresh', 'truth'))

_STORED = pathlib.Path(__file__).parents[3] / 'fuzz' / 'corpus' / 'model'

_PARTS = 4  # of a set, of those that Cubist foretold

_WITH_CUBIST = testtools.skipIf(
    importlib.util.find_spec('cubist') is None
    or importlib.util.find_spec('sklearn') is None,
    'pip install cubist scikit-learn')

_FITTED = [('cart', {}), ('cart', {'minsplit': 2, 'cp': 0}), ('m5', {}),
           ('cubist', {}), ('cubist', {'ntrees': 4, 'ninstances': 5})]


@functools.cache
def _parameters(kind, given):
    loads = [samples.load(run) for run in _RUNS]
    return kinds.of(kind).fit(
        loads, np.array([samples.cliff(run) for run in _RUNS]), dict(given))


def _predictor(kind, given):
    return kinds.predictor(kind, _parameters(kind, tuple(given.items())))


def _foretold(kind, fitted):
    return kinds.predictor(kind, fitted).on(_FRESH)


def _rmse(found):
    return np.sqrt(np.mean((np.asarray(found) - _TRUTH) ** 2))


@ddt.ddt
class TreeTest(testtools.TestCase):

    @ddt.data(*_FITTED)
    @ddt.unpack
    def test_numpy_and_the_standard_library_agree(self, kind, given_):
        predictor = _predictor(kind, given_)

        @settings(max_examples=30, deadline=None)
        @given(strategies.lists(samples.workloads(), max_size=20))
        def agree(run):
            load = samples.load(run)
            one, = predictor.many(np.array([load.vector]))
            self.assertLessEqual(abs(one - predictor.predict(load)),
                                 1e-9 * max(1, one))
            self.assertGreaterEqual(one, 0)
            self.assertEqual(one == 0, not run)
            self.assertLessEqual(one, 2 * max(map(samples.cliff, _RUNS)))
        agree()

    @ddt.data(*_FITTED)
    @ddt.unpack
    def test_equal_loads_are_equal_in_any_company(self, kind, given_):
        rows = np.array([samples.load(run).vector for run in _RUNS[:13]])
        predictor = _predictor(kind, given_)
        found = predictor.many(np.tile(rows, (60, 1))).reshape(60, 13)
        self.assertTrue(np.all(found == predictor.many(rows)))

    @ddt.data(*_FITTED)
    @ddt.unpack
    def test_a_file_holds_all_of_it(self, kind, given_):
        parameters = json.loads(json.dumps(
            _parameters(kind, tuple(given_.items()))))
        self.assertEqual(_predictor(kind, given_),
                         kinds.predictor(kind, parameters))

    @ddt.data('read_latency_us', 'write_p99_us', 'write_iops')
    def test_every_figure_may_be_predicted(self, predicts):
        # Throughput falls where latency rises: a trend of the other sign.
        y = np.array([1e7 / samples.cliff(run) if 'iops' in predicts
                      else samples.cliff(run) for run in _RUNS])
        loads = [samples.load(run) for run in _RUNS]
        rows = np.array([load.vector for load in loads])
        for kind, given_ in _FITTED[1:]:
            predictor = kinds.predictor(
                kind, kinds.of(kind).fit(loads, y, given_))
            left = y - predictor.many(rows)
            self.assertLess(np.sqrt(np.mean(left ** 2)), 0.7 * y.std())

    def test_rules_are_as_a_person_says_them(self):
        predictor = kinds.predictor('m5', {'within': [0, 9e9], 'trees': [[
            {'input': 'block_kib', 'at_most': 64, 'then': 1, 'else': 4},
            {'input': 'block_kib', 'at_most': 24, 'then': 2, 'else': 3},
            {'intercept': 1200.5},
            {'intercept': -10, 'count': 2.5, 'block_kib': -3},
            {'intercept': 7}]]})
        self.assertEqual(
            [('block_kib <= 24', '1200.5'),
             ('block_kib <= 64 and block_kib > 24',
              '-10 + 2.5 count - 3 block_kib'),
             ('block_kib > 64', '7')], predictor.lines())
        self.assertEqual(4, predictor.terms)

    def test_runs_all_alike_are_a_single_leaf(self):
        loads = [samples.load([Workload(50, 4)])] * 8
        for kind, given_ in _FITTED:
            predictor = kinds.predictor(kind, kinds.of(kind).fit(
                loads, np.full(8, 250.0), given_))
            self.assertAlmostEqual(250, predictor.predict(loads[0]))

    def test_m5_finds_a_line_that_is_one(self):
        loads = list(map(tree_rows.Seen, _X))
        predictor = kinds.predictor('m5', cubist.fit(loads, 5 + 3 * _X[:, 2]))
        self.assertEqual([('always', '5 + 3 block_kib')], predictor.lines())

    def test_leaves_are_mixed_with_the_lines_above(self):
        # Quinlan's (n f + k g) / (n + k), from the leaf up.
        lines = np.eye(3, 6)
        leaf, middle, other, above = (
            growth.Branch(np.arange(n), row=row)
            for n, row in ((10, lines[0]), (30, lines[1]), (20, lines[2]),
                           (20, lines[2])))
        root = growth.Branch(np.arange(50), row=lines[2], column=1,
                             at_most=7.0, sides=(middle, other))
        middle.sides, middle.at_most = (leaf, above), 3.0
        nodes = cubist.nodes(root, 15)
        f = (10 * lines[0] + 15 * lines[1]) / 25
        self.assertEqual({'input': 'write_pct', 'at_most': 7.0, 'then': 1,
                          'else': 4}, nodes[0])
        self.assertTrue(np.allclose(
            (30 * f + 15 * lines[2]) / 45,
            [nodes[2].get(name, 0) for name in inputs.ROW[:6]]))
        self.assertEqual({'intercept': 0.0, 'write_pct': 1.0}, nodes[4])

    @ddt.data(False, True)
    def test_folds_foretell_what_files_would(self, linear_splits):
        root = growth.grown(_X, _Y, 100, linear_splits)
        smoothings = (0.0, 15.0, 500.0)
        found = cubist.foretold(root, smoothings, _FRESH)
        for k, says in zip(smoothings, found):
            file = {'trees': [cubist.nodes(root, k)],
                    'within': [0.0, 1e12]}
            self.assertTrue(np.allclose(
                _foretold('m5', file), np.maximum(says, 0), 1e-12))
        self.assertGreater(abs(found[0] - found[2]).max(), 1)

    def test_folds_of_a_tree_without_splits_foretell_alike(self):
        # Equal to the last bit: else rounding would choose.
        root = growth.grown(_X, 5 + 3 * _X[:, 2], 100)
        found = cubist.foretold(root, (0.0, 15.0, 500.0), _FRESH)
        self.assertEqual((), root.sides)
        self.assertTrue((found == found[0]).all())

    def test_a_line_is_that_of_leaving_one_input_out_after_another(self):
        def cost(x, y, columns):
            rows = np.column_stack([np.ones(len(y)), x[:, columns]])
            left = y - rows @ np.linalg.lstsq(rows, y, rcond=None)[0]
            n, p = rows.shape
            return abs(left).mean() * (n + p) / (n - p)
        for seed in range(20):
            rng = np.random.default_rng(seed)
            runs = rng.permutation(len(_Y))[:rng.integers(8, 60)]
            x, y = _X[runs], _Y[runs] + rng.normal(0, 3 * _Y.std(), len(runs))
            columns = list(range(5))
            while columns:
                fewer = min(([c for c in columns if c != gone]
                             for gone in columns),
                            key=lambda its: cost(x, y, its))
                if cost(x, y, fewer) > cost(x, y, columns):
                    break
                columns = fewer
            found, row = growth.linear(x, y)
            self.assertEqual(columns, np.flatnonzero(row[1:]).tolist())
            self.assertAlmostEqual(1, found / cost(x, y, columns), 6)

    @ddt.data(('m5', 0), ('m5', 2), ('cubist', 0), ('cubist', 2))
    @ddt.unpack
    def test_what_is_chosen_foretells_as_well_as_what_is_given(
            self, kind, noise):
        y = _Y + np.random.default_rng(1).normal(
            0, noise * _Y.std(), len(_Y)).clip(-_Y)
        chosen, papers, smooth = (
            _rmse(_foretold(kind, kinds.of(kind).fit(
                list(map(tree_rows.Seen, _X)), y, given)))
            for given in ({}, {'smoothing': 0, 'linear_splits': 0},
                          {'smoothing': 500}))
        self.assertLess(chosen, 1.05 * min(papers, smooth))
        self.assertLess(1.3 * chosen, max(papers, smooth))

    def test_a_wild_run_does_not_choose_lines(self):
        # The squares of its fold fall with lines, those of others rise.
        y = _Y.copy()
        y[240] *= 10
        loads = list(map(tree_rows.Seen, _X))
        chosen, deviation, lines = (
            cubist.fit(loads, y, smoothing=0, **by) for by in (
                {}, {'linear_splits': 0}, {'linear_splits': 1}))
        self.assertEqual(deviation, chosen)
        self.assertLess(*(_rmse(_foretold('m5', one))
                          for one in (deviation, lines)))

    def test_what_is_given_is_taken(self):
        loads = list(map(tree_rows.Seen, _X))
        found = [cubist.fit(loads, _Y, 100, 1, 0, smoothing, linear)
                 for smoothing in (0, 15) for linear in (0, 1)]
        for number, one in enumerate(found):
            self.assertNotIn(one, found[:number])

    def test_a_search_chooses_once(self):
        grown = []

        def counted(*args, real=growth.grown):
            grown.append(args)
            return real(*args)
        self.useFixture(fixtures.MonkeyPatch(
            'serifos.lab.regression.growth.grown', counted))
        loads = list(map(tree_rows.Seen, _X + 1))  # not chosen for before
        for ninstances in range(4):
            for nsplits in (100, 400):  # more than 300 runs can have
                cubist.fit(loads, _Y, nsplits, 1, ninstances)
        self.assertEqual(2 * 5 + 8, len(grown))

    def test_a_file_of_an_earlier_version_predicts_as_it_did(self):
        stored = _STORED / 'm5.json'  # leaves unsmoothed, one setting
        model = Model.from_json(json.loads(stored.read_text()))
        self.assertEqual({'nsplits': 100}, model.settings)
        load = samples.load([Workload(50, 16, 2)])
        self.assertAlmostEqual(127.07 + 16 * 4.48312, model.predict(load))

    def test_nsplits_bounds_the_splits(self):
        for most in (2, 5):
            nodes, = cubist.fit(
                list(map(tree_rows.Seen, _X)), _Y, most)['trees']
            self.assertLessEqual(sum('input' in n for n in nodes), most)


@ddt.ddt
class OracleTest(testtools.TestCase):
    """What others' programs foretell: see ``papers/*_cases.py``."""

    @ddt.data(*golden.TREES['cart'])
    @ddt.unpack
    def test_cart_is_rpart(self, minsplit, cp, says):
        found = _foretold('cart', growth.fit_means(
            list(map(tree_rows.Seen, _X)), _Y, minsplit, cp))
        if minsplit > 2:
            self.assertTrue(np.allclose(found, says, rtol=1e-9))
        else:  # leaves of one run, whose neighbour any input tells apart
            self.assertAlmostEqual(1, _rmse(found) / _rmse(says), delta=0.1)

    @ddt.data(('diabetes', 'alone', 1, 1.05), ('friedman1', 'alone', 1, 0.85),
              ('friedman2', 'alone', 1, 0.45), ('boston', 'alone', 1, 0.9),
              ('cpus', 'alone', 1, 0.75), ('ozone1', 'alone', 1, 1.05),
              ('ssd iops', 'alone', 1, 1.05, 30),
              ('ssd latency_us', 'alone', 1, 1.05, 10),
              ('friedman1', 'committee', 20, 1.0))
    @ddt.unpack
    def test_trees_are_as_good_as_cubist(self, name, key, ntrees, most,
                                         parts=_PARTS):
        case = golden.CUBIST['sets'][name]
        squares = cubist_cases.squares(
            name, case, cubist_cases.serifos_of('cubist', ntrees=ntrees),
            parts)
        self.assertLess(np.sqrt(sum(squares) / sum(case[key][:parts])), most)

    @_WITH_CUBIST
    def test_cubist_is_still_as_good(self):
        for name, case in golden.CUBIST['sets'].items():
            for key, says in cubist_cases.recomputed(name, case, 3).items():
                self.assertTrue(np.allclose(case[key][:3], says))


@ddt.ddt
class RefusalTest(testtools.TestCase):

    @ddt.data(
        (('trees',), [], 'no list of trees'),
        (('trees',), None, 'no list of trees'),
        (('trees',), [[]], 'no list of trees'),
        (('within',), [-1, 5], 'no two ends'),
        (('within',), [0, float('nan')], 'no two ends'),
        (('trees', 0, 0), {'intercept': True}, 'Node 0 of tree 1'),
        (('trees', 0, 0), {'intercept': 1, 'size': 1}, 'Node 0 of tree 1'),
        (('trees', 0, 0, 'then'), 0, 'Node 0 of tree 1'),
        (('trees', 0, 0, 'else'), 9999, 'Node 0 of tree 1'),
        (('trees', 0, 0, 'input'), 'cpu', 'Node 0 of tree 1'),
        (('trees', 0, 0, 'input'), [1], 'Node 0 of tree 1'),
        (('trees', 0, 0, 'at_most'), 10 ** 400, 'Node 0 of tree 1'),
        (('neighbours',), [], 'in the neighbours'),
        (('neighbours', 'nearest'), 0, 'in the neighbours'),
        (('neighbours', 'furthest'), None, 'in the neighbours'),
        (('neighbours', 'furthest'), -1, 'in the neighbours'),
        (('neighbours', 'units', 1), 0, 'in the neighbours'),
        (('neighbours', 'between'), None, 'in the neighbours'),
        (('neighbours', 'between'), [5, 1], 'in the neighbours'),
        (('neighbours', 'runs', 0), [1], 'in the neighbours'))
    @ddt.unpack
    def test_a_file_that_says_nonsense_is_refused(self, path, value, why):
        doc = copy.deepcopy(_parameters('cubist', (('ninstances', 3),)))
        functools.reduce(lambda d, key: d[key], path[:-1], doc)[
            path[-1]] = value
        exc = self.assertRaises(errors.FormatError, kinds.predictor,
                                'cubist', doc)
        self.assertIn(why, str(exc))

    def test_a_bomb_is_refused_and_a_deep_tree_is_none(self):
        bomb = []
        for _ in range(100_000):
            bomb = [bomb]
        for parameters in ({'trees': bomb, 'within': [0, 1]},
                           {'trees': [bomb], 'within': [0, 1]}):
            self.assertRaises(errors.FormatError, kinds.predictor, 'm5',
                              parameters)
        deep = [{'input': 'count', 'at_most': 0.5, 'then': i + 1,
                 'else': i + 1} for i in range(5000)]
        predictor = kinds.predictor('m5', {'within': [0, 9], 'trees': [
            [*deep, {inputs.INTERCEPT: 3}]]})
        load = samples.load([Workload(50, 4)])
        self.assertEqual(3, predictor.predict(load))
        self.assertEqual([3], predictor.many(np.array([load.vector])).tolist())
