# SPDX-License-Identifier: Apache-2.0
"""``screen --remount`` with real fio, on ext4 on a loop device."""

import os
import subprocess

from serifos.bench import mountinfo
from serifos.bench import restore_notes
from serifos.lab.screening import journal
from tests.functional import machine

ARGUMENTS = (
    '--runtime', '0.5', '--size-gib', '0.03125', '--rounds', '1',
    '--parameters', 'operation,max_block_size,directio', '--levels',
    'thread_count=1', '--levels', 'files_used=2', '--levels',
    'max_file_size=2MiB', '--levels', 'min_block_size=4KiB')


class RemountTest(machine.MachineTest):

    programs = ('fio', 'lsblk', 'findmnt', 'blkid', 'mkfs.ext4')

    def setUp(self):
        super().setUp()
        self.own_mounts()
        device, _ = self.loop(128)
        self.target = self.mounted(device)
        self.run_tool('mount', '-o', 'remount,noatime,nodev', self.target)
        (self.target / 'precious').write_text('x')
        self.journal = self.directory / 'mnt-screening.jsonl'
        self.confirmed = ('screen', self.target, '--remount', *ARGUMENTS,
                          '--yes-destroy', str(self.target))
        self.before = self.mount()
        self.note = restore_notes.Note('mount', str(self.target)).path

    def mount(self):
        return mountinfo.top(mountinfo.ours(), str(self.target))

    def assert_as_before(self):
        self.assertEqual(self.before.likeness, self.mount().likeness)
        self.assertEqual(
            {'precious', 'lost+found'},
            {path.name for path in self.target.iterdir()})
        self.assertFalse(self.note.exists())

    def shim(self, script):
        """A PATH on which mount is this script."""
        folder = self.directory / 'bin'
        folder.mkdir()
        (folder / 'mount').write_text(f'#!/bin/sh\n{script}\n')
        (folder / 'mount').chmod(0o755)
        return f'{folder}:{os.environ["PATH"]}'

    def test_mounted_anew_before_each_run(self):
        err = self.refused(3, 'type', 'screen', self.target, '--remount',
                           *ARGUMENTS)
        self.assertIn(f'is unmounted from {self.target} before each run', err)
        self.assertEqual(self.before, self.mount())
        count = self.directory / 'count'
        path = self.shim(f'echo x >> {count}\n'
                         f'exec {machine.which("mount")} "$@"')
        code, _, err = self.model(*self.confirmed, path=path)
        self.assertEqual(0, code, err)
        self.assertEqual(4, machine.lines(count))
        self.assert_as_before()
        header, runs = journal.read(self.journal)
        self.assertTrue(header.remounted)
        self.assertEqual(4, len(runs))
        # One that was not is another measurement.
        self.refused(2, 'remounted: yes, not no', 'screen', self.target,
                     *ARGUMENTS)
        plain = ('--output', 'plain.jsonl', '--yes-destroy', 'yes')
        code, _, err = self.model('screen', self.target, *ARGUMENTS, *plain)
        self.assertEqual(0, code, err)
        self.refused(2, 'remounted yes and no', 'screen', self.journal,
                     '--compare', 'plain.jsonl')

    def test_interrupted_it_is_mounted_and_goes_on(self):
        process = self.start(*self.confirmed)
        machine.wait_until(lambda: machine.lines(self.journal) >= 2)
        code, _, err = machine.interrupt(process)
        self.assertEqual(130, code, err)
        self.assert_as_before()
        code, _, err = self.model(*self.confirmed)
        self.assertEqual(0, code, err)
        self.assertEqual(4, len(journal.read(self.journal)[1]))
        self.assert_as_before()

    def test_killed_while_it_is_unmounted(self):
        code, _, err = self.model(
            *self.confirmed, path=self.shim('kill -9 $PPID; sleep 1'))
        self.assertEqual(-9, code, err)
        self.assertIsNone(self.mount())
        self.assertTrue(self.note.exists())
        # What does not ask for remounting would measure another disk.
        code, _, err = self.model('screen', self.target, *ARGUMENTS, '--show',
                                  '--output', 'other.jsonl')
        self.assertEqual(0, code, err)
        self.assertIn('had left unmounted', err)
        self.assert_as_before()

    def test_what_cannot_be_mounted_is_told_with_the_command(self):
        err = self.refused(3, 'mount it by mount -i -t ext4 -o',
                           *self.confirmed, path=self.shim('exit 1'))
        self.assertIsNone(self.mount())
        command = err.splitlines()[-1].partition('mount it by ')[2]
        self.run_tool(*command.rstrip('.').split())
        code, _, err = self.model(*self.confirmed)
        self.assertEqual(0, code, err)
        self.assert_as_before()

    def test_refused_where_somebody_uses_it(self):
        def asleep(*before, where=self.directory):
            process = subprocess.Popen([*before, 'sleep', '300'], cwd=where)
            self.addCleanup(process.wait)
            self.addCleanup(process.kill)
            return process

        process = asleep(where=self.target)
        self.refused(3, f'sleep (process {process.pid}) has something open',
                     *self.confirmed)
        process.kill()
        process.wait()
        far = asleep(machine.which('unshare'), '--mount', '--propagation',
                     'private')
        machine.wait_until(lambda: os.readlink(
            f'/proc/{far.pid}/ns/mnt') != os.readlink('/proc/self/ns/mnt'))
        self.refused(3, 'in a mount namespace of its own', *self.confirmed)
        self.assertEqual(self.before, self.mount())
        self.assertFalse(self.journal.exists())

    def test_refused_where_it_is_no_file_system_of_its_own(self):
        below = self.target / 'below'
        below.mkdir()
        self.addCleanup(below.rmdir)
        arguments = ('--remount', *ARGUMENTS, '--yes-destroy', 'x')
        self.refused(3, 'not itself a mount point', 'screen', below,
                     *arguments)
        self.refused(2, 'would be on', *self.confirmed, '--output',
                     self.target / 'x.jsonl')
        self.run_tool('mount', '-t', 'tmpfs', 'none', below)
        self.addCleanup(self.run_tool, 'umount', below)
        self.refused(3, 'is mounted below it', *self.confirmed)
