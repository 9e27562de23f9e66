# SPDX-License-Identifier: Apache-2.0
"""The modeler measures the paper's sets, whatever the pieces."""

import ddt
import testtools

from serifos import errors
from serifos.facts.workload import Workload
from serifos.lab.sim import devices
from serifos.lab.sim import modeler

CONSOLIDATION = modeler.Purpose.CONSOLIDATION


@ddt.ddt
class ModelerTest(testtools.TestCase):

    def test_the_papers_sets(self):
        self.assertEqual(6187, len(modeler.training(CONSOLIDATION, 0)))
        some = modeler.training(CONSOLIDATION, 0, 50)
        self.assertEqual(50, len(set(some)))
        self.assertNotEqual(some, modeler.training(CONSOLIDATION, 1, 50))

    @ddt.data(0, 5, 6188)
    def test_an_absurd_number_of_sets_is_refused(self, sets):
        error = self.assertRaises(errors.InputError, modeler.training,
                                  CONSOLIDATION, 0, sets)
        self.assertIn('6,187', str(error))

    def test_the_short_design(self):
        self.assertEqual(80, len(modeler.training(modeler.Purpose.SHORT, 0)))

    def test_tests_are_counted_as_in_section_6(self):
        counts = [len(run) for run in modeler.tests(0, 3, 20)]
        self.assertEqual([1] * 3 + [2] * 3 + [3] * 3 + [4] * 3 + [5] * 3,
                         counts[:15])
        self.assertTrue(all(6 <= count <= 10 for count in counts[15:]))

    def test_pieces_change_nothing(self):
        runs = modeler.training(CONSOLIDATION, 0, 7)

        def samples(size):
            return [sample for job in modeler.jobs(
                devices.SSD1, CONSOLIDATION, runs, 0, ios=300, size=size)
                for sample in modeler.measure(job)]
        self.assertEqual(samples(100), samples(3))

    def test_a_model_is_tested_on_what_it_never_saw(self):
        def samples(purpose, runs):
            return [sample for job in modeler.jobs(
                devices.SSD1, purpose, runs, 0, ios=500)
                for sample in modeler.measure(job)]
        model = modeler.built('consolidation', devices.SSD1, samples(
            CONSOLIDATION, modeler.training(CONSOLIDATION, 0, 200)))
        tested = modeler.tested(model, samples(
            modeler.Purpose.TEST, modeler.tests(0, 5, 5)))
        self.assertEqual(['1', '2', '3', '4', '5', '5+'], [*tested.mre])
        self.assertEqual(25, len(tested.residuals_us))
        self.assertLess(tested.mre['5'], 0.1)
        run = [Workload(50, 32)] * 3
        self.assertAlmostEqual(
            24.5 * 96, model.predict(model.load(run)), delta=150)
