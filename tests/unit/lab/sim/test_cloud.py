# SPDX-License-Identifier: Apache-2.0
"""A cloud moves volumes, keeps capacities, and tells what telemetry can."""

import dataclasses

import testtools

from serifos import errors
from serifos.facts.cluster import Volume
from serifos.facts.workload import Workload
from serifos.lab.sim import cloud
from serifos.lab.sim import devices

A, B, C = 'ssd1-1@sim#sim', 'ssd1-2@sim#sim', 'ssd2-1@sim#sim'


def volume(name, size_gib, *pattern):
    return Volume(name, '', size_gib, workload=Workload(*pattern))


class CloudTest(testtools.TestCase):

    def setUp(self):
        super().setUp()
        self.cloud = self.made()

    def made(self):
        made = cloud.SimulatedCloud(
            devices.TESTBEDS['paper'], (1,), ios=1000)
        made.create(volume('v1', 120.0, 30, 128), A)
        made.create(volume('v2', 90.0, 70, 16), A)
        return made

    def test_the_testbed_is_the_papers(self):
        pools = self.cloud.cluster.pools
        self.assertEqual(['SSD1'] * 3 + ['SSD2'] * 2,
                         [pool.model for pool in pools])
        self.assertEqual([447.0] * 3 + [372.5] * 2,
                         [pool.total_gib for pool in pools])

    def test_a_move_relieves_its_source_and_nothing_else(self):
        before = self.cloud.measure()
        self.cloud.migrate('v1', C)
        after = self.cloud.measure()
        self.assertLess(after[A].latency_us, before[A].latency_us / 2)
        self.assertIsNone(before[C])
        self.assertIsNotNone(after[C])
        self.assertEqual(357.0, self.cloud.cluster.pool(A).free_gib)
        self.assertEqual(252.5, self.cloud.cluster.pool(C).free_gib)

    def test_what_did_not_move_measures_the_same(self):
        self.cloud.create(volume('v3', 30.0, 50, 8), B)
        other = self.made()
        other.migrate('v1', C)
        other.create(volume('v3', 30.0, 50, 8), B)
        self.assertEqual(self.cloud.measure()[B], other.measure()[B])

    def test_a_copy_changes_apart_and_runs_what_changed(self):
        before = self.cloud.measure()
        copy = self.cloud.copy()
        copy.migrate('v1', C)
        after = copy.measure()
        self.assertEqual(before, self.cloud.measure())
        other = self.made()
        other.migrate('v1', C)
        self.assertEqual(other.measure(), after)
        self.assertNotEqual(self.cloud.observe(), copy.observe())

    def test_a_full_pool_is_refused(self):
        error = self.assertRaises(errors.InputError, self.cloud.create,
                                  volume('big', 300.0, 50, 8), A)
        self.assertIn('237 GiB free', str(error))
        self.cloud.create(volume('big', 300.0, 50, 8), B)
        self.assertRaises(errors.InputError, self.cloud.migrate, 'big', A)

    def test_telemetry_knows_rates_and_not_depths(self):
        observed = self.cloud.observe()
        self.assertEqual(
            [dataclasses.replace(v, workload=None) for v in
             self.cloud.cluster.volumes],
            [dataclasses.replace(v, workload=None) for v in
             observed.volumes])
        for asked, seen in zip(self.cloud.cluster.volumes, observed.volumes):
            self.assertAlmostEqual(
                asked.workload.iodepth, seen.workload.outstanding, delta=0.5)
            self.assertAlmostEqual(
                asked.workload.write_pct, seen.workload.write_pct, delta=5)
            self.assertIsNotNone(seen.workload.iops)
