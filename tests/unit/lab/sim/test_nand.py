# SPDX-License-Identifier: Apache-2.0
"""What a flash device may do shows in what its tenants see."""

import dataclasses

import ddt
import numpy as np
import testtools

from serifos import errors
from serifos.facts.workload import Workload
from serifos.lab.sim import device
from serifos.lab.sim import nand

W = Workload
QUIET = nand.Nand(
    'quiet', channels=4, dies=8, page_kib=16, read_us=80, program_us=600,
    channel_us_per_kib=2.0, link_us_per_kib=0.3, write_us=20,
    buffer_kib=1024, noise_cv=0.0, run_cv=0.0)


def measured(ssd, *run, ios=2000):
    return device.SimulatedDevice(
        ssd, np.random.default_rng(0), ios).measure(run, 60.0)


def changed(**fields):
    return dataclasses.replace(QUIET, **fields)


@ddt.ddt
class NandTest(testtools.TestCase):

    def test_a_request_alone_takes_the_sum_of_its_steps(self):
        read = measured(QUIET, W(0, 4, 1)).latency_us
        self.assertAlmostEqual(1 + 80 + 4 * 2.0 + 4 * 0.3, read, 6)
        large = measured(QUIET, W(0, 64, 1)).latency_us
        self.assertAlmostEqual(1 + 80 + 16 * 2.0 + 64 * 0.3, large, delta=1)
        write = measured(QUIET, W(100, 4, 1)).latency_us
        self.assertAlmostEqual(1 + 4 * 0.3 + 20, write, delta=1)

    def test_writes_wait_for_the_dies_once_the_buffer_is_full(self):
        least_us = 32 * 64 / 16 * 600 / 8  # all outstanding, programmed
        found = measured(QUIET, W(100, 64, 32))
        self.assertAlmostEqual(1, found.latency_us / least_us, delta=0.1)

    def test_a_request_larger_than_the_buffer_passes_it(self):
        found = measured(QUIET, W(100, 4096, 4), W(50, 12, 4), ios=100)
        self.assertGreater(found.seen[0]['latency_us'], 4096 / 16 * 600 / 8)

    def test_a_link_of_one_way_holds_reads_up_behind_writes(self):
        run = W(0, 128, 4), W(100, 128, 4)
        slow = {'link_us_per_kib': 2.0, 'program_us': 50.0}
        one, two = (measured(changed(half_duplex=half, **slow), *run)
                    for half in (True, False))
        self.assertGreater(one.seen[0]['read_latency_us'],
                           1.3 * two.seen[0]['read_latency_us'])

    def test_a_short_queue_makes_all_wait_alike(self):
        run = W(0, 4, 8), W(0, 128, 32)
        ratios = [measured(changed(queue=queue), *run).seen
                  for queue in (0, 8)]
        apart, alike = (large['latency_us'] / small['latency_us']
                        for small, large in ratios)
        self.assertGreater(apart, alike)

    def test_sequential_reads_are_read_ahead(self):
        ahead = changed(readahead=0.9)
        self.assertLess(measured(ahead, W(0, 4, 1, 0)).latency_us,
                        0.5 * measured(ahead, W(0, 4, 1)).latency_us)

    @ddt.data({'read_us': -1}, {'dies': 0}, {'read_us': float('nan')},
              {'readahead': 1.5}, {'dies': 2.5}, {'queue': 0.5})
    def test_an_absurd_device_is_refused(self, fields):
        self.assertRaises(errors.InputError, changed, **fields)


DEVICE = dataclasses.replace(QUIET, turns=2)


class DieTest(testtools.TestCase):

    def test_reads_come_first_but_not_for_ever(self):
        die = nand.Die(0)
        self.assertIsNone(die.chooses(DEVICE))
        die.reads.extend('abcdef')
        die.programs = 2
        self.assertEqual(
            [nand.READ, nand.READ, nand.PROGRAM, nand.READ],
            [die.chooses(DEVICE) for _ in range(4)])
        die.programs = 0
        self.assertEqual([nand.READ] * 4,
                         [die.chooses(DEVICE) for _ in range(4)])
