# SPDX-License-Identifier: Apache-2.0
"""The simulated world: time, places, copies, and what telemetry tells."""

import numpy as np
import testtools

from serifos import errors
from serifos.facts import activity
from serifos.facts import cinder_errors
from serifos.lab.backtest import cloud
from serifos.lab.backtest import queues
from serifos.lab.backtest.world import World
from serifos.lab.sim import devices
from serifos.plan import eligibility
from tests.unit.lab.backtest import histories


class Made:
    """A world, its adapters, and every stretch of its time."""

    def __init__(self, rates, size_gib=10.0, number=2, gib=1000.0,
                 ssd=devices.FAST, home=None, copy_mib_s=100.0,
                 wiping_mib_s=None, **how):
        self.stretches = []
        self.telemetry = cloud.SimulatedTelemetry(3600.0)
        demand = histories.series(rates, **how)
        count = len(demand.volumes)
        self.world = World(
            demand, np.full(count, size_gib), histories.pools(number, gib),
            queues.Devices([ssd] * number), copy_mib_s, wiping_mib_s,
            self.take, home or {})
        self.telemetry.world = self.world
        self.cinder = cloud.SimulatedCinder(self.world)

    def take(self, done):
        self.stretches.append(done)
        self.telemetry.take(done)

    def where(self):
        return [None if pool < 0 else int(pool) for pool in self.world.home]

    def past(self, seconds, step_s=300):
        """The history of all volumes from the beginning on."""
        return self.telemetry.read(
            [activity.MeasuredVolume(volume, volume, '')
             for volume in self.world.demand.volumes],
            histories.BEGIN, histories.BEGIN + seconds, step_s)

    def observed(self, window_s):
        return self.telemetry.observe([
            activity.MeasuredVolume(record.id, record.id, record.pool)
            for record in self.cinder.inventory().records], window_s)


def flat(*rates, slots=24):
    return [[rate] * slots for rate in rates]


