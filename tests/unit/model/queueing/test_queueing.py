# SPDX-License-Identifier: Apache-2.0

import dataclasses
import json

import ddt
from hypothesis import given
from hypothesis import settings
from hypothesis import strategies
import numpy as np
import testtools

from serifos.design import d_optimal
from serifos import errors
from serifos.facts.workload import Workload
from serifos.model import fit
from serifos.model.model import Model
from serifos.model.queueing import cases
from serifos.model.queueing import fit as queueing_fit
from serifos.model.queueing import predict as queueing
from serifos.model.queueing import two_stations
from tests.unit import samples

_RUNS = d_optimal.runs(60)
_TWO = {
    'stations': {
        'cache': {'random_read': {'us_per_client_kib': 3.0},
                  'random_write': {'us_per_client_kib': 3.2}},
        'media': {'random_read': {'us_per_client': 2.0, 'us': 170.0},
                  'random_write': {'us_per_kib': 0.4, 'us': 60.0}}},
    'p1': {'random_read': 1.0, 'random_write': 1.0}}
_ONE = {
    'stations': {
        'cache': {'random_read': {'us_per_client_kib': 0.8, 'us': 90.0},
                  'random_write': {'us_per_client_kib': 1.5,
                                   'us_per_kib': 2.0, 'us_per_client': 4.0}},
        'media': {}},
    'p1': {'random_read': 0.0, 'random_write': 0.0}}

_FIGURE = strategies.floats(0, 500)
_TERMS = strategies.dictionaries(
    strategies.sampled_from([*cases.TERMS,
                             *(t + cases.LN for t in cases.TERMS),
                             *(t + cases.CACHED for t in cases.TERMS)]),
    _FIGURE)
_PARAMETERS = strategies.fixed_dictionaries({
    'stations': strategies.fixed_dictionaries({
        name: strategies.dictionaries(
            strategies.sampled_from(queueing.CLASSES), _TERMS)
        for name in queueing.STATIONS}),
    'p1': strategies.dictionaries(strategies.sampled_from(queueing.CLASSES),
                                  strategies.floats(0, 1)),
    'file_set_gib': strategies.floats(0.5, 1e4),
    'cached_gib': strategies.fixed_dictionaries(dict.fromkeys(
        queueing.CLASSES, strategies.floats(0.5, 1e4)))}).filter(
        lambda doc: any(any(row.values()) for of in doc['stations'].values()
                        for row in of.values()))
_WORKLOADS = samples.workloads()


def predictor(parameters):
    return queueing.from_parameters('queueing', parameters)


def truth(parameters):
    return lambda run: predictor(parameters).predict(samples.load(run))


