# SPDX-License-Identifier: Apache-2.0

import ddt
import testtools

from serifos.bench import device
from serifos.bench import purge
from serifos import errors

NS = {'flbas': 0, 'dps': 0}
HDPARM = '''
/dev/sdb:

ATA device, with non-removable media
Commands/features:
\tEnabled\tSupported:
\t   *\tSecurity Mode feature set
Security:
\tMaster password revision code = 65534
\t\tsupported
\tnot\tenabled
\tnot\tlocked
\tnot\tfrozen
\tnot\texpired: security count
\t\tsupported: enhanced erase
\t4min for SECURITY ERASE UNIT. 8min for ENHANCED SECURITY ERASE UNIT.
Logical Unit WWN Device Identifier: 55cd2e404b4b4b4b
Checksum: correct
'''


@ddt.ddt
class NvmeTest(testtools.TestCase):

    @ddt.data(
        # oacs bit 1: format; fna bits 0-1: it reaches every namespace;
        # sanicap bit 0: crypto, 1: block erase, 2: overwrite.
        ({'oacs': 2, 'fna': 0, 'sanicap': 0}, 1, ['format']),
        ({'oacs': 2, 'fna': 0, 'sanicap': 2}, 1, ['format', 'sanitize']),
        ({'oacs': 0, 'fna': 0, 'sanicap': 2}, 1, ['sanitize']),
        ({'oacs': 0, 'fna': 0}, 1, []),
        # What would erase a neighbour's namespace is not offered.
        ({'oacs': 2, 'fna': 1, 'sanicap': 2}, 2, []),
        ({'oacs': 2, 'fna': 2, 'sanicap': 2}, 2, []),
        ({'oacs': 2, 'fna': 3, 'sanicap': 2}, 1, ['format', 'sanitize']),
        ({'oacs': 2, 'fna': 0, 'sanicap': 2}, 2, ['format']),
        ({'oacs': 2, 'fna': 0, 'sanicap': 2}, 0, ['format']))
    @ddt.unpack
    def test_offers(self, controller, namespaces, names):
        self.assertEqual(names, [*purge.nvme(
            '/dev/nvme0n1', controller, NS, namespaces)])

    def test_format_keeps_block_size_metadata_and_protection(self):
        found = purge.nvme(
            '/dev/nvme0n1', {'oacs': 2, 'fna': 0},
            {'flbas': 0b0100010, 'dps': 0b1001}, 1)
        command, = found['format'].commands
        # format index 1 << 4 | 2, metadata apart, type 1, first bytes
        for option in ('--lbaf=18', '--ms=0', '--pi=1', '--pil=1',
                       '--ses=1', '/dev/nvme0n1'):
            self.assertIn(option, command)

    @ddt.data((1, '--sanact=4'), (2, '--sanact=2'), (4, '--sanact=3'),
              (7, '--sanact=2'))
    @ddt.unpack
    def test_block_erase_is_taken_before_the_others(self, sanicap, action):
        found = purge.nvme(
            '/dev/nvme0n1', {'oacs': 0, 'fna': 0, 'sanicap': sanicap}, NS, 1)
        self.assertIn(action, found['sanitize'].commands[0])

    @ddt.data(('Sanitize Status                        (SSTAT) :  0x101', 1),
              ('Sanitize Status (SSTAT) :  0x2', 2),
              ('Sanitize Status (SSTAT) :  3', 3))
    @ddt.unpack
    def test_sanitize_state(self, text, state):
        self.assertEqual(state, purge.sanitize_state(text))

    def test_sanitize_that_does_not_say(self):
        self.assertRaises(errors.ToolError, purge.sanitize_state, '')


@ddt.ddt
class AtaTest(testtools.TestCase):

    def test_secure_erase(self):
        found = purge.ata('/dev/sdb', HDPARM)['secure-erase']
        self.assertEqual(
            [('--security-set-pass', 'serifos', '/dev/sdb'),
             ('--security-erase', 'serifos', '/dev/sdb')],
            [command[-3:] for command in found.commands])
        self.assertIn('4 min', found.words)
        self.assertEqual(3600, found.timeout_s)

    @ddt.data('', HDPARM.replace('\t\tsupported\n', '\tnot\tsupported\n'),
              HDPARM.partition('Security:')[0])
    def test_no_security(self, text):
        self.assertEqual({}, purge.ata('/dev/sdb', text))

    @ddt.data(('frozen', 'suspend'), ('enabled', 'security-disable'),
              ('locked', 'security-disable'))
    @ddt.unpack
    def test_what_forbids_it_is_said_with_the_remedy(self, state, words):
        text = HDPARM.replace(f'\tnot\t{state}\n', f'\t\t{state}\n')
        self.assertIn(words, str(self.assertRaises(
            errors.DeviceError, purge.ata, '/dev/sdb', text)))


class ChooseTest(testtools.TestCase):

    # Such a device is in no sysfs: it offers no discard.
    DISK = device.Device('/dev/none', 'disk', 2 ** 30)

    def test_none_where_the_device_offers_none(self):
        self.assertEqual('none', purge.choose_purge(self.DISK).name)
        self.assertEqual('none', purge.choose_purge(self.DISK, 'none').name)

    def test_what_it_does_not_offer(self):
        self.assertIn('it offers none', str(self.assertRaises(
            errors.DeviceError, purge.choose_purge, self.DISK, 'discard')))

    def test_nothing_is_asked_of_a_disk_that_shall_not_be_purged(self):
        # A frozen disk, or a machine without hdparm, is no hindrance then.
        disk = device.Device('/dev/none', 'disk', 2 ** 30, transport='sata')
        self.assertEqual('none', purge.choose_purge(disk, 'none').name)

    def test_a_partition_is_never_formatted_with_its_disk(self):
        part = device.Device('/dev/nvme0n1p1', 'part', 2 ** 30,
                             transport='nvme')
        self.assertEqual('none', purge.choose_purge(part).name)
