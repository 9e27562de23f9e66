# SPDX-License-Identifier: Apache-2.0
"""Migrations of volumes in use that Nova does not end, and their recovery."""

import dataclasses
from unittest import mock

import ddt

from serifos.balancer import changes
from serifos.balancer.recovery import recover
from serifos import errors
from serifos.facts import journal
from serifos.facts.servers import NoCompute
from serifos.facts import workload
from tests.unit.balancer import cloud
from tests.unit.balancer.cloud import A
from tests.unit.balancer.cloud import B
from tests.unit.balancer import test_attached

C, D = cloud.C, 'd@ssd#ssd'
COPY = f'copy-at-{B}-of-u'
OWN = 'sdb iqn.2010-10.org.openstack:volume-u'
LOOK = 'iscsiadm -m session -P 3'
COPYS = f'sdc iqn.2010-10.org.openstack:volume-{COPY}'


class Case(test_attached.Case):
    """Nova copies u from a to b; x and y are busy on c, d is empty."""

    fault = 'nova killed'

    def setUp(self):
        super().setUp()
        self.cinder = self.cloud(
            [self.in_use('u', 's'), cloud.record('x', C),
             cloud.record('y', C)],
            {'u': cloud.busy(64), 'x': cloud.busy(64), 'y': cloud.busy(32)},
            names=(A, B, C, D))
        self.cinder.faults['u'] = self.fault
        self.cinder.migrate('u', B)
        self.now += 5
        self.nova.do('s', 'swap_volume', self.now)

    def found(self, disk=None, keep=False):
        return self.diagnose('u', disk, keep)

    def stuck(self):
        """Its time is over."""
        self.now += 200
        found = self.found()
        self.assertTrue(found.stuck, found.sentence())
        return found

    def assert_refused(self, found):
        self.assertFalse(found.forgotten, found.sentence())
        self.assertRaises(errors.InputError, self.recover, found)
        self.assertEqual('migrating',
                         self.cinder.volume('u').migration_status)
        self.assertIn((B, f'volume-{COPY}'), self.cinder.lvs)

    def assert_recovered(self, found, copy=None, status='in-use'):
        """The volume is at rest, its copy gone, or of that status."""
        self.assertTrue(found.forgotten, found.sentence())
        self.recover(found)
        volume, left = self.cinder.volume('u'), self.cinder.volume(COPY)
        self.assertEqual((A, status, None), (
            volume.pool, volume.status, volume.migration_status))
        self.assertIn((A, 'volume-u'), self.cinder.lvs)
        self.assertEqual(copy, left and left.status)
        self.assertEqual(copy is not None,
                         (B, f'volume-{COPY}') in self.cinder.lvs)
        self.assertEqual({}, self.cinder.swaps)
        self.assertEqual((), journal.open_recoveries(self.entries()))


