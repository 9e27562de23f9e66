# SPDX-License-Identifier: Apache-2.0
"""Noise of one observation moves nothing; a load that stays does."""

import dataclasses

import testtools

from serifos.facts import cluster as cl
from serifos.facts import workload as wl
from serifos.plan import recent
from tests.unit.balancer import cloud
from tests.unit.balancer.cloud import A


class RoundsTest(cloud.Case):

    def rounds_of(self, *workloads):
        """The numbers of moves of rounds that observe these workloads."""
        latest = recent.Recent(3)
        found = []
        for each in workloads:
            self.cinder.workloads = each
            self.now += 300
            found.append(len(dataclasses.replace(
                self.balancer, recent=latest).round().moves))
        return found

    def test_a_pool_that_is_hot_for_three_rounds_is_relieved(self):
        busy = dict(self.cinder.workloads)
        self.assertEqual([0, 0, 1], self.rounds_of(busy, busy, busy))
        self.assertNotEqual([A, A], [self.homes()[name] for name in 'uv'])

    def test_a_burst_of_one_round_moves_nothing(self):
        self.cinder = self.cloud([
            *map(cloud.record, 'uv'), cloud.record('w', cloud.B),
            cloud.record('x', cloud.C)])
        level = dict.fromkeys('uwx', cloud.busy(64))
        burst = {**level, 'v': cloud.busy(128)}
        self.assertEqual([0] * 5, self.rounds_of(
            level, level, burst, level, level))
        self.assertEqual([0, 0, 1], self.rounds_of(burst, burst, burst))


class SmoothedTest(testtools.TestCase):

    def cluster(self, pool, *pattern):
        return cl.Cluster((cl.Pool('a'), cl.Pool('b')), (cl.Volume(
            'v', pool, 1, workload=wl.Workload(*pattern[:2], 8, 100,
                                               *pattern[2:])),))

    def test_a_volume_does_what_it_does_in_the_mean(self):
        latest = recent.Recent(2)
        for pool, pattern, expected in (
                ('a', (0, 4, 100, 1000), (0, 4, 100, 0.1)),
                ('a', (100, 64, 300, 1000), (75, 49, 200, 0.2)),
                ('a', (100, 64, 300, 1000), (100, 64, 300, 0.3)),
                ('b', (0, 4, 100, 1000), (0, 4, 100, 0.1))):
            seen = latest.smoothed(self.cluster(pool, *pattern))
            found = seen.volume('v').workload
            for value, wanted in zip(
                    (found.write_pct, found.block_kib, found.iops,
                     found.outstanding), expected):
                self.assertAlmostEqual(wanted, value)

    def test_a_volume_without_a_rate_keeps_its_depth_in_the_mean(self):
        one, two = wl.Workload(0, 4, 4), wl.Workload(100, 8, 12)
        self.assertEqual(wl.Workload(75, 7, 8), wl.mean([one, two]))

    def test_a_volume_that_was_never_busy_is_not(self):
        idle = wl.Workload(0, 4, iops=0, latency_us=0)
        self.assertEqual(idle, wl.mean([idle, idle]))
