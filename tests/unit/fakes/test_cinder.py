# SPDX-License-Identifier: Apache-2.0
import dataclasses

import ddt
import testtools

from serifos import errors
from serifos.facts import activity
from serifos.facts import cinder_errors
from serifos.facts import inventory
from serifos.facts.workload import Workload
from tests.fakes import cinder as fake

NOW = 1_800_000_000.0
A, B, A2 = 'a@ssd#ssd', 'b@ssd#ssd', 'a@two#ssd'


class Case(testtools.TestCase):
    """A volume of 10 GiB, copied in 10 s and wiped in as many."""

    def setUp(self):
        super().setUp()
        self.now = NOW
        self.make()

    def make(self, *others, thin=False, **changes):
        self.cinder = fake.Cinder(
            [inventory.PoolStats(name, 100.0, 100.0, thin=thin, capabilities={
                'volume_backend_name': 'ssd'}) for name in (A, B, A2)],
            [dataclasses.replace(
                inventory.Record('v', 10.0, 'available', pool=A), **changes),
             *others], lambda: self.now, gib_per_s=1.0,
            types=[inventory.Type('slow', {'volume_backend_name': 'hdd'})])

    def at(self, seconds):
        """The volume so long after the request: where, how, and halves."""
        self.now = NOW + seconds
        found = self.cinder.volume('v')
        return (found.pool, found.status, found.migration_status, [
            (half.pool, half.status, half.migration_status)
            for half in self.cinder.halves('v')])

    def free(self):
        return {pool.name: pool.free_gib
                for pool in self.cinder.inventory().pools}


@ddt.ddt
class LifeTest(Case):

    def test_a_volume_that_is_available(self):
        new = (B, 'available', 'target:v')
        old = (A, 'deleting', 'deleting')
        self.cinder.migrate('v', B)
        self.assertEqual((A, 'maintenance', 'starting', []), self.at(0))
        self.assertEqual((A, 'maintenance', 'migrating', [new]), self.at(1))
        self.assertEqual((A, 'maintenance', 'migrating', [new]), self.at(10))
        self.assertEqual((A, 'maintenance', 'completing', [new]),
                         self.at(11))
        self.assertEqual((B, 'available', 'success', [old]), self.at(12))
        self.assertEqual((B, 'available', 'success', [old]), self.at(21))
        self.assertEqual((B, 'available', 'success', []), self.at(22))

    def test_nothing_depends_on_how_often_it_is_asked(self):
        self.cinder.migrate('v', B)
        self.at(500)
        self.assertEqual(NOW + 12, self.cinder.volume('v').updated_at)
        self.assertEqual((B, 'available', 'success', []), self.at(500))

    def test_the_old_copy_is_named_for_its_volume(self):
        self.cinder.migrate('v', B)
        self.at(12)
        old, = self.cinder.halves('v')
        self.assertEqual('migration src for v', old.description)
        self.assertEqual('v', old.lv_id)
        self.assertEqual('v', self.cinder.volume('v').lv_id)

    def test_a_volume_in_use_stays_so_and_its_lv_is_called_otherwise(self):
        self.make(status='in-use', attachments=('s',))
        self.cinder.migrate('v', B)
        self.assertEqual('in-use', self.at(5)[1])
        new, = self.cinder.halves('v')
        self.assertEqual((B, 'in-use', 'success', []), self.at(30))
        self.assertEqual(new.id, self.cinder.volume('v').lv_id)

    def test_between_two_groups_of_one_host_there_is_no_second_record(self):
        self.cinder.migrate('v', A2)
        self.assertEqual((A, 'maintenance', 'migrating', []), self.at(20))
        self.assertEqual((A2, 'available', 'success', []), self.at(21))

    def test_a_thin_copy_is_not_wiped(self):
        self.make(thin=True)
        self.cinder.migrate('v', B)
        self.assertEqual((B, 'available', 'success', []), self.at(13))

    def test_both_copies_take_space_until_the_old_one_is_gone(self):
        self.assertEqual({A: 90, B: 100, A2: 100}, self.free())
        self.cinder.migrate('v', B)
        for seconds, left in (5, 90), (21, 90), (22, 100):
            self.at(seconds)
            self.assertEqual({A: left, B: 90, A2: 100}, self.free())

    def test_it_can_be_moved_again(self):
        self.cinder.migrate('v', B)
        self.at(30)
        self.cinder.migrate('v', A)
        self.assertEqual((A, 'available', 'success', []), self.at(60))


@ddt.ddt
class RefusalTest(Case):

    @ddt.data(
        {'status': 'error'}, {'status': 'maintenance'}, {'snapshots': 1},
        {'group_id': 'g'}, {'replication_status': 'enabled'},
        {'migration_status': 'migrating'}, {'migration_status': 'target:x'})
    def test_what_cinder_does_not_begin(self, change):
        self.make(**change)
        self.assertRaises(cinder_errors.Refused, self.cinder.migrate, 'v', B)
        self.assertEqual(change.get('migration_status'), self.at(9)[2])

    @ddt.data(
        {'migration_status': 'error'}, {'migration_status': 'success'},
        {'encrypted': True}, {'replication_status': 'not-capable'})
    def test_what_cinder_begins_all_the_same(self, change):
        self.make(**change)
        self.cinder.migrate('v', B)
        self.assertEqual('starting', self.at(0)[2])

    def test_not_to_where_it_is_nor_where_nobody_serves(self):
        self.assertRaises(cinder_errors.Refused, self.cinder.migrate, 'v', A)
        self.assertRaises(cinder_errors.Refused, self.cinder.migrate, 'w', B)
        self.assertRaises(
            cinder_errors.Refused, self.cinder.migrate, 'v', 'c@d#e')
        for change in {'up': False}, {'enabled': False}:
            self.make()
            self.cinder.serve(B, **change)
            self.assertRaises(
                cinder_errors.Refused, self.cinder.migrate, 'v', B)

    def test_not_twice_at_once(self):
        self.cinder.migrate('v', B)
        self.assertRaises(cinder_errors.Refused, self.cinder.migrate, 'v', A2)
        self.assertRaises(cinder_errors.Refused, self.cinder.delete, 'v')


