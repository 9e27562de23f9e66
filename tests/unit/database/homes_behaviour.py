# SPDX-License-Identifier: Apache-2.0
"""What is kept of where volumes are, whatever the database."""

from __future__ import annotations

import dataclasses

from serifos.database.space import Homes
from serifos.facts.space import Home
from serifos.facts.space import Moved
from tests.unit.database import at_once

DAY = 86400.0
BEGIN = 20_000 * DAY


class Behaviour:
    """The tests; who uses them has ``database``, empty when one begins."""

    def homes(self, keep_s=14 * DAY):
        return Homes(self.database, keep_s)

    def note(self, day, where, before=(), keep_s=14 * DAY, gib=8.0):
        """:param where: volume → its pool"""
        self.homes(keep_s).note({
            volume: Home(pool, gib) for volume, pool in where.items()},
            BEGIN + day * DAY, before)

    def moves(self, day=0):
        return [((move.at - BEGIN) / DAY, move.volume, move.source,
                 move.target, move.gib)
                for move in self.homes().moves(BEGIN + day * DAY)]

    def test_a_volume_that_is_elsewhere_was_moved(self):
        self.assertEqual([], self.moves())
        self.note(0, {'u': 'a', 'v': 'a'})
        self.note(1, {'u': 'a', 'v': 'b'})
        self.note(2, {'u': 'a', 'v': 'b'})
        self.note(3, {'u': 'c', 'v': 'a'})
        self.assertEqual([(1, 'v', 'a', 'b', 8), (3, 'u', 'a', 'c', 8),
                          (3, 'v', 'b', 'a', 8)], sorted(self.moves()))
        self.assertEqual(2, len(self.moves(2)))

    def test_what_is_new_gone_or_extended_was_not_moved(self):
        self.note(0, {'u': 'a', 'v': 'a'})
        self.note(1, {'v': 'a', 'w': 'b'})
        self.note(2, {'v': 'a', 'w': 'b'}, gib=9.5)
        self.note(3, {'u': 'b', 'v': 'a', 'w': 'b'}, gib=9.5)
        self.assertEqual([], self.moves())

    def test_its_size_is_the_one_before(self):
        self.note(0, {'v': 'a'}, gib=5.0)
        self.note(1, {'v': 'a'}, gib=6.0)
        self.note(2, {'v': 'b'}, gib=7.0)
        self.assertEqual([(2, 'v', 'a', 'b', 6)], self.moves())

    def test_moves_that_are_known_are_kept_the_first_time_alone(self):
        known = [Moved(BEGIN - DAY, 'a', 'b', 3.0, 'v')] * 2
        for _ in range(2):
            self.note(0, {}, known)
        self.note(0, {'v': 'b'}, known)
        self.note(1, {'v': 'b', 'u': 'c'}, [dataclasses.replace(
            known[0], at=BEGIN)])
        self.assertEqual([(-1, 'v', 'a', 'b', 3)], self.moves(-9))

    def test_what_is_old_or_of_a_wrong_clock_goes(self):
        for day, pool in (0, 'a'), (1, 'b'), (300, 'c'), (4, 'd'), (5, 'e'):
            self.note(day, {'v': pool}, keep_s=3 * DAY)
        self.assertEqual([(4, 'c', 'd'), (5, 'd', 'e')], [
            (day, *ends) for day, _, *ends, _ in self.moves()])

    def test_many_volumes_and_long_names(self):
        pools = ['host-é@ssd#' + letter * 240 for letter in 'xy']
        names = [f'{n:0255}' for n in range(1200)]
        for day, pool in enumerate(pools):
            self.note(day, dict.fromkeys(names, pool))
        self.assertEqual({(1, name, *pools, 8) for name in names},
                         {*self.moves()})
        self.note(2, dict.fromkeys(names[:1], pool))
        self.note(3, dict.fromkeys(names, pools[0]))
        self.assertEqual([(3, names[0], *pools[::-1], 8)], self.moves(2))

    def test_a_note_that_comes_late_leaves_later_moves(self):
        self.note(0, {'v': 'a'})
        self.note(2 / 100, {'v': 'b'})
        self.note(1 / 100, {'v': 'b', 'u': 'c'})
        self.assertEqual([('v', 'a', 'b')], [
            tuple(ends) for _, *ends, _ in self.moves()])

    def test_a_move_that_another_noted_at_that_time_is_not_half_noted(self):
        self.note(0, {'v': 'a'})
        self.note(1, {'v': 'b'})
        self.note(2, {'v': 'a'})
        self.note(1, {'v': 'b'})  # by one that was stopped for a day
        self.note(3, {'v': 'b'})
        self.assertEqual([(1, 'a', 'b'), (2, 'b', 'a'), (3, 'a', 'b')], [
            (day, *ends) for day, _, *ends, _ in self.moves()])

    def test_two_that_note_at_once_tell_a_move_once(self):
        self.note(0, {'v': 'a'})

        def note():
            for step in range(1, 5):
                self.note(step / 100, {'v': 'ab'[step % 2], **dict.fromkeys(
                    map(str, range(step)), 'c')})
        self.assertEqual([], at_once.failures(note))
        where = 'a'
        for _, volume, source, target, _ in self.moves():
            self.assertEqual(('v', where), (volume, source))
            where = target
        self.assertIn(where, 'ab')
