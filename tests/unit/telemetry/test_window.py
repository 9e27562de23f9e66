# SPDX-License-Identifier: Apache-2.0
"""Activity over a window of readings, and why it is unknown."""

import ddt
import hypothesis
from hypothesis import strategies
import testtools

from serifos.telemetry.counters import Counters
from serifos.telemetry.counters import Reading
from serifos.telemetry import window
from tests.unit.telemetry.readings import place
from tests.unit.telemetry.readings import steady

NOW = 10_000.0


def every(seconds, count, volumes, until=NOW, started=None):
    """count readings, in each of which volumes(at) are seen."""
    times = [until - seconds * nth for nth in reversed(range(count))]
    return [Reading(at, volumes(at), started=started, clock=at)
            for at in times]


def observed(places, readings, window_s=600, now=NOW):
    return window.observed(places, readings, now=now, window_s=window_s,
                           interval_s=15)


@ddt.ddt
class WindowTest(testtools.TestCase):

    def test_a_volume_and_its_pool(self):
        seen = observed([place('a'), place('b')], {'node1': every(
            15, 60, lambda at: {'a': steady(at, 0, 4, 100, 1000),
                                'b': steady(at, 100, 8, 300, 3000)},
            started=77.0)})
        self.assertEqual(NOW, seen.at)
        self.assertEqual((600, 40), (seen.volumes['a'].seconds,
                                     seen.volumes['a'].intervals))
        pool = seen.pools['node1@ssd#ssd'].mean
        self.assertAlmostEqual(400, pool.iops)
        self.assertAlmostEqual(75, pool.write_pct)
        self.assertAlmostEqual(7, pool.block_kib)
        self.assertAlmostEqual(2500, pool.latency_us)
        self.assertAlmostEqual(1.0, pool.iodepth)
        self.assertEqual(({}, {}), (seen.missing, seen.problems))
        self.assertEqual({'node1@ssd#ssd': 77.0}, seen.started)

    def test_a_volume_is_found_by_the_name_of_its_lv(self):
        readings = {'node1': every(15, 3, lambda at: {'x': steady(at)})}
        seen = observed([place('a', lv_id='x')], readings)
        self.assertAlmostEqual(1000, seen.volumes['a'].mean.iops)
        self.assertIn('no LV volume-a', observed(
            [place('a')], readings).missing['a'])

    def test_silence_of_one_host_is_its_own(self):
        readings = {
            'node1': every(15, 3, lambda at: {'a': steady(at)}),
            'node2': [Reading(NOW, fault='it does not answer')]}
        seen = observed([place('a'), place('b', 'node2'),
                         place('c', 'node3')], readings)
        self.assertEqual({'a'}, set(seen.volumes))
        self.assertEqual('there is no usable reading of node2: it does not '
                         'answer', seen.problems['node2@ssd#ssd'])
        self.assertEqual('there is no reading of node3', seen.missing['c'])
        self.assertEqual({'node1@ssd#ssd'}, set(seen.pools))

    def test_stale_readings_are_no_readings(self):
        readings = {'node1': every(
            15, 40, lambda at: {'a': steady(at)}, until=NOW - 46) + [
                Reading(NOW, fault='it is refused')]}
        seen = observed([place('a')], readings)
        self.assertEqual(
            'the newest reading of node1 is 46 s old, more than 45 s: it is '
            'refused', seen.missing['a'])
        self.assertEqual(({}, {}), (seen.volumes, seen.pools))
        self.assertEqual({}, observed([place('a')], readings,
                                      now=NOW - 1).missing)

    def test_readings_from_the_future_are_left_out(self):
        readings = every(15, 3, lambda at: {'a': steady(at)})
        readings += every(15, 3, lambda at: {'a': steady(at)}, NOW + 9e3)
        self.assertEqual(NOW, observed([place('a')],
                                       {'node1': readings}).at)

    def test_a_failed_reading_costs_no_interval(self):
        readings = every(15, 3, lambda at: {'a': steady(at)})
        readings.insert(2, Reading(NOW - 5, fault='busy'))
        seen = observed([place('a')], {'node1': readings}).volumes['a']
        self.assertEqual((30, 2), (seen.seconds, seen.intervals))

    def test_an_lv_that_went_and_came_is_not_guessed_at(self):
        readings = every(15, 5, lambda at: (
            {} if at == NOW - 30 else {'a': steady(at)}))
        seen = observed([place('a')], {'node1': readings}).volumes['a']
        self.assertEqual((30, 2), (seen.seconds, seen.intervals))

    def test_a_reboot_breaks_the_interval_though_no_counter_fell(self):
        readings = [
            *every(15, 3, lambda at: {'a': steady(at)}, NOW - 60, 1.0),
            *every(15, 3, lambda at: {'a': steady(2 * at)}, NOW, 9e3)]
        seen = observed([place('a')], {'node1': readings})
        self.assertEqual(60, seen.volumes['a'].seconds)
        self.assertEqual(60, seen.pools['node1@ssd#ssd'].seconds)
        self.assertEqual({'node1@ssd#ssd'}, {*seen.doubts})

    def test_read_once_is_not_known_yet(self):
        readings = every(15, 3, lambda at: (
            {'a': steady(at)} if at == NOW else {}))
        self.assertIn('read only once', observed(
            [place('a')], {'node1': readings}).missing['a'])

    def test_what_ails_the_newest_reading_of_a_volume(self):
        readings = every(15, 3, lambda at: {'a': steady(at)})
        readings[-1] = Reading(NOW, faults={'a': 'it is twice there'})
        seen = observed([place('a')], {'node1': readings})
        self.assertEqual('of volume-a on node1: it is twice there',
                         seen.missing['a'])

    def test_a_pool_that_is_partly_seen_says_so(self):
        seen = observed([place('a'), place('b')], {'node1': every(
            15, 3, lambda at: {'a': steady(at)})})
        self.assertEqual('1 of 2 volumes are not seen; there is no LV '
                         'volume-b on node1', seen.problems['node1@ssd#ssd'])
        self.assertAlmostEqual(1000, seen.pools['node1@ssd#ssd'].mean.iops)

    def test_readings_hard_upon_another_do_not_count_as_intervals(self):
        readings = sorted(
            every(15, 20, lambda at: {'a': steady(at)})
            + every(15, 20, lambda at: {'a': steady(at)}, NOW - 2),
            key=lambda reading: reading.at)
        seen = observed([place('a')], {'node1': readings}).volumes['a']
        self.assertEqual(19, seen.intervals)

    def test_a_pool_leaves_out_what_one_of_its_volumes_does_not_know(self):
        def volumes(at):
            return {'a': steady(at), 'b': steady(
                at if at < NOW - 15 else at - NOW + 60)}
        seen = observed([place('a'), place('b')],
                        {'node1': every(15, 5, volumes)})
        self.assertEqual(60, seen.volumes['a'].seconds)
        self.assertEqual(45, seen.volumes['b'].seconds)
        self.assertEqual(45, seen.pools['node1@ssd#ssd'].seconds)
        self.assertAlmostEqual(
            2000, seen.pools['node1@ssd#ssd'].mean.iops)

    def test_volumes_read_at_different_times_add_up(self):
        """As with Gnocchi, where each volume has measures of its own."""
        readings = {
            'a': every(15, 5, lambda at: {'a': steady(at, iops=100)}),
            'b': [reading for reading in every(
                15, 5, lambda at: {'b': steady(at, iops=300)})
                if reading.at != NOW - 30]}
        seen = window.observed(
            [place('a'), place('b')], readings, now=NOW, window_s=600,
            interval_s=15, of=lambda place: place.volume)
        pool = seen.pools['node1@ssd#ssd']
        self.assertEqual((60, 3), (pool.seconds, pool.intervals))
        self.assertAlmostEqual(400, pool.mean.iops)

    @hypothesis.given(strategies.lists(
        strategies.lists(strategies.integers(0, 1000), min_size=4,
                         max_size=4), min_size=1, max_size=5))
    def test_a_pool_is_the_sum_of_its_volumes(self, grown):
        """Requests of each volume in each of four intervals."""
        def volumes(at):
            nth = int(at - NOW) // 15 + 4
            return {str(v): Counters(sum(n[:nth]), 0, 0, 0,
                                     sum(n[:nth]) / 1000, 0)
                    for v, n in enumerate(grown)}
        seen = observed([place(str(v)) for v in range(len(grown))],
                        {'node1': every(15, 5, volumes)})
        total = sum(a.mean.iops for a in seen.volumes.values())
        q = sum(a.mean.iodepth for a in seen.volumes.values())
        pool = seen.pools['node1@ssd#ssd']
        self.assertAlmostEqual(total, pool.mean.iops)
        self.assertAlmostEqual(q, pool.mean.iodepth)
        self.assertAlmostEqual(
            min(a.quiet_s for a in seen.volumes.values()), pool.quiet_s)
