# SPDX-License-Identifier: Apache-2.0
"""What is kept of the errors of pools, whatever the database."""

from __future__ import annotations

import dataclasses

from serifos.database.pool_errors import PoolErrors
from serifos.facts import pool_errors
from tests.unit.database import at_once

BEGIN = 1_800_000_000 // pool_errors.HOUR_S * pool_errors.HOUR_S
HOUR, DAY = pool_errors.HOUR_S, 86400


class Behaviour:
    """The tests; who uses them has ``database``, empty when one begins."""

    def errors(self):
        return PoolErrors(self.database)

    def note(self, at, **ratios):
        self.errors().note({pool: pool_errors.Check(1000.0 * ratio, 1000.0,
                                                    ratio > 1)
                            for pool, ratio in ratios.items()}, BEGIN + at)

    def found(self, begin=-DAY, end=400 * DAY):
        return {pool: [(hour.begin - BEGIN, hour.rounds, hour.seen_us,
                        hour.predicted_us, hour.above, hour.below)
                       for hour in hours]
                for pool, hours in self.errors().hours(
                    BEGIN + begin, BEGIN + end).items()}

    def test_rounds_add_up_to_hours(self):
        self.assertEqual({}, self.found())
        self.note(0, a=1.0, b=2.0)
        self.note(300, a=3.0)
        self.note(HOUR + 5, b=2.0, a=1.0, c=0.5)
        self.assertEqual({
            'a': [(0, 2, 4000, 2000, 1, 0), (HOUR, 1, 1000, 1000, 0, 0)],
            'b': [(0, 1, 2000, 1000, 1, 0), (HOUR, 1, 2000, 1000, 1, 0)],
            'c': [(HOUR, 1, 500, 1000, 0, 0)]}, self.found())
        self.assertEqual({'a', 'b'}, {*self.found(0, 0)})
        error = self.errors().hours(BEGIN, BEGIN)['a'][0].error
        self.assertAlmostEqual(pool_errors.Check(3, 1).error, error)

    def test_nothing_to_note(self):
        self.note(0)
        self.assertEqual({}, self.found())

    def test_what_is_old_or_of_a_wrong_clock_goes(self):
        for day in 0, 5, 20:
            self.note(day * DAY, a=1.0)
        self.assertEqual([20 * DAY], [at for at, *_ in self.found()['a']])
        self.note(6 * DAY, a=1.0)
        self.assertEqual([6 * DAY], [at for at, *_ in self.found()['a']])

    def test_many_pools_and_long_names(self):
        names = [f'host-é@ssd#{n:0240}' for n in range(1200)]
        for _ in range(2):
            self.errors().note(dict.fromkeys(
                names, pool_errors.Check(2.0, 1.0)), BEGIN)
        self.assertEqual([(0, 2, 4.0, 2.0, 0, 0)], self.found()[names[-1]])
        self.assertEqual(1200, len(self.found()))

    def test_two_that_note_at_once(self):
        self.note(0, a=1.0)

        def note():
            errors = PoolErrors(dataclasses.replace(self.database))
            for _ in range(8):
                errors.note({'a': pool_errors.Check(1.0, 1.0)}, BEGIN + 9)
        self.assertEqual([], at_once.failures(note))
        self.assertEqual(17, self.found()['a'][0][1])
