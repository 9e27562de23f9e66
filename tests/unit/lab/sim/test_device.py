# SPDX-License-Identifier: Apache-2.0
"""The simulated device obeys queueing theory, and chance is a seed."""

import dataclasses

import ddt
import fixtures
import hypothesis
from hypothesis import strategies
import numpy as np
import testtools

from serifos import errors
from serifos.facts import dataset
from serifos.facts import distribution
from serifos.facts.workload import Workload
from serifos.files import documents
from serifos.lab.sim import device
from serifos.lab.sim import devices
from serifos.lab.sim import nand
from serifos.lab.sim import ssd as ssds
from tests.unit import samples

W = Workload
BUS = ssds.Ssd('bus', dies=64, read_us=0, write_us=0,
               bus_read_us_per_kib=3.0, bus_write_us_per_kib=5.0)
RUN = (W(30, 8), W(0, 64, 2), W(100, 4, 1))
QUICK = (
    ssds.Ssd('quick', dies=512, read_us=80, write_us=10,
             bus_read_us_per_kib=0.01, bus_write_us_per_kib=0.01),
    nand.Nand('quick', channels=64, dies=512, page_kib=4, read_us=60,
              program_us=100, channel_us_per_kib=0.5, link_us_per_kib=0.01,
              write_us=10, buffer_kib=65536, command_us=0.05))
TRUTHS = (devices.SSD1, devices.SSD2, devices.AGED, devices.FAST)

workloads = strategies.lists(strategies.builds(
    W, write_pct=strategies.integers(0, 100).map(float),
    block_kib=strategies.sampled_from([4.0, 8.0, 32.0, 128.0, 256.0]),
    iodepth=strategies.sampled_from([1.0, 4.0, 8.0, 32.0]),
    random_pct=strategies.sampled_from([0.0, 50.0, 100.0])), min_size=1,
                             max_size=6)
# A rare slow request of a shallow workload is noise in its mean.
steady = strategies.lists(strategies.builds(
    W, write_pct=strategies.sampled_from([0.0, 50.0, 100.0]),
    block_kib=strategies.sampled_from([4.0, 32.0, 256.0]),
    iodepth=strategies.sampled_from([8.0, 32.0])), min_size=1, max_size=4)
few = hypothesis.settings(max_examples=25, deadline=None)


def measured(ssd, run, seed=0, runtime_s=60.0, ios=4000):
    return device.SimulatedDevice(
        ssd, np.random.default_rng(seed), ios).measure(run, runtime_s)


