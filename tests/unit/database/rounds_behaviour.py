# SPDX-License-Identifier: Apache-2.0
"""Rounds that are counted, whatever the database."""

from __future__ import annotations

from serifos.database.rounds import KEEP_S
from serifos.database.rounds import Rounds
from tests.unit.database import at_once

NOW = 1_800_000_000.0


class Behaviour:
    """The tests; who uses them has ``database``, empty when one begins."""

    def rounds(self, at=0.0):
        return Rounds(self.database, lambda: NOW + at)

    def found(self):
        return [(each.host, each.result, each.number, each.last_at - NOW)
                for each in self.rounds().every()]

    def test_each_host_has_its_own(self):
        self.assertEqual([], self.found())
        for at, host, result in ((0, 'b', 'planned'), (1, 'a', 'failed'),
                                 (2, 'b', 'planned'), (3, 'b', 'failed')):
            self.rounds(at).count(host, result)
        self.assertEqual([('a', 'failed', 1, 1), ('b', 'failed', 1, 3),
                          ('b', 'planned', 2, 2)], self.found())

    def test_a_host_that_went_is_forgotten(self):
        self.rounds().count('old', 'planned')
        self.rounds().count('new', 'failed')
        self.rounds(KEEP_S + 1).count('new', 'planned')
        self.assertEqual(['new', 'new'], [each[0] for each in self.found()])

    def test_two_that_count_at_the_same_time(self):
        self.assertEqual([], at_once.failures(
            lambda: self.rounds().count('a', 'planned')))
        self.assertEqual([], at_once.failures(
            lambda: self.rounds().count('a', 'planned')))
        (_, _, number, _), = self.found()
        self.assertLessEqual(3, number)

    def test_a_long_name(self):
        self.rounds().count('x' * 300, 'planned')
        self.rounds().count('x' * 300, 'planned')
        self.assertEqual([2], [each[2] for each in self.found()])
