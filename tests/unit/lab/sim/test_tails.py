# SPDX-License-Identifier: Apache-2.0
"""Simulated hosts have the 99th percentiles of a device that was measured."""

import dataclasses
import statistics

import numpy as np
import testtools

from serifos import errors
from serifos.facts.dataset import Sample
from serifos.facts.workload import Workload
from serifos.lab.sim import device
from serifos.lab.sim import devices
from serifos.lab.sim import tails as tails

RUN = [Workload(50, 32)] * 5
SMALL, LARGE = Workload(50, 4), Workload(50, 128)


def saw(read_us=None, read_p99_us=None, write_us=None, write_p99_us=None):
    return {'latency_us': 100.0,
            'read_latency_us': read_us, 'read_p99_us': read_p99_us,
            'write_latency_us': write_us, 'write_p99_us': write_p99_us}


def ratio(read, write=1.0):
    return saw(1.0, read, 1.0, write)


def run(*of):
    """A run of (workload, what it saw) each."""
    workloads, seen = zip(*of)
    return Sample(workloads, 100.0, seen=seen)


def over(runs, *of, seed=0):
    return tails.Tails(runs).over(run(*of), np.random.default_rng(seed)).seen


class TailsTest(testtools.TestCase):

    def test_p99_is_the_mean_times_the_measured_ratio(self):
        found, = over([run((SMALL, ratio(10.0, 4.0)))],
                      (LARGE, saw(200.0, 210.0, 50.0, 51.0)))
        self.assertEqual((2000.0, 200.0, 100.0, 200.0), (
            found['read_p99_us'], found['write_p99_us'], found['latency_us'],
            found['read_latency_us']))

    def test_a_longer_tail_and_what_a_workload_has_not_stay(self):
        found, = over([run((SMALL, ratio(10.0, 4.0)))],
                      (SMALL, saw(200.0, 3000.0)))
        self.assertEqual((3000.0, None), (
            found['read_p99_us'], found['write_p99_us']))

    def test_a_tail_that_was_laid_over_has_no_distribution(self):
        found, = over([run((SMALL, ratio(10.0, 4.0)))], (LARGE, {
            **saw(200.0, 210.0, 50.0, 51.0),
            'read_distribution': {'from_us': 200, 'shares': [1]}}))
        self.assertNotIn('read_distribution', found)

    def test_one_run_is_drawn_of_those_most_like_it(self):
        like = [run(*[(Workload(50, 8 + i), ratio(2.0 + i))] * 2)
                for i in range(tails.LIKE)]
        unlike = [run((SMALL, ratio(50.0))),
                  run(*[(LARGE, ratio(50.0))] * 2),
                  run(*[(Workload(0, 8), ratio(50.0))] * 2)]
        asked = (Workload(50, 8), ratio(1.0))
        found = [tuple(w['read_p99_us'] for w in over(
            [*unlike, *like], asked, asked, seed=seed)) for seed in range(60)]
        self.assertEqual({(2.0 + i,) * 2 for i in range(tails.LIKE)},
                         {*found})

    def test_a_workload_has_the_ratio_of_the_one_most_like_it(self):
        found = over([run((SMALL, ratio(30.0)), (LARGE, ratio(3.0)))],
                     (LARGE, ratio(1.0)), (Workload(40, 8), ratio(1.0)))
        self.assertEqual([3.0, 30.0], [w['read_p99_us'] for w in found])

    def test_workloads_with_one_side_alone_are_left_out(self):
        found, = over([run((SMALL, saw(1.0, 9.0)), (LARGE, ratio(3.0)))],
                      (SMALL, ratio(1.0)))
        self.assertEqual(3.0, found['read_p99_us'])
        error = self.assertRaises(errors.InputError, tails.Tails, [
            run((SMALL, saw(1.0, 9.0)))])
        self.assertIn('No run has', str(error))


class MeasuredTest(testtools.TestCase):

    def test_a_busy_host_has_a_tail_as_a_real_disk_and_the_same_mean(self):
        one = device.SimulatedDevice(
            devices.SSD1, np.random.default_rng(1), 2000)
        other = dataclasses.replace(
            one, rng=np.random.default_rng(1), tails=tails.measured())
        bare, real = (each.measure(RUN, 60) for each in (one, other))
        self.assertEqual(bare.latency_us, real.latency_us)
        self.assertEqual([w['read_latency_us'] for w in bare.seen],
                         [w['read_latency_us'] for w in real.seen])
        self.assertLess(self._ratio(bare), 1.5)
        self.assertGreater(self._ratio(real), 5)

    def _ratio(self, sample):
        return statistics.fmean(
            w['read_p99_us'] / w['read_latency_us'] for w in sample.seen)
