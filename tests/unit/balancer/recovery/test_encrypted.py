# SPDX-License-Identifier: Apache-2.0
"""Migrations of encrypted volumes, and what is left of broken ones."""

import dataclasses

import ddt

from serifos import errors
from serifos.facts.inventory import PoolStats
from tests.unit.balancer import cloud
from tests.unit.balancer.cloud import A
from tests.unit.balancer.cloud import B
from tests.unit.balancer.cloud import record
from tests.unit.balancer.recovery import test_recover


@ddt.ddt
class EncryptedTest(test_recover.Case):
    """Cinder's API deletes a key with each record that names it."""

    def setUp(self):
        super().setUp()
        self.cinder = self.cloud([
            record('u', encrypted=True), record('v'), record('w', B)])

    def test_one_that_is_detached_moves(self):
        self.balancer.round()
        self.assertEqual('b', self.homes()['u'][0])
        self.assertEqual([], self.cinder.keys_deleted)

    def test_one_of_another_driver_stays(self):
        self.cinder.pools = {
            name: dataclasses.replace(pool, capabilities={
                'location_info': 'NFS:10.0.0.1:/share'})
            for name, pool in self.cinder.pools.items()}
        self.assertIn("is not of Cinder's LVM driver", self.refused()['u'])

    def test_one_that_might_come_to_another_driver_stays(self):
        self.cinder.pools[B] = dataclasses.replace(
            self.cinder.pools[B], capabilities={
                'location_info': 'NFS:10.0.0.1:/share'})
        self.assertIn('pools of other drivers than LVM have the same',
                      self.refused()['u'])

    @ddt.data('killed', 'not renamed', 'half recorded', 'renamed',
              'half swapped', 'busy')
    def test_a_copy_is_not_deleted_with_the_key(self, fault):
        self.break_off(fault)
        self.now += 9000
        found = self.diagnose('u')
        self.assertFalse(found.forgotten)
        self.assertIn('names the encryption key of the volume', found.why)
        error = self.assertRaises(
            errors.InputError, self.recover, found)
        self.assertIn('UPDATE volumes SET encryption_key_id = NULL',
                      str(error))
        self.assertEqual([], self.cinder.keys_deleted)
        halves = [half.id for half in found.halves]
        self.assertNotEqual([], halves)

        for half in halves:
            self.assertIn(f"'{half}'", found.why)
            self.cinder.change(half, encrypted=False)
        self.now += 9000
        self.recovered()
        self.assertEqual({'u', 'v', 'w'}, set(self.homes()))
        self.assertTrue(self.cinder.volume('u').encrypted)
        self.assertEqual([], self.cinder.keys_deleted)

    def test_nothing_is_deleted_where_the_key_is_back_meanwhile(self):
        self.break_off('killed')
        self.now += 9000
        half, = self.diagnose('u').halves
        self.cinder.change(half.id, encrypted=False)
        self.now += 9000
        found = self.diagnose('u')
        self.assertTrue(found.forgotten, found.sentence())
        self.cinder.change(half.id, encrypted=True)
        self.assertRaises(errors.InputError, self.recover, found)
        self.assertEqual([], self.cinder.keys_deleted)


class GroupTest(cloud.Case):

    def test_the_volume_group_is_of_the_lvm_driver_alone(self):
        for said, group in (('LVMVolumeDriver:h:vg:thin:0', 'vg'),
                            ('LVMVolumeDriver:h', None),
                            ('LVMVolumeDriver', None), ('RBD:h:vg', None),
                            (None, None)):
            self.assertEqual(group, PoolStats(
                A, 1.0, 1.0, capabilities={'location_info': said}
            ).volume_group)
