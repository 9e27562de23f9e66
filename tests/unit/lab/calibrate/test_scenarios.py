# SPDX-License-Identifier: Apache-2.0

import dataclasses

import ddt
import numpy as np
from scipy import stats
import testtools

from serifos.design import d_optimal
from serifos import errors
from serifos.facts.workload import Workload
from serifos.lab.calibrate import calibrate
from serifos.lab.calibrate import scenarios
from serifos.model.queueing import predict as queueing
from tests.unit import samples

_RUNS = d_optimal.runs(40)
_GIVEN = {'stations': 2.0, 'alpha': 0.05}
TRUTH = {'stations': {
    'cache': {'random_read': {'us_per_client_kib': 3.0},
              'random_write': {'us_per_client_kib': 3.2}},
    'media': {'random_read': {'us': 170.0}, 'random_write': {'us': 60.0}}}}


def measured(runs=_RUNS, truth=TRUTH, size_gib=372.0, serial='S1',
             **facts):
    predictor = queueing.from_parameters('queueing', {
        **truth, 'file_set_gib': size_gib or 1.0})
    header = dataclasses.replace(samples.HEADER, device={
        **samples.HEADER.device, 'size_gib': size_gib, 'serial': serial},
        **facts)
    return samples.dataset(
        runs, lambda run: predictor.predict(samples.load(run)), header)


@ddt.ddt
class RunsTest(testtools.TestCase):

    def test_sizes_of_file_sets_enter_logarithmically(self):
        truth = {'stations': {'cache': {'sequential_write': {
            'us_per_client_kib': 0.5, 'us_ln_gib': 30.0, 'us': 20.0}}}}
        runs = [[Workload(100, kib, q, 0)] for kib in (4, 16, 64)
                for q in (1, 8, 32)]
        sets = [measured(runs, truth, gib) for gib in (5, 40, 160)]
        found = calibrate.runs(sets)
        model = calibrate.model(found, sets[0].header, 'm', 'latency_us',
                                {**_GIVEN, 'stations': 1.0})
        self.assertEqual(160, model.parameters['file_set_gib'])
        self.assertLess(model.quality['mre'], 1e-6)
        for sample in sets[2].samples:
            self.assertAlmostEqual(
                1, model.predict(model.load(sample.workloads))
                / sample.latency_us, places=5)

    @ddt.data(
        (lambda: [measured(), measured(host='node2')], 'two machines'),
        (lambda: [measured(), measured(serial='S2')], 'serial S1 and S2'),
        (lambda: [measured(), measured(size_gib=None)], 'no size_gib'),
        (lambda: [measured(_RUNS[:3])], 'at least 6'))
    @ddt.unpack
    def test_what_is_not_one_device_is_refused(self, datasets, words):
        exc = self.assertRaises(
            errors.InputError, lambda: calibrate.runs(datasets()))
        self.assertIn(words, str(exc))


class ScenariosTest(testtools.TestCase):

    def test_a_network_is_right_beyond_what_it_was_calibrated_on(self):
        data = calibrate.runs([measured()])
        rows = scenarios.scenarios(data, _GIVEN)
        self.assertEqual(
            ['calibration', 'interpolation', 'extrapolation clients',
             'extrapolation 2 x volumes', 'extrapolation 3 x volumes'],
            [row.name for row in rows])
        for row in rows:
            self.assertEqual({'random_read', 'random_write'}, set(row.mre))
        self.assertEqual(
            [40, 40, *(sum(least < n <= most for n in data.data.counts)
                       for least, most in ((3, 6), (6, 10)))],
            [row.runs for row in (*rows[:2], *rows[3:])])
        # 13 runs of few volumes are too few for two stations, 26 are not.
        self.assertLess(max(row.mean for row in rows[:3]), 0.01)
        self.assertLess(max(row.mean for row in rows[3:]), 0.1)

    def test_single_workloads_say_nothing_of_volumes(self):
        runs = [[Workload(w, kib, q)] for w in (0, 100)
                for kib in (4, 16, 64) for q in (1, 8, 32)]
        names = [row.name for row in scenarios.scenarios(
            calibrate.runs([measured(runs)]), _GIVEN)]
        self.assertNotIn('extrapolation 2 x volumes', names)
        self.assertIn('extrapolation clients', names)

    def test_exponential_work_in_order_is_the_product_form(self):
        data = calibrate.runs([measured()])
        row = scenarios.in_order(data, TRUTH, {'read': 1.0, 'write': 1.0})
        self.assertLess(row.mean, 1e-9)
        self.assertIn('product form 0.0 %', row.reach)

    def test_gamma_work_in_order_is_simulated_and_the_same_again(self):
        data = calibrate.runs([measured(_RUNS[:8])])
        row, again = (scenarios.in_order(data, TRUTH, {'read': 8.0}, seed=3)
                      for _ in range(2))
        self.assertEqual(row, again)
        self.assertLess(row.mean, 0.3)


