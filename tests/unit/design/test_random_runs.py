# SPDX-License-Identifier: Apache-2.0

import testtools

from serifos.design import design
from serifos.design import random_runs


class SampledTest(testtools.TestCase):

    def test_the_papers_parameters(self):
        workloads = [workload for workload, in random_runs.runs(400)]
        for name, least, greatest in (
                ('write_pct', 0, 100), ('random_pct', 0, 100),
                ('iodepth', 1, 16), ('think_time_us', 0, 1000)):
            values = [getattr(w, name) for w in workloads]
            span = greatest - least
            self.assertTrue(least <= min(values) < least + 0.1 * span)
            self.assertTrue(greatest - 0.1 * span < max(values) <= greatest)
            self.assertEqual(values, [*map(round, values)])
        self.assertEqual({4, 8, 16, 32, 64, 128},
                         {w.block_kib for w in workloads})

    def test_fewer_are_the_first_of_more(self):
        self.assertEqual(random_runs.runs(30), random_runs.runs(400)[:30])
        self.assertNotEqual(random_runs.runs(30), random_runs.runs(30, seed=1))

    def test_other_spaces(self):
        space = design.Space((50,), (4,), (1, 3))
        runs = random_runs.runs(20, space)
        self.assertEqual({1, 3}, {len(run) for run in runs})
        self.assertEqual({(50, 4, 8, 100, 0)},
                         {w.pattern for run in runs for w in run})