@ddt.ddt
class FaultTest(Case):

    def test_a_full_target_is_found_out_only_later(self):
        self.make(inventory.Record('w', 95.0, 'available', pool=B))
        self.cinder.migrate('v', B)
        self.assertEqual('starting', self.at(0)[2])
        self.assertEqual((A, 'available', 'error', []), self.at(1))

    def test_so_is_what_the_type_asks_for(self):
        self.make(volume_type='slow')
        self.cinder.migrate('v', B)
        self.assertEqual((A, 'available', 'error', []), self.at(1))

    def test_an_error_in_the_copy(self):
        self.cinder.faults['v'] = 'error'
        self.cinder.migrate('v', B)
        self.assertEqual(
            (A, 'available', 'error', [(B, 'deleting', 'target:v')]),
            self.at(11))
        self.assertEqual((A, 'available', 'error', []), self.at(21))

    def test_a_source_killed_in_the_copy_is_repaired_by_hand(self):
        self.cinder.faults['v'] = 'killed'
        self.cinder.migrate('v', B)
        for seconds in 5, 9000:
            self.assertEqual((A, 'maintenance', 'migrating', [
                (B, 'available', 'target:v')]), self.at(seconds))
        half, = self.cinder.halves('v')
        self.assertRaises(cinder_errors.Refused, self.cinder.delete, half.id)
        self.cinder.reset(half.id, 'error')
        self.cinder.delete(half.id)
        self.cinder.reset('v', 'available')
        self.assertEqual((A, 'available', None, []), self.at(9001))
        self.assertIsNotNone(self.cinder.volume(half.id))
        self.at(9010)
        self.assertIsNone(self.cinder.volume(half.id))

    def test_a_reset_stops_no_copy_that_runs(self):
        self.cinder.migrate('v', B)
        self.at(5)
        self.cinder.reset('v', 'available')
        self.assertEqual((A, 'available', None), self.at(6)[:3])
        self.assertEqual((B, 'available', 'success', []), self.at(30))

    @ddt.data(('no answer', 'starting'), ('lost', None))
    @ddt.unpack
    def test_no_answer_says_nothing(self, fault, status):
        self.cinder.faults['v'] = fault
        error = self.assertRaises(errors.CloudError, self.cinder.migrate,
                                  'v', B)
        self.assertNotIsInstance(error, cinder_errors.Refused)
        self.assertEqual(status, self.at(0)[2])

    def test_while_the_api_is_away_migrations_go_on(self):
        self.cinder.migrate('v', B)
        self.cinder.answers = False
        self.now += 5
        self.assertRaises(errors.CloudError, self.cinder.inventory)
        self.assertRaises(errors.CloudError, self.cinder.volume, 'v')
        self.cinder.answers = True
        self.assertEqual((B, 'available', 'success', []), self.at(30))

    def test_what_is_down_is_in_no_pool_list(self):
        self.cinder.serve(B, up=False)
        found = self.cinder.inventory()
        self.assertNotIn(B, [pool.name for pool in found.pools])
        self.assertFalse(found.service_of(B).up)


class TelemetryTest(Case):

    def quiet(self):
        records = self.cinder.inventory().records
        seen = self.cinder.observe([activity.MeasuredVolume(
            record.id, record.lv_id, record.pool) for record in records],
            1000)
        return {volume: active.quiet_s
                for volume, active in seen.volumes.items()}

    def test_a_copy_reads_here_and_writes_there(self):
        self.assertEqual({'v': 1000}, self.quiet())
        self.cinder.migrate('v', B)
        self.at(5)
        half, = self.cinder.halves('v')
        self.assertEqual({'v': 0, half.id: 0}, self.quiet())
        seen = self.cinder.observe(
            [activity.MeasuredVolume('v', 'v', A),
             activity.MeasuredVolume(half.id, half.lv_id, B)], 60)
        self.assertEqual(0, seen.volumes['v'].mean.write_pct)
        self.assertEqual(100, seen.volumes[half.id].mean.write_pct)
        self.at(31)
        self.assertEqual({'v': 20}, self.quiet())

    def test_a_copy_that_was_killed_is_quiet(self):
        self.cinder.faults['v'] = 'killed'
        self.cinder.migrate('v', B)
        self.at(906)
        self.assertEqual({900.0}, set(self.quiet().values()))

    def test_what_a_tenant_does(self):
        busy = Workload(50, 64, 8, iops=2000, latency_us=4000)
        self.cinder = fake.Cinder(
            [inventory.PoolStats(A, 9.0, 9.0)],
            [inventory.Record('v', 1.0, 'in-use', pool=A)], lambda: NOW,
            {'v': busy})
        place = activity.MeasuredVolume('v', 'v', A)
        seen = self.cinder.observe([place], 600)
        self.assertEqual(busy, seen.volumes['v'].mean)
        self.cinder.unseen = {A: 'no answer'}
        seen = self.cinder.observe([place], 600)
        self.assertEqual(({}, {'v': 'no answer'}, {A: 'no answer'}),
                         (seen.volumes, seen.missing, seen.problems))
