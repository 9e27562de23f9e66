# SPDX-License-Identifier: Apache-2.0

import dataclasses
import json

import ddt
import testtools

from serifos.bench import device
from serifos.bench import lsblk
from serifos.bench import sizes
from serifos import errors


def node(name, number, kind='disk', mounts=(None,), children=(), **others):
    return {'kname': name, 'path': f'/dev/{name}', 'maj:min': number,
            'type': kind, 'size': 400 * sizes.GIB, 'ro': False,
            'tran': 'sata', 'model': 'INTEL SSDSC2BX40 ', 'serial': 'S1',
            'wwn': '0x5', 'mountpoints': list(mounts), 'log-sec': 512,
            'children': list(children), **others}


def find(tree, number):
    return device.find(lsblk.parse(json.dumps({'blockdevices': tree})),
                       number)


IDLE = device.Device('/dev/sdb', 'disk', 400 * sizes.GIB, 'INTEL', 'S1',
                     '0x5')


@ddt.ddt
class ParseTest(testtools.TestCase):

    def test_facts_of_an_idle_disk(self):
        found = find(
            [node('sda', '8:0', serial='S0'), node('sdb', '8:16')], '8:16')
        self.assertEqual('/dev/sdb', found.path)
        self.assertEqual('INTEL SSDSC2BX40', found.model)
        self.assertEqual('S1', found.confirm_word)
        self.assertIsNone(device.refusal(found))

    def test_a_serial_of_two_namespaces_confirms_neither(self):
        tree = [node('nvme0n1', '259:0', wwn='eui.1'),
                node('nvme0n2', '259:1', wwn='eui.2'),
                node('nvme1n1', '259:2', wwn='eui.3', serial='S2')]
        self.assertEqual(['eui.1', 'eui.2', 'S2'], [
            find(tree, f'259:{i}').confirm_word for i in range(3)])

    def test_two_paths_of_a_lun_are_confirmed_by_their_own_names(self):
        tree = [node('sdb', '8:16'), node('sdc', '8:32')]
        self.assertEqual(['/dev/sdb', '/dev/sdc'], [
            find(tree, number).confirm_word for number in ('8:16', '8:32')])

    def test_disks_that_cannot_be_told_apart_are_said(self):
        """Not what holds nothing, is in memory or reads discs."""
        none = {'serial': None, 'wwn': None}
        found = find([
            node('sdb', '8:16'), node('vda', '254:0', **none),
            node('vdb', '254:16', size=0, **none), {'kname': 'vdc'},
            node('sr0', '11:0', 'rom', **none), node('zram0', '9:0', **none),
            node('sdd', '8:48', wwn='0x6')], '8:16')
        self.assertEqual(('/dev/vda', '/dev/vdc'), found.unsure)
        self.assertIn('/dev/vda, /dev/vdc may be the same storage',
                      found.facts['not compared'])
        self.assertIsNone(device.refusal(found))

    @ddt.data({'type': None}, {'size': -1}, {'children': 'x'}, {'ro': 9})
    def test_only_what_is_asked_for_has_to_be_understood(self, changes):
        """Before, such a device stopped builds on all others."""
        tree = [node('sdb', '8:16'),
                node('md0', '9:0', wwn='0x6', **changes)]
        self.assertIsNone(device.refusal(find(tree, '8:16')))
        self.assertIn('/dev/md0 ', device.refusal(find(tree, '9:0')))
        # What it tells of itself is taken all the same.
        tree[1]['wwn'] = tree[0]['wwn']
        self.assertIn('/dev/md0', [
            other.path for other in find(tree, '8:16').others])

    def test_an_lsblk_of_2015(self):
        """It knows no PATH and no MOUNTPOINTS, and prints numbers as text."""
        lv = {**node('dm-0', '253:0', 'lvm'), 'name': 'a-b'}
        tree = [{**node('cciss!c0', '8:16', size='9', ro='1'),
                 'children': [lv]}]
        for one in tree[0], lv:
            del one['path'], one['mountpoints']
        self.assertEqual(('/dev/cciss/c0', '/dev/mapper/a-b'), tuple(
            find(tree, number).path for number in ('8:16', '253:0')))

    def test_a_serial_number_that_is_none(self):
        """As of a disk of User-Mode Linux."""
        tree = [node('ubda', '98:0', serial='(null)', wwn=None),
                node('ubdb', '98:16', mounts=['/x'], wwn=None,
                     serial='(null)')]
        found = find(tree, '98:0')
        self.assertEqual((None, '/dev/ubda', ()),
                         (found.serial, found.confirm_word, found.others))

    def test_a_machine_without_block_devices(self):
        self.assertEqual((), lsblk.parse('\n'))

    def test_what_is_not_listed(self):
        self.assertIsNone(find([node('sda', '8:0')], '8:16'))

    def test_mounts_and_holders_anywhere_above_count(self):
        lv = node('dm-0', '253:0', 'lvm', ['/srv'])
        part = node('sdb1', '8:17', 'part', children=[lv])
        found = find([node('sdb', '8:16', children=[part])], '8:16')
        self.assertEqual((('/srv',), ('dm-0',), ('sdb1',)), (
            found.mounts, found.holders, found.partitions))

    def test_a_partition_beside_the_system_is_on_its_disk(self):
        tree = [node('sda', '8:0', children=[
            node('sda1', '8:1', 'part', ['/']),
            node('sda2', '8:2', 'part', serial=None)])]
        self.assertTrue(find(tree, '8:2').system)
        self.assertTrue(find(tree, '8:0').system)

    def test_swap_is_the_system(self):
        tree = [node('sdb', '8:16', mounts=['[SWAP]'])]
        self.assertTrue(find(tree, '8:16').system)