@ddt.ddt
class KilledTest(Case):

    def test_nova_may_go_on_with_a_young_one(self):
        self.now += 60
        self.assert_refused(self.found())
        self.now += 70
        self.set(timeouts=dataclasses.replace(
            self.settings.timeouts, timeout_s=600.0))
        found = self.found()
        self.assertIn('it may take 660 s', found.why)
        self.assert_refused(found)

    def test_while_nova_compute_is_down_it_is_waited_for(self):
        self.now += 100
        self.nova.serve(up=False)
        found = self.found()
        self.assertFalse(found.over)
        self.assertIn('the nova-compute on compute1 of its server s is down',
                      found.why)
        self.assertIsNone(self.balancer.round())

    def assert_pools_left_out(self, words):
        """Nothing is recovered; others are balanced meanwhile."""
        for disk in None, OWN:
            found = self.found(disk)
            self.assertTrue(found.stuck)
            self.assertIn(words, found.sentence())
            self.assertEqual((), found.cure)
            self.assert_refused(found)
        move, = self.balancer.round().moves
        self.assertEqual((C, D), (move.source, move.target))

    def test_a_compute_host_that_is_gone_for_good(self):
        self.nova.serve(up=False)
        self.cinder.end_mirror('u')
        self.cinder.still('u')
        self.now += 30 * 86400
        self.assert_pools_left_out('is down; start it, or evacuate the '
                                   'server.')

    def test_one_whose_server_may_use_the_copy(self):
        self.now += 300
        self.cinder.still('u')
        self.now += 1000
        self.nova.serve(up=False)
        self.assertIn('do not evacuate the server: ', self.found().why)

    @ddt.data(A, B)
    def test_a_storage_host_that_is_gone_for_good(self, pool):
        self.cinder.serve(pool, up=False, enabled=False)
        self.now += 60
        self.assertFalse(self.found().over)
        self.now += 30 * 86400
        self.assert_pools_left_out(
            f'the cinder-volume of {pool} is not up; start it: nothing can '
            'be recovered before.')

    def test_one_whose_tenant_changes_the_volume_meanwhile(self):
        for number in range(20):
            self.now += 100
            self.cinder.inventory()
            self.cinder.change('u', metadata={'n': str(number)})
        self.assertTrue(self.found().stuck, self.found().why)
        self.nova.do('s', 'reboot', self.now - 1500, ended_at=self.now - 1490)
        self.cinder.end_mirror('u')
        self.now += 60
        self.assert_recovered(self.found(), 'available')

    def test_a_nova_that_does_not_answer(self):
        self.now += 60
        self.nova.problem = 'no route'
        self.assertFalse(self.found().over)
        self.now += 9000
        found = self.found()
        self.assertTrue(found.stuck)
        self.assertIn('whether it goes on is not known: no route', found.why)

    def test_an_account_to_which_nova_shows_no_actions(self):
        self.nova.shows_actions = False
        found = self.stuck()
        self.assertIn('(Nova shows no actions)', found.why)
        cure = '\n'.join(found.cure)
        self.assertIn('DEVICE is the target of the disk whose serial is u',
                      cure)
        self.assertIn('virsh blockjob instance-s DEVICE --abort', cure)

    def test_without_a_nova_its_time_and_a_person_tell(self):
        self.nova = NoCompute('it is not configured')
        self.set(allow_attached=True)
        self.now += 60
        self.assertFalse(self.found().over)
        self.now += 140
        found = self.found()
        self.assertIn('there is no Nova to ask: it is not configured',
                      found.sentence())
        cure = '\n'.join(found.cure)
        self.assertIn('On the compute host of its server s, as root', cure)
        self.assertIn('virsh blockjob DOMAIN DEVICE --abort', cure)
        self.assertNotIn('os-migrate_volume_completion', '\n'.join(
            self.found(COPYS).cure))
        move, = self.balancer.round().moves
        self.assertEqual((C, D), (move.source, move.target))
        self.assert_refused(self.found(OWN))
        self.cinder.end_mirror('u')
        self.now += 40
        self.assert_recovered(self.found(OWN))

    def test_its_commands(self):
        found = self.stuck()
        self.assertIn('serifos-balancer recover u', found.sentence())
        cure = '\n'.join(found.cure)
        for words in ('On compute1.example,',
                      'virsh blockjob instance-s vdb --abort',
                      'virsh dumpxml --inactive --security-info instance-s',
                      '-T iqn.2010-10.org.openstack:volume-'
                      f'{COPY} -p b:3260 --logout',
                      'serifos-balancer recover u --disk'):
            self.assertIn(words, cure)
        self.assert_refused(found)

    def test_the_other_pools_are_balanced_meanwhile(self):
        self.stuck()
        plan = self.balancer.round()
        move, = plan.moves
        self.assertEqual((C, D), (move.source, move.target))
        self.assertEqual(['success'], self.results())
        self.assertIn('is stuck', self.log.output)

    def test_pools_that_share_a_device_with_it_are_left_out(self):
        self.cinder.pools = {
            name: dataclasses.replace(pool, device={
                A: 'nvme0', C: 'nvme0'}.get(name))
            for name, pool in self.cinder.pools.items()}
        self.stuck()
        self.assertIsNone(self.balancer.round())
        self.assertIn('1 of 4 pools are up', self.log.output)

    def test_what_a_person_found_on_the_compute_host(self):
        self.stuck()
        found = self.found(OWN)
        self.assertIn('the copy had a request 0 s ago', found.why)
        self.assert_refused(found)
        self.cinder.end_mirror('u')
        self.now += 40
        found = self.found(OWN)
        self.assertIn('will be deleted', '\n'.join(found.plan()))
        self.assert_recovered(found)
        self.assertEqual(('attachment-u',), tuple(
            each.id for each in self.cinder.attachments_of('u')))

    def test_the_copy_is_kept_where_a_person_found_no_job(self):
        self.stuck()
        self.cinder.end_mirror('u')
        self.now += 40
        self.assert_recovered(self.found(OWN, keep=True), 'available')

    def test_an_account_to_which_cinder_shows_no_attachments(self):
        self.cinder.attachments_of = lambda volume: ()
        self.now += 9000
        found = self.found()
        self.assertFalse(found.over)
        self.assertIn('Cinder shows no attachments', found.why)
        self.assertIsNone(self.balancer.round())

    @ddt.data(False, True)
    def test_its_server_and_all_attachments_are_gone(self, busy):
        self.now += 100
        self.nova.delete('s')
        if not busy:
            self.cinder.end_mirror('u')
        self.cinder.change('u', attachments=())
        self.cinder.swaps.clear()
        self.now += 9000
        found = self.found()
        if busy:
            self.assert_refused(found)
        else:
            self.assertIn('Nova ended its attachment', found.why)
            self.assert_recovered(found, 'available', 'available')

    def test_nova_ended_its_attachment_of_what_its_server_uses(self):
        self.now += 60
        self.cinder.still('u')
        self.now += 1000
        self.cinder.end_mirror('u')
        self.cinder.swaps.clear()
        self.now += 100
        found = self.found()
        self.assertIn('its server uses its copy already, it seems', found.why)
        self.assert_refused(found)

    def test_a_person_found_the_copy_in_use(self):
        self.stuck()
        self.cinder.end_mirror('u')
        self.now += 9000
        found = self.found(COPYS)
        self.assertIn('do not delete it', '\n'.join(found.cure))
        self.assertIn('virsh blockcopy instance-s vdb',
                      '\n'.join(found.cure))
        self.assert_refused(found)

    def test_a_person_found_another_disk(self):
        self.stuck()
        error = self.assertRaises(errors.InputError, self.found, 'sdd iqn.x')
        self.assertIn('names neither', str(error))

    def test_an_idle_server_tells_nothing(self):
        self.stuck()
        self.cinder.end_mirror('u')
        self.cinder.still('u')
        self.now += 9000
        self.assert_refused(self.found())

    def test_what_its_server_writes_shows_that_the_mirror_ended(self):
        self.stuck()
        self.cinder.end_mirror('u')
        self.now += 70
        found = self.found()
        self.assertIn(f'openstack volume delete {COPY}',
                      '\n'.join(found.plan()))
        self.assert_recovered(found, 'available')

    def test_the_copy_has_requests_and_the_volume_none(self):
        self.now += 300
        self.cinder.still('u')
        self.now += 1000
        found = self.found()
        self.assertIn('its server uses its copy already, it seems', found.why)
        cure = '\n'.join(found.cure)
        self.assertIn('do not delete it', cure)
        self.assertIn(LOOK, cure)
        self.assertNotIn('blockcopy', cure)
        self.assert_refused(found)
        self.assert_refused(self.found(OWN))
        self.cinder.end_mirror('u')
        self.now += 300
        self.assertIn('300 s ago', self.found().why)
        self.assertIn('blockcopy', '\n'.join(self.found(COPYS).cure))

    @ddt.data('stop', 'off', 'delete')
    def test_a_server_that_is_off_wrote_to_its_copy_alone(self, how):
        self.now += 60
        self.cinder.still('u')
        self.now += 1000
        if how == 'stop':
            self.nova.stop('s')
        elif how == 'off':
            self.nova.change('s', off='NOSTATE')
        else:
            self.nova.delete('s')
            self.cinder.change('u', attachments=())
        self.cinder.end_mirror('u')
        self.now += 130
        found = self.found()
        self.assertIn('but the copy was written 130 s ago', found.why)
        cure = '\n'.join(found.cure)
        self.assertIn('recover u --keep-copy', cure)
        self.assertNotIn('os-migrate_volume_completion', cure)
        self.assert_refused(found)
        found = self.found(keep=True)
        self.assertIn('only to the copy is not in it',
                      '\n'.join(found.plan()))
        self.assert_recovered(found, 'available', 'available' if (
            how == 'delete') else 'in-use')

    def test_one_who_reads_the_copy_is_not_its_server(self):
        self.cinder.still('u')
        self.cinder.end_mirror('u')
        self.now += 1000
        self.cinder.workloads[COPY] = workload.Workload(
            0.0, 1024.0, 1.0, 0.0, 100, 1e4)
        self.assertFalse(self.found().moved)

    def test_the_disk_is_looked_at_before_the_copy_is_disconnected(self):
        cure = self.stuck().cure
        look, look_again = (nth for nth, line in enumerate(cure)
                            if LOOK in line)
        logout, = (nth for nth, line in enumerate(cure)
                   if line.endswith('--logout'))
        self.assertLess(look_again, logout)
        self.assertIn('Only where that names volume-u', cure[look + 1])
        self.assertIn('where that still names volume-u', cure[look_again - 1])

    @ddt.data('stop', 'reboot', 'rebuild')
    def test_the_server_was_made_anew(self, action):
        self.now += 30
        self.nova.do('s', action, self.now, ended_at=self.now + 5)
        self.cinder.end_mirror('u')
        self.now += 130
        found = self.found()
        self.assertIn(f'{action} was done with its server', found.why)
        self.assert_recovered(found, 'available')

    def test_a_reboot_that_nova_has_not_done(self):
        self.set(timeouts=dataclasses.replace(
            self.settings.timeouts, timeout_s=600.0))
        self.nova.do('s', 'reboot', self.now + 10)
        self.cinder.end_mirror('u')
        self.now += 130
        self.assertFalse(self.found().forgotten)

    def test_the_server_was_stopped(self):
        self.nova.stop('s')
        self.cinder.end_mirror('u')
        self.now += 130
        self.assert_recovered(self.found(), 'available')

    def test_its_compute_host_was_rebooted(self):
        # The server is ACTIVE for Nova, and its QEMU process is gone.
        self.nova.change('s', off='NOSTATE')
        self.cinder.end_mirror('u')
        self.now += 130
        found = self.found()
        self.assertIn('does not run (power state NOSTATE; ', found.why)
        self.assert_recovered(found, 'available')

    def test_one_that_is_off_where_telemetry_does_not_see_the_copy(self):
        self.nova.change('s', off='NOSTATE')
        self.cinder.end_mirror('u')
        self.cinder.inventory()
        self.cinder.rename_lv((B, f'volume-{COPY}'), (B, 'other'))
        self.now += 130
        self.assertFalse(self.found().forgotten)

    def test_one_that_nova_has_as_off_and_whose_copy_is_written(self):
        self.nova.change('s', off='NOSTATE')
        self.now += 130
        self.assert_refused(self.found())

    def test_a_volume_that_was_kept_is_nobodys_copy(self):
        self.stuck()
        self.cinder.end_mirror('u')
        self.now += 70
        found = self.found()
        with mock.patch.object(recover, '_as_before',
                               side_effect=errors.CloudError('Changed.')):
            self.assertRaises(
                errors.CloudError, self.recover, found)
        self.assertEqual('available', self.cinder.volume(COPY).status)
        self.cinder.change(COPY, status='error')
        self.now += 3000
        error = self.assertRaises(errors.InputError, self.found)
        self.assertIn('is not being migrated', str(error))
        self.assertIn((B, f'volume-{COPY}'), self.cinder.lvs)

    def test_keep_copy_where_a_recovery_that_deletes_was_begun(self):
        self.stuck()
        self.cinder.end_mirror('u')
        self.now += 70
        proofs = iter([True, False])

        def prove():
            if not next(proofs):
                raise errors.NotLeading('Killed.')
        self.assertRaises(
            errors.NotLeading, self.made(prove=prove).carrier.recover,
            self.found(OWN))
        self.now += 1000
        self.assert_recovered(self.found(keep=True), 'available')

    def without_nova(self):
        """The source died before it asked Nova."""
        self.cinder.end_mirror('u')
        self.cinder.swaps.clear()
        self.cinder.change(COPY, status='available')
        self.now += 3000

    def test_keep_copy_where_nova_was_not_asked(self):
        self.without_nova()
        found = self.found(keep=True)
        self.assertNotIn('will be deleted', '\n'.join(found.plan()))
        self.assert_recovered(found, 'available')

    def test_a_begun_recovery_that_keeps_it(self):
        self.without_nova()
        proofs = iter([True, False])

        def prove():
            if not next(proofs):
                raise errors.NotLeading('Killed.')
        self.assertRaises(
            errors.NotLeading, self.made(prove=prove).carrier.recover,
            self.found(keep=True))
        self.assertIsNone(self.cinder.volume('u').migration_status)
        self.now += 1000
        self.assert_recovered(self.found(), 'available')

    def test_keep_copy_where_there_is_none(self):
        self.without_nova()
        self.cinder.inventory()
        self.cinder.rename_lv((B, f'volume-{COPY}'), (B, 'other'))
        error = self.assertRaises(errors.InputError, self.found, keep=True)
        self.assertIn('run recover without --keep-copy', str(error))

    def test_the_server_was_deleted_before_nova_was_asked(self):
        self.nova.delete('s')
        self.cinder.change('u', attachments=())
        self.without_nova()
        self.assert_recovered(self.found(), None, 'available')

    def test_the_server_was_deleted(self):
        self.nova.delete('s')
        self.cinder.end_mirror('u')
        self.cinder.change('u', attachments=())
        self.now += 130
        self.assert_recovered(self.found(), 'available', 'available')

    def test_a_server_that_is_gone_whose_copy_is_written(self):
        self.nova.delete('s')
        self.now += 130
        self.assert_refused(self.found())

    def test_nova_failed_and_did_not_clean_up(self):
        self.nova = type(self.nova)('s')
        self.nova.do('s', 'swap_volume', self.now, failed=True,
                     ended_at=self.now)
        self.now += 130
        self.assertIn('did not clean up', self.stuck().why)

    def test_the_attachments_change_between_diagnosis_and_recovery(self):
        self.stuck()
        self.cinder.end_mirror('u')
        self.now += 40
        found = self.found(OWN)
        self.cinder.swaps.clear()
        self.assertRaises(errors.InputError, self.recover, found)
        self.assertIsNotNone(self.cinder.volume(COPY))
        self.assertEqual((), journal.open_recoveries(self.entries()))

    @ddt.data((OWN, 1, None), (OWN, 2, None), (None, 1, 'available'),
              (None, 2, 'available'))
    @ddt.unpack
    def test_a_recovery_that_ends_in_between(self, disk, sent, copy):
        self.stuck()
        self.cinder.end_mirror('u')
        self.now += 70
        proofs = iter([True] * sent + [False])

        def prove():
            if not next(proofs):
                raise errors.NotLeading('Killed.')
        self.assertRaises(
            errors.NotLeading, self.made(prove=prove).carrier.recover,
            self.found(disk))
        self.now += 1000
        self.assert_recovered(self.found(), copy)


