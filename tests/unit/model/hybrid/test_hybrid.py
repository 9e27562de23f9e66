# SPDX-License-Identifier: Apache-2.0

import copy
import dataclasses
import functools
import json

import ddt
from hypothesis import given
from hypothesis import settings
from hypothesis import strategies as st
import numpy as np
import testtools

from serifos.design import d_optimal
from serifos.design import random_tests
from serifos import errors
from serifos.facts import dataset as ds
from serifos.facts import workload as wl
from serifos.lab.sim import device as dev
from serifos.lab.sim import devices
from serifos.model import fit
from serifos.model import fit_runs
from serifos.model.hybrid import fit as hybrid_fit
from serifos.model import kinds
from serifos.model import quality
from tests.unit import samples

_RUNS = d_optimal.runs(60)

light = samples.workloads(wl.ACTIVE_FLOOR)


def _dies(run):
    """A bus behind 32 dies, and noise that the run alone decides."""
    load = samples.load(run)
    rng = np.random.default_rng([int(10 * v) for v in load.vector])
    service = 120 + 4 * load.sum_q_r + 2 * load.sum_q_w
    transfer = 2.0 * load.sum_q_s_r + 2.5 * load.sum_q_s_w
    return np.hypot(service, transfer) * rng.lognormal(0, 0.03)


@functools.cache
def _parameters(truth, **settings):
    loads = [samples.load(run) for run in _RUNS]
    return hybrid_fit.fit(
        loads, np.array([truth(run) for run in _RUNS], float), **settings)


def _predictor(truth, **settings):
    return kinds.predictor('hybrid', _parameters(truth, **settings))


def _rows(*runs):
    return np.array([samples.load(run).vector for run in runs])


