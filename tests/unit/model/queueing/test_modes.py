# SPDX-License-Identifier: Apache-2.0
"""Hits and misses in a distribution, where the share of each is known."""

import ddt
import numpy as np
import testtools

from serifos.bench import fio_result
from serifos.facts import distribution
from serifos.model.queueing.hits import parted
from tests.unit.bench import test_fio


def mixed(*parts, requests=20_000):
    """Of (share, median in µs, deviation of the log): their distribution."""
    rng = np.random.default_rng(6)
    times = np.concatenate([
        median * rng.lognormal(0, deviation, round(share * requests))
        for share, median, deviation in parts])
    numbers, counts = np.unique([
        distribution.interval(us) for us in times], return_counts=True)
    return distribution.Distribution.of(
        dict(zip(numbers.tolist(), counts.tolist())))


@ddt.ddt
class PartedTest(testtools.TestCase):

    @ddt.data(0.1, 0.3, 0.5, 0.7, 0.9)
    def test_the_share_of_misses_is_what_it_is(self, hits):
        found = parted(mixed((hits, 20, 0.2), (1 - hits, 180, 0.3)))
        self.assertAlmostEqual(1 - hits, found.slow, delta=0.01)
        self.assertTrue(20 < found.cut_us < 180)

    def test_a_real_file_half_of_which_is_in_the_page_cache(self):
        found = parted(distribution.of_seen(fio_result.parse(
            test_fio.HALF_CACHED.read_text()), 'read'))
        self.assertAlmostEqual(0.5, found.slow, delta=0.01)
        self.assertTrue(5 < found.cut_us < 60)

    @ddt.data(
        [(1.0, 100, 0.1)],
        [(1.0, 100, 1.5)],
        # Requests that wait for one another: of one, two and three times.
        [(0.4, 40, 0.02), (0.3, 80, 0.02), (0.3, 120, 0.02)],
        [(0.5, 40, 0.1), (0.5, 120, 0.1)],
        # Three sorts, of which no one can say which the cache served.
        [(0.3, 10, 0.1), (0.3, 100, 0.1), (0.4, 1000, 0.1)],
        # Two that reach into one another.
        [(0.5, 20, 0.9), (0.5, 180, 0.9)],
        # A tail.
        [(0.97, 20, 0.2), (0.03, 5000, 0.2)])
    def test_what_has_not_two_clear_modes_says_nothing(self, parts):
        self.assertIsNone(parted(mixed(*parts)))

    def test_a_tail_does_not_hide_two_modes(self):
        found = parted(mixed(
            (0.4, 20, 0.2), (0.58, 180, 0.3), (0.02, 8000, 0.5)))
        self.assertAlmostEqual(0.6, found.slow, delta=0.01)

    @ddt.data(0.25, 0.5, 0.75)
    def test_a_hit_that_waits_for_a_processor_is_no_miss(self, hits):
        # As of real fio, reading a file partly in the page cache: up to one
        # hit in twelve takes five times as long as the others.
        found = parted(mixed(
            (0.92 * hits, 2, 0.2), (0.04 * hits, 9, 0.1),
            (0.04 * hits, 13, 0.05), (1 - hits, 36, 0.15)))
        self.assertAlmostEqual(1 - hits, found.slow, delta=0.005)

    def test_so_it_is_where_it_takes_half_the_time_of_a_miss(self):
        # Real fio on a busy machine, three quarters of the file in the cache:
        # the kernel read a quarter from the disk.
        found = parted(distribution.Distribution(-1, (
            0.0006, 0.0071, 0.0608, 0.2658, 0.5224, 0.6237, 0.6413, 0.6443,
            0.6451, 0.6452, 0.6456, 0.6458, 0.6461, 0.6474, 0.6583, 0.6725,
            0.6932, 0.7095, 0.7176, 0.7279, 0.8262, 0.882, 0.9213, 0.9554,
            0.9684, 0.9756, 0.9826, 0.987, 0.9907, 0.9929, 0.9946, 0.9954,
            0.9958, 0.9964, 0.9973, 0.9982, 0.9987, 0.9993, 0.9995, 0.9997,
            0.9997, 0.9997, 0.9997, 0.9997, 0.9998, 0.9999, 0.9999, 0.9999,
            0.9999, 1.0)))
        self.assertAlmostEqual(0.25, found.slow, delta=0.04)