@ddt.ddt
class MovedTest(Case):
    fault = 'nova moved'

    def test_what_cinder_has_as_attached_is_never_deleted(self):
        self.now += 200
        self.assertIn('Nova may still complete it', self.found().why)
        self.now += 1000
        found = self.found(OWN)
        self.assertIn('do not delete it', '\n'.join(found.cure))
        self.assert_refused(found)

    def test_its_data_was_copied_back(self):
        self.now += 1000
        self.cinder.end_mirror('u')
        self.now += 70
        self.assert_refused(self.found())
        self.assert_recovered(self.found(OWN), 'available')

    def test_its_server_is_gone(self):
        self.nova.delete('s')
        self.cinder.change('u', attachments=())
        self.cinder.end_mirror('u')
        self.now += 1000
        found = self.found()
        self.assertNotIn('completion', '\n'.join(found.cure))
        self.assert_refused(found)
        self.assert_recovered(
            self.found(keep=True), 'available', 'available')

    def test_nova_has_ended_its_own_attachment(self):
        self.cinder.change('u', attachments=())
        self.now += 500
        self.assert_refused(self.found())
        self.now += 500
        self.assert_completed(self.found())

    def test_what_its_tenant_changed_is_undone(self):
        self.cinder.change('u', attachments=(), name='new')
        self.now += 1000
        found = self.found()
        self.assertIn("undone: name none -> 'new'. Afterwards run: "
                      'serifos-balancer reapply u', found.plan()[-1])
        self.assert_completed(found)
        self.assertIsNone(self.cinder.volume('u').name)
        self.assertEqual({'name': [None, 'new']},
                         changes.of_last(self.entries(), 'u'))

    def test_nova_does_not_say_whether_its_server_is_there(self):
        self.nova.problem = 'Nova does not answer'
        found = self.completing('old', None)
        self.assertIn('os-migrate_volume_completion', '\n'.join(found.cure))
        self.assert_never(found)

    def test_its_disk_is_not_the_copy(self):
        self.cinder.change('u', attachments=())
        self.now += 1000
        self.assertIn('does not name', str(self.assertRaises(
            errors.InputError, self.found, OWN)))
        self.assert_completed(self.found(COPYS))

    def test_its_copy_is_not_to_be_kept(self):
        self.cinder.change('u', attachments=())
        self.now += 1000
        self.assertIn('without --keep-copy', str(self.assertRaises(
            errors.InputError, self.found, None, True)))

    def test_it_is_completed_between_diagnosis_and_recovery(self):
        self.cinder.change('u', attachments=())
        self.now += 1000
        found = self.found()
        self.cinder.complete('u', COPY)
        self.assertRaises(errors.InputError, self.recover, found)
        self.assertEqual(COPY, self.cinder.volume('u').lv_id)

    def test_its_logical_volume_is_not_there(self):
        self.cinder.change('u', attachments=())
        self.cinder.inventory()
        self.cinder.rename_lv((B, f'volume-{COPY}'), (B, 'other'))
        self.now += 1000
        found = self.found()
        self.assertTrue(found.broken)
        self.assertIn(f'there is no volume-{COPY} on {B}', found.sentence())
        self.assertRaises(errors.InputError, self.recover, found)

    def assert_completed(self, found):
        """Cinder has made the copy the volume, and deleted the former."""
        self.assertTrue(found.forgotten, found.sentence())
        self.assertIn('asked to complete', '\n'.join(found.plan()))
        servers = [each.server_id for each in self.cinder.attachments_of(COPY)]
        self.recover(found)
        volume = self.cinder.volume('u')
        self.assertEqual((B, COPY, 'in-use', 'success', ('s',)), (
            volume.pool, volume.lv_id, volume.status,
            volume.migration_status, volume.attachments))
        self.assertEqual(servers, [
            each.server_id for each in self.cinder.attachments_of('u')])
        self.assertIsNone(self.cinder.volume(COPY))
        self.assertIn((B, f'volume-{COPY}'), self.cinder.lvs)
        self.assertEqual([], [name for pool, name in self.cinder.lvs
                              if pool == A])
        self.assertEqual((), journal.open_recoveries(self.entries()))
        self.assertEqual([], [each for each in self.balancer.observer.observe(
            ).diagnoses if each.record.id == 'u'])

    def completing(self, record, copy):
        """The source dies; the names that the target has given them."""
        self.now += 10
        self.cinder.inventory()
        self.cinder.change('u', migration_status='completing', name_id=record,
                           attachments=())
        self.cinder.change(COPY, name_id=copy)
        self.now += 1000
        return self.found()

    def test_cinder_died_before_it_exchanged_their_names(self):
        self.cinder.rename_lv((A, 'volume-u'), (A, 'volume-old'))
        self.assert_completed(self.completing('old', None))

    @ddt.data((COPY, 'old', 'old'), (COPY, None, 'NULL'),
              ('old', 'old', 'old'))
    @ddt.unpack
    def test_cinder_died_when_it_exchanged_their_names(self, record, copy,
                                                       was):
        found = self.completing(record, copy)
        cure = '\n'.join(found.cure)
        self.assertNotIn('os-migrate_volume_completion', cure)
        self.assertIn(f'the name_id of u is {was};', cure)
        self.assertIn(f'the name_id of {COPY} is NULL;', cure)
        self.assert_never(found)

    def assert_never(self, found):
        """Nor does a person's look at its disk make it recoverable."""
        self.cinder.end_mirror('u')
        self.now += 60
        for disk in None, COPYS:
            found = self.found(disk)
            self.assertTrue(found.stuck and found.moved)
            self.assertRaises(
                errors.InputError, self.recover, found)
            self.assertIn((B, f'volume-{COPY}'), self.cinder.lvs)


