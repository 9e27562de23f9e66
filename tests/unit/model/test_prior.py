# SPDX-License-Identifier: Apache-2.0
"""Tests of what devices measured before say of one with few runs."""

from __future__ import annotations

import dataclasses

import numpy as np
import testtools

from serifos.facts.workload import Load
from serifos.facts.workload import Workload
from serifos.lab.sim import devices
from serifos.lab.sim import modeler
from serifos.model import fit_runs
from serifos.model import held_out
from serifos.model import kinds
from serifos.model import prior
from serifos.model import quality


_SETTINGS = {'members': 1}


def _runs(number, seed):
    """Runs of a simulated device that the library does not have."""
    ssd = devices.drawn(np.random.default_rng(seed))
    purpose = modeler.Purpose.SHORT
    return fit_runs.runs(modeler.dataset(
        ssd, purpose, modeler.training(purpose, 0)[:number], 0).valid())


def _fitted(data, library):
    return held_out.parameters(
        'tenant', dataclasses.replace(data, devices=library), _SETTINGS)


def _loads(*workloads):
    return [Load.of(each) for each in workloads]


class PriorTest(testtools.TestCase):

    def test_few_runs_predict_the_others_better_with_it(self):
        errors = {}
        for seed in range(3):
            data = _runs(24, seed)
            few, others = data.some(range(3)), data.some(range(3, 24))
            for library in prior.library(), ():
                its = kinds.predictor('tenant', _fitted(few, library))
                errors.setdefault(bool(library), []).append(quality.mre(
                    others.y, its.many(others.vectors)))
        self.assertLess(np.mean(errors[True]), 0.8 * np.mean(errors[False]))

    def test_it_is_the_default(self):
        data = _runs(8, 0)
        self.assertEqual(_fitted(data, prior.library()), _fitted(data, None))
        self.assertNotEqual(_fitted(data, ()), _fitted(data, None))

    def test_many_different_runs_speak_for_themselves(self):
        data = _runs(30, 0)
        self.assertEqual(_fitted(data, ()), _fitted(data, None))

    def test_hours_of_the_same_load_do_not_count_as_different(self):
        loads = _loads(*(Workload(50, 16, 8 + hour / 100)
                         for hour in range(100)))
        found = prior.reference(loads, np.full(100, 900.0), prior.library(),
                                np.random.default_rng(0))
        self.assertIsNotNone(found)

    def test_a_device_is_scaled_to_the_runs(self):
        device = prior.library()[0]
        loads = _loads(*(Workload(w, s, q) for w in (0, 100)
                         for s in (4, 64) for q in (1, 8)))
        thrice = 3 * np.array([device.predict(load) for load in loads])
        found = prior.reference(loads, thrice, [device],
                                np.random.default_rng(0))
        ratios = found.y / [device.predict(load) for load in found.loads]
        self.assertTrue((abs(ratios - 3) < 0.3).all(), ratios)

    def test_the_device_that_is_most_like_it_counts_most(self):
        library = prior.library()
        loads = _loads(*(Workload(w, s, q) for w in (0, 100)
                         for s in (4, 16, 64) for q in (1, 8, 32)))
        for device in library[::5]:
            y = np.array([device.predict(load) for load in loads])
            found = prior.reference(loads, y, library,
                                    np.random.default_rng(0))
            true = [device.predict(load) for load in found.loads]
            self.assertLess(np.median(abs(np.log(found.y / true))), 0.2)

    def test_without_any_run_it_is_what_devices_are_in_the_mean(self):
        library = prior.library()
        found = prior.reference([], np.array([]), library,
                                np.random.default_rng(0))
        every = [[device.predict(load) for load in found.loads]
                 for device in library]
        np.testing.assert_allclose(
            np.log(found.y), np.log(every).mean(axis=0), rtol=1e-6)

    def test_runs_of_a_99th_percentile_have_none(self):
        self.assertEqual((), prior.library('read_p99_us'))
