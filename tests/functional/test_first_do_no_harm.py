# SPDX-License-Identifier: Apache-2.0
"""With real fio nothing of a user's is written, removed or run."""

import os
import pathlib
import signal
import subprocess

from serifos.bench import command
from serifos.bench import in_use
from serifos.bench import target
from tests.functional import machine

MIB = 2 ** 20
SIZE = ('--size-gib', '0.0625')
SCREEN = ('--runtime', '0.5', '--size-gib', '0.0625', '--parameters',
          'operation', '--levels', 'files_used=2', '--levels',
          'max_file_size=4MiB', '--levels', 'thread_count=1',
          '--yes-destroy', 'yes')


class NamesTest(machine.MachineTest):

    programs = ('fio', 'lsblk', 'findmnt')

    def test_names_that_fio_does_not_take_literally(self):
        """Before, fio wrote over ``precious`` and build ended well."""
        precious = self.directory / 'precious'
        precious.write_text('x' * 4096)
        (self.directory / 'd').mkdir()
        for name in ('precious;scratch', 'precious#x', 'precious:x',
                     'precious ', 'precious\nx', 'd/${HOME}', 'x\\', 'x[1]'):
            path = f'{self.directory}/{name}'
            for arguments in (
                    ('build', f'file:{path}', *SIZE, *machine.SIX),
                    ('build', f'file:{path}', *SIZE, '--precondition',
                     'only'),
                    ('study', f'file:{path}', *SIZE),
                    ('build', path, *machine.SIX)):
                self.refused_at_once(2, 'fio may not take literally',
                                     *arguments)
        self.assertEqual('x' * 4096, precious.read_text())
        self.assertEqual(['d', 'precious'],
                         sorted(os.listdir(self.directory)))

    def test_a_directory_whose_name_is_an_option_of_fio(self):
        """Before, fio ran the command, as root where screen was."""
        name = self.directory / 'a\nexec_prerun=touch ran'
        name.mkdir()
        self.refused(2, 'fio may not take literally', 'screen', name,
                     *SCREEN)
        self.assertEqual([name.name], os.listdir(self.directory))
        self.assertEqual([], os.listdir(name))

    def test_what_is_taken_is_what_fio_takes(self):
        """Each kind of character that is allowed, by real fio."""
        name = 'a b-c.d_e+f,g@h=i~jé字ß9'
        for where in (f'{name}/{name}', f'{name}/-x'):
            path = self.directory / where
            path.parent.mkdir(exist_ok=True)
            path.write_bytes(bytes(4096))
            target.refuse_unsafe(str(path))
            done = subprocess.run(
                [machine.which('fio'), '--name=x', f'--filename={path}',
                 '--rw=write', '--bs=4k', '--size=4k', '--thread=1',
                 '--ioengine=psync', '--allow_file_create=0'],
                capture_output=True, text=True)
            self.assertEqual(0, done.returncode, done.stderr)
            self.assertNotEqual(bytes(4096), path.read_bytes())


