# SPDX-License-Identifier: Apache-2.0

import collections

import testtools

from serifos.design import design
from serifos.design import random_tests
from serifos import errors


class RandomTestsTest(testtools.TestCase):

    def test_table_7_is_500_and_200_runs_of_the_vectors(self):
        runs = random_tests.runs(100, 200)
        counts = collections.Counter(map(len, runs))
        self.assertEqual([100] * 5, [counts[n] for n in range(1, 6)])
        self.assertEqual(200, sum(counts[n] for n in range(6, 11)))
        self.assertEqual(
            {(w, s, 8, 100, 0) for w in (5, 30, 50, 70, 95)
             for s in (4, 8, 16, 32, 64, 128, 256)},
            {workload.pattern for run in runs for workload in run})

    def test_a_seed_has_runs_of_its_own(self):
        self.assertEqual(random_tests.runs(3, 2), random_tests.runs(3, 2))
        self.assertNotEqual(random_tests.runs(3, 2),
                            random_tests.runs(3, 2, seed=1))

    def test_other_vectors(self):
        space = design.Space((50,), (4,), (2, 7), iodepths=(1, 32))
        runs = random_tests.runs(20, 0, space)
        self.assertEqual([2] * 20 + [7] * 20, [*map(len, runs)])
        self.assertEqual({(50, 4, 1, 100, 0), (50, 4, 32, 100, 0)},
                         {w.pattern for run in runs for w in run})

    def test_none_and_too_many_are_refused(self):
        for number in (0, 10_001):
            error = self.assertRaises(
                errors.InputError, random_tests.runs, number, 0)
            self.assertIn(f'--tests of {number}', str(error))
