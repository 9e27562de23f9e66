# SPDX-License-Identifier: Apache-2.0

import subprocess
import sys

from hypothesis import given
from hypothesis import settings
from hypothesis import strategies
import numpy as np
import testtools

from serifos.facts.workload import Workload
from serifos.model.model import Model
from serifos.model import pool_models
from serifos.model import rates
from tests.unit.facts.test_workload import workloads
from tests.unit.papers import golden
from tests.unit import samples

_NAMES = ('intercept_us', 'sum_write_pct', 'sum_block_kib')
_RANGE = {'write_pct': (25, 75), 'block_kib': (4, 128), 'iodepth': (8, 8),
          'count': (1, 5)}


def table6(ssd):
    return Model(ssd, 'consolidation', {
        label: dict(zip(_NAMES, row)) for label, row
        in golden.SERIFOS['table6_consolidation'][ssd].items()},
        _RANGE, {'mre': 0.1})


_coefficients = strategies.lists(strategies.floats(0, 1e3), min_size=5,
                                 max_size=5)
_outstanding = strategies.builds(
    lambda values, count, interval, best: Model(
        'o', 'outstanding', dict(zip(
            ('intercept_us', 'sum_q_r', 'sum_q_w', 'sum_q_s_r',
             'sum_q_s_w'), values)),
        {'write_pct': (0, 100), 'iodepth': (1, 32), 'count': (1, count)},
        {'interval': interval}, best=best),
    _coefficients, strategies.integers(1, 8),
    strategies.tuples(strategies.floats(-2, -0.5), strategies.floats(-0.5, 2)),
    strategies.builds(rates.Rates, strategies.floats(1e2, 1e6),
                      strategies.floats(1e3, 1e7)))
_apart = Model('t', 'tenant', samples.APART, _RANGE,
               {'deviations': (-1.5, 1.7), 'interval': (-0.2, 0.3),
                'light_deviations': (-0.5, 0.6)},
               best=rates.Rates(2e4, 3e5))
_models = strategies.none() | strategies.sampled_from(
    [table6('SSD1'), table6('SSD2'), _apart]) | _outstanding


class FleetTest(testtools.TestCase):

    @given(strategies.lists(
        strategies.tuples(_models, strategies.lists(workloads, max_size=8)),
        min_size=1, max_size=5))
    def test_numpy_and_the_standard_library_agree(self, pools):
        models = [model for model, _ in pools]
        many = pool_models.Fleet(models)
        loads = np.array([many.loads(ws).sum(axis=0) for _, ws in pools])
        predicted = many.latency(np.arange(len(pools)), loads)
        for (model, ws), value in zip(pools, predicted):
            if model is None:
                self.assertTrue(np.isnan(value))
                continue
            load = model.load(ws)
            expected = model.plan(load)
            self.assertGreaterEqual(expected, model.predict(load))
            self.assertLessEqual(abs(value - expected),
                                 1e-9 * max(1, expected))

    @given(strategies.lists(
        strategies.tuples(_models, strategies.lists(workloads, max_size=8)),
        min_size=1, max_size=5))
    @settings(deadline=None)
    def test_intervals_agree_with_the_standard_library(self, pools):
        models = [model for model, _ in pools]
        many = pool_models.Fleet(models)
        asked = np.arange(len(pools)), np.array(
            [many.loads(ws).sum(axis=0) for _, ws in pools])
        for (model, ws), ends, *expected in zip(
                pools, many.intervals(*asked), *many.expected(*asked)):
            if model is None:
                self.assertTrue(np.isnan([*ends, *expected[:2]]).all())
                continue
            load = model.load(ws)
            for found in model.predict(load) * (1 + ends), expected[:2]:
                np.testing.assert_allclose(
                    model.interval(load), found, rtol=1e-9, atol=1e-9)
            self.assertEqual(model.extrapolates(load), expected[2])

    @given(strategies.lists(workloads, min_size=1, max_size=8))
    @settings(deadline=None)
    def test_what_tenants_see_agrees_with_the_standard_library(self, run):
        many = pool_models.Fleet([None, _apart, table6('SSD1'), _apart])
        own = many.loads(run)
        pools, which = np.arange(4), np.repeat(np.arange(4), len(run))
        found = many.tenants(
            pools, np.tile(own.sum(axis=0), (4, 1)), which,
            np.tile(own, (4, 1))).reshape(4, -1)
        self.assertTrue(np.isnan(found[0]).all())
        self.assertEqual(found[1].tolist(), found[3].tolist())
        load = _apart.load(run)
        above = _apart.plan(load) / (_apart.predict(load) or 1.0)
        for workload, one in zip(run, found[1]):
            expected = workload.is_active() and above * _apart.tenant(
                load, workload).latency_us
            self.assertLessEqual(abs(one - expected),
                                 1e-9 * max(1, expected))
            self.assertLessEqual(
                abs(one - _apart.seen(load, [_apart.load([workload])])[0]),
                1e-9 * max(1, expected))
        latency = many.latency(pools, np.tile(own.sum(axis=0), (4, 1)))
        self.assertTrue((found[2] == latency[2]).all())

    def test_a_hair_beyond_the_range_is_within_it(self):
        model = table6('SSD1')
        for block_kib, beyond in (128.0, False), (128.0000001, False), (
                129.0, False), (130.0, True):
            seen = Workload(50, block_kib)
            load = model.load([seen])
            self.assertEqual(beyond, bool(model.outside(seen)))
            self.assertEqual(beyond, model.extrapolates(load))
            planned = pool_models.Fleet([model])
            self.assertEqual(float(beyond), planned.loads([seen])[0, -1])

    def test_planning_is_pessimistic_only_outside_of_the_range(self):
        model = table6('SSD1')
        inside = model.load([Workload(50, 32)])
        outside = model.load([Workload(50, 256)])
        crowded = model.load([Workload(50, 32)] * 6)
        self.assertEqual(model.predict(inside), model.plan(inside))
        self.assertEqual(model.interval(outside)[1], model.plan(outside))
        self.assertEqual(model.interval(crowded)[1], model.plan(crowded))
        self.assertGreater(model.plan(outside), model.predict(outside))

    def test_an_mre_alone_gives_a_normal_interval(self):
        low, high = table6('SSD1').relative_interval
        self.assertAlmostEqual(0.206, high, places=3)
        self.assertAlmostEqual(-high, low)

    def test_a_model_that_knows_no_error_claims_no_interval(self):
        model = Model('m', 'outstanding', {'sum_q_r': 1.0}, {}, {})
        self.assertEqual((8.0, 8.0),
                         model.interval(model.load([Workload(0, 4)])))

    def test_nothing_active_is_a_latency_of_nothing(self):
        model = table6('SSD2')
        idle = Workload(50, 256, 0.01)
        self.assertEqual(0, model.plan(model.load([idle, None])))

    def test_no_prediction_is_negative(self):
        # 4 workloads of 0.5 KiB: Table 6 says -188.26 + 43.
        model = table6('SSD2')
        load = model.load([Workload(0, 0.5)] * 4)
        self.assertEqual(0, model.predict(load))

    def test_predicting_needs_the_standard_library_alone(self):
        code = ('import sys; import serifos.model.model;'
                'print({"numpy", "scipy", "statsmodels", "pandas"}'
                ' & set(sys.modules))')
        out = subprocess.run([sys.executable, '-c', code], text=True,
                             capture_output=True, check=True).stdout
        self.assertEqual('set()', out.strip())
