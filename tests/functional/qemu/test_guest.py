# SPDX-License-Identifier: Apache-2.0
"""Purges of QEMU's emulated disks, and what is refused of them.

What QEMU emulates: NVMe format, and discard of ATA, SCSI and virtio disks.
It has neither NVMe sanitize nor ATA security, so that neither ran here.
"""

import ddt

from tests.functional import machine
from tests.functional.qemu import guest

DISKS = (
    guest.Disk('nvme'), guest.Disk('first'), guest.Disk('second'),
    guest.Disk('ata'), guest.Disk('scsi'), guest.Disk('virtio'),
    guest.Disk('dull', discard='ignore'), guest.Disk('lun'),
    guest.Disk('path', same_as='lun'))
LUN = 'serial=LUN,wwn=0x5000c500a1b2c3d4,bus=hba.0,share-rw=on'
DEVICES = (
    'nvme,serial=NVME,drive=nvme',
    'nvme-subsys,id=both', 'nvme,id=shared,serial=SHARED,subsys=both',
    'nvme-ns,drive=first,bus=shared', 'nvme-ns,drive=second,bus=shared',
    'ide-hd,serial=ATA,drive=ata,bus=ide.0',
    'virtio-scsi-pci,id=hba', 'scsi-hd,serial=SCSI,drive=scsi,bus=hba.0',
    'virtio-blk-pci,serial=VIRTIO,drive=virtio',
    'virtio-blk-pci,serial=DULL,drive=dull,discard=off',
    f'scsi-hd,drive=lun,{LUN}', f'scsi-hd,drive=path,{LUN}')
SERIALS = {'NVME', 'SHARED', 'ATA', 'SCSI', 'VIRTIO', 'DULL', 'LUN'}
MIB = 2 ** 20
MARKS = {'marks': 64, 'zeros': 0, 'else': 0}
ZEROS = {'marks': 0, 'zeros': 64, 'else': 0}


@machine.once
def outcome():
    """One boot serves all tests: about three minutes without KVM."""
    return guest.run('tests.functional.qemu.inside.disks', DISKS, DEVICES,
                     seconds=3600)


class GuestTest(machine.MachineTest):

    def setUp(self):
        super().setUp()
        lacking = guest.lacking()
        self.need(lacking is None, lacking)

    def saw(self, check):
        said = outcome().said[check]
        self.assertNotIn('raised', said, said.get('raised'))
        return said['saw']


@ddt.ddt
class DisksTest(GuestTest):

    def facts(self, check):
        return {facts['serial']: facts for facts in self.saw(check).values()}

    def test_identified(self):
        facts = self.facts('identified')
        self.assertEqual(SERIALS, set(facts))
        self.assertEqual('QEMU NVMe Ctrl', facts['NVME']['model'])
        self.assertEqual('QEMU HARDDISK', facts['ATA']['model'])
        self.assertEqual(('nvme', 'sata'), (
            facts['NVME']['transport'], facts['ATA']['transport']))
        for disk in facts.values():
            self.assertIsNone(disk['refusal'])
            self.assertEqual(64 * MIB, disk['size_bytes'])

    @ddt.data('identified', 'identified_without_udev')
    def test_the_word_is_a_serial_that_names_one_disk(self, check):
        words = [disk['word'] for disk in self.saw(check).values()]
        self.assertEqual(len(set(words)), len(words))
        self.assertEqual(SERIALS - {'SHARED', 'LUN'}, SERIALS & set(words))

    @ddt.data('two_paths_without_udev', 'two_paths')
    def test_a_lun_that_is_mounted_by_its_other_path(self, check):
        found = self.saw(check)
        self.assertIsNone(found['before'])
        self.assertIn('/mnt is mounted from /dev/sd', found['mounted'])
        self.assertIn('both have the WWN 5000c500a1b2c3d4', found['mounted'])

    def test_not_emulated(self):
        # The day this fails, sanitize or secure erase can be tried here.
        self.assertEqual({'sanicap': 0, 'security': {}},
                         self.saw('not_emulated'))

    @ddt.data(('NVME', 'format'), ('ATA', 'discard'), ('SCSI', 'discard'),
              ('VIRTIO', 'discard'))
    @ddt.unpack
    def test_purged(self, serial, name):
        found = self.saw('purged')[serial]
        self.assertEqual(name, found['name'])
        self.assertIn('the old data is gone', found['words'])
        self.assertEqual(ZEROS, found['left'])

    @ddt.data('scsi', 'virtio')
    def test_the_purge_reached_the_disk(self, name):
        self.saw('purged')
        self.assertLess(outcome().allocated_mib[name], 1)

    def test_where_no_purge_is_offered_it_says_so(self):
        found = self.saw('purged')['DULL']
        self.assertEqual(('none', 'no purge: the device offers none', MARKS),
                         (found['name'], found['words'], found['left']))
        self.assertGreaterEqual(outcome().allocated_mib['dull'], 64)

    def test_a_format_spares_the_other_namespace(self):
        found = self.saw('purged_beside_a_namespace')
        self.assertEqual(('format', ZEROS, MARKS), (
            found['name'], found['left'], found['beside']))

    def test_a_partition_is_purged_alone(self):
        found = self.saw('purged_beside_a_partition')
        self.assertEqual(
            ('discard', {'marks': 0, 'zeros': 20, 'else': 0},
             {'marks': 20, 'zeros': 0, 'else': 0}),
            (found['name'], found['left'], found['beside']))
        self.assertIn('does not offer the purge format', found['format'])

    def test_partitions_count_for_their_disk(self):
        found = self.saw('purged_beside_a_partition')
        self.assertRegex(found['whole'], r'has partitions \(.*p1, .*p2\)')
        self.assertIn('the running system', found['system'])
