# SPDX-License-Identifier: Apache-2.0
"""A loop moves what its first plans say, then for noise or drift alone."""

import dataclasses
import functools

import ddt
import testtools

from serifos.design import d_optimal
from serifos.facts.dataset import Dataset
from serifos.facts.dataset import Header
from serifos.lab.sim import closed_loop
from serifos.lab.sim import devices
from serifos.lab.sim import modeler
from serifos.model import fit
from serifos.model import rates
from tests.unit.lab.sim import test_scenario


@functools.cache
def _models():
    """Of the devices as they are, from few short runs."""
    runs = tuple(d_optimal.runs(40))
    made = {ssd.name: modeler.measure(modeler.SimulatedRuns(
        ssd, modeler.Purpose.SHORT, 0, 0, runs, 500))
        for ssd in devices.TESTBEDS['paper'].hosts}
    return {name: fit.fit(Dataset(Header({}), tuple(samples)),
                          'outstanding') for name, samples in made.items()}


def _moved(number, rounds, noise, hold):
    return closed_loop.run(closed_loop.Loop(
        test_scenario.case(number), _models(), rounds, noise, hold))


def _drifted(measured, models, number=0, by=0.0):
    return closed_loop.drifted(closed_loop.Drift(
        test_scenario.case(number), models, measured, 6, by))


@ddt.ddt
class NoiseTest(testtools.TestCase):

    @ddt.data((0, 1), (1, 3))
    @ddt.unpack
    def test_without_noise_only_the_first_rounds_move(self, number, hold):
        first, all_of = (_moved(number, rounds, 0.0, hold)
                         for rounds in (6, 12))
        self.assertGreater(first.moves, 0)
        self.assertEqual(first, all_of)
        self.assertEqual(0, all_of.returns)

    def test_smoothing_moves_less_for_noise(self):
        plain, smoothed = (sum(_moved(number, 40, 0.1, hold).moves
                               for number in (0, 1)) for hold in (1, 3))
        self.assertLess(smoothed, plain)

    def test_returns_are_among_the_moves_of_great_noise(self):
        found = _moved(0, 40, 0.8, 1)
        self.assertTrue(0 < found.returns < found.moves, found)


@ddt.ddt
class DriftTest(testtools.TestCase):

    @ddt.data(0, 4)
    def test_without_drift_measured_levels_do_no_harm(self, number):
        plain, measured = (_drifted(each, _models(), number)
                           for each in (False, True))
        self.assertGreater(plain.moves, 0)
        self.assertLess(plain.after_us, plain.before_us)
        self.assertLess(measured.after_us, 1.05 * plain.after_us)

    def test_devices_drift_by_chance(self):
        plain, drifted = (_drifted(False, _models(), by=by)
                          for by in (0.0, 0.25))
        self.assertNotEqual(plain.before_us, drifted.before_us)

    def test_measured_levels_help_where_a_model_is_wrong(self):
        models = _models()
        wrong = {**models, 'SSD2': dataclasses.replace(
            models['SSD1'], parameters={
                name: value / 4 for name, value
                in models['SSD1'].parameters.items()}, best=rates.Rates())}
        plain, measured = (_drifted(each, wrong) for each in (False, True))
        self.assertLess(measured.after_us, plain.after_us)