@ddt.ddt
class HybridTest(testtools.TestCase):

    @ddt.data(samples.cliff, _dies)
    def test_numpy_and_the_standard_library_agree(self, truth):
        predictor = _predictor(truth)

        @given(st.lists(light, max_size=20))
        def agree(run):
            one, = predictor.many(_rows(run))
            expected = predictor.predict(samples.load(run))
            self.assertLessEqual(abs(one - expected), 1e-9 * max(1, expected))
            self.assertAlmostEqual(predictor.log_std(samples.load(run)),
                                   predictor.log_std_many(_rows(run))[0], 9)
        agree()

    @ddt.data(samples.cliff, _dies)
    def test_another_workload_never_lowers_a_prediction(self, truth):
        predictor = _predictor(truth)

        @settings(max_examples=100, deadline=None)
        @given(st.lists(samples.workloads(), min_size=1, max_size=19), light)
        def rises(run, more):
            before, after = predictor.many(_rows(run, [*run, more]))
            self.assertLessEqual(before, after)
        rises()

    @ddt.data(0.1, 0.3)
    def test_a_request_finds_itself_outstanding(self, q):
        predictor = _predictor(_dies)
        run = [wl.Workload(30, 16, 1), wl.Workload(60, 64, 1)]
        seldom = [dataclasses.replace(w, iodepth=q / 2) for w in run]
        half = [dataclasses.replace(w, iodepth=0.5) for w in run]
        self.assertAlmostEqual(1, predictor.predict(samples.load(seldom))
                               / predictor.predict(samples.load(half)), 5)
        self.assertLess(predictor.predict(samples.load(half)),
                        predictor.predict(samples.load(run)))

    def test_no_prediction_is_wild(self):
        predictor = _predictor(samples.cliff)
        corners = [[wl.Workload(w, s, q, x)] * n for w in (0, 100)
                   for s in (4, 1024) for q in (1, 64) for x in (0, 100)
                   for n in (1, 20)]
        expected = np.array([samples.cliff(run) for run in corners])
        ratio = predictor.many(_rows(*corners)) / expected
        self.assertTrue(np.all((ratio > 0.1) & (ratio < 10)), ratio)

    def test_equal_loads_are_equal_in_any_company(self):
        predictor = _predictor(samples.cliff)
        rows = np.tile(_rows(*_RUNS[:13]), (700, 1))
        found = predictor.many(rows).reshape(700, 13)
        self.assertTrue(np.all(found == found[0]))
        self.assertTrue(np.all(predictor.many(rows[5:19]) == np.r_[
            found[0, 5:], found[0, :6]]))
        wide = np.column_stack([rows, rows])  # as a fleet hands them
        self.assertTrue(np.all(predictor.many(wide)[:13] == found[0]))

    def test_nothing_active_is_a_latency_of_nothing(self):
        predictor = _predictor(_dies)
        self.assertEqual(0, predictor.predict(wl.Load()))
        self.assertEqual([0], predictor.many(_rows([])).tolist())

    def test_it_is_surest_where_it_was_measured(self):
        predictor = _predictor(_dies)
        measured = predictor.log_std_many(_rows(*_RUNS))
        strange = predictor.log_std_many(_rows(
            [wl.Workload(100, 512, 64, 0)], [wl.Workload(0, 1024, 1, 0)]))
        self.assertLess(measured.mean(), 0.1)
        self.assertGreaterEqual(strange.min(), np.median(measured))

    def test_a_file_holds_all_of_it(self):
        parameters = json.loads(json.dumps(_parameters(_dies)))
        self.assertEqual(_predictor(_dies),
                         kinds.predictor('hybrid', parameters))

    @ddt.data(
        (('trend', 'read_us'), None, 'read_us of a hybrid model is not a n'),
        (('trend', 'read_us'), -1, 'has a negative coefficient'),
        (('trend', 'read_us'), float('nan'), 'is not a number'),
        (('trend', 'else'), 1, 'must name floor_us, '),
        (('residual', 'lengths', 'log_us'), 0, 'must be 1e-06 or more'),
        (('residual', 'points'), [[1, 2]], 'must be rows of 7 numbers'),
        (('residual', 'weights'), [1], 'must be rows of'),
        (('residual',), None, 'residual of a hybrid model is missing'),
        (('trend',), [], 'must name floor_us, '))
    @ddt.unpack
    def test_a_file_that_says_nonsense_is_refused(self, path, value, why):
        doc = copy.deepcopy(_parameters(_dies))
        where = functools.reduce(lambda d, name: d[name], path[:-1], doc)
        where[path[-1]] = value
        exc = self.assertRaises(errors.FormatError, kinds.predictor,
                                'hybrid', doc)
        self.assertIn(why, str(exc))

    @ddt.data((1, 'latency_us', 0.15), (5, 'read_p99_us', 0.2))
    @ddt.unpack
    def test_a_device_that_nobody_chose(self, number, figure, most):
        rng = np.random.default_rng([8, number])
        device = dev.SimulatedDevice(devices.drawn(rng), rng, 500)
        tests = [[dataclasses.replace(random_tests.drawn(rng), iodepth=float(
            rng.choice([1, 2, 4, 8, 16, 32]))) for _ in range(1 + i % 10)]
            for i in range(40)]
        dataset, unseen = (ds.Dataset(samples.HEADER, tuple(
            device.measure(run, 60) for run in runs))
            for runs in (d_optimal.runs(80), tests))
        model = fit.fit(dataset, 'hybrid', predicts=figure)
        data = fit_runs.runs(unseen.samples, figure)
        predicted = np.array([model.predict(load) for load in data.loads])
        self.assertLess(quality.mre(data.y, predicted), most)
        low, high = np.transpose([model.interval(load)
                                  for load in data.loads])
        covered = np.mean((low <= data.y) & (data.y <= high))
        self.assertGreater(covered, 0.75)

    def test_few_runs_alike_are_enough(self):
        runs = [[wl.Workload(50, 4, q)] for q in (1, 2, 4, 8, 16, 32)]
        model = fit.fit(samples.dataset(runs, _dies), 'hybrid')
        for run in runs:
            self.assertAlmostEqual(1, model.predict(model.load(run))
                                   / _dies(run), delta=0.2)