class FormTest(testtools.TestCase):

    @settings(max_examples=30, deadline=None)
    @given(_PARAMETERS,
           strategies.lists(strategies.lists(_WORKLOADS, max_size=16),
                            min_size=1, max_size=5))
    def test_numpy_says_what_the_standard_library_says(self, doc, runs):
        ours = predictor(json.loads(json.dumps(doc)))
        loads = [samples.load(run) for run in runs]
        many = ours.many(np.array([load.vector for load in loads]))
        one = [ours.predict(load) for load in loads]
        self.assertTrue(np.all(np.isfinite(many)) and np.all(many >= 0))
        np.testing.assert_allclose(many, one, rtol=1e-9, atol=1e-9)
        for run, value in zip(runs, one):
            self.assertTrue(run or value == 0)

    @settings(max_examples=30, deadline=None)
    @given(_PARAMETERS, strategies.lists(_WORKLOADS, min_size=1, max_size=8),
           strategies.floats(1, 2), strategies.floats(1, 2))
    def test_more_of_the_same_and_larger_blocks_never_help(
            self, doc, run, deeper, larger):
        ours = predictor(doc)
        was = ours.predict(samples.load(run)) * (1 - 1e-6)
        for more in (
                [*run, *run],
                [Workload(w.write_pct, w.block_kib, w.iodepth * deeper,
                          w.random_pct) for w in run],
                [Workload(w.write_pct, w.block_kib * larger, w.iodepth,
                          w.random_pct) for w in run]):
            self.assertGreaterEqual(ours.predict(samples.load(more)), was)

    def test_equal_loads_are_equal_in_whatever_company(self):
        ours = predictor(_TWO)
        loads = np.array([samples.load(run).vector for run in _RUNS[:30]])
        self.assertEqual(list(ours.many(loads)),
                         [ours.many(load[None])[0] for load in loads])

    def test_it_is_the_network_of_the_mix(self):
        load = samples.load([Workload(25, 16, 4), Workload(25, 16, 8)])
        read, write = 0.75, 0.25
        self.assertAlmostEqual(two_stations.response_us(
            12, read * 3.0 * 16 + write * 3.2 * 16, 0, read * 2.0,
            read * 170 + write * (0.4 * 16 + 60)),
            predictor(_TWO).predict(load))

    def test_p1_is_the_part_that_needs_the_media(self):
        half = {**_TWO, 'p1': {'random_read': 0.5, 'random_write': 0.0}}
        alone = [[Workload(0, 4, 1)], [Workload(100, 4, 1)]]
        self.assertEqual([12 + 86, 12.8], [
            round(predictor(half).predict(samples.load(run)), 9)
            for run in alone])

    def test_an_unmeasured_class_has_the_times_of_the_nearest(self):
        random, sequential = (samples.load([Workload(30, 16, 8, x)])
                              for x in (100, 0))
        self.assertAlmostEqual(predictor(_TWO).predict(random),
                               predictor(_TWO).predict(sequential))

    def test_a_person_reads_times_and_what_the_fit_could_not_tell(self):
        lines = dict(predictor(_TWO).lines())
        self.assertEqual('cache and media', lines['stations'])
        self.assertEqual('2 t + 170', lines['media random_read'])
        self.assertIn('not tell', dict(predictor(_ONE).lines())['stations'])


@ddt.ddt
class FileTest(testtools.TestCase):

    @ddt.data(
        ({}, 'no stations'),
        ({'stations': {}}, 'no time at all'),
        ({'stations': {'disk': {}}}, 'no disk'),
        ({'stations': {'cache': {'trim': {}}}}, 'no trim'),
        ({'stations': {'cache': 5}}, 'no cache'),
        ({'stations': {'cache': {'random_read': {'ms': 1}}}}, 'no ms'),
        ({'stations': {'cache': {'random_read': {'us': -1}}}}, 'is -1'),
        ({'stations': {'cache': {'random_read': {'us': True}}}}, 'is True'),
        ({'stations': {'cache': {'random_read': {'us': 'a'}}}}, 'is a;'),
        ({'stations': {'cache': {'random_read': {'us': float('nan')}}}},
         'is nan'),
        ({**_TWO, 'p1': {'random_read': 2}}, 'from 0 to 1'),
        ({**_TWO, 'p1': [1]}, 'no p1'),
        ({**_TWO, 'file_set_gib': None}, 'file_set_gib'),
        ({**_TWO, 'cached_gib': [60]}, 'no cached_gib'),
        ({**_TWO, 'cached_gib': {'trim': 60}}, 'no trim'),
        ({**_TWO, 'cached_gib': {'random_read': -1}},
         'cached_gib of random_read of a queueing model is -1'),
        ({**_TWO, 'cached_gib': {'random_read': 'x'}}, 'is x;'),
        ({'stations': {'cache': {'random_read': {'us_cached': 5.0}}},
          'cached_gib': {'random_write': 5}}, 'times of random_read'))
    @ddt.unpack
    def test_a_bad_file_is_refused_by_a_sentence(self, parameters, words):
        exc = self.assertRaises(errors.FormatError, predictor, parameters)
        self.assertIn(words, str(exc))
        self.assertTrue(str(exc).endswith('.'))


