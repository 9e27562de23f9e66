# SPDX-License-Identifier: Apache-2.0
"""Runs that are chosen one after another, and when they are enough."""

import ddt
import hypothesis
from hypothesis import strategies
import numpy as np
import testtools

from serifos.design import design
from serifos.design import sequential
from serifos.design import stopping
from serifos import errors
from serifos.facts import dataset
from serifos.facts.workload import Workload

PLAN = sequential.Sequential()
NEVER = stopping.Enough(error=0, gain=0)
few = hypothesis.settings(max_examples=5, deadline=None)


def chosen(plan, until=80, lost=()):
    """All runs of a plan; lost are the numbers of those that fail."""
    made, failed = [*plan.begin], []
    while (runs := plan.following(made, failed)) and len(made) < until:
        for run in runs:
            if len(made) + len(failed) in lost:
                failed.append(dataset.key(run))
            else:
                made.append(run)
    return made


EVERY = chosen(PLAN)


@ddt.ddt
class OrderTest(testtools.TestCase):

    def test_so_many_and_none_twice(self):
        self.assertEqual(80, len(EVERY))
        self.assertEqual(80, len({dataset.key(run) for run in EVERY}))

    def test_the_same_seed_chooses_the_same(self):
        again = chosen(sequential.Sequential(), until=20)
        self.assertEqual(EVERY[:20], again[:20])
        other = chosen(sequential.Sequential(seed=1), until=20)
        self.assertNotEqual(EVERY[:20], other[:20])

    @few
    @hypothesis.given(strategies.integers(12, 79))
    def test_it_goes_on_wherever_it_was_stopped(self, made):
        runs = PLAN.following(EVERY[:made])
        self.assertEqual(tuple(EVERY[made:made + len(runs)]), runs)
        self.assertEqual(0, (made + len(runs) - 12) % stopping.BATCH)

    @few
    @hypothesis.given(strategies.permutations(EVERY[:22]))
    def test_the_order_of_what_was_made_changes_nothing(self, made):
        self.assertEqual(tuple(EVERY[22:24]), PLAN.following(made))

    def test_what_failed_is_not_chosen_again(self):
        made = chosen(PLAN, lost=(14, 15))
        self.assertEqual(80, len(made))
        self.assertTrue({dataset.key(EVERY[14]), dataset.key(EVERY[15])}
                        .isdisjoint(map(dataset.key, made)))

    def test_it_covers_the_wide_space(self):
        workloads = [w for run in EVERY for w in run]
        for name, least, greatest in (
                ('write_pct', 0, 100), ('block_kib', 4, 1024),
                ('iodepth', 1, 64), ('random_pct', 0, 100)):
            values = [getattr(w, name) for w in workloads]
            self.assertGreaterEqual(min(values), least)
            self.assertLessEqual(max(values), greatest)
            self.assertGreater(max(values), 0.9 * greatest, name)
            self.assertLess(min(values), 0.1 * greatest, name)
        counts = {len(run) for run in EVERY}
        self.assertTrue({1, 15} <= counts <= {*range(1, 17)}, counts)

    def test_tenants_of_some_runs_think(self):
        thinking = [run for run in EVERY
                    if any(w.think_time_us for w in run)]
        self.assertTrue(4 <= len(thinking) <= 16, len(thinking))

    def test_it_stays_in_a_space_that_is_asked_for(self):
        space = design.Space((25, 75), (8, 32), (1, 2), iodepths=(4, 16),
                             random_pcts=(50,), think_times_us=(0, 100))
        for run in chosen(sequential.Sequential(space, most=30)):
            self.assertIn(len(run), (1, 2))
            for w in run:
                self.assertTrue(25 <= w.write_pct <= 75, w)
                self.assertTrue(8 <= w.block_kib <= 32, w)
                self.assertTrue(4 <= w.iodepth <= 16, w)
                self.assertEqual(50, w.random_pct)
                self.assertTrue(0 <= w.think_time_us <= 100, w)

    @ddt.data((6,), (5,), (4, 6), (5, 24), (0.5, 3), (4.3, 5.1))
    def test_blocks_stay_between_their_ends(self, block_kibs):
        space = design.Space((0, 100), block_kibs, (1, 2), iodepths=(1, 4),
                             random_pcts=(0, 100))
        for run in chosen(sequential.Sequential(space, most=30)):
            for w in run:
                self.assertTrue(
                    min(block_kibs) <= w.block_kib <= max(block_kibs), w)

    def test_what_stands_in_for_a_failure_has_no_more_workloads(self):
        plan = sequential.Sequential(seed=7)
        most = max(map(len, chosen(plan)))
        self.assertLess(most, max(map(len, plan.candidates)))
        made = chosen(plan, lost=(13,))
        self.assertLessEqual(max(map(len, made)), most)

    def test_it_goes_where_nothing_is_known(self):
        shallow = [(Workload(w, s, 1.0),) for w in (0, 50, 100)
                   for s in (4, 16, 64, 256)]
        depth = [sum(w.iodepth for w in run)
                 for run in PLAN.following(shallow)]
        self.assertGreater(min(depth), 8)

    def test_a_space_with_hardly_a_run_is_refused(self):
        tiny = sequential.Sequential(design.Space((50,), (4,), (1,)))
        exc = self.assertRaises(errors.InputError, lambda: tiny.begin)
        self.assertIn('1 different runs', str(exc))

    @ddt.data(11, 0, -1)
    def test_too_few_runs_are_refused(self, most):
        self.assertRaises(errors.InputError, sequential.Sequential,
                          most=most)