@ddt.ddt
class WordTest(testtools.TestCase):

    @ddt.data(({}, 'S1'), ({'serial': None}, '0x5'),
              ({'serial': None, 'wwn': None}, '/dev/sdb'),
              ({'serial_is_shared': True, 'wwn_is_shared': True}, '/dev/sdb'),
              ({'serial_is_shared': True}, '0x5'),
              ({'serial_is_shared': True, 'wwn': None}, '/dev/sdb'),
              # A partition's serial would name the whole disk.
              ({'kind': 'part'}, '/dev/sdb'))
    @ddt.unpack
    def test_the_word_to_type(self, changes, word):
        self.assertEqual(
            word, dataclasses.replace(IDLE, **changes).confirm_word)


@ddt.ddt
class RefusalTest(testtools.TestCase):

    @ddt.data(
        ({'system': True, 'mounts': ('/',)}, 'running system'),
        ({'mounts': ('/srv',)}, '/srv is mounted'),
        ({'holders': ('md0',)}, 'held by md0'),
        ({'kind': 'lvm'}, 'name of its volume group'),
        ({'kind': 'crypt'}, 'type crypt'),
        ({'kind': 'rom'}, 'type rom'),
        ({'partitions': ('sdb1',)}, 'has partitions (sdb1)'),
        ({'signatures': ('gpt', 'PMBR')}, 'partition table'),
        ({'signatures': ('LVM2_member',)}, 'physical volume'),
        ({'signatures': ('linux_raid_member',)}, 'linux_raid_member'),
        ({'signatures': ('zfs_member',)}, 'zfs_member'),
        ({'signatures': ('ceph_bluestore',)}, 'ceph_bluestore'),
        ({'signatures': ('crypto_LUKS',)}, 'crypto_LUKS'),
        ({'signatures': ('swap',)}, 'swap'),
        ({'signatures': ('something new',)}, 'something new'),
        ({'openers': ('qemu-system-x86 (process 7)',)}, 'qemu'),
        ({'exports': ('/sys/x',)}, 'exported by /sys/x'),
        ({'unread': 'Its size is -1.'}, 'measured: Its size is -1.'),
        ({'read_only': True}, 'read-only'),
        ({'size_bytes': 0}, 'no capacity'))
    @ddt.unpack
    def test_in_use(self, changes, words):
        why = device.refusal(dataclasses.replace(IDLE, **changes))
        self.assertIn(words, why)
        self.assertTrue(why.startswith('/dev/sdb '))
        self.assertEqual(1, why.count('. ') + why.endswith('.'))

    @ddt.data({}, {'kind': 'loop'}, {'kind': 'mpath'}, {'kind': 'raid1'},
              {'signatures': ('ext4',)})
    def test_idle(self, changes):
        self.assertIsNone(device.refusal(
            dataclasses.replace(IDLE, **changes)))


