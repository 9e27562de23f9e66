# SPDX-License-Identifier: Apache-2.0
"""A device is refused for what uses its storage under another name."""

import contextlib
import os
import subprocess

from serifos.bench import device
from tests.functional import machine

MIB = 2 ** 20


class SameStorageTest(machine.MachineTest):

    programs = ('fio', 'lsblk', 'wipefs', 'losetup', 'mkfs.ext4', 'unshare',
                'mkswap', 'swapon')

    def setUp(self):
        super().setUp()
        self.own_mounts()
        self.device, self.backing = self.loop()

    def another(self, *arguments):
        path = self.run_tool('losetup', '--find', '--show', *arguments).strip()
        self.addCleanup(self.run_tool, 'losetup', '-d', path)
        return path

    def assert_refused(self, words, path=None):
        why = device.refusal(device.identify(path or self.device))
        self.assertIsNotNone(why)
        self.assertIn(words, why)

    def assert_free(self):
        self.assertIsNone(device.refusal(device.identify(self.device)))

    @contextlib.contextmanager
    def opened(self, path):
        """A process has it open, as a guest would."""
        with (open(path, 'rb') as file,
              subprocess.Popen(['sleep', '600'], stdin=file) as process):
            try:
                yield f'sleep (process {process.pid}'
            finally:
                process.kill()

    def test_a_second_loop_device_of_the_file(self):
        """Before, a file system was overwritten while it was mounted."""
        other = self.another(self.backing)
        self.assert_free()
        mount = self.mounted(other)
        self.assert_refused(f'{mount} is mounted from {other}')
        before = self.backing.read_bytes()
        self.refused(3, 'in use under another name', 'build', self.device,
                     '--precondition', 'skip', *machine.SIX, '--yes-destroy',
                     self.device)
        self.assertEqual(before, self.backing.read_bytes())

    def test_by_a_hard_link(self):
        link = self.directory / 'link'
        link.hardlink_to(self.backing)
        other = self.another(link)
        self.mounted(other)
        self.assert_refused(f'is mounted from {other}')

    def test_another_part_of_the_file(self):
        beside = self.another('-o', str(32 * MIB), self.backing)
        first = self.another('--sizelimit', str(32 * MIB), self.backing)
        self.mounted(beside)
        self.assertIsNone(device.refusal(device.identify(first)))
        self.assert_refused(f'is mounted from {beside}')

    def test_a_loop_device_of_a_block_device(self):
        """Neither keeps the other from being opened exclusively."""
        on = self.another(self.device)
        self.assert_refused(f'is held by {os.path.basename(on)}')
        mount = self.mounted(self.device)
        self.assert_refused(f'{mount} is mounted from {self.device}', on)

    def test_mounted_where_only_another_process_sees_it(self):
        other = self.another(self.backing)
        self.run_tool('mkfs.ext4', '-q', other)
        process = self.enterContext(subprocess.Popen(
            ['unshare', '--mount', 'sh', '-c',
             f'mount {other} /mnt && echo done && read line'],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True))
        self.addCleanup(process.kill)
        self.assertEqual('done\n', process.stdout.readline())
        self.assert_refused(f'/mnt of sh (process {process.pid}) is '
                            f'mounted from {other}')

    def test_unmounted_lazily(self):
        other = self.another(self.backing)
        self.run_tool('mkfs.ext4', '-q', other)
        place = self.directory / 'place'
        place.mkdir()
        self.run_tool('mount', other, place)
        kept = (place / 'x').open('w')
        self.addCleanup(kept.close)
        self.run_tool('umount', '--lazy', place)
        self.assert_refused(f'a file system (ext4) is mounted from {other}')

    def test_swap(self):
        other = self.another(self.backing)
        self.run_tool('mkswap', other)
        self.run_tool('swapon', other)
        self.addCleanup(self.run_tool, 'swapoff', other)
        self.assert_refused(f'swap is on {other}')

    def test_a_device_of_btrfs(self):
        """Only one of them is the source of the mount."""
        self.need_programs('mkfs.btrfs')
        disks = [self.loop(256) for _ in range(2)]
        self.run_tool('mkfs.btrfs', '-q', *(path for path, _ in disks))
        self.run_tool('btrfs', 'device', 'scan', *(path for path, _ in disks))
        place = self.directory / 'place'
        place.mkdir()
        self.run_tool('mount', disks[0][0], place)
        self.addCleanup(self.run_tool, 'umount', place)
        for path, backing in disks:
            self.assert_refused(f'is mounted from {path}',
                                self.another(backing))

    def test_a_log_of_xfs(self):
        """It has no signature."""
        self.need_programs('mkfs.xfs')
        data, (log, backing) = self.loop(512)[0], self.loop(128)
        self.run_tool('mkfs.xfs', '-q', '-l', f'logdev={log}', data)
        place = self.directory / 'place'
        place.mkdir()
        self.run_tool('mount', '-o', f'logdev={log}', data, place)
        self.addCleanup(self.run_tool, 'umount', place)
        self.assert_refused(f'{place} is mounted from {log}',
                            self.another(backing))

    def test_open_by_another_name(self):
        other = self.another(self.backing)
        for path in other, self.backing:
            with self.opened(path) as words:
                self.assert_refused(f'is open in {words}, as {path})')

    def test_nobody_takes_it_by_another_name_meanwhile(self):
        other = self.another(self.backing)
        self.run_tool('mkfs.ext4', '-q', other)
        with device.held(device.identify(self.device)):
            for path in self.device, other:
                self.assertRaises(OSError, os.open, path,
                                  os.O_RDONLY | os.O_EXCL)

    def changed(self, change):
        """The last line of a build, of a change before it is confirmed."""
        process = self.start('build', self.device, '--precondition', 'skip',
                             *machine.SIX)
        shown = iter(lambda: process.stderr.read(1), '')
        text = ''
        while not text.endswith('to go on: '):
            text += next(shown)
        change()
        _, err = process.communicate(f'{self.device}\n', timeout=300)
        self.assertEqual(3, process.returncode, err)
        self.assertEqual([], [*self.directory.glob('*.jsonl')])
        return err

    def test_a_process_opens_it_before_it_is_confirmed(self):
        """Before, it was not looked for again."""
        self.assertIn('sleep (process', self.changed(
            lambda: self.enterContext(self.opened(self.device))))

    def test_another_file_comes_behind_it_before_it_is_confirmed(self):
        """Before, that one was overwritten."""
        new = self.directory / 'new'
        new.write_bytes(bytes(64 * MIB))

        def change():
            self.run_tool('losetup', '-d', self.device)
            self.run_tool('losetup', self.device, new)
        self.assertIn('has changed since it was shown', self.changed(change))
        self.assertEqual(bytes(64 * MIB), new.read_bytes())

    def test_it_is_mounted_by_another_name_before_it_is_confirmed(self):
        other = self.another(self.backing)
        self.assertIn(f'is mounted from {other}', self.changed(
            lambda: self.mounted(other)))
