# SPDX-License-Identifier: Apache-2.0
"""Activity from counters."""

import dataclasses
import math

import ddt
import hypothesis
from hypothesis import strategies
import testtools

from serifos.telemetry.counters import between
from serifos.telemetry.counters import Counters
from serifos.telemetry.counters import mean_activity
from tests.unit.telemetry.readings import steady

COUNT = strategies.integers(0, 10 ** 12)
SECONDS = strategies.floats(0, 1e9)
COUNTERS = strategies.builds(Counters, COUNT, COUNT, COUNT, COUNT, SECONDS,
                             SECONDS)


def deltas_of(readings):
    return [delta for (at, a), (then, b) in zip(readings, readings[1:])
            if (delta := between(at, a, then, b))]


@ddt.ddt
class ActivityTest(testtools.TestCase):

    @ddt.data((25, 8, 1000, 2000), (0, 4, 1, 100), (100, 256, 20, 9e5))
    @ddt.unpack
    def test_what_was_done_is_what_is_seen(self, write_pct, block_kib, iops,
                                           latency_us):
        seen = mean_activity(deltas_of(
            [(at, steady(at, write_pct, block_kib, iops, latency_us))
             for at in range(0, 615, 15)]), 600)
        self.assertAlmostEqual(write_pct, seen.mean.write_pct)
        self.assertAlmostEqual(block_kib, seen.mean.block_kib)
        self.assertAlmostEqual(iops, seen.mean.iops)
        self.assertAlmostEqual(latency_us, seen.mean.latency_us, 4)
        self.assertAlmostEqual(iops * latency_us / 1e6, seen.mean.iodepth)
        self.assertEqual((600, 40, 0),
                         (seen.seconds, seen.intervals, seen.quiet_s))

    def test_an_idle_volume_is_all_zero_and_not_active(self):
        still = steady(5)
        seen = mean_activity(deltas_of([(0, still), (15, still)]), 15)
        self.assertEqual((0, 0, 0, 0, 0), (
            seen.mean.write_pct, seen.mean.block_kib, seen.mean.iodepth,
            seen.mean.iops, seen.mean.latency_us))
        self.assertFalse(seen.mean.is_active())
        self.assertEqual(15, seen.quiet_s)

    @ddt.data(*Counters._fields)
    def test_a_counter_that_fell_says_nothing(self, name):
        after = steady(30)._replace(**{name: 1})
        self.assertIsNone(between(0, steady(15), 15, after))

    def test_time_that_stands_still_or_runs_back_says_nothing(self):
        for then in (15, 10):
            self.assertIsNone(
                between(15, steady(15), then, steady(30)))

    def test_the_rest_is_known_where_a_counter_began_anew(self):
        seen = mean_activity(deltas_of([
            (0, steady(1000)), (15, steady(1015)),
            (30, steady(10)), (45, steady(25))]), 45)
        self.assertEqual((30, 2), (seen.seconds, seen.intervals))
        self.assertAlmostEqual(1000, seen.mean.iops)

    def test_quiet_since_the_last_request(self):
        readings = [(at, steady(min(at, 40))) for at in range(0, 105, 15)]
        self.assertEqual(
            45, mean_activity(deltas_of(readings), 90).quiet_s)

    def test_unwritten_since_the_last_write(self):
        readings = [
            (at, steady(at)._replace(writes=min(at, 40)))
            for at in range(0, 105, 15)]
        seen = mean_activity(deltas_of(readings), 90)
        self.assertEqual((0, 45), (seen.quiet_s, seen.unwritten_s))

    def test_not_quiet_where_what_happened_is_unknown(self):
        still, anew = steady(100), steady(0)
        readings = [(0, still), (15, still), (30, anew)]
        self.assertEqual(0, mean_activity(deltas_of(readings), 30).quiet_s)
        readings += [(45, anew)]
        self.assertEqual(15, mean_activity(deltas_of(readings), 45).quiet_s)

    def test_nothing_known_is_none(self):
        self.assertIsNone(mean_activity([], 0))

    @hypothesis.given(strategies.lists(
        strategies.tuples(strategies.floats(0, 1000, width=16), COUNTERS),
        max_size=30))
    def test_any_counters_give_finite_figures(self, steps):
        at, readings = 1e9, []
        for seconds, counters in steps:
            at += seconds
            readings.append((at, counters))
        seen = mean_activity(deltas_of(readings), at)
        if seen:
            for value in dataclasses.astuple(seen.mean):
                self.assertTrue(math.isfinite(value) and value >= 0, value)
            self.assertLessEqual(seen.mean.write_pct, 100)
            self.assertGreaterEqual(seen.quiet_s, 0)
            self.assertGreater(seen.seconds, 0)

    @hypothesis.given(strategies.lists(strategies.tuples(
        strategies.integers(0, 10 ** 6), strategies.integers(0, 10 ** 6)),
                                       min_size=1))
    def test_the_whole_window_is_the_sum_of_its_intervals(self, grown):
        readings, reads, writes = [(0, steady(0))], 0, 0
        for nth, (more_reads, more_writes) in enumerate(grown, 1):
            reads, writes = reads + more_reads, writes + more_writes
            readings.append((nth * 15, Counters(
                reads, writes, reads * 4096, writes * 8192, reads, writes)))
        by_steps = mean_activity(deltas_of(readings), 0).mean
        at_once = mean_activity(
            deltas_of([readings[0], readings[-1]]), 0).mean
        self.assertEqual(at_once, by_steps)