class WrittenTest(machine.MachineTest):

    programs = ('fio', 'lsblk', 'findmnt')

    def setUp(self):
        super().setUp()
        self.precious = self.directory / 'precious'
        self.precious.write_text('x' * 4096)
        self.bin = self.directory / 'bin'
        self.bin.mkdir()

    def other_fio(self, script):
        fio = self.bin / 'fio'
        fio.write_text('#!/bin/sh\ncase "$*" in *--version*) echo fio-3.33; '
                       f'exit ;; esac\n{script}\n')
        fio.chmod(0o755)

    def build_refused(self, words):
        self.refused(3, words, 'build', f'file:{self.directory}/x', *SIZE,
                     *machine.SIX,
                     path=f'{self.bin}:{os.environ["PATH"]}')

    def test_a_fio_that_opens_another_file_is_killed(self):
        self.other_fio(f'exec 3<>{self.precious}; exec sleep 600')
        self.build_refused(f'{self.precious} open for writing')

    def test_a_fio_that_fills_another_file_ends_the_build(self):
        self.other_fio(
            'echo \'{"jobs": [{"write": {"io_bytes": 67108864}}]}\'')
        self.build_refused('did not write the scratch file')

    def test_fio_writes_where_our_descriptor_is(self):
        """Whatever has become of the name since, and even without one."""
        ours = self.directory / 'ours'
        ours.write_bytes(bytes(MIB))
        fd = os.open(ours, os.O_RDWR)
        self.addCleanup(os.close, fd)
        self.precious.replace(ours)
        found, = command.together(
            [[machine.which('fio'), '--name=x', '--rw=write', '--bs=4k',
              f'--filename={in_use.path(fd)}', '--size=1m', '--thread=1',
              '--ioengine=psync', '--allow_file_create=0']], 60,
            inherit=(fd,), look=in_use.watch(
                lambda: {in_use.identity(os.fstat(fd))}, (fd,)))
        self.assertEqual(0, found.code, found.err)
        self.assertEqual('x' * 4096, ours.read_text())
        self.assertNotEqual(bytes(4096), os.pread(fd, 4096, MIB - 4096))

    def test_a_link_in_the_directory_of_a_screening(self):
        """Before, fio followed it."""
        folder = self.directory / 'd' / 'serifos-screen'
        folder.mkdir(parents=True, mode=0o700)
        (folder / 'note.json').write_text(
            '{"schema": "serifos-folder/1", "inode": '
            f'{folder.stat().st_ino}}}')
        (folder / 'serifos.0.0').symlink_to(self.precious)
        self.refused(3, 'holds serifos.0.0', 'screen', folder.parent,
                     *SCREEN)
        self.assertEqual('x' * 4096, self.precious.read_text())


class InodeTest(machine.MachineTest):

    programs = ('fio', 'lsblk', 'findmnt', 'mkfs.ext4', 'mount')

    def setUp(self):
        super().setUp()
        self.mount = self.mounted(self.loop(256)[0])
        self.target = ('build', f'file:{self.mount}/x', *SIZE, *machine.SIX)

    def inode_of_a_new_file(self):
        path = self.mount / 'probe'
        path.touch()
        inode = path.stat().st_ino
        path.unlink()
        return inode

    def test_a_users_file_with_the_inode_of_a_killed_build(self):
        """Before, the note named inode and size: filled and deleted."""
        expected = self.inode_of_a_new_file()
        free = os.statvfs(self.mount).f_ffree
        process = self.start(*self.target)
        dataset = self.directory / 'x.jsonl'
        machine.wait_until(lambda: machine.lines(dataset) >= 2)
        machine.interrupt(process, signal.SIGKILL)
        machine.wait_until(lambda: os.statvfs(self.mount).f_ffree == free)
        self.assertEqual(['lost+found'], os.listdir(self.mount))
        mine = self.mount / 'x'
        mine.write_text('precious')
        self.assertEqual(expected, mine.stat().st_ino)
        # As an earlier serifos that was killed would have left it:
        (self.mount / 'x.serifos').write_text(
            '{"schema": "serifos-scratch/1", "size": 67108864, "inode": '
            f'{expected}}}')
        self.refused(3, 'did not make it', *self.target)
        self.assertEqual('precious', mine.read_text())

    def test_a_users_directory_with_the_inode_of_a_killed_screening(self):
        process = self.start('screen', self.mount, *SCREEN, '--runtime', '9')
        ours = self.mount / 'serifos-screen'
        machine.wait_until(
            lambda: ours.exists() and len(os.listdir(ours)) > 1)
        machine.interrupt(process, signal.SIGKILL)
        machine.wait_until(lambda: not _fios_in(ours))
        inode = ours.stat().st_ino
        for path in ours.iterdir():
            path.unlink()
        ours.rmdir()
        ours.mkdir()
        self.assertEqual(inode, ours.stat().st_ino)
        (ours / 'serifos.0.0').write_text('precious')
        self.refused(3, 'did not make it', 'screen', self.mount, *SCREEN)
        self.assertEqual('precious', (ours / 'serifos.0.0').read_text())


def _fios_in(directory):
    found = []
    for fd in pathlib.Path('/proc').glob('[0-9]*/fd/*'):
        try:
            if os.readlink(fd).startswith(f'{directory}/'):
                found.append(fd)
        except OSError:
            pass
    return found