class WorldTest(testtools.TestCase):

    def test_volumes_are_placed_by_free_capacity(self):
        made = Made(flat(1, 1, 1, 1), number=3)
        self.assertEqual([0, 1, 2, 0], made.where())
        self.assertEqual(980.0, made.world.free_gib(0))

    def test_volumes_come_and_go(self):
        nan = np.nan
        made = Made([[5, 5, nan], [nan, 5, 5], [nan, nan, 5]], number=1)
        seen = []
        for _ in range(3):
            seen.append((made.where(), made.world.free_gib(0)))
            made.world.advance(300)
        self.assertEqual([([0, None, None], 990.0), ([0, 0, None], 980.0),
                          ([None, 0, 0], 980.0)], seen)

    def test_no_room_is_said(self):
        exc = self.assertRaises(errors.InputError, Made, flat(1, 1),
                                size_gib=600.0, number=1)
        self.assertIn('No pool has 600 GiB left for volume v1', str(exc))

    def test_time_is_counted_once_and_whole(self):
        made = Made(flat(100, 200), number=2)
        for seconds in (7, 1000.5, 293, 0, 1e9):
            over = made.world.advance(seconds)
        self.assertTrue(over)
        self.assertEqual(24 * 300.0, sum(
            each.seconds for each in made.stretches))
        for before, after in zip(made.stretches, made.stretches[1:]):
            self.assertEqual(before.end, after.begin)

    def test_a_copy_takes_its_time_and_loads_both_pools(self):
        made = Made(flat(500, 500), size_gib=30.0, home={
            'v0': 'h0@sim#sim', 'v1': 'h1@sim#sim'})
        made.world.advance(100)
        before = made.world.so_far()
        made.cinder.migrate('v0', 'h1@sim#sim')
        during = made.world.so_far()
        self.assertTrue((during.latency_us > before.latency_us).all())
        self.assertEqual(940.0, made.world.free_gib(1))
        record = made.cinder.volume('v0')
        self.assertEqual(('migrating', 'h0@sim#sim'),
                         (record.migration_status, record.pool))
        half, = made.cinder.halves('v0')
        self.assertEqual(('v0', 'h1@sim#sim'), (half.target_of, half.pool))
        made.world.advance(307.0)
        self.assertEqual([0, 1], made.where())
        made.world.advance(0.3)
        self.assertEqual([1, 1], made.where())
        self.assertEqual((1000.0, 940.0), (
            made.world.free_gib(0), made.world.free_gib(1)))
        self.assertEqual('success',
                         made.cinder.volume('v0').migration_status)
        self.assertEqual((), made.cinder.halves('v0'))

    def test_the_source_is_wiped_afterwards(self):
        made = Made(flat(500, 500), size_gib=10.0, wiping_mib_s=50.0, home={
            'v0': 'h0@sim#sim', 'v1': 'h0@sim#sim'})
        made.world.advance(100)
        before = made.world.so_far().latency_us
        made.cinder.migrate('v0', 'h1@sim#sim')
        made.world.advance(102.5)
        self.assertEqual([1, 0], made.where())
        wiped = made.world.so_far().latency_us
        self.assertLess(before[1], wiped[1])
        self.assertEqual((980.0, 990.0), (
            made.world.free_gib(0), made.world.free_gib(1)))
        record = made.cinder.volume('v0')
        self.assertEqual(('success', 'h1@sim#sim'),
                         (record.migration_status, record.pool))
        half, = made.cinder.halves('v0')
        self.assertEqual(('v0', 'h0@sim#sim', 'deleting'), (
            eligibility.leftover_of(half), half.pool, half.status))
        self.assertRaises(cinder_errors.Refused, made.cinder.migrate, 'v0',
                          'h0@sim#sim')
        made.world.advance(204.6)
        self.assertEqual(1, len(made.cinder.halves('v0')))
        made.world.advance(0.2)
        self.assertEqual((), made.cinder.halves('v0'))
        self.assertEqual(990.0, made.world.free_gib(0))
        self.assertGreater(wiped[1], made.world.so_far().latency_us[1])

    def test_volumes_in_use_stay_so(self):
        made = Made(flat(5, 5), wiping_mib_s=100.0)
        made.cinder.migrate('v0', 'h1@sim#sim')
        for seconds, statuses in ((50, ['attaching']), (60, ['deleting']),
                                  (100, [])):
            made.world.advance(seconds)
            record = made.cinder.volume('v0')
            self.assertEqual(('in-use', ('server-of-v0',)), (
                record.status, record.attachments))
            self.assertEqual(statuses, [
                half.status for half in made.cinder.halves('v0')])
            self.assertEqual([each for each in statuses
                              if each != 'deleting'], [
                each.status for each in made.cinder.attachments_of(
                    'copy-of-v0')])
            own, = made.cinder.attachments_of('v0')
            self.assertEqual(('attached', 'server-of-v0'), (
                own.status, own.server_id))

    def test_what_a_deleted_volume_left_is_wiped_to_its_end(self):
        nan = np.nan
        made = Made([[5, nan, nan, nan], [5] * 4], size_gib=20.0,
                    wiping_mib_s=50.0)
        made.world.advance(50)
        made.cinder.migrate('v0', 'h1@sim#sim')
        made.world.advance(300)
        self.assertEqual([None, 1], made.where())
        self.assertEqual((980.0, 980.0), (
            made.world.free_gib(0), made.world.free_gib(1)))
        self.assertIsNone(made.cinder.volume('v0'))
        self.assertEqual(2, len(made.cinder.inventory().records))
        made.world.advance(500)
        self.assertEqual(1000.0, made.world.free_gib(0))

    def test_a_copy_is_slower_where_a_pool_falls_behind(self):
        made = Made(flat(40000, 1), size_gib=10.0, ssd=devices.SSD1, home={
            'v0': 'h0@sim#sim', 'v1': 'h1@sim#sim'})
        self.assertLess(made.world.so_far().answer.served[0], 0.5)
        made.cinder.migrate('v1', 'h0@sim#sim')
        made.world.advance(200)
        self.assertEqual([0, 1], made.where())

    def test_what_cinder_would_refuse(self):
        made = Made(flat(1, 1), size_gib=600.0, home={
            'v0': 'h0@sim#sim', 'v1': 'h1@sim#sim'})
        for volume, pool in (('v0', 'h1@sim#sim'), ('v0', 'h0@sim#sim'),
                             ('v9', 'h1@sim#sim'), ('v0', 'no@where#pool')):
            self.assertRaises(cinder_errors.Refused, made.cinder.migrate,
                              volume, pool)
        for verb, *given in (('reset', 'v0'), ('delete', 'v0'),
                             ('complete', 'v0', 'v1'), ('unmanage', 'v0'),
                             ('delete_attachment', 'a')):
            self.assertRaises(errors.CloudError,
                              getattr(made.cinder, verb), *given)

    def test_a_volume_is_not_deleted_in_a_copy(self):
        nan = np.nan
        made = Made([[5, nan, nan, nan, nan], [5] * 5], size_gib=40.0)
        made.world.advance(200)
        made.cinder.migrate('v0', 'h1@sim#sim')
        made.world.advance(200)
        self.assertEqual([0, 1], made.where())
        made.world.advance(600)
        self.assertEqual([None, 1], made.where())
        self.assertEqual((1000.0, 960.0), (
            made.world.free_gib(0), made.world.free_gib(1)))


