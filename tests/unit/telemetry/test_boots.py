# SPDX-License-Identifier: Apache-2.0
"""Boot times, trusted only where nothing contradicts them."""

import dataclasses

import ddt
import testtools

from serifos.telemetry.counters import Reading
from serifos.telemetry import window
from tests.unit.telemetry.readings import place
from tests.unit.telemetry.readings import steady

NOW = 1_795_239_754.0
POOL = 'node1@ssd#ssd'


def reading(at, up_s, counted_s=None, ahead_s=0.0, **others):
    """A host that is up so long, its clock ahead of ours."""
    clock = at + ahead_s
    return Reading(
        at, {'a': steady(up_s if counted_s is None else counted_s)},
        started=clock - up_s, clock=clock, **others)


def seen(*readings):
    return window.observed([place('a')], {'node1': readings},
                           now=readings[-1].at, window_s=1350,
                           interval_s=15)


@ddt.ddt
class BootsTest(testtools.TestCase):

    def check(self, expected, *readings):
        """The start that is told, or a part of why it is not."""
        found = seen(*readings)
        if isinstance(expected, str):
            self.assertEqual({}, found.started)
            self.assertIn(expected, found.doubts[POOL])
        else:
            self.assertEqual(({POOL: expected}, {}),
                             (found.started, found.doubts))

    def test_a_host_that_is_up_for_long(self):
        self.check(NOW - 5015, reading(NOW - 15, 5000), reading(NOW, 5015))

    def test_a_boot(self):
        self.check(NOW - 40, reading(NOW - 300, 5000),
                   reading(NOW - 15, 25), reading(NOW, 40))

    @ddt.data(-50, 50)
    def test_a_clock_a_little_off_does_not_matter(self, ahead_s):
        self.check(NOW - 5015, reading(NOW - 15, 5000, ahead_s=ahead_s),
                   reading(NOW, 5015, ahead_s=ahead_s))

    @ddt.data((61, '61 s ahead of ours'), (-4000, '4000 s behind ours'),
              (1.9e9, 'ahead of ours'))
    @ddt.unpack
    def test_a_clock_that_is_far_off(self, ahead_s, why):
        self.check(why, reading(NOW - 15, 5000, ahead_s=ahead_s),
                   reading(NOW, 5015, ahead_s=ahead_s))

    def test_a_boot_in_the_future(self):
        self.check('its boot time lies 3600 s in the future',
                   reading(NOW, -3600, 100))

    def test_no_clock_to_compare_with(self):
        self.check('node_time_seconds', dataclasses.replace(
            reading(NOW, 5000), clock=None))

    def test_a_clock_alone(self):
        self.check('node_boot_time_seconds', dataclasses.replace(
            reading(NOW, 5000), started=None))

    def test_a_source_that_tells_of_no_host_is_not_doubted(self):
        found = seen(Reading(NOW, {'a': steady(9)}))
        self.assertEqual(({}, {}), (found.started, found.doubts))

    def test_a_boot_that_the_counters_know_nothing_of(self):
        self.check('volume-a were not reset', reading(NOW - 30, 5000),
                   reading(NOW - 15, 10, 5015), reading(NOW, 25, 5030))

    def test_counters_that_know_of_a_boot_that_is_not_told(self):
        self.check('without a reboot', reading(NOW - 30, 5000),
                   reading(NOW - 15, 5015, 10), reading(NOW, 5030, 25))

    def test_one_lv_that_began_anew_is_no_boot(self):
        readings = [dataclasses.replace(one, volumes={
            'a': one.volumes['a'], 'b': steady(seconds)})
            for one, seconds in ((reading(NOW - 15, 5000), 5000),
                                 (reading(NOW, 5015), 10))]
        self.check(NOW - 5015, *readings)

    def test_an_uptime_that_grows_faster_than_time(self):
        self.check('uptime grew by 4000 s in 15 s', reading(NOW - 15, 1000),
                   reading(NOW, 5000))

    def test_a_clock_that_is_set_is_no_boot(self):
        self.check(NOW - 5015, reading(NOW - 15, 5000, ahead_s=-3000),
                   reading(NOW, 5015))

    def test_our_clock_that_is_set_makes_no_silence(self):
        # Else a copy that is still written looks quiet for an hour.
        found = seen(reading(NOW - 3630, 5000, 1000),
                     reading(NOW - 30, 5015, 1000),
                     reading(NOW - 15, 5030, 1000),
                     reading(NOW, 5045, 1000))
        self.assertEqual(30, found.volumes['a'].quiet_s)
        jumped = seen(reading(NOW - 915, 5000, 1000),
                      reading(NOW - 15, 5015, 1000),
                      reading(NOW, 5030, 1000))
        self.assertEqual(15, jumped.volumes['a'].quiet_s)
