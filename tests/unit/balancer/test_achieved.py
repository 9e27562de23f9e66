# SPDX-License-Identifier: Apache-2.0
"""Pools that show something else than their models predict, for hours."""

import dataclasses

import ddt
import testtools

from serifos.balancer import planning
from serifos.balancer.recorder import Accuracy
from serifos.database import connection
from serifos.database.pool_errors import PoolErrors
from serifos.facts import cluster
from serifos.facts import pool_errors
from serifos.facts.workload import Workload
from serifos.files import documents
from serifos.model.model import Model
from serifos.plan import recent
from tests.fakes.settings import Limits
from tests.unit.balancer import cloud
from tests.unit.balancer.cloud import A
from tests.unit.balancer.cloud import B
from tests.unit.balancer.cloud import C
from tests.unit.balancer.cloud import record
from tests.unit import samples


@ddt.ddt
class FarTest(testtools.TestCase):
    """A model of ±30 % in all, of ±8 % for busy and ±65 % for light pools."""

    MODEL = Model(
        'm', 'tenant', samples.APART, cloud.MODEL.range,
        {'interval': (-0.3, 0.3), 'deviations': (-1.6, 1.6),
         'light_deviations': (-10, 10)})

    @ddt.data((20, 1.0, 0), (20, 1.2, 1), (20, 0.85, -1), (2, 1.2, 0),
              (2, 0.85, 0), (2, 2.0, 1), (2, 0.5, -1))
    @ddt.unpack
    def test_by_the_interval_at_the_load_that_there_is(self, q, ratio, far):
        pattern = Workload(50, 64, q)
        us = ratio * self.MODEL.predict(self.MODEL.load([pattern]))
        pool = cluster.Pool('p', 'm', 1, 1)
        volume = cluster.Volume('v', 'p', 1, workload=dataclasses.replace(
            pattern, iops=1e6 * q / us, latency_us=us))
        seen = planning.model_checks(cluster.Cluster((pool,), (volume,)),
                                     Limits(), {'m': self.MODEL})['p']
        self.assertAlmostEqual(ratio, seen.seen_us / seen.predicted_us)
        self.assertEqual(far, seen.far)


class AchievedTest(cloud.Case):
    """On each pool a volume of 64 KiB, for which 640 µs are predicted."""

    def setUp(self):
        super().setUp()
        self.now = cloud.NOW - cloud.NOW % pool_errors.HOUR_S
        self.set(auto=False)
        self.database = connection.Database(
            f'sqlite:///{self.dir}/history.sqlite',
            content=connection.HISTORY)
        self.kept = PoolErrors(self.database)
        self.recent, self.writes = recent.Recent(3), True
        self.cinder = self.cloud([record('u'), record('v', B),
                                  record('w', C)], {})
        self.show(640, 640, 640)

    def show(self, *latencies):
        for name, us in zip('uvw', latencies):
            self.cinder.workloads[name] = Workload(
                50, 64, iops=2000, latency_us=us)

    @property
    def balancer(self):
        return self.made(accuracy=Accuracy(
            self.kept, is_ours=False, writes=self.writes))

    def round(self):
        """The plan of a round that knows those before."""
        plan, self.recent = self.after(self.recent, self.balancer)
        return plan

    def hours(self, count, rounds=4):
        """The plan of the last round, on the hour."""
        for _ in range(rounds * count + 1):
            plan = self.round()
            self.now += pool_errors.HOUR_S / rounds
        self.now -= pool_errors.HOUR_S / rounds
        return plan

    def pool(self, name=B):
        return documents.read_cluster(self.settings.cluster_file).pool(name)

    def test_errors_are_kept_hour_by_hour(self):
        self.show(640, 1280, 320)
        self.hours(1)
        found = self.kept.hours(0, self.now)
        self.assertEqual({A: (4, 640, 0), B: (4, 1280, 1), C: (4, 320, -1)}, {
            pool: (hours[0].rounds, hours[0].mean_seen_us, hours[0].far)
            for pool, hours in found.items()})

    def test_a_pool_that_drifts_is_no_target_and_warned_of(self):
        self.cinder.change('w', snapshots=1)
        self.show(640, 640, 2560)
        self.hours(2)
        self.assertIsNone(self.pool(C).drifting)
        self.cinder.add(record('x'))
        self.cinder.workloads['x'] = Workload(
            50, 32, iops=2000, latency_us=640)
        plan = self.hours(1)
        self.assertEqual('its tenants see 4 times what its model predicts, '
                         'for 3 hours now', self.pool(C).drifting)
        said = f'Pool {C} drifts from its model flat: its tenants see 4 times'
        self.assertIn(said, self.log.output)
        self.assertIn('serifos-model build', self.log.output)
        self.assertEqual([said], [
            note.partition(' what')[0] for note in plan.notes])
        self.assertIn(said, '\n'.join(plan.notes))
        self.show(640, 640, 640)
        self.hours(1)
        self.assertIsNone(self.pool(C).drifting)

    def test_nothing_is_moved_to_it_and_volumes_leave_it(self):
        self.show(640, 2560, 640)
        self.hours(3)
        self.cinder.workloads['w'] = Workload(50, 0, iops=0, latency_us=0)
        for name in 'xyz':
            self.cinder.add(record(name))
            self.cinder.workloads[name] = Workload(
                50, 64, iops=2000, latency_us=640)
        for _ in range(3):
            plan = self.round()
            self.now += 60
        self.assertEqual({C}, {move.target for move in plan.moves})

    def test_pools_of_a_migration_are_left_out(self):
        self.journal().write('request', volume='u', source=A, target=B,
                             plan='p', size_gib=1.0)
        self.balancer.observer.observe()
        self.assertEqual({C}, {*self.kept.hours(0, self.now)})

    def test_a_follower_reads_and_does_not_write(self):
        self.show(640, 640, 2560)
        self.hours(3)
        before = self.kept.hours(0, self.now)
        follower = self.balancer.observer.as_follower()
        self.now += 60
        follower.observe()
        self.assertEqual(before, self.kept.hours(0, self.now))
        self.assertIsNotNone(self.pool(C).drifting)

    def test_a_round_goes_on_where_nothing_can_be_kept(self):
        self.database.file.mkdir()
        self.assertIsNotNone(self.round())
        self.assertIn('The errors of predictions are not kept: The history',
                      self.log.output)