class TelemetryTest(testtools.TestCase):

    def test_the_mean_over_a_window(self):
        made = Made([[100, 200, 400, 400]], number=1)
        made.world.advance(900)
        for window_s, rate in ((300, 400), (600, 300), (900, 700 / 3)):
            seen = made.observed(window_s).volumes['v0']
            self.assertAlmostEqual(rate, seen.mean.iops, 3)
            self.assertEqual(window_s, seen.seconds)
            self.assertAlmostEqual(30.0, seen.mean.write_pct, 3)
            self.assertAlmostEqual(64.0, seen.mean.block_kib, 3)
        made.world.advance(150)
        self.assertAlmostEqual(
            400, made.observed(300).volumes['v0'].mean.iops, 3)

    def test_latency_is_by_littles_law(self):
        made = Made(flat(1000, 1000), number=1)
        made.world.advance(300)
        done, = made.stretches
        seen = made.observed(300).volumes['v1'].mean
        self.assertAlmostEqual(float(done.latency_us[1]), seen.latency_us, 3)

    def test_what_was_on_another_pool_does_not_count(self):
        made = Made([[100] * 4 + [300] * 20], size_gib=10.0)
        made.world.advance(1100)
        made.cinder.migrate('v0', 'h1@sim#sim')
        made.world.advance(400)
        seen = made.observed(1500).volumes['v0']
        self.assertAlmostEqual(300, seen.mean.iops, 3)
        self.assertAlmostEqual(1500 - 1100 - 102.4, seen.seconds, 3)

    def test_a_volume_that_has_just_come_is_missing(self):
        made = Made([[np.nan, 5], [5, 5]], number=1)
        made.world.advance(300)
        seen = made.observed(300)
        self.assertEqual({'v0'}, {*seen.missing})
        self.assertEqual({'v1'}, {*seen.volumes})

    def test_an_idle_volume_is_idle(self):
        made = Made(flat(0.0), number=1)
        made.world.advance(300)
        self.assertFalse(
            made.observed(300).volumes['v0'].mean.is_active())

    def test_history_goes_with_a_volume(self):
        nan = np.nan
        made = Made([[100, 200, 400, 400], [nan, 7, 7, nan]],
                    size_gib=10.0)
        self.assertFalse(made.past(900).seconds.any())
        made.world.advance(310)
        made.cinder.migrate('v0', 'h1@sim#sim')
        made.world.advance(790)
        found = made.past(1200)
        nan = np.nan
        np.testing.assert_allclose(
            [[100, nan], [200, 7], [400, 7], [nan, nan]], found.iops, 1e-6)
        np.testing.assert_allclose(64, found.block_kib[1:3])
        self.assertTrue((found.outstanding[1:3] > 0).all())
        self.assertEqual([300, 300, 300, 0], found.seconds[:, 0].tolist())
        longer = made.past(1200, 600)
        np.testing.assert_allclose([[150, 7], [400, 7]], longer.iops, 1e-6)
        self.assertEqual([[600, 300], [300, 300]], longer.seconds.tolist())
        shorter = made.past(1200, 150)
        np.testing.assert_allclose(
            np.repeat([100, 200, 400, nan], 2), shorter.iops[:, 0], 1e-6)

    def test_only_the_longest_window_is_kept(self):
        made = Made(flat(10.0, slots=100), number=1)
        made.world.advance(1e9)
        self.assertEqual(12, (made.past(30000).seconds > 0).sum())


class EndTest(testtools.TestCase):

    def test_the_end_comes_in_a_copy(self):
        for into, size_gib in ((5.0, 100.0), (1000.0, 19.53125),
                               (1000.0, 19.5312499)):
            made = Made(flat(500, 500, slots=4), size_gib=size_gib)
            made.world.advance(into)
            made.cinder.migrate('v0', 'h1@sim#sim')
            for _ in range(500):
                made.world.advance(5)
            self.assertTrue(made.world.advance(0))
            self.assertEqual(made.world.end, made.world.now)
            self.assertAlmostEqual(1200.0, sum(
                each.seconds for each in made.stretches), 3)
