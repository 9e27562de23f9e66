# SPDX-License-Identifier: Apache-2.0
"""Runs of only reads and of only writes, before those of other designs."""

import testtools

from serifos.design import alone
from serifos.design import design
from serifos.design import sequential
from serifos.facts import dataset

THEN = sequential.Sequential(most=20)
PLAN = alone.AloneFirst(alone.runs(), THEN)


class RunsTest(testtools.TestCase):

    def test_each_is_of_one_workload_of_one_direction(self):
        found = alone.runs()
        self.assertEqual(16, len({dataset.key(run) for run in found}))
        self.assertEqual({0, 100}, {w.write_pct for w, in found})
        self.assertEqual(1, min(w.iodepth for w, in found))

    def test_of_a_space_they_are_its_lightest(self):
        found = alone.runs(design.Space(
            write_pcts=(0, 30), block_kibs=(64, 32, 16), counts=(2, 3),
            iodepths=(32, 16, 8, 4, 2)))
        self.assertEqual({(0, s, q) for s in (16, 32) for q in (2, 4, 8, 16)},
                         {(w.write_pct, w.block_kib, w.iodepth)
                          for w, in found})

    def test_of_a_space_of_mixed_workloads_there_is_none(self):
        self.assertEqual((), alone.runs(design.Space((30,), (4,), (1,))))


class FirstTest(testtools.TestCase):

    def test_all_others_follow_as_they_would_without(self):
        self.assertEqual(alone.runs() + THEN.runs, PLAN.runs)
        made = [*PLAN.runs[:PLAN.first]]
        while more := PLAN.following(made):
            made += more
        self.assertEqual(PLAN.runs, tuple(made))

    def test_one_that_failed_changes_no_other(self):
        left = alone.runs()[1:] + THEN.runs[:THEN.first]
        self.assertEqual(THEN.runs[THEN.first:THEN.first + 4],
                         PLAN.following(left))

    def test_they_may_be_made_last(self):
        made = THEN.runs[:16] + alone.runs()
        self.assertEqual(THEN.runs[16:], PLAN.following(made))

    def test_one_that_both_have_counts_for_both(self):
        of_both = alone.runs()[0]
        made = [of_both, *alone.runs(), *THEN.runs[:15]]
        self.assertEqual(THEN.following([of_both, *THEN.runs[:15]]),
                         PLAN.following(made))
