# SPDX-License-Identifier: Apache-2.0
"""How busy volumes keep pools: by their rates, wherever they were."""

from __future__ import annotations

import dataclasses

import numpy as np
import testtools

from serifos.facts.workload import Workload
from serifos.model.model import Model
from serifos.model import pool_busy
from serifos.model import pool_models

MODEL = Model(
    'o', 'outstanding', {'intercept_us': 60, 'sum_q_r': 5, 'sum_q_w': 5},
    {'write_pct': (0, 100), 'block_kib': (4, 64), 'iodepth': (1, 32),
     'count': (1, 8)}, {'mre': 0.1})
SLOW = dataclasses.replace(MODEL, name='s', parameters={
    'intercept_us': 120, 'sum_q_r': 10, 'sum_q_w': 10})
SERVICE_US = (60 + 5 * 32) / 32
"""Of a request where 32 are outstanding."""


def pattern(rate, q=1.0, kib=16.0):
    return [50.0, kib, q, 100.0, rate]


class BusyFleetTestCase(testtools.TestCase):

    def setUp(self):
        super().setUp()
        self.fleet = pool_busy.BusyFleet([MODEL, SLOW, None])

    def busy(self, pool, *patterns):
        load = self.fleet.patterns(np.array(patterns)).sum(0, keepdims=True)
        return float(self.fleet.figure(np.array([pool]), load, load)[0])

    def test_a_rate_by_the_rate_of_a_device_that_is_always_busy(self):
        self.assertAlmostEqual(
            1000 * SERVICE_US, self.busy(0, pattern(1000.0)), delta=0.1)

    def test_a_slow_device_is_busier(self):
        self.assertAlmostEqual(2.0, self.busy(1, pattern(1000.0)) / self.busy(
            0, pattern(1000.0)), 4)

    def test_outstanding_requests_are_no_matter(self):
        self.assertEqual(1, len({
            self.busy(0, pattern(500.0, q)) for q in (0.05, 2, 64)}))

    def test_an_idle_volume_is_no_load(self):
        self.assertEqual(0.0, self.busy(0, pattern(5.0, 0.04)))

    def test_shares_of_time_add(self):
        both = self.busy(0, pattern(300.0), pattern(500.0))
        self.assertAlmostEqual(
            self.busy(0, pattern(300.0)) + self.busy(0, pattern(500.0)), both)

    def test_a_request_larger_than_any_run_counts_as_several(self):
        self.assertAlmostEqual(self.busy(0, pattern(500.0, kib=64.0)),
                               self.busy(0, pattern(50.0, kib=640.0)))
        self.assertEqual(self.busy(0, pattern(500.0, kib=4.0)),
                         self.busy(0, pattern(500.0, kib=0.5)))

    def test_without_a_model_nothing_is_known(self):
        self.assertTrue(np.isnan(self.busy(2, pattern(500.0))))

    def test_latencies_are_those_of_other_fleets(self):
        plain = pool_models.Fleet([MODEL, SLOW, None])
        patterns = np.array([pattern(500.0, 4.0), pattern(20.0, 0.01)])
        pools = np.array([0, 1])
        for name in 'latency', 'tenants':
            more = (np.array([1, 0]), self.fleet.patterns(
                patterns)) if name == 'tenants' else ()
            np.testing.assert_array_equal(
                getattr(plain, name)(pools, plain.patterns(patterns), *(
                    each[:, :plain.features] if each.ndim > 1 else each
                    for each in more)),
                getattr(self.fleet, name)(
                    pools, self.fleet.patterns(patterns), *more))

    def test_workloads_have_the_rates_that_were_observed(self):
        seen = Workload(50, 16, iops=1000, latency_us=3000)
        [load] = self.fleet.loads([seen])
        [other] = self.fleet.patterns(np.array([pattern(1000.0, 3.0)]))
        np.testing.assert_array_equal(other, load)
        [none] = self.fleet.loads([None])
        self.assertEqual([0.0, 0.0], none[-2:].tolist())

    def test_one_without_a_rate_asks_as_often_as_it_is_answered(self):
        loads = self.fleet.loads([Workload(50, 16, iodepth=32),
                                  Workload(50, 16, iodepth=1)])
        full, less = self.fleet.figure(np.array([0, 0]), loads, loads)
        self.assertAlmostEqual(1e6, full, delta=0.1)
        self.assertAlmostEqual(1e6 * SERVICE_US / 65, less, delta=0.1)