@ddt.ddt
class FitTest(testtools.TestCase):

    def test_two_stations_are_told_apart_and_pruned(self):
        model = fit.fit(samples.dataset(_RUNS, truth(_TWO)), 'queueing')
        self.assertLess(model.quality['mre'], 1e-3)
        self.assertEqual({'random_read', 'random_write'},
                         set(model.quality['r2']))
        self.assertGreater(min(model.quality['r2'].values()), 0.9999)
        found = model.parameters['stations']
        self.assertEqual(
            {'random_read': {'us_per_client_kib'},
             'random_write': {'us_per_client_kib'}},
            {label: set(row) for label, row in found['cache'].items()})
        self.assertAlmostEqual(
            170, found['media']['random_read']['us'], delta=0.5)
        again = Model.from_json(json.loads(json.dumps(model.to_json())))
        load = model.load(_RUNS[0])
        self.assertEqual(model.predict(load), again.predict(load))

    def test_one_station_is_found_where_there_is_one(self):
        rng = np.random.default_rng(2)
        model = fit.fit(samples.dataset(
            _RUNS, lambda run: truth(_ONE)(run) * rng.lognormal(0, 0.02)),
            'queueing')
        self.assertEqual({}, model.parameters['stations']['media'])
        self.assertIn('not tell', dict(model.predictor.lines())['stations'])
        self.assertLess(model.quality['mre'], 0.03)

    def test_terms_that_noise_made_are_pruned(self):
        rng = np.random.default_rng(3)
        model = fit.fit(samples.dataset(
            _RUNS, lambda run: truth(_TWO)(run) * rng.lognormal(0, 0.03)),
            'queueing')
        self.assertLessEqual(model.predictor.terms, 9)
        self.assertLess(model.quality['mre'], 0.05)

    @settings(max_examples=6, deadline=None)
    @given(strategies.integers(0, 2 ** 32 - 1))
    def test_whatever_was_measured_the_form_is_sound(self, seed):
        rng = np.random.default_rng(seed)
        runs = [samples.load(run) for run in _RUNS[:24]]
        ours = predictor(queueing_fit.fit(runs, rng.lognormal(7, 2, 24)))
        found = ours.many(np.array([load.vector for load in runs]))
        self.assertTrue(np.all(np.isfinite(found)) and np.all(found >= 0))

    def test_what_one_share_of_writes_tells(self):
        # Nothing tells reads from writes then, and one of them may get all
        # the time: the model has to say what was fitted all the same.
        runs = d_optimal.runs(60, dataclasses.replace(
            d_optimal.WIDE, write_pcts=(30,)))
        for row in _TWO, _ONE:
            for stations in 1, 2:
                model = fit.fit(samples.dataset(runs, truth(row)), 'queueing',
                                settings={'stations': stations})
                self.assertLess(model.quality['mre'], 0.15)
                self.assertLess(model.quality['mre_of_fit'], 0.12)

    def test_six_runs_are_enough_for_one_station(self):
        model = fit.fit(samples.dataset(_RUNS[:6], truth(_ONE)), 'queueing')
        self.assertEqual({}, model.parameters['stations']['media'])


@ddt.ddt
class EquationTest(testtools.TestCase):
    """Eq. 1-3 of the paper, recovered from what they say exactly."""

    @ddt.data(
        ({'us_per_client_kib': 1.5, 'us_per_client': 20.0,
          'us_per_kib': 7.0, 'us': 300.0}, False),
        ({'us_per_client_kib': 1.5, 'us': 300.0}, False),
        ({'us_per_client_kib_ln_gib': 0.3, 'us_per_client_ln_gib': 5.0,
          'us_per_kib_ln_gib': 2.0, 'us_per_client_kib': 1.0,
          'us_per_client': 10.0, 'us_per_kib': 3.0, 'us_ln_gib': 30.0,
          'us': 100.0}, True),
        ({'us_per_client_kib': 1.0, 'us_per_client': 10.0,
          'us_per_kib': 3.0, 'us_ln_gib': 30.0, 'us': 100.0}, True))
    @ddt.unpack
    def test_coefficients_are_recovered_and_the_others_pruned(
            self, row, several):
        runs = [([Workload(0, kib, t, 0)], gib)
                for t in (10, 30, 50, 80, 100) for kib in (4, 8, 16, 32, 64)
                for gib in ((80, 100, 120, 160) if several else (1,))]
        loads = [samples.load(run) for run, _ in runs]
        gib = np.array([gib for _, gib in runs], float)
        y = np.array([predictor({
            'stations': {'cache': {'sequential_read': row}},
            'file_set_gib': each}).predict(load)
            for load, each in zip(loads, gib)])
        found = queueing_fit.calibrated(
            loads, y, gib if several else None, stations=1)
        self.assertEqual(160 if several else None,
                         found.get('file_set_gib'))
        station = found['stations']['cache']['sequential_read']
        self.assertEqual(set(row), set(station))
        for term, value in row.items():
            self.assertAlmostEqual(1, station[term] / value, places=5)

    def test_sizes_that_tell_of_some_classes_only(self):
        # Sizes below 1 GiB count as that, and a class may have no other.
        runs = [[Workload(w, kib, t, 100)] for w in (0, 100)
                for t in (1, 4, 16) for kib in (4, 16, 64)]
        loads = [samples.load(run) for run in runs] * 2
        for sizes in (0.25, 1.0), (0.5, 16.0):
            gib = np.repeat(sizes, len(runs))
            gib[[load.sum_q_w > 0 for load in loads]] = 1.0
            y = np.array([predictor(_ONE).predict(load) for load in loads])
            found = queueing_fit.calibrated(loads, y, gib)
            self.assertLess(np.abs(predictor(found).many(np.array(
                [load.vector for load in loads])) / y - 1).max(), 1e-3)