@ddt.ddt
class EnoughTest(testtools.TestCase):

    def ends(self, error, bounds):
        """(runs, why) of a campaign whose model errs by error(runs)."""
        made = [*EVERY[:16]]
        while True:
            step = stopping.step(PLAN, bounds, made, (), error)
            if not step.runs:
                return len(made), step.why
            made += step.runs

    def test_it_ends_when_the_error_is_small(self):
        made, why = self.ends(lambda n: 2 / n, stopping.Enough(gain=0))
        self.assertEqual(44, made)
        self.assertIn('below 5.0 %', why)

    def test_it_ends_when_more_runs_bring_no_more(self):
        made, why = self.ends(lambda n: max(0.2, 8 / n),
                              stopping.Enough())
        self.assertEqual(52, made)
        self.assertIn('error of 20.0 % by', why)

    def test_it_goes_on_while_it_gains(self):
        self.assertEqual((80, ''), self.ends(
            lambda n: 0.9 - n / 100, stopping.Enough()))

    def test_never_is_all_runs(self):
        self.assertEqual((80, ''), self.ends(lambda n: 0.01, NEVER))

    def test_not_before_there_is_something_to_judge(self):
        made, _ = self.ends(lambda n: 0.001, stopping.Enough())
        self.assertEqual(stopping.LEAST, made)

    def test_a_campaign_that_was_stopped_ends_where_it_would_have(self):
        asked = []

        def error(n):
            asked.append(n)
            return 2 / n
        for made in range(41, 44):  # finishes its batch first
            self.assertEqual(44 - made, len(stopping.step(
                PLAN, stopping.Enough(), EVERY[:made], (), error).runs))
        self.assertEqual([], asked)
        self.assertEqual((), stopping.step(
            PLAN, stopping.Enough(), EVERY[:44], (), error).runs)
        self.assertEqual([32, 36, 40, 44], asked)

    @ddt.data({'error': -0.1}, {'error': 1}, {'gain': float('nan')})
    def test_absurd_bounds_are_refused(self, bounds):
        self.assertRaises(errors.InputError, stopping.Enough, **bounds)


class VarianceTest(testtools.TestCase):

    def test_the_first_choice_lowers_the_mean_variance_most(self):
        def variance(made):
            return np.diag(PLAN.covariance(made)).mean()
        some = PLAN.candidates[:40]
        left = np.arange(len(PLAN.candidates)) < 40
        best, = sequential.greedy(PLAN.covariance(PLAN.begin), left, 1)
        after = [variance([*PLAN.begin, run]) for run in some]
        self.assertLess(max(after), variance(PLAN.begin))
        self.assertEqual(int(np.argmin(after)), best)
