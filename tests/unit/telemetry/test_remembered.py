# SPDX-License-Identifier: Apache-2.0
"""What is over is asked for once, and the answer is the same."""

import hypothesis
from hypothesis import strategies
import numpy as np
import testtools

from serifos.facts.history import Series
from serifos.telemetry.remembered import Memory
from serifos.telemetry.remembered import Remembered
from tests.unit.telemetry import readings

HOUR = 3600
NOW = 1_800_000_000 // HOUR * HOUR
SETTLED_S = 900


class Past:
    """A history in which each slot, volume and host has a figure of its own.

    Slots that are not settled are seen in part.
    """

    def __init__(self):
        self.now, self.asked = NOW, []

    def read(self, places, begin, end, step_s):
        found = Series.empty([place.volume for place in places], begin,
                             end, step_s)
        self.asked.append((''.join(found.volumes), found.count))
        for column, place in enumerate(places):
            for slot, at in enumerate(found.begins):
                whole = at + step_s + SETTLED_S <= self.now
                found.sums[:, slot, column] = [
                    step_s if whole else max(0, min(self.now - at, 60)),
                    at // step_s % 1000, hash(place) % 1000, 3, 4, 5, 6]
        return found


class RememberedTest(testtools.TestCase):

    def setUp(self):
        super().setUp()
        self.past = Past()
        self.history = Remembered(
            self.past, Memory(), lambda: self.past.now, SETTLED_S)

    def read(self, *places, hours=24, step_s=HOUR):
        """A day up to the last whole slot; the same as if asked for anew."""
        end = self.past.now // step_s * step_s
        arguments = (places, end - hours * HOUR, end, step_s)
        found = self.history.read(*arguments)
        asked, self.past.asked = self.past.asked, []
        expected = self.past.read(*arguments)
        self.past.asked = []
        np.testing.assert_array_equal(expected.sums, found.sums)
        self.assertEqual((expected.volumes, expected.begin, expected.step_s),
                         (found.volumes, found.begin, found.step_s))
        return asked

    def later(self, seconds=300):
        self.past.now += seconds

    def test_only_what_came_since_is_asked_for(self):
        a, b = readings.place('a'), readings.place('b')
        self.assertEqual([('ab', 24)], self.read(a, b))
        self.later()
        self.assertEqual([('ab', 1)], self.read(a, b), 'it was not settled')
        self.later(600)
        self.assertEqual([('ab', 1)], self.read(a, b))
        for _ in range(8):
            self.later()
            self.assertEqual([], self.read(b, a))
        self.later(600)
        self.assertEqual([('ab', 1)], self.read(a, b))

    def test_volumes_that_are_new_or_moved_are_asked_for_whole(self):
        self.later(1000)
        a, b, c = map(readings.place, 'abc')
        self.read(a, b)
        self.assertEqual([('c', 24)], self.read(c, a, b))
        moved = readings.place('a', 'node2')
        self.assertEqual([('a', 24)], self.read(moved, b, c))
        self.assertEqual([], self.read(moved, c))

    def test_few_that_are_asked_for_in_between_push_nothing_out(self):
        self.later(1000)
        many = [readings.place(f'{n}') for n in range(9)]
        self.read(*many)
        self.assertEqual([], self.read(many[3]))
        self.assertEqual([('x', 24)], self.read(readings.place('x')))
        self.assertEqual([], self.read(*many))

    def test_more_days_and_shorter_slots(self):
        self.later(1000)
        a = readings.place('a')
        self.read(a)
        self.assertEqual([('a', 48)], self.read(a, hours=48))
        self.assertEqual([('a', 288)], self.read(a, step_s=300))
        self.assertEqual([], self.read(a, hours=24))

    def test_after_a_clock_that_was_ahead_all_is_asked_for(self):
        self.later(5 * HOUR)
        self.read(readings.place('a'))
        self.later(-2 * HOUR)
        self.assertEqual([('a', 24)], self.read(readings.place('a')))

    def test_after_a_long_time_all_is_asked_for(self):
        self.later(1000)
        self.read(readings.place('a'))
        self.later(48 * HOUR)
        self.assertEqual([('a', 24)], self.read(readings.place('a')))

    @hypothesis.settings(deadline=None)
    @hypothesis.given(strategies.lists(strategies.tuples(
        strategies.sets(strategies.tuples(strategies.sampled_from('abcde'),
                                          strategies.sampled_from(('node1',
                                                                   'node2'))),
                        max_size=6),
        strategies.sampled_from((300, 900, 3600, 9000, 90000)),
        strategies.integers(1, 30), strategies.sampled_from((HOUR, 300))),
                                       max_size=8))
    def test_the_answer_is_that_of_the_source(self, rounds):
        history = Remembered(
            self.past, Memory(), lambda: self.past.now, SETTLED_S)
        self.history = history
        for volumes, seconds, hours, step_s in rounds:
            self.past.now += seconds
            self.read(*(readings.place(volume, host) for volume, host in dict(
                volumes).items()), hours=hours, step_s=step_s)
