# SPDX-License-Identifier: Apache-2.0
"""Which migrations count as forgotten, and their recovery."""

import ddt

from serifos import errors
from tests.unit.balancer import cloud
from tests.unit.balancer.cloud import A
from tests.unit.balancer.cloud import B
from tests.unit.balancer.cloud import record


@ddt.ddt
class DiagnosisTest(cloud.Case):

    def forget(self):
        self.cinder.faults['u'] = 'killed'
        self.balancer.round()
        self.cinder.faults.clear()
        self.cinder.workloads.pop('u')

    def test_a_young_one_may_still_run(self):
        self.forget()
        found = self.diagnose('u')
        self.assertFalse(found.forgotten)
        self.assertIn('it last changed', found.why)

    def test_a_quiet_one_is_forgotten(self):
        self.forget()
        self.now += 900
        found = self.diagnose('u')
        self.assertTrue(found.forgotten)
        self.assertIn('serifos-balancer recover u', found.sentence())

    def test_a_source_that_started_since_has_forgotten_at_once(self):
        self.forget()
        self.cinder.started[A] = self.now
        self.assertTrue(self.diagnose('u').forgotten)
        self.cinder.started[A] = cloud.NOW - 1
        self.assertFalse(self.diagnose('u').forgotten)

    def test_not_while_a_service_is_down(self):
        self.forget()
        self.now += 9000
        self.cinder.serve(B, up=False)
        found = self.diagnose('u')
        self.assertFalse(found.forgotten)
        self.assertIn(f'the cinder-volume of {B} is not up', found.why)

    def test_not_where_telemetry_does_not_see(self):
        self.forget()
        self.now += 9000
        self.cinder.unseen = {B: 'gone'}
        self.assertFalse(self.diagnose('u').forgotten)

    def test_not_while_the_copy_writes(self):
        self.forget()
        self.now += 9000
        self.cinder.workloads['copy-at-b@ssd#ssd-of-u'] = cloud.busy(1024)
        found = self.diagnose('u')
        self.assertIn('quiet for 0 s; 900 s', found.why)

    def test_a_boot_time_that_is_not_trusted_is_told(self):
        self.forget()
        self.cinder.doubts = {A: 'its clock is 70 s behind ours'}
        self.now += 300
        self.assertIn(
            f'it is not known whether the host of {A} was rebooted since: '
            'its clock is 70 s behind ours', self.diagnose('u').why)

    def test_a_volume_at_rest_is_not_recovered(self):
        error = self.assertRaises(
            errors.InputError, self.diagnose, 'v')
        self.assertIn('not being migrated', str(error))

    def leave_old_copy(self, **changes):
        self.cinder = self.cloud(
            [record('u', B, migration_status='success'), record('v'),
             record('t', A, **{
                 'name_id': 'u', 'status': 'deleting',
                 'migration_status': 'deleting',
                 'description': 'migration src for u',
                 'created_at': cloud.NOW, **changes})])

    def test_an_old_copy_that_is_deleted_no_more(self):
        # The source died between the end of the copy and the deletion.
        self.leave_old_copy()
        self.cinder.started[A] = self.cinder.started[B] = self.now + 1
        self.assertIn('it last changed', self.diagnose('u').why)
        self.now += 900
        found = self.diagnose('u')
        self.assertIn(f'The old copy of volume u was left on {A}',
                      found.sentence())
        self.assertIsNone(self.balancer.round())
        self.assertIn('serifos-balancer recover u', self.log.output)
        self.recover(found)
        self.assertEqual({'u': B, 'v': A}, self.homes())
        self.assertEqual('success', self.cinder.volume('u').migration_status)
        self.assertIsNotNone(self.balancer.round())

    def test_an_old_copy_that_is_being_wiped_is_left_alone(self):
        self.leave_old_copy()
        self.cinder.workloads['t'] = cloud.busy(1024)
        self.cinder.started[A] = self.now + 1
        self.now += 9000
        self.assertIn('quiet for 0 s; 900 s', self.diagnose('u').why)

    def test_an_attachment_that_names_the_old_copy(self):
        # The source died before the very last that completing consists of.
        self.leave_old_copy(attachments=('s',), name_id='t2')
        self.cinder.change('u', status='in-use')
        self.cinder.workloads['u'] = cloud.busy(64)
        self.now += 60
        self.assertFalse(self.diagnose('u').over)
        self.now += 90
        found = self.diagnose('u')
        self.assertTrue(found.broken)
        self.assertIn(
            "UPDATE volume_attachment SET volume_id = 'u' WHERE volume_id = "
            "'t' AND deleted = 0;", found.sentence())
        self.assertRaises(errors.InputError, self.recover, found)
        self.cinder.change('u', attachments=('s',))
        self.cinder.change('t', attachments=())
        self.now += 900
        self.assertIn('The old copy of volume u was left',
                      self.diagnose('u').sentence())

    @ddt.data(
        # The records were being swapped, and the volume had no new name.
        ({'pool': B, 'name_id': 't', 'migration_status': None},
         {'migration_status': 'target:u'}),
        # It had got its new name, and was not swapped yet.
        ({'pool': A, 'name_id': 't', 'status': 'maintenance',
          'migration_status': 'completing'},
         {'migration_status': 'target:u'}),
        # An old copy with the name of the volume, on the volume's host.
        ({'pool': B, 'migration_status': 'success'},
         {'name_id': 'u', 'status': 'deleting',
          'description': 'migration src for u',
          'migration_status': 'deleting'}))
    @ddt.unpack
    def test_what_names_the_same_data_is_never_deleted(self, volume, half):
        self.cinder = self.cloud(
            [record('u', **{**volume, 'created_at': cloud.NOW}),
             record('t', B, created_at=cloud.NOW, **half)], {})
        self.cinder.lists = False
        self.now += 9000
        self.cinder.started[A] = self.now
        found = self.diagnose('u')
        self.assertTrue(found.broken, found.sentence())
        self.assertIn('could delete the data', found.sentence())
        self.assertRaises(errors.InputError, self.recover, found)
        self.assertEqual({'u', 't'}, set(self.homes()))
        self.balancer.round()
        self.assertIn('could delete the data', self.log.output)

    def test_a_volume_whose_data_is_not_seen_is_not_recovered(self):
        # It was renamed by Cinder before the source died.
        self.cinder = self.cloud(
            [record('u', status='maintenance', migration_status='completing'),
             record('t', B, migration_status='target:u')], {})
        self.cinder.lists = False
        self.cinder.started[A] = self.now
        self.assertTrue(self.diagnose('u').forgotten)
        self.cinder.unseen = {A: 'gone'}
        found = self.diagnose('u')
        self.assertTrue(found.broken)
        self.assertIn(f'does not see volume-u on {A}', found.sentence())

    def attached(self, half=None, **changes):
        """A volume in use, which Nova copies, and its copy."""
        self.cinder = self.cloud(
            [record('u', **{'status': 'in-use', 'attachments': ('s',),
                            'migration_status': 'migrating', **changes}),
             record('t', B, migration_status='target:u', **(half or {}))],
            {'u': cloud.busy(64)})
        self.now += 9000

    def test_a_start_of_the_source_ends_no_copy_by_nova(self):
        self.attached()
        self.cinder.workloads['t'] = cloud.busy(1024)
        self.cinder.started[A] = self.now
        found = self.diagnose('u')
        self.assertFalse(found.over)
        self.assertIn(f'on {B} is known to be quiet for 0 s', found.why)

    def test_of_a_volume_in_use_the_copy_has_to_be_quiet(self):
        self.attached()
        found = self.diagnose('u')
        self.assertTrue(found.forgotten, found.sentence())
        self.recover(found)
        self.assertEqual(('in-use', None), (
            self.cinder.volume('u').status,
            self.cinder.volume('u').migration_status))
        # Nova may have given it to the server, and have failed in the end.
        self.assertEqual(('available', None), (
            self.cinder.volume('t').status,
            self.cinder.volume('t').migration_status))

    @ddt.data({'attachments': ('s',)}, {'status': 'in-use'},
              {'status': 'reserved'})
    def test_an_attached_copy_is_never_deleted(self, half):
        self.attached(half)
        self.cinder.started[A] = self.now
        found = self.diagnose('u')
        self.assertFalse(found.forgotten, found.sentence())
        self.assertRaises(errors.InputError, self.recover, found)
        self.assertIsNotNone(self.cinder.volume('t'))

    def test_a_copy_that_was_attached_meanwhile_is_spared(self):
        self.attached()
        found = self.diagnose('u')
        self.cinder.change('t', attachments=('s',), status='in-use')
        error = self.assertRaises(
            errors.InputError, self.recover, found)
        self.assertIn('no longer an idle copy', str(error))
        self.assertEqual('target:u', self.cinder.volume('t').migration_status)
        self.assertEqual('migrating',
                         self.cinder.volume('u').migration_status)

    def test_what_was_completed_in_use_is_not_recovered(self):
        self.attached(migration_status='completing')
        self.assertIn('on either host', self.diagnose('u').why)
        self.assertTrue(self.diagnose('u').broken)

    @ddt.data(((), 'available'), (('s',), 'in-use'))
    @ddt.unpack
    def test_a_retype_ends_in_the_status_it_had(self, attachments, status):
        self.attached(status='retyping', attachments=attachments)
        self.cinder.workloads.clear()
        self.recover(self.diagnose('u'))
        self.assertEqual(status, self.cinder.volume('u').status)

    @ddt.data(30.0, 600.0, 3600.0)
    def test_quiet_is_looked_for_beyond_the_window(self, window_s):
        self.set(window_s=window_s)
        self.forget()
        self.now += 900
        self.assertTrue(self.diagnose('u').forgotten)

    def test_recovered_it_is_as_before(self):
        self.forget()
        self.now += 900
        balancer = self.balancer
        balancer.carrier.recover(balancer.observer.diagnose('u'))
        found = self.cinder.volume('u')
        self.assertEqual((A, 'available', None),
                         (found.pool, found.status, found.migration_status))
        self.assertEqual({'u', 'v', 'w'}, set(self.homes()))
        self.assertEqual(['begun', 'success'], [
            entry.facts['result'] for entry in self.entries()
            if entry.kind == 'recover'])

    def test_what_had_to_be_recovered_has_failed(self):
        self.set(max_failures=1)
        self.cinder.faults['u'] = 'killed'
        self.stop_after = 5
        self.balancer.round()
        self.stop_after = None
        self.now += 960
        self.cinder.workloads.pop('u')
        self.recover(self.diagnose('u'))
        self.assertEqual(['outcome', 'back-off', 'pause'], self.kinds()[-3:])
        self.assertEqual('recovered', self.entries()[-3].facts['result'])
        self.cinder.workloads['u'] = cloud.busy(64)
        self.assertIn('a migration of it failed', str(
            self.balancer.observer.observe().cluster.volume('u').movable))

    def test_a_copy_that_was_left_behind_is_deleted(self):
        # Cinder gave up, and its word to delete the copy got lost.
        self.cinder = self.cloud(
            [record('u', migration_status='error'), record('v'),
             record('t', B, migration_status='target:u',
                    created_at=cloud.NOW)])
        self.assertIsNotNone(self.balancer.round())
        error = self.assertRaises(errors.InputError, self.recover,
                                  self.diagnose('u'))
        self.assertIn('it last changed', str(error))
        self.now += 900
        found = self.diagnose('u')
        self.assertIn(f'The half-made copy of volume u was left on {B}',
                      found.sentence())
        self.recover(found)
        self.assertEqual({'u', 'v'}, set(self.homes()))

    def test_a_running_one_is_not_recovered(self):
        self.forget()
        balancer = self.balancer
        error = self.assertRaises(
            errors.InputError, balancer.carrier.recover,
            balancer.observer.diagnose('u'))
        self.assertIn('may still run', str(error))
        self.assertEqual('migrating',
                         self.cinder.volume('u').migration_status)
