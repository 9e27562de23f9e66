# SPDX-License-Identifier: Apache-2.0
"""``build`` measures a loop device, and refuses one that is in use."""

import hashlib
import json
import os
import struct
import subprocess

import fixtures

from serifos.bench import lvm
from serifos.files import documents
from tests.functional import machine


class LoopTest(machine.MachineTest):

    programs = ('fio', 'lsblk', 'wipefs')

    def setUp(self):
        super().setUp()
        self.device, self.backing = self.loop()
        self.options = ('--name', 'loop', '--precondition', 'skip',
                        *machine.SIX)

    def digest(self):
        os.sync()
        return hashlib.sha256(self.backing.read_bytes()).hexdigest()

    def refused_untouched(self, words, *options):
        before = self.digest()
        self.refused(3, words, 'build', self.device, *self.options,
                     '--yes-destroy', self.device, *options)
        self.assertEqual(before, self.digest())
        self.assertFalse((self.directory / 'loop.jsonl').exists())

    def test_measured(self):
        code, _, err = self.model('build', self.device, *self.options,
                                  typed=f'{self.device}\n')
        self.assertEqual(0, code, err)
        self.assertIn(f'Type {self.device} to go on', err)
        # Shown before anything was done.
        for words in (f'{self.device} (loop)', 'serial:', 'WWN:',
                      '67108864 bytes', 'holders:', 'mounts:', '= 0.00 h'):
            self.assertIn(words, err.partition('EVERYTHING')[0])
        dataset = documents.read_dataset(self.directory / 'loop.jsonl')
        self.assertEqual(6, len(dataset.samples))
        self.assertEqual(self.device, dataset.header.device['target'])
        self.assertEqual(64 * 2 ** 20, self.backing.stat().st_size)

    def test_a_wrong_word_costs_nothing(self):
        before = self.digest()
        for word in ('/dev/sda', 'yes', self.device[:-1]):
            err = self.refused(3, 'nothing was touched', 'build',
                               self.device, *self.options, '--yes-destroy',
                               word)
            self.assertIn(word, err.splitlines()[-1])
        self.refused(3, 'Nothing was touched', 'build', self.device,
                     *self.options)
        self.assertEqual(before, self.digest())
        self.assertFalse((self.directory / 'loop.jsonl').exists())

    def test_mounted(self):
        mount = self.mounted(self.device)
        self.refused(3, f'{mount} is mounted from it', 'build',
                     self.device, *self.options, '--yes-destroy',
                     self.device)
        self.assertEqual('ext4', self.run_tool(
            'blkid', '-p', '-s', 'TYPE', '-o', 'value',
            self.device).strip())

    def test_a_filesystem_that_nobody_mounted_is_shown(self):
        self.run_tool('mkfs.ext4', '-q', self.device)
        _, _, err = self.model('build', self.device, *self.options,
                               '--yes-destroy', 'no')
        self.assertIn('signatures: ext4', ' '.join(err.split()))

    def test_a_partition_table(self):
        # One Linux partition of 10,000 sectors from 2048 on.
        entry = struct.pack('<B3sB3sII', 0, b'\0\2\0', 0x83, b'\0\2\0',
                            2048, 10000)
        with open(self.device, 'r+b') as file:
            file.write(bytes(446) + entry + bytes(48) + b'\x55\xaa')
        self.refused_untouched('partition table')

    def test_a_physical_volume(self):
        self.run_tool('pvcreate', '-qq', '--yes', self.device)
        self.refused_untouched('physical volume of LVM')

    def test_swap_space(self):
        self.run_tool('mkswap', self.device)
        self.refused_untouched('signature of swap')

    def test_open_elsewhere(self):
        with subprocess.Popen(['sleep', '60'],
                              stdin=open(self.device, 'rb')) as other:
            try:
                self.refused_untouched(f'open in sleep (process {other.pid}')
            finally:
                other.kill()

    def test_held_for_somebody_elses_exclusive_use(self):
        handle = os.open(self.device, os.O_RDONLY | os.O_EXCL)
        self.addCleanup(os.close, handle)
        self.refused_untouched('is open in')

    def test_blocks_that_the_device_cannot_take(self):
        self.refused(2, 'block_kib of 0.75', 'build', self.device,
                     *self.options, '--block-kibs', '0.75',
                     '--yes-destroy', self.device)

    def test_preconditioned_alone_and_then_built_without_again(self):
        before = self.device, '--name', 'loop', *machine.SIX
        short = ('--settle-seconds', '0.5', '--settle-rounds', '5',
                 '--yes-destroy', self.device)
        # Where the machine is busy, five rounds may not settle it.
        code, out, err = self.model('build', *before, *short,
                                    '--precondition', 'only')
        self.assertEqual('', out)
        self.assertTrue(code == 0 or 'has not settled in 5 rounds' in err,
                        err)
        self.assertIn('none: --precondition only', err)
        self.assertNotIn('loop.jsonl', err)
        self.assertFalse((self.directory / 'loop.jsonl').exists())
        with open(self.device, 'rb') as file:
            self.assertNotEqual(bytes(4096), file.read(4096))
        path = self.directory / 'loop.precondition.json'
        record = json.loads(path.read_text())
        self.assertIn('discard', record['purge'])
        self.assertIn('the old data is gone', record['purge'])
        self.assertEqual(2 * 64 * 2 ** 20, record['written'])
        self.assertEqual(5, len(record['iops']))
        path.write_text(json.dumps({**record, 'iops': [100.0] * 5}))
        code, _, err = self.model('build', *before, *short)
        self.assertEqual(0, code, err)
        self.assertNotIn('fill:', err)
        header = documents.read_dataset(self.directory / 'loop.jsonl').header
        self.assertIn('settled after 5 rounds',
                      header.device['precondition'])


class GroupTest(machine.MachineTest):

    programs = ('vgcreate',)

    def test_an_lvm_conf_that_changes_the_output(self):
        """Before, it was no JSON for us."""
        self.useFixture(fixtures.EnvironmentVariable(
            'LVM_SYSTEM_DIR', str(self.directory)))
        self.useFixture(fixtures.EnvironmentVariable(
            'LVM_SUPPRESS_FD_WARNINGS', '1'))
        device, _ = self.loop()
        group = f'serifos-test-{os.getpid()}'
        self.run_tool('vgcreate', '-qq', '--yes', group, device)
        self.addCleanup(self.run_tool, 'vgremove', '-qq', '--yes', group)
        for setting in (
                'log { command_names=1 }', 'log { prefix="lvm: " }',
                'log { report_command_log=1 verbose=3 silent=1 }',
                'report { prefixes=1 columns_as_rows=1 }'):
            (self.directory / 'lvm.conf').write_text(setting)
            self.assertEqual((device,),
                             lvm.identify(group).physical_volumes)


class UnknownTest(machine.MachineTest):

    programs = ('fio',)

    def test_what_is_no_target(self):
        for words, target in (
                ('There is no device', '/dev/no-such-device'),
                ('file:PATH', '/dev/null'),
                ('There is no volume group', 'sdx')):
            self.refused(3, words, 'build', target, *machine.SIX)