class OtherNamesTest(testtools.TestCase):
    """What uses a device's storage by another name is a reason, and named."""

    def assert_refused(self, words, *others, **changes):
        found = find([node('sdb', '8:16', **changes), *others], '8:16')
        self.assertIn(words, device.refusal(found))

    def test_two_paths_of_a_lun(self):
        """Before, what was mounted by one was overwritten by the other."""
        self.assert_refused(
            '/srv is mounted from /dev/sdc (both have the WWN 5)',
            node('sdc', '8:32', mounts=['/srv']))
        self.assertIsNone(device.refusal(find(
            [node('sdb', '8:16'), node('sdc', '8:32')], '8:16')))

    def test_a_serial_number_beside_a_disk_without_a_model_name(self):
        self.assert_refused(
            'swap is on /dev/sdc (both have the serial number S1)',
            node('sdc', '8:32', mounts=['[SWAP]'], wwn=None, model=None))

    def test_held_by_another_path(self):
        self.assert_refused('/dev/sdc is held by dm-0', node(
            'sdc', '8:32', children=[node('dm-0', '253:0', 'mpath')]))

    def test_mounted_from_what_stands_on_another_path(self):
        self.assert_refused('/srv is mounted from /dev/dm-0', node(
            'sdc', '8:32', children=[
                node('dm-0', '253:0', 'mpath', ['/srv'])]))

    def test_a_partition_by_another_path(self):
        """Where it begins is not known here."""
        tree = [node(disk, number, children=[
            node(f'{disk}1', f'{number}1', 'part', mounts=mounts)])
            for disk, number, mounts in (('sdb', '8:16', [None]),
                                         ('sdc', '8:32', ['/srv']))]
        self.assertIn('/srv is mounted from /dev/sdc1',
                      device.refusal(find(tree, '8:161')))

    def test_the_system_by_another_path(self):
        tree = [node('sdb', '8:16', children=[node('sdb1', '8:17', 'part')]),
                node('sdc', '8:32', children=[
                    node('sdc2', '8:34', 'part', ['/'])])]
        self.assertTrue(find(tree, '8:17').system)

    def test_multipath_stands_on_its_own_paths(self):
        """Its paths are no users of it; multipathd keeps them open."""
        both = [node('dm-0', '253:0', 'mpath')]
        found = find([node('sdb', '8:16', children=both),
                      node('sdc', '8:32', children=both)], '253:0')
        self.assertIsNone(device.refusal(found))
        self.assertEqual([('/dev/sdb', False, False),
                          ('/dev/sdc', False, False)], [
            (one.path, one.watched, one.claims) for one in found.others])

    def test_the_disk_of_a_partition(self):
        """A guest may have all of it open."""
        found = find([node('sdb', '8:16', children=[
            node('sdb1', '8:17', 'part')])], '8:17')
        self.assertEqual([('/dev/sdb', True, False)], [
            (one.path, one.watched, one.claims) for one in found.others])


@ddt.ddt
class IdentifyTest(testtools.TestCase):

    @ddt.data(('/dev/no-such-device', 'There is no device'),
              ('/dev/null', 'file:PATH'), ('/tmp', 'file:PATH'))
    @ddt.unpack
    def test_what_is_no_device(self, path, words):
        self.assertIn(words, str(self.assertRaises(
            errors.DeviceError, device.identify, path)))
