# SPDX-License-Identifier: Apache-2.0
"""A volume at the cap of its QoS, from Cinder's lists to the plan."""

import dataclasses

from serifos.facts.caps import Caps
from serifos.facts.cluster import Cluster
from serifos.facts.cluster import Pool
from serifos.facts.cluster import Volume
from serifos.facts.inventory import Type
from serifos.facts import workload
from serifos.files import documents
from serifos.model.model import Model
from serifos.plan.problem import Problem
from serifos.report import cluster_text
from tests.fakes.settings import Limits
from tests.unit.balancer import cloud
from tests.unit.balancer.cloud import A
from tests.unit.balancer.cloud import B
from tests.unit.balancer.cloud import C
from tests.unit.balancer.cloud import record
from tests.unit.plan import clusters

DEEP = Model('deep', 'outstanding', {
    'intercept_us': 90, 'sum_q_r': 4, 'sum_q_w': 9, 'sum_q_s_r': 2.5,
    'sum_q_s_w': 3.25}, cloud.MODEL.range, {'mre': 0.1})


class ThrottledTest(cloud.Case):
    """On A, u does what its QoS allows; its requests wait 320 ms in QEMU."""

    def setUp(self):
        super().setUp()
        self.set(auto=False)
        documents.write_model(self.settings.models_dir / 'deep.json', DEEP)
        does = workload.Workload(50, 16, iops=100, latency_us=320000)
        other = workload.Workload(50, 16, iops=1000, latency_us=1000)
        self.workloads = {'u': does, 't': other, 'v': other, 'w': other}
        self.in_qemu = True

    def seen(self, consumer='front-end', **qos):
        """The plan, and the observation, of volumes of a type."""
        kind = Type('slow', {}, qos, consumer)
        self.cinder = self.cloud([
            record('u', volume_type='slow'), record('t'), record('v', B),
            record('w', C)], self.workloads, models=dict.fromkeys(
                (A, B, C), 'deep'), types=(kind,))
        plan = self.made(telemetry=self).round()
        return plan, documents.read_cluster(self.settings.cluster_file)

    def observe(self, *args, **more):
        """Those of the fake, with latencies that QEMU sees."""
        return dataclasses.replace(self.cinder.observe(*args, **more),
                                   in_qemu=self.in_qemu)

    def test_without_a_qos_it_makes_its_pool_hot(self):
        plan, seen = self.seen()
        self.assertEqual(1, plan.hot_pools.before)
        self.assertEqual(32, seen.volume('u').workload.outstanding)
        self.assertIsNone(seen.volume('u').caps)

    def test_at_its_cap_it_does_not(self):
        plan, seen = self.seen(total_iops_sec='100')
        self.assertEqual((0, ()), (plan.hot_pools.before, plan.moves))
        found = seen.volume('u')
        self.assertEqual((True, Caps(100.0)), (found.at_cap, found.caps))
        self.assertAlmostEqual(0.1, found.workload.outstanding)

    def test_what_the_device_shows_is_taken_as_it_is(self):
        self.in_qemu = False
        plan, seen = self.seen(total_iops_sec='100')
        self.assertEqual(1, plan.hot_pools.before)
        self.assertTrue(seen.volume('u').at_cap)

    def test_a_volume_group_throttles_nothing(self):
        plan, seen = self.seen('back-end', total_iops_sec='100')
        self.assertEqual(1, plan.hot_pools.before)
        self.assertIsNone(seen.volume('u').caps)

    def test_it_is_shown(self):
        _, seen = self.seen(total_iops_sec='100')
        told = dataclasses.replace(seen, volumes=tuple(
            dataclasses.replace(each, qemu_latency_us=320000.0)
            for each in seen.volumes))
        self.assertEqual(1, cluster_text.text(told).count('320, at its cap'))

    def test_an_unseen_volume_does_no_more_than_its_cap(self):
        """What its type does stands in for it."""
        cluster = Cluster((Pool('a', 'deep'),), (
            Volume('u', 'a', 1, volume_type='slow', workload=workload.Workload(
                50, 16, iops=1000, latency_us=2000)),
            Volume('v', 'a', 1, volume_type='slow', caps=Caps(100.0)),
            Volume('w', 'a', 1, volume_type='slow')))
        problem = Problem.of(
            cluster, clusters.models_of(cluster), Limits())
        q = problem.loads[:, 0, workload.FEATURES.index('sum_iodepth')]
        self.assertEqual([2.0, 0.2, 2.0], q.round(6).tolist())
