# SPDX-License-Identifier: Apache-2.0
"""Recovery of volumes whose migration Cinder has forgotten."""

import ddt

from serifos import errors
from serifos.facts.inventory import PoolStats
from serifos.facts import journal
from serifos.files import documents
from tests.unit.balancer import cloud
from tests.unit.balancer.cloud import A
from tests.unit.balancer.cloud import B
from tests.unit.balancer.cloud import record

U = 'volume-u'
T = f'copy-at-{B}-of-u'


class Case(cloud.Case):

    def break_off(self, fault):
        """The source dies in that state; its tenant is quiet then."""
        self.cinder.faults['u'] = fault
        self.stop_after = 60
        self.balancer.round()
        self.stop_after = None
        self.cinder.faults.clear()
        self.cinder.workloads.pop('u')
        self.now += 900

    def recovered(self):
        found = self.diagnose('u')
        self.assertTrue(found.forgotten, found.sentence())
        self.recover(found)
        return found

    def lvs(self):
        return {(pool[0], name) for pool, name in self.cinder.lvs
                if name in (U, f'volume-{T}')}

    def assert_at_rest(self, pool):
        found = self.cinder.volume('u')
        self.assertEqual((pool, 'available', None), (
            found.pool, found.status, found.migration_status))
        self.assertIn((pool, f'volume-{found.lv_id}'), self.cinder.lvs)
        self.assertEqual({'u', 'v', 'w'}, set(self.homes()))


@ddt.ddt
class CompletingTest(Case):
    """Migrations whose source died while Cinder completed them."""

    def test_before_the_copy_is_renamed(self):
        self.break_off('not renamed')
        self.assertEqual({('a', U), ('b', f'volume-{T}')}, self.lvs())
        found = self.recovered()
        self.assert_at_rest(A)
        self.assertEqual({('a', U)}, self.lvs())
        self.assertEqual((), found.orphans)

    @ddt.data('half recorded', 'renamed')
    def test_a_copy_that_bears_the_name_of_the_volume(self, fault):
        self.break_off(fault)
        self.assertEqual({('a', U), ('b', U)}, self.lvs())
        self.assertIsNone(self.balancer.round())
        self.assertIn('serifos-balancer recover u', self.log.output)
        found = self.recovered()
        # Both are the data: neither goes, and the operator learns of one.
        self.assert_at_rest(A)
        self.assertEqual({('a', U), ('b', U)}, self.lvs())
        self.assertIn('run on b: lvrename vg-b volume-u left-volume-u  - '
                      f'then: cinder manage {B} left-volume-u',
                      self.log.output)
        self.assertIn(f'run on b: lvrename vg-b volume-u volume-{T} ',
                      found.plan()[0])

    @ddt.data('not renamed', 'renamed', 'half swapped')
    def test_a_recovery_that_ends_between_reset_and_removal(self, fault):
        """The copy looks like any other volume, and may name the data."""
        self.break_off(fault)
        proofs = iter((True, False))

        def prove():
            if not next(proofs):
                raise errors.NotLeading('Killed.')
        found = self.diagnose('u')
        self.assertRaises(
            errors.NotLeading, self.made(prove=prove).carrier.recover,
            found)
        left = self.cinder.volume(T)
        self.assertEqual(('error', None), (left.status,
                                           left.migration_status))

        self.balancer.observer.observe()
        cluster = documents.read_cluster(self.settings.cluster_file)
        self.assertNotIn(T, {volume.id for volume in cluster.volumes})
        self.now += 900
        self.assertIn('serifos-balancer recover u',
                      self.diagnose('u').sentence())
        found = self.recovered()
        self.assert_at_rest(B if fault == 'half swapped' else A)
        self.assertEqual((), journal.open_recoveries(self.entries()))

    def test_the_copy_gets_its_name_back_first(self):
        self.break_off('renamed')
        self.cinder.rename_lv((B, U), (B, f'volume-{T}'))
        self.assertEqual((), self.recovered().orphans)
        self.assert_at_rest(A)
        self.assertEqual({('a', U)}, self.lvs())

    def test_the_volume_names_what_is_not_there(self):
        self.break_off('not renamable')
        found = self.diagnose('u')
        self.assertTrue(found.broken)
        self.assertIn(f'run on a: lvrename vg-a volume-u volume-{T} ',
                      found.why.replace('Run', 'run'))
        self.assertRaises(errors.InputError, self.recover, found)
        self.balancer.round()
        self.assertIn('broke off while Cinder completed it', self.log.output)
        self.cinder.rename_lv((A, U), (A, f'volume-{T}'))
        self.recovered()
        self.assert_at_rest(A)
        self.assertEqual({('a', f'volume-{T}')}, self.lvs())

    def test_half_swapped(self):
        self.break_off('half swapped')
        self.assertEqual(B, self.cinder.volume('u').pool)
        self.recovered()
        self.assert_at_rest(B)
        self.assertEqual({('a', U), ('b', U)}, self.lvs())
        self.assertIn('run on a: lvrename vg-a volume-u left-volume-u',
                      self.log.output)

    def test_half_swapped_with_the_name_of_the_copy(self):
        self.cinder = self.cloud(
            [record('u', B, name_id='t'),
             record('t', B, migration_status='target:u')], {})
        self.now += 900
        self.recover(self.diagnose('u'))
        self.assertEqual({'u'}, set(self.homes()))
        self.assertIn((B, 'volume-t'), self.cinder.lvs)

    def test_without_any_data_nothing_is_touched(self):
        self.break_off('renamed')
        self.cinder.lvs -= {(A, U)}
        found = self.diagnose('u')
        self.assertTrue(found.broken)
        self.assertIn('these are there: volume-u on b@ssd#ssd', found.why)
        self.assertRaises(errors.InputError, self.recover, found)
        self.assertEqual('completing',
                         self.cinder.volume('u').migration_status)

    def test_data_that_goes_between_diagnosis_and_recovery(self):
        self.break_off('not renamed')
        found = self.diagnose('u')
        self.cinder.lvs -= {(A, U)}
        error = self.assertRaises(
            errors.InputError, self.recover, found)
        self.assertIn(f'volume-u is no longer on {A}', str(error))
        self.assertIn((B, f'volume-{T}'), self.cinder.lvs)
        self.assertEqual((), journal.open_recoveries(self.entries()))

    def test_a_copy_that_is_used_between_diagnosis_and_recovery(self):
        self.break_off('not renamed')
        found = self.diagnose('u')
        self.cinder.change(T, status='in-use', attachments=('s',))
        error = self.assertRaises(
            errors.InputError, self.recover, found)
        self.assertIn('no longer an idle copy', str(error))
        self.assertEqual((), journal.open_recoveries(self.entries()))

    def test_a_volume_that_went_on_between_diagnosis_and_recovery(self):
        self.break_off('not renamed')
        found = self.diagnose('u')
        self.cinder.change('u', pool=B, migration_status='success')
        self.assertRaises(errors.InputError, self.recover, found)
        self.assertIn((B, f'volume-{T}'), self.cinder.lvs)

    def test_not_while_it_may_still_be_completed(self):
        self.break_off('renamed')
        self.now -= 100
        self.assertFalse(self.diagnose('u').over)
        self.cinder.started[A] = self.now - 1
        self.assertTrue(self.diagnose('u').forgotten)

    def test_not_while_cinder_does_not_list_what_is_there(self):
        self.break_off('renamed')

        class Deaf:
            def __getattr__(_, name):
                return getattr(self.cinder, name)

            def logical_volumes(_, pool):
                raise errors.CloudError('Cinder reports an error.')
        balancer = self.made(cinder=Deaf())
        found = balancer.observer.diagnose('u')
        self.assertFalse(found.over)
        self.assertIn('does not list the logical volumes of', found.why)


