# SPDX-License-Identifier: Apache-2.0
"""The waiting of throttled volumes, taken out of what QEMU tells."""

import itertools

import ddt
import hypothesis
from hypothesis import strategies
import numpy as np
import testtools

from serifos.facts.caps import Caps
from serifos.telemetry.counters import Counters
from serifos.telemetry import gnocchi_disks

CAP = Caps(1000.0)
EVERY_S = 300


def told(*intervals):
    """Counters, and in each interval reads a second and µs of each."""
    found = [np.array([5.0, 7, 9e4, 11e4, 3, 4])]
    for iops, us in intervals:
        found.append(found[-1] + EVERY_S * iops * np.array(
            [1, 0.5, 4096, 2048, us / 1e6, us / 2e6]) / 1.5)
    return [(EVERY_S * n, Counters(*values.tolist()))
            for n, values in enumerate(found)]


def latencies_us(its):
    """Of all requests of each interval; NaN of none."""
    found = []
    for (_, then), (_, now) in itertools.pairwise(its):
        grown = np.subtract(now, then)
        found.append(1e6 * grown[4:].sum() / grown[:2].sum()
                     if grown[:2].any() else np.nan)
    return found


@ddt.ddt
class WaitingTest(testtools.TestCase):

    @ddt.data(None, CAP)
    def test_who_is_never_at_a_cap_is_left_alone(self, cap):
        its = told((500, 2000), (0, 0), (890, 90000))
        self.assertEqual(its, gnocchi_disks.without_waiting(its, cap))

    def test_at_the_cap_requests_take_what_they_else_do(self):
        found = gnocchi_disks.without_waiting(told(
            (1000, 80000), (500, 2000), (950, 40000), (250, 5000), (0, 0)),
            CAP)
        np.testing.assert_allclose(
            [3000, 2000, 3000, 5000, np.nan], latencies_us(found))
        for (_, before), (_, after) in zip(told(
                (1000, 1), (500, 1), (950, 1), (250, 1), (0, 1)), found):
            self.assertEqual(before[:4], after[:4])

    def test_never_more_than_they_show(self):
        found = gnocchi_disks.without_waiting(
            told((1000, 1500), (500, 2000)), CAP)
        np.testing.assert_allclose([1500, 2000], latencies_us(found))

    def test_reads_and_writes_lose_the_same_part(self):
        found = gnocchi_disks.without_waiting(
            told((1000, 80000), (500, 2000)), CAP)
        grown = np.subtract(found[1][1], found[0][1])
        self.assertAlmostEqual(2 * grown[5], grown[4])

    def test_who_always_is_takes_nobody_knows_how_long(self):
        found = gnocchi_disks.without_waiting(
            told((1000, 80000), (0, 0), (950, 70000)), CAP)
        self.assertTrue(np.isnan([its[4:] for _, its in found]).all())
        self.assertEqual([its[:4] for _, its in told(
            (1000, 1), (0, 1), (950, 1))], [
                its[:4] for _, its in found])

    def test_what_exceeds_a_cap_shows_that_it_is_not_in_force(self):
        its = told((1500, 80000), (500, 2000))
        self.assertEqual(its, gnocchi_disks.without_waiting(its, CAP))
        self.assertNotEqual(its, gnocchi_disks.without_waiting(
            its, Caps(1000.0, bursts=True)))

    def test_where_the_time_is_not_told_it_stays_so(self):
        its = [(at, Counters(*one[:4], np.nan, np.nan))
               for at, one in told((1000, 1), (500, 1))]
        for (_, before), (_, after) in zip(
                its, gnocchi_disks.without_waiting(its, CAP)):
            np.testing.assert_array_equal(before, after)

    def test_counters_that_began_anew_do_so_still(self):
        first, second = told((1000, 80000), (500, 2000)), told(
            (1000, 80000), (500, 2000))
        both = first + [(at + first[-1][0] + EVERY_S, its)
                        for at, its in second]
        found = gnocchi_disks.without_waiting(both, CAP)
        values = np.array([its for _, its in found])
        self.assertTrue((np.diff(values, axis=0)[2] < 0)[:4].all())
        np.testing.assert_allclose(
            [2000] * 4, [us for nth, us in enumerate(
                latencies_us(found)) if nth != 2])

    @hypothesis.given(strategies.lists(strategies.tuples(
        strategies.sampled_from((0, 1, 400, 899, 950, 1050, 2000)),
        strategies.floats(0, 1e6)), max_size=8))
    def test_no_counter_falls_and_none_tells_more_than_before(self, rates):
        its = told(*rates)
        found = gnocchi_disks.without_waiting(its, CAP)
        self.assertEqual([at for at, _ in its], [at for at, _ in found])
        for (before, after), (then, now) in zip(
                itertools.pairwise(its), itertools.pairwise(found)):
            if not np.isnan(now[1][4]):
                more = np.subtract(now[1], then[1])
                self.assertGreaterEqual(more.min(), 0)
                self.assertTrue((more <= np.subtract(
                    after[1], before[1]) + 1e-6).all())
