# SPDX-License-Identifier: Apache-2.0
"""What a simulated device may do shows, and a drawn device is plausible."""

import dataclasses

import hypothesis
from hypothesis import strategies
import numpy as np
import testtools

from serifos import errors
from serifos.facts.workload import Workload
from serifos.lab.sim import device
from serifos.lab.sim import devices

W = Workload
few = hypothesis.settings(max_examples=15, deadline=None)
drawn = strategies.integers(0, 10 ** 6).map(
    lambda seed: devices.drawn(np.random.default_rng(seed)))


def measured(ssd, *run, ios=4000):
    steady = dataclasses.replace(ssd, run_cv=0.0)
    return device.SimulatedDevice(
        steady, np.random.default_rng(0), ios).measure(run, 60.0)


def ratio(ssd, *run, **without):
    """The latency over that of the same device without a feature."""
    plain = dataclasses.replace(ssd, **without)
    return (measured(ssd, *run).latency_us
            / measured(plain, *run).latency_us)


class CliffTest(testtools.TestCase):

    def test_writes_are_slow_once_the_fast_area_is_full(self):
        shallow = ratio(devices.CLIFF, W(100, 4, 1), direct=1.0)
        deep = ratio(devices.CLIFF, W(100, 64, 32), direct=1.0)
        self.assertAlmostEqual(1.0, shallow, delta=0.02)
        self.assertGreater(deep, 1.5)

    def test_reads_alone_never_meet_it(self):
        self.assertEqual(1.0, ratio(devices.CLIFF, W(0, 64, 32), direct=1.0))

    def test_folding_faster_puts_it_off(self):
        run = W(100, 16, 16)
        faster = dataclasses.replace(devices.CLIFF, fold_us_per_kib=0.5)
        self.assertLess(measured(faster, run).latency_us,
                        0.8 * measured(devices.CLIFF, run).latency_us)


class CollectionTest(testtools.TestCase):

    def test_it_costs_the_more_the_more_is_written_at_random(self):
        found = [ratio(devices.COLLECTING, W(share, 16), gc_us=0.0)
                 for share in (0, 20, 50, 100)]
        self.assertEqual(sorted(found), found)
        self.assertEqual(1.0, found[0])
        self.assertGreater(found[-1], 1.5)

    def test_sequential_writes_cause_none(self):
        self.assertEqual(1.0, ratio(
            devices.COLLECTING, W(100, 16, random_pct=0), gc_us=0.0))

    def test_a_read_that_waits_for_it_waits_long(self):
        run = W(0, 4, 1), W(100, 16, 8)
        with_it = measured(devices.COLLECTING, *run).seen[0]
        without = measured(dataclasses.replace(
            devices.COLLECTING, gc_us=0.0), *run).seen[0]
        self.assertGreater(with_it['read_p99_us'],
                           2 * without['read_p99_us'])

    def test_one_of_a_large_write_holds_a_die_as_long_as_many_of_small(self):
        # What one write causes may be more than one collection.
        alone = dataclasses.replace(devices.COLLECTING, dies=1, noise_cv=0.0)
        saw = measured(alone, W(100, 512, 8))
        each = alone.write_us + 512 * (
            alone.program_us_per_kib + alone.gc_us_per_kib)
        self.assertAlmostEqual(1.0, saw.latency_us / (8 * each), delta=0.03)


class CacheTest(testtools.TestCase):
    OFF = {'cache_share': 0.0, 'readahead': 0.0}

    def test_hits_lower_the_latency_of_reads(self):
        self.assertLess(ratio(devices.CACHED, W(0, 4, 1), **self.OFF), 0.5)
        self.assertEqual(1.0, ratio(devices.CACHED, W(100, 4, 1), **self.OFF))

    def test_many_workloads_share_it(self):
        alone = ratio(devices.CACHED, W(0, 4, 1), **self.OFF)
        among = ratio(devices.CACHED, *[W(0, 4, 1)] * 8, **self.OFF)
        self.assertGreater(among, alone + 0.3)

    def test_sequential_reads_are_fetched_ahead(self):
        run = W(0, 4, 1, random_pct=0)
        self.assertLess(ratio(devices.CACHED, run, readahead=0.0), 0.6)


class ChannelsTest(testtools.TestCase):

    def test_requests_of_several_channels_do_not_wait_for_each_other(self):
        run = W(0, 16, 32)
        one = dataclasses.replace(devices.PARALLEL, channels=1)
        self.assertGreater(measured(devices.PARALLEL, run).seen[0]['iops'],
                           4 * measured(one, run).seen[0]['iops'])

    def test_a_large_request_is_striped_over_them(self):
        alone = W(0, 256, 1)
        bus = measured(devices.PARALLEL, alone).latency_us - 85
        whole = measured(dataclasses.replace(
            devices.PARALLEL, stripe_kib=0), alone).latency_us - 85
        self.assertAlmostEqual(8.0, whole / bus, delta=0.8)


class DrawnTest(testtools.TestCase):

    @few
    @hypothesis.given(strategies.integers(0, 10 ** 6))
    def test_the_same_seed_is_the_same_device(self, seed):
        self.assertEqual(devices.drawn(np.random.default_rng(seed)),
                         devices.drawn(np.random.default_rng(seed)))

    def test_every_feature_is_there_in_some_and_not_in_others(self):
        rng = np.random.default_rng(0)
        found = [devices.drawn(rng) for _ in range(40)]
        self.assertEqual(40, len({ssd.name for ssd in found}))
        for feature in ('buffer_kib', 'fast_kib', 'gc_us', 'cache_us'):
            self.assertIn(sum(getattr(t, feature) > 0 for t in found),
                          range(10, 31))
        self.assertEqual({1, 2, 4, 8}, {ssd.channels for ssd in found})

    @few
    @hypothesis.given(drawn)
    def test_it_is_as_fast_as_a_solid_state_drive(self, ssd):
        lone = measured(ssd, W(0, 4, 1), ios=1000).latency_us
        self.assertTrue(5 < lone < 400, lone)
        read, = measured(ssd, W(0, 256, 16), ios=1000).seen
        self.assertTrue(150 < read['iops'] / 4 < 5000, read['iops'])
        written, = measured(ssd, W(100, 256, 16), ios=1000).seen
        self.assertTrue(5 < written['iops'] / 4 < 5000, written['iops'])

    @few
    @hypothesis.given(drawn)
    def test_littles_law(self, ssd):
        run = W(30, 16, 8), W(100, 4, 4), W(0, 128, 16)
        saw = measured(ssd, *run, ios=10_000).seen
        kept = sum(w['iops'] * w['latency_us'] / 1e6 for w in saw)
        self.assertAlmostEqual(28, kept, delta=28 * 0.08)

    def test_half_a_die_is_refused(self):
        exc = self.assertRaises(errors.InputError, dataclasses.replace,
                                devices.CACHED, dies=2.5)
        self.assertIn('give a whole number', str(exc))

    def test_more_hits_than_reads_are_refused(self):
        for field in ('cache_share', 'readahead'):
            self.assertRaises(errors.InputError, dataclasses.replace,
                              devices.CACHED, **{field: 1.5})
