# SPDX-License-Identifier: Apache-2.0
"""Pools are compared by the 99th percentile that models predict."""

from __future__ import annotations

import dataclasses

import hypothesis
from hypothesis import strategies
import numpy as np
import testtools

from serifos.facts import hot_by
from serifos.facts.workload import Workload
from serifos.model.model import Model
from serifos.model import pool_models

WRITES = Model(
    'o', 'outstanding', {'intercept_us': 90, 'sum_q_w': 70},
    {'write_pct': (0, 100), 'block_kib': (4, 32), 'iodepth': (1, 16),
     'count': (1, 4)}, {'mre': 0.2}, 'write_p99_us')
MEAN = Model(
    'o', 'outstanding', {'intercept_us': 60, 'sum_q_r': 5, 'sum_q_w': 5},
    {'write_pct': (0, 100), 'block_kib': (4, 64), 'iodepth': (1, 32),
     'count': (1, 8)}, {'mre': 0.1}, tails={'write_p99_us': WRITES})
OTHER = dataclasses.replace(
    MEAN, name='p', parameters={'intercept_us': 20, 'sum_q_r': 30},
    tails={'write_p99_us': dataclasses.replace(
        WRITES, parameters={'intercept_us': 500})})
WITHOUT = dataclasses.replace(MEAN, tails={})

WORKLOADS = strategies.lists(strategies.builds(
    Workload, strategies.floats(0, 100), strategies.floats(1, 128),
    strategies.floats(0, 40)),
    max_size=6)


class TailFleetTestCase(testtools.TestCase):

    def setUp(self):
        super().setUp()
        self.models = [MEAN, OTHER, MEAN, WITHOUT, None]
        self.fleet = pool_models.TailFleet(self.models, hot_by.WRITE_P99)

    def of(self, workloads):
        """The Load of these, a row for each pool."""
        load = self.fleet.loads(workloads).sum(0, keepdims=True)
        return np.arange(5), np.repeat(load, 5, 0)

    @hypothesis.given(WORKLOADS)
    def test_the_figure_is_what_the_model_of_the_tail_plans_with(self, its):
        pools, loads = self.of(its)
        found = self.fleet.figure(pools, loads, loads)
        for model, figure in zip(self.models[:3], found):
            tail = model.tails['write_p99_us']
            self.assertAlmostEqual(tail.plan(tail.load(its)), figure, 6)

    @hypothesis.given(WORKLOADS)
    def test_latencies_stay_means(self, its):
        pools, loads = self.of(its)
        plain = pool_models.Fleet(self.models[:3])
        load = plain.loads(its).sum(0, keepdims=True)
        for found in (self.fleet.latency(pools, loads),
                      self.fleet.tenants(pools, loads, pools, loads)):
            self.assertEqual(
                plain.latency(np.arange(3), np.repeat(load, 3, 0)).tolist(),
                found[:3].tolist())

    def test_a_model_without_that_tail_is_none(self):
        pools, loads = self.of([Workload(50, 16, 4)])
        for found in (self.fleet.figure(pools, loads, loads),
                      self.fleet.latency(pools, loads)):
            self.assertEqual([False, False, False, True, True],
                             np.isnan(found).tolist())
        self.assertEqual(
            [True] * 5, np.isnan(pool_models.TailFleet(
                self.models, hot_by.READ_P99).latency(pools, loads)).tolist())

    def test_each_model_has_a_range_of_its_own(self):
        pools, loads = self.of([Workload(100, 48, 4)])
        beyond = self.fleet.figure(pools, loads, loads)[0]
        self.assertAlmostEqual((90 + 280) * WRITES.above, beyond, 6)
        self.assertEqual(60 + 20, self.fleet.latency(pools, loads)[0])

    def test_patterns_are_loads(self):
        pattern = np.array([[50.0, 48.0, 4.0, 100.0, 10.0]])
        self.assertEqual(self.fleet.loads([Workload(50, 48, 4)]).tolist(),
                         self.fleet.patterns(pattern).tolist())


class ModelFileTestCase(testtools.TestCase):

    def test_tails_come_back_from_a_file(self):
        again = Model.from_json(MEAN.to_json())
        self.assertEqual(MEAN, again)
        self.assertNotIn('tails', WITHOUT.to_json())