class NotBegunTest(Case):
    fault = 'nova not begun'

    def test_it_goes_on_when_nova_compute_is_up_again(self):
        self.nova.serve(up=False)
        self.now += 100
        found = self.found()
        self.assertFalse(found.over)
        self.assertIn('It then begins the copy', found.why)

    def test_its_nova_compute_has_just_come_up(self):
        self.nova.serve(up=False)
        for _ in range(100):
            self.now += 90
            self.found()
        self.assertLess(self.kinds().count('compute'), 40)
        self.nova.serve(up=True)
        self.now += 1
        self.assertIn('has not begun yet', self.found().why)
        self.assert_refused(self.found())
        self.now += 900
        self.assert_recovered(self.found())

    def test_its_message_was_lost(self):
        self.now += 200
        self.assertIn('has not begun yet', self.found().why)
        self.now += 800
        self.assert_recovered(self.found())

    def test_keep_copy(self):
        self.now += 1000
        self.assert_recovered(self.found(keep=True), 'available')

    def test_nova_begins_after_all_between_diagnosis_and_recovery(self):
        """A recovery that did nothing is none: the next keeps the copy."""
        self.now += 1000
        found = self.found()
        (name, its), = self.cinder.swaps.items()
        self.cinder.swaps[name] = dataclasses.replace(its, status='attaching')
        error = self.assertRaises(
            errors.InputError, self.recover, found)
        self.assertIn('nothing was done', str(error))
        self.cinder.swaps.clear()
        self.now += 1000
        found = self.found()
        self.assertIn('Nova ended its attachment', found.why)
        self.assert_recovered(found, 'available')
