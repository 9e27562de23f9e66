# SPDX-License-Identifier: Apache-2.0
"""What is kept of the space of pools, whatever the database."""

from __future__ import annotations

import dataclasses

from serifos.database.space import SLOT_S
from serifos.database.space import Space
from serifos.facts.space import Used
from tests.unit.database import at_once

BEGIN = 1_800_003_600.0
SLOT, DAY = SLOT_S, 86400


class Behaviour:
    """The tests; who uses them has ``database``, empty when one begins."""

    def space(self, keep_s=14 * DAY):
        return Space(self.database, keep_s)

    def found(self, begin=0.0, end=BEGIN * 2):
        return [(used.at - BEGIN, used.gib)
                for used in self.space().earliest(begin, end)]

    def note(self, at, keep_s=14 * DAY, **gib):
        self.space(keep_s).note(Used(BEGIN + at, gib))

    def test_the_earliest_of_each_pool(self):
        self.assertEqual([], self.found())
        self.note(0, a=1.0)
        self.note(SLOT, a=2.0, b=3.0)
        self.note(2 * SLOT, a=4.0, b=5.0, c=6.0)
        self.assertEqual([(0, {'a': 1.0}), (SLOT, {'b': 3.0}),
                          (2 * SLOT, {'c': 6.0})], self.found())
        self.assertEqual([(SLOT, {'a': 2.0, 'b': 3.0})], self.found(
            BEGIN + 1, BEGIN + 2 * SLOT - 1))

    def test_one_of_a_slot_is_kept_the_first(self):
        self.note(0, a=1.0)
        self.note(300, a=2.0, b=0.1 + 0.2)
        self.assertEqual([(0, {'a': 1.0}), (300, {'b': 0.1 + 0.2})],
                         self.found())

    def test_what_is_old_or_of_a_wrong_clock_goes(self):
        for day in range(5):
            self.note(day * DAY, a=float(day))
        self.note(300 * DAY, 2 * DAY, a=300.0)  # deletes no more than two
        self.assertEqual([(2 * DAY, {'a': 2.0})], self.found())
        self.note(5 * DAY, 2 * DAY, a=5.0)
        self.assertEqual([(3 * DAY, {'a': 3.0})], self.found())
        self.assertEqual([], self.found(BEGIN + 6 * DAY))

    def test_many_pools_and_long_names(self):
        names = {'host-é@ssd#' + f'{n:0240}': float(n) for n in range(1200)}
        self.space().note(Used(BEGIN, names))
        self.assertEqual([(0, names)], self.found())

    def test_two_that_note_at_once(self):
        self.note(0, a=1.0)

        def note():
            for slot in range(8):
                Space(dataclasses.replace(self.database), DAY).note(
                    Used(BEGIN + slot * SLOT, {'a': 1.0, 'b': 2.0}))
        self.assertEqual([], at_once.failures(note))
        self.assertEqual({'a', 'b'}, {
            pool for _, gib in self.found() for pool in gib})