@ddt.ddt
class LawsTest(testtools.TestCase):

    @few
    @hypothesis.given(workloads, strategies.sampled_from(TRUTHS),
                      strategies.integers(0, 99))
    def test_littles_law(self, run, ssd, seed):
        sample = measured(ssd, run, seed, ios=10_000)
        kept = [w['iops'] * w['latency_us'] / 1e6 for w in sample.seen]
        asked = sum(w.iodepth for w in run)
        self.assertLess(abs(sum(kept) - asked), 0.1 * asked)

    @few
    @hypothesis.given(workloads, strategies.sampled_from(TRUTHS),
                      strategies.integers(0, 99))
    def test_distributions_are_of_the_same_requests(self, run, ssd, seed):
        for saw in measured(ssd, run, seed, ios=1000).seen:
            for name in distribution.NAMES:
                times = distribution.of_seen(saw, name)
                mean = saw[f'{name}_latency_us']
                self.assertEqual(mean is None, times is None)
                if times:
                    highest = sum(e * share for e, share in zip(
                        times.ends_us, times.within))
                    self.assertLess(mean, 1.01 * highest)
                    self.assertGreater(1.01 * mean, highest / 2 ** 0.25)

    @few
    @hypothesis.given(strategies.sampled_from(TRUTHS),
                      strategies.sampled_from([1.0, 8.0]),
                      strategies.sampled_from([100.0, 1000.0, 5000.0]))
    def test_each_requester_thinks_after_its_request(self, ssd, q, think):
        run = (W(30, 16, q, think_time_us=think),)
        saw, = measured(ssd, run).seen
        requesters = saw['iops'] * (saw['latency_us'] + think) / 1e6
        self.assertLess(abs(requesters - q), 0.05 * q)

    @ddt.data(devices.SSD1, devices.FAST)
    def test_many_who_think_erratically_are_an_open_loop(self, ssd):
        open_loop = W(30, 16, 256, think_time_us=256e3)
        saw, = device.SimulatedDevice(
            ssd, np.random.default_rng(0), erratic=True
            ).measure([open_loop], 60).seen
        self.assertLess(abs(saw['iops'] - 1000), 50)
        self.assertLess(saw['iops'] * saw['latency_us'] / 1e6, 2)

    @few
    @hypothesis.given(steady, strategies.sampled_from(TRUTHS))
    def test_doubling_the_load_does_not_lower_latency(self, run, ssd):
        ssd = dataclasses.replace(ssd, run_cv=0.0)
        once, twice = measured(ssd, run), measured(ssd, run * 2)
        self.assertGreater(twice.latency_us, 0.93 * once.latency_us)

    @few
    @hypothesis.given(workloads, strategies.sampled_from(TRUTHS),
                      strategies.integers(0, 99))
    def test_the_same_seed_is_the_same_run(self, run, ssd, seed):
        self.assertEqual(measured(ssd, run, seed, ios=300),
                         measured(ssd, run, seed, ios=300))

    def test_another_seed_is_another_run(self):
        self.assertNotEqual(measured(devices.SSD1, [W(50, 8)], 1),
                            measured(devices.SSD1, [W(50, 8)], 2))

    @ddt.data([W(0, 4)], [W(100, 128)], [W(0, 4), W(0, 256)],
              [W(100, 8, 1), W(0, 64, 32), W(0, 16)])
    def test_on_the_bus_alone_one_waits_for_all_outstanding_bytes(self, run):
        cost = {0: 3.0, 100: 5.0}
        expected = sum(
            w.iodepth * w.block_kib * cost[w.write_pct] for w in run)
        for seen in measured(BUS, run).seen:
            self.assertLess(abs(seen['latency_us'] / expected - 1), 0.03)

    def test_on_one_die_one_waits_for_all_requests(self):
        ssd = dataclasses.replace(
            BUS, dies=1, read_us=100, bus_read_us_per_kib=1e-6)
        sample = measured(ssd, [W(0, 4, 8), W(0, 64, 24)])
        self.assertLess(abs(sample.latency_us / 3200 - 1), 0.03)

    def test_writes_go_at_the_pace_of_the_drain(self):
        ssd = dataclasses.replace(
            BUS, drain_us_per_kib=10.0, buffer_kib=64, page_kib=16)
        for block_kib, page_kib in ((4, 16), (64, 64)):
            sample = measured(ssd, [W(100, block_kib)])
            self.assertLess(
                abs(sample.latency_us / (8 * page_kib * 10) - 1), 0.03)

    def test_reads_wait_behind_writes_on_dies(self):
        alone = measured(devices.FAST, [W(0, 4)])
        beside = measured(devices.FAST, [W(0, 4), W(100, 128)])
        self.assertGreater(beside.seen[0]['read_latency_us'],
                           3 * alone.seen[0]['read_latency_us'])

    @ddt.data(*QUICK)
    def test_each_volume_waits_for_its_own_thread(self, ssd):
        """As on a real host: 93 µs beside 32 jobs of depth 128, 1,241 µs."""
        run = W(0, 4, 1), *[W(0, 4, 128)] * 32
        ssd = dataclasses.replace(
            ssd, thread_us=8.0, thread_us_per_kib=0.5)
        shallow, *deep = (w['latency_us'] for w in measured(ssd, run).seen)
        self.assertLess(abs(max(deep) / (128 * 10) - 1), 0.03)
        self.assertLess(shallow, 200)

    @ddt.data(*TRUTHS)
    def test_sequential_costs_less(self, ssd):
        latency = [measured(ssd, [W(30, 4, 1, x)]).latency_us
                   for x in (0, 50, 100)]
        self.assertEqual(sorted(latency), latency)


@ddt.ddt
class SampleTest(testtools.TestCase):

    def test_means_are_those_of_the_formats(self):
        sample = measured(devices.SSD2, RUN)
        iops = [w['iops'] for w in sample.seen]
        latency = [w['latency_us'] for w in sample.seen]
        self.assertAlmostEqual(np.mean(latency), sample.latency_us)
        self.assertAlmostEqual(
            np.average(latency, weights=iops), sample.request_latency_us)
        for w in sample.seen:
            self.assertAlmostEqual(w['iops'], w['read_iops'] + w['write_iops'])
        reads, writes = sample.seen[1], sample.seen[2]
        self.assertIsNone(reads['write_latency_us'])
        self.assertIsNone(reads['write_p99_us'])
        self.assertIsNone(writes['read_latency_us'])
        self.assertGreater(reads['read_p99_us'], reads['read_latency_us'])

    def test_it_is_a_line_of_a_dataset(self):
        sample = measured(devices.SSD1, RUN)
        path = self.useFixture(fixtures.TempDir()).join('sim.jsonl')
        documents.write_dataset(
            path, dataset.Dataset(samples.HEADER, (sample,)))
        self.assertEqual((sample,), documents.read_dataset(path).samples)

    def test_a_short_run_ends_in_time_but_not_before_all_have_finished(self):
        short = measured(devices.AGED, RUN, runtime_s=1e-4)
        self.assertTrue(all(w['iops'] > 0 for w in short.seen))

    @ddt.data(0, -1, float('nan'))
    def test_no_time_is_refused(self, runtime_s):
        self.assertRaises(errors.InputError, measured, devices.SSD1,
                          RUN, runtime_s=runtime_s)

    def test_no_workload_is_refused(self):
        self.assertRaises(errors.InputError, measured, devices.SSD1, [])

    @ddt.data({'read_us': float('nan')}, {'write_us': -1}, {'dies': 0},
              {'bus_read_us_per_kib': 0}, {'noise_cv': float('inf')})
    def test_absurd_ssds_are_refused(self, fields):
        self.assertRaises(errors.InputError, dataclasses.replace,
                          devices.SSD1, **fields)
