# SPDX-License-Identifier: Apache-2.0
"""Where times alone show a step by clients, and where p1 is known."""

import ddt
import numpy as np
import testtools

from serifos.facts.workload import Workload
from serifos.model.queueing import cases
from serifos.model.queueing import fit as queueing_fit
from tests.unit.model.queueing import test_cases
from tests.unit import samples

_CLIENTS = (1, 2, 4, 8, 12, 16, 20, 24, 30, 36, 44, 52, 64, 80, 100)
_LOADS = [test_cases.reads(q, kib) for q in _CLIENTS for kib in (4, 16, 64)]
_SHARE = cases.Share(0.9991, 0.4832, 30.0, 100.0)


def measured(parameters, noise=0.0):
    rng = np.random.default_rng(4)
    ours = test_cases.predictor(parameters)
    return np.array([ours.predict(load) for load in _LOADS]
                    ) * rng.lognormal(0, noise, len(_LOADS))


def worst(parameters, y):
    found = test_cases.predictor(parameters)
    return max(abs(found.predict(load) / one - 1)
               for load, one in zip(_LOADS, y))


@ddt.ddt
class StepTest(testtools.TestCase):

    @ddt.data(0.0, 0.03)
    def test_the_papers_step_is_found_in_the_times(self, noise):
        y = measured(test_cases.PAPER, noise)
        found = queueing_fit.calibrated(_LOADS, y)
        self.assertEqual({'random_read': 30}, found['few_clients'])
        self.assertLess(worst(found, measured(test_cases.PAPER)),
                        0.002 + 2 * noise)
        self.assertNotIn('p1_few', found)

    @ddt.data(
        ({'cache': {'random_read': {'us_per_client_kib': 0.4}},
          'media': {'random_read': {'us': 180.0}}}, 1),
        ({'cache': {'random_read': {'us_per_client': 4.0, 'us': 50.0}}}, 2))
    @ddt.unpack
    def test_a_slope_is_no_step(self, stations, seed):
        for noise in 0.0, 0.03:
            found = queueing_fit.calibrated(
                _LOADS, measured({'stations': stations}, noise))
            self.assertNotIn('few_clients', found)

    def test_work_that_falls_is_no_step(self):
        # More clients, and half of the work: a model that said so would have
        # a device better for more load.
        y = measured({'stations': {'cache': {'random_read': {
            'us_per_client': 10.0}}}})
        few = np.array([load.sum_iodepth <= 30 for load in _LOADS])
        found = queueing_fit.calibrated(_LOADS, np.where(few, y, y / 2))
        predict = test_cases.predictor(found).predict
        values = [predict(test_cases.reads(q)) for q in _CLIENTS]
        self.assertEqual(sorted(values), values)

    def test_a_known_share_tells_the_time_of_a_visit(self):
        y = measured({**test_cases.PAPER, 'p1': {'random_read': 0.4832},
                      'p1_few': {}, 'few_clients': {}})
        found = queueing_fit.calibrated(
            _LOADS, y, shares={'random_read': cases.Share(0.4832)})
        self.assertEqual({'random_read': 0.4832}, found['p1'])
        media = found['stations']['media']['random_read']
        self.assertAlmostEqual(180, media['us'], delta=1)
        self.assertAlmostEqual(12, media['us_per_client'], delta=0.1)

    def test_known_shares_by_clients_tell_it_too(self):
        found = queueing_fit.calibrated(
            _LOADS, measured(test_cases.PAPER),
            shares={'random_read': _SHARE})
        for name in 'p1', 'p1_few', 'few_clients':
            self.assertEqual({'random_read': test_cases.PAPER[name][
                'random_read']}, found[name])
        media = found['stations']['media']['random_read']
        self.assertEqual({'us', 'us_per_client'}, set(media))
        self.assertAlmostEqual(180, media['us'], delta=1)
        self.assertLess(worst(found, measured(test_cases.PAPER)), 0.002)

    def test_a_share_seen_of_few_clients_alone_is_theirs(self):
        found = queueing_fit.calibrated(
            _LOADS, measured(test_cases.PAPER), shares={
                'random_read': cases.Share(0.4832, most=30.0)})
        self.assertEqual(({'random_read': 1.0}, {'random_read': 0.4832}),
                         (found['p1'], found['p1_few']))
        media = found['stations']['media']['random_read']
        self.assertAlmostEqual(180, media['us_few'], delta=2)
        self.assertAlmostEqual(180 * 0.9991, media['us'], delta=2)

    def test_too_few_runs_tell_of_no_step(self):
        few = slice(2 * queueing_fit.LEAST - 1)
        self.assertNotIn('few_clients', queueing_fit.calibrated(
            _LOADS[few], measured(test_cases.PAPER)[few]))

    def test_classes_step_where_they_do(self):
        loads = [*_LOADS, *(samples.load(
            [Workload(100, kib, q)]) for q in _CLIENTS
            for kib in (4, 16, 64))]
        ours = test_cases.predictor(test_cases.PAPER)
        found = queueing_fit.calibrated(
            loads, np.array([ours.predict(load) for load in loads]))
        self.assertEqual({'random_read': 30}, found['few_clients'])
        self.assertEqual(
            set(), {term for row in found['stations'].values()
                    for term in row.get('random_write', {})
                    if term.endswith(cases.FEW)})