_CASES = {
    'stations': {'cache': {
        'random_read': {
            'us_per_client_cached': 6.0, 'us_cached': 80.0,
            'us_per_client': 40.0, 'us_ln_gib': 300.0},
        'random_write': {
            'us_per_client_cached': 9.0, 'us_per_client': 20.0,
            'us_per_client_kib_ln_gib': 0.4}}},
    'cached_gib': {'random_read': 40.0, 'random_write': 5.0}}
_SIZES = (2.5, 5, 20, 40, 80, 160)


@ddt.ddt
class FileSetThresholdTest(testtools.TestCase):
    """The cases s1 and s2 of the paper: 60 GB for reads, 5 GB for writes."""

    def fitted(self, parameters, sizes=_SIZES, noise=0.0, **settings):
        rng = np.random.default_rng(5)
        runs = [([Workload(w, kib, t, 100)], gib) for w in (0, 100)
                for t in (1, 8, 32) for kib in (4, 16, 64) for gib in sizes]
        loads = [samples.load(run) for run, _ in runs]
        gib = np.array([gib for _, gib in runs], float)
        y = np.array([
            predictor({**parameters, 'file_set_gib': size}).predict(load)
            for load, size in zip(loads, gib)])
        return queueing_fit.calibrated(
            loads, y * rng.lognormal(0, noise, len(y)), gib, **settings)

    def test_a_file_set_that_fits_has_times_of_its_own(self):
        load = samples.load([Workload(0, 4, 10)])
        for gib, expected in (
                (40, 6 * 10 + 80), (41, 40 * 10 + 300 * np.log(41))):
            self.assertAlmostEqual(expected, predictor(
                {**_CASES, 'file_set_gib': gib}).predict(load))

    @ddt.data(0.0, 0.03)
    def test_thresholds_are_found_in_the_data(self, noise):
        found = self.fitted(_CASES, noise=noise, stations=1)
        self.assertEqual(_CASES['cached_gib'], found['cached_gib'])
        self.assertEqual(160, found['file_set_gib'])
        if noise:
            return
        for label, row in _CASES['stations']['cache'].items():
            terms = found['stations']['cache'][label]
            self.assertEqual(set(row), set(terms))
            for term, value in row.items():
                self.assertAlmostEqual(1, terms[term] / value, places=4)

    def test_a_logarithm_without_a_step_has_no_threshold(self):
        slope = {'stations': {'cache': {
            'random_read': {'us_per_client': 20.0, 'us_ln_gib': 100.0},
            'random_write': {'us_per_client_kib': 1.0, 'us': 60.0}}}}
        for noise in 0.0, 0.03:
            self.assertNotIn('cached_gib', self.fitted(
                slope, noise=noise, stations=1))

    def test_two_sizes_tell_no_step_from_a_slope(self):
        self.assertNotIn('cached_gib', self.fitted(
            _CASES, sizes=(2.5, 160), stations=1))

    def test_a_person_reads_both_cases(self):
        lines = dict(predictor({**_CASES, 'file_set_gib': 160}).lines())
        self.assertEqual('6 t + 80',
                         lines['cache random_read, up to 40 GiB'])
        self.assertEqual('40 t + 1522.6',
                         lines['cache random_read, 160 GiB'])
