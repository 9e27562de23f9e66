# SPDX-License-Identifier: Apache-2.0

import dataclasses
import itertools

import ddt
import numpy as np
import testtools

from serifos.design import d_optimal
from serifos.design import design
from serifos import errors
from serifos.facts.workload import Workload


def _log_det(runs):
    rows = d_optimal.relative_rows(runs)
    return np.linalg.slogdet(rows.T @ rows)[1]


@ddt.ddt
class OptimalTest(testtools.TestCase):

    @ddt.data(10, 33, 80)
    def test_runs_are_as_many_as_asked_and_distinct(self, number):
        runs = d_optimal.runs(number)
        keys = {tuple(sorted(w.pattern for w in run)) for run in runs}
        self.assertEqual(number, len(runs))
        self.assertEqual(number, len(keys))

    def test_the_same_seed_gives_the_same_design(self):
        self.assertEqual(d_optimal.runs(30, seed=7),
                         d_optimal.runs(30, seed=7))
        self.assertNotEqual(d_optimal.runs(30, seed=7),
                            d_optimal.runs(30, seed=8))

    def test_every_run_lies_in_the_space(self):
        wide = d_optimal.WIDE
        for workload in itertools.chain(*d_optimal.runs(80)):
            self.assertTrue(0 <= workload.write_pct <= 100)
            self.assertTrue(4 <= workload.block_kib <= 256)
            self.assertTrue(1 <= workload.iodepth <= 32)
            self.assertEqual(0, workload.block_kib % 4)
            self.assertEqual(100, workload.random_pct)
        self.assertLessEqual(
            {len(run) for run in d_optimal.runs(80)}, set(wide.counts))

    def test_one_run_in_five_is_no_corner(self):
        # A corner takes its values from the vectors, a drawn run does not.
        grid = set(d_optimal.WIDE.patterns)
        drawn = [run for run in d_optimal.runs(80) if not set(run) <= grid]
        self.assertTrue(14 <= len(drawn) <= 16, len(drawn))

    @ddt.data(30, 80)
    def test_different_jobs_run_together(self, number):
        together = [run for run in d_optimal.runs(number) if len(run) > 1]
        for name in 'write_pct', 'block_kib', 'iodepth':
            differ = [run for run in together
                      if len({getattr(w, name) for w in run}) > 1]
            self.assertGreater(len(differ), 0.9 * len(together), name)
        beside = [run for run in together
                  if {1.0, 8.0} <= {min(w.iodepth, 8.0) for w in run}]
        self.assertGreater(len(beside), 0.5 * len(together))

    def test_tenants_of_one_run_in_ten_think(self):
        thinking = [run for run in d_optimal.runs(80)
                    if any(w.think_time_us for w in run)]
        self.assertEqual(8, len(thinking))
        for workload in itertools.chain(*thinking):
            self.assertTrue(0 <= workload.think_time_us <= 2000)
            self.assertTrue(1 <= workload.iodepth <= 8)
        asked = dataclasses.replace(d_optimal.WIDE)
        self.assertFalse(any(w.think_time_us for run in d_optimal.runs(
            80, asked) for w in run))

    def test_exchange_finds_the_best_of_a_small_problem(self):
        # 1 and x on a grid: the optimum of 4 runs is two at either end.
        x = np.linspace(-1, 1, 12)
        x = np.concatenate([x, [-1, 1]])
        rows = np.stack([np.ones_like(x), x], axis=1)
        chosen = d_optimal.exchange(rows, 4, np.random.default_rng(3))
        self.assertEqual([-1, -1, 1, 1], sorted(x[chosen]))

    def test_exchange_meets_brute_force(self):
        rng = np.random.default_rng(5)
        rows = rng.normal(size=(11, 3))
        best = max(np.linalg.det(rows[list(c)].T @ rows[list(c)])
                   for c in itertools.combinations(range(11), 5))
        found = max(
            np.linalg.det(rows[c].T @ rows[c]) for c in (
                d_optimal.exchange(rows, 5, np.random.default_rng(seed))
                for seed in range(5)))
        self.assertAlmostEqual(best, found, places=9)

    def test_it_tells_more_than_runs_drawn_blindly(self):
        patterns = d_optimal.WIDE.patterns
        blind = []
        for seed in range(5):
            rng = np.random.default_rng(seed)
            blind.append([tuple(patterns[i] for i in rng.choice(
                len(patterns), rng.integers(1, 11))) for _ in range(80)])
        self.assertGreater(_log_det(d_optimal.runs(80)),
                           max(map(_log_det, blind)))

    def test_too_few_runs_are_refused(self):
        exc = self.assertRaises(errors.InputError, d_optimal.runs, 9)
        self.assertIn('--runs 10', str(exc))

    def test_more_runs_than_the_vectors_hold_are_refused(self):
        space = design.Space((50,), (4,), (1, 2))
        exc = self.assertRaises(errors.InputError, d_optimal.runs, 40, space)
        self.assertIn('ask for fewer runs', str(exc))

    def test_random_pct_follows_the_space(self):
        space = design.Space((0, 100), (4, 64), (1, 2), random_pcts=(0, 100))
        runs = d_optimal.runs(20, space)
        self.assertLessEqual(
            {0.0, 100.0}, {w.random_pct for run in runs for w in run})
        self.assertIsInstance(runs[0][0], Workload)

    def test_think_times_follow_the_space(self):
        space = design.Space((0, 100), (4, 64), (1, 2),
                             think_times_us=(0, 1000))
        times = {w.think_time_us for run in d_optimal.runs(30, space)
                 for w in run}
        self.assertLessEqual({0.0, 1000.0}, times)
        self.assertTrue(0 <= min(times) and max(times) <= 1000)
        self.assertTrue(times - {0.0, 1000.0})  # the runs inside