class ShapesTest(testtools.TestCase):

    def test_the_thinnest_runs_tell_the_shape(self):
        def sample(shape, iodepth):
            return dataclasses.replace(
                measured([[Workload(0, 4, iodepth)]]).samples[0], seen=({
                    'read_latency_us': 100.0,
                    'read_p99_us': 100 * stats.gamma.ppf(.99, shape) / shape,
                },))
        found = scenarios.shapes([sample(4.0, 1), sample(0.5, 8)])
        self.assertEqual({'read'}, set(found))
        self.assertAlmostEqual(4.0, found['read'], places=4)

    def test_a_constant_and_a_wild_time_have_a_shape_too(self):
        for p99, end in ((100.0, 1e3), (1e6, 0.2)):
            sample = dataclasses.replace(
                measured([[Workload(0, 4, 1)]]).samples[0],
                seen=({'read_latency_us': 100.0, 'read_p99_us': p99},))
            self.assertEqual({'read': end}, scenarios.shapes([sample]))

    def test_without_percentiles_there_is_none(self):
        self.assertEqual({}, scenarios.shapes(measured(_RUNS[:6]).samples))


@ddt.ddt
class GroupsTest(testtools.TestCase):

    @ddt.data(
        ([8, 4, 8, 16], [[1], [0, 2], [3]]),
        ([5], [[0]]),
        ([*range(10)], [[0, 1], [2, 3], [4, 5], [6, 7], [8, 9]]),
        # Runs of one value stay together, and no group is empty.
        ([1, 2, 3, *[4] * 20, 5, 6], [[*range(23)], [23, 24]]))
    @ddt.unpack
    def test_each_run_is_in_one_group(self, x, expected):
        self.assertEqual(expected, [its.tolist() for its in scenarios.groups(
            np.array(x, float))])


class RowsTest(testtools.TestCase):

    def test_the_group_that_is_off_is_the_one_that_says_so(self):
        truth = queueing.from_parameters('queueing', TRUTH)
        runs = [[Workload(w, kib, q), Workload(w, kib, q)]
                for w in (0, 100) for kib in (4, 16, 64) for q in (1, 8, 32)]
        data = calibrate.runs([samples.dataset(runs, lambda run: (
            truth.predict(samples.load(run))
            / (2 if run[0].block_kib == 16 else 1)))])
        rows = scenarios.grouped(data, TRUTH)
        self.assertEqual(
            [(scenarios.CLIENTS, reach, 6) for reach in ('2', '16', '64')]
            + [(scenarios.SIZES, reach, 6)
               for reach in ('4 KiB', '16 KiB', '64 KiB')],
            [(row.name, row.reach, row.runs) for row in rows])
        for row, error in zip(rows, [1 / 3] * 3 + [0.0, 1.0, 0.0]):
            self.assertEqual({'random_read', 'random_write'}, set(row.mre))
            for value in row.mre.values():
                self.assertAlmostEqual(error, value)

    def test_a_request_is_as_large_as_those_outstanding_in_the_mean(self):
        data = calibrate.runs([measured([
            [Workload(25, 4, 3 * n), Workload(50, 64, n)]
            for n in range(1, 7)])])
        np.testing.assert_allclose(data.request_kib, 19)

    def test_requests_of_one_size_are_one_group(self):
        data = calibrate.runs([measured([
            [Workload(30, 4, q)] for q in np.arange(1, 9) / 7])])
        self.assertEqual([4.0], np.unique(data.request_kib).tolist())
