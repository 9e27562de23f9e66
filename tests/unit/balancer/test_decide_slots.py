# SPDX-License-Identifier: Apache-2.0
"""From a history to slots: read and reduced in parts."""

from __future__ import annotations

import numpy as np
import testtools

from serifos.balancer import decide
from serifos.facts import activity
from serifos.plan.slots import Demand
from tests.fakes import history
from tests.fakes import settings

NOW = 1_800_000_000.0
MIB = 2.0 ** 20


def places(*names):
    return [activity.MeasuredVolume(name, name, '') for name in names]


class PastTestCase(testtools.TestCase):

    def setUp(self):
        super().setUp()
        self.history = history.EveryDay({
            name: [(3 * busy, busy, 3 * busy * MIB, busy * MIB, busy, busy)
                   if hour < 12 else (0,) * 6 for hour in range(24)]
            for busy, name in enumerate('uvw', 1)})

    def slots(self, *names, now=NOW, history_s=86400.0, **demand):
        return decide.slots(
            self.history, places(*names), now, settings.balancer(
                history_s=history_s, demand=Demand(**demand)))

    def test_each_part_of_a_day_is_told(self):
        found = self.slots('u', 'v', slots=2)
        self.assertEqual(('u', 'v'), found.volumes)
        np.testing.assert_allclose(found.patterns, [
            [(25, 1024, 2 * busy, 100, 4 * busy), (0,) * 5]
            for busy in (1, 2)])

    def test_an_unknown_volume_stays_unknown(self):
        found = self.slots('u', 'x')
        self.assertEqual([False, True],
                         np.isnan(found.patterns[:, 0, 2]).tolist())

    def test_where_nothing_is_known_the_present_is_planned_for(self):
        self.assertIsNone(self.slots('x'))
        self.assertIsNone(self.slots())
        self.assertIsNone(self.slots('u', history_s=0.0))

    def test_hours_tell_how_busy_pools_are(self):
        for days, hours, told in ((1, 5, False), (1, 6, True),
                                  (3, 17, False), (3, 18, True)):
            self.history.since = NOW - hours * 3600
            found = self.slots('u', history_s=days * 86400.0, busy=True)
            self.assertEqual(told, found is not None, (days, hours))
            self.assertTrue(not told or found.busy)

    def test_a_young_history_leaves_planning_to_the_present(self):
        for days, hours, told in ((1, 21, False), (1, 22, True),
                                  (3, 64, False), (3, 65, True)):
            self.history.since = NOW - hours * 3600
            found = self.slots('u', history_s=days * 86400.0)
            self.assertEqual(told, found is not None, (days, hours))

    def test_a_gap_does_not(self):
        self.history.since = NOW - 23 * 3600
        whole = self.history.read

        def gap(places, begin, end, step_s):
            found = whole(places, begin, end, step_s)
            found.sums[:, 4:20] = 0
            return found

        self.history.read = gap
        self.assertIsNotNone(self.slots('u'))

    def test_parts_are_one(self):
        whole = self.slots(*'uxvw')
        for name in 'READ_AT_ONCE', 'REDUCED_AT_ONCE':
            for most in 1, 2 * 7 * 24:
                self.patch(decide, name, most)
                found = self.slots(*'uxvw')
                self.assertEqual(whole.volumes, found.volumes)
                np.testing.assert_array_equal(
                    whole.patterns, found.patterns)

    def test_so_many_volumes_are_read_at_once(self):
        for most, reads in (1, 4), (2 * 7 * 24, 2), (3 * 7 * 24, 2), (
                4 * 7 * 24, 1):
            self.patch(decide, 'READ_AT_ONCE', most)
            self.history.asked.clear()
            self.slots(*'uxvw')
            self.assertEqual(reads, len(self.history.asked), most)

    def test_slots_as_short_as_parts_of_a_day_are_read(self):
        for slots, step_s in (1, 3600), (24, 3600), (25, 300), (288, 300):
            self.slots('u', slots=slots)
            self.assertEqual(step_s, self.history.asked[-1][2])