@ddt.ddt
class ClockTest(Case):
    """A clock that is wrong proves nothing."""

    def writing(self):
        """A copy that dd writes, of which some clock is wrong."""
        self.cinder.faults['u'] = 'killed'
        self.balancer.round()
        self.cinder.workloads.pop('u')
        self.cinder.workloads[T] = cloud.busy(1024)

    def test_a_boot_in_the_future(self):
        self.writing()
        self.cinder.workloads.pop(T)
        self.cinder.started[A] = self.now + 3600
        found = self.diagnose('u')
        self.assertFalse(found.over, found.sentence())
        error = self.assertRaises(
            errors.InputError, self.recover, found)
        self.assertIn('may still run', str(error))
        self.assertIn(T, self.homes())

    def test_a_boot_by_a_clock_that_was_set(self):
        self.writing()
        self.cinder.started[A] = self.now - 1
        self.assertFalse(self.diagnose('u').over)

    @ddt.data(A, B)
    def test_a_service_whose_clock_is_another(self, pool):
        self.writing()
        self.cinder.workloads.pop(T)
        self.now += 9000
        for ahead_s, words in ((3600, 'ahead of the'), (-3600, 'behind the')):
            self.cinder.serve(pool, updated_at=self.now + ahead_s)
            found = self.diagnose('u')
            self.assertFalse(found.over)
            self.assertIn(words, found.why)
        self.cinder.serve(pool, updated_at=self.now)
        self.assertTrue(self.diagnose('u').over)

    def test_a_volume_that_was_changed_in_the_future(self):
        self.writing()
        self.cinder.workloads.pop(T)
        self.cinder.change('u', updated_at=self.now + 3600)
        self.assertIn('s in the future', self.diagnose('u').why)


class InventoryTest(Case):

    def test_a_driver_that_lists_nothing_is_not_asked(self):
        self.cinder.pools = {
            name: PoolStats(name, 100.0, 100.0, backend_name='ssd',
                            model='flat') for name in (A, B)}
        self.break_off('renamed')
        self.cinder.lists = False
        found = self.diagnose('u')
        self.assertTrue(found.forgotten, found.sentence())
