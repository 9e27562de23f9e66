# SPDX-License-Identifier: Apache-2.0
"""Test cases that need programs, root or loop devices of this machine.

Where it offers too little, a test is skipped with the reason; with CI=true
in the environment that is a failure.
"""

from __future__ import annotations

from collections.abc import Callable
import contextlib
import ctypes
import functools
import os
import pathlib
import random
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from typing import Any

import testtools

from tests.unit import case
from tests.unit.cmd import command

# Six runs of the paper's kind, which needs no scipy to be chosen, and a model
# of one kind: to try four takes eight seconds more of a processor.
SIX = ('--full', '--counts', '1', '--write-pcts', '0,50,100',
       '--block-kibs', '4,16', '--rounds', '1', '--runtime', '0.5',
       '--kind', 'outstanding')

_MOUNTS = 0x20000  # CLONE_NEWNS


def which(program):
    return shutil.which(program, path=os.environ.get('PATH', '')
                        + ':/usr/sbin:/sbin')


def once(function: Callable[[], Any]) -> Callable[[], Any]:
    """One call serves all tests; where it fails, all of them fail at once."""
    @functools.cache
    def called() -> tuple[Any, str | None]:
        try:
            return function(), None
        except AssertionError as exc:
            return None, str(exc)

    def kept() -> Any:
        found, why = called()
        if why is not None:
            raise AssertionError(why)
        return found

    return kept


class MachineTest(testtools.TestCase):
    """A directory on a disk, and the command line as a user has it.

    ``programs`` are those that all its tests need besides Python.
    """

    programs: tuple[str, ...] = ()

    def setUp(self):
        super().setUp()
        self.need_programs(*self.programs)
        # Not /tmp, which may live in memory.
        self.directory = pathlib.Path(tempfile.mkdtemp(dir='/var/tmp'))
        self.addCleanup(shutil.rmtree, self.directory)

    def need(self, condition, reason):
        if condition:
            return
        if os.environ.get('CI') == 'true':
            self.fail(reason)
        self.skipTest(reason)

    def need_programs(self, *names):
        for name in names:
            self.need(which(name), f'{name} is not installed')

    def start(self, *arguments, path=None):
        """serifos-model with these arguments, in the directory."""
        environment = {**os.environ, 'TERM': 'dumb'}
        if path is not None:
            environment['PATH'] = str(path)
        process = subprocess.Popen(
            [sys.executable, '-m', 'serifos.cmd.model',
             *map(str, arguments)], cwd=self.directory, text=True,
            stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            stderr=subprocess.PIPE, env=environment)
        self.addCleanup(end, process)
        return process

    def model(self, *arguments, path=None, typed=''):
        """(exit code, stdout, stderr) of serifos-model."""
        process = self.start(*arguments, path=path)
        out, err = process.communicate(typed, timeout=case.PATIENCE_S)
        return process.returncode, out, err

    def refused(self, code, words, *arguments, **others):
        """Asserts an exit code and one sentence with these words on stderr."""
        found, out, err = self.model(*arguments, **others)
        last = err.strip().splitlines()[-1]
        self.assertEqual(code, found, err)
        self.assertIn(words, last)
        self.assertTrue(last.startswith('serifos-model: '), last)
        self.assertNotIn('Traceback', err)
        self.assertEqual('', out)
        return err

    def refused_at_once(self, code, words, verb, *arguments):
        """As refused, in this process: for what is checked first of all."""
        found, out, err = command.model(verb, *arguments)
        self.assertEqual((code, ''), (found, out), err)
        self.assertIn(words, err)
        self.assertEqual(1, err.count('\n'), err)

    def daemon(self, program, *arguments):
        """Runs in the directory, with a log there, until the test ends."""
        name = pathlib.Path(program).name
        log = self.enterContext((self.directory / f'{name}.log').open('w'))
        process = subprocess.Popen(
            [which(program), *map(str, arguments)], stdout=log, stderr=log,
            cwd=self.directory)
        self.addCleanup(process.wait)
        self.addCleanup(process.terminate)

    def mounted(self, device):
        """Where a new ext4 on the device is mounted."""
        self.run_tool('mkfs.ext4', '-q', device)
        mount = self.directory / 'mnt'
        mount.mkdir()
        self.run_tool('mount', device, mount)
        self.addCleanup(self.run_tool, 'umount', mount)
        return mount

    def own_mounts(self):
        """A mount namespace for this test, of which nobody makes a copy.

        A guest that begins elsewhere on the machine would keep the mounts
        that it found.
        """
        self.need(os.geteuid() == 0, 'only root has mounts of its own')
        libc, here = ctypes.CDLL(None), os.getcwd()
        before = os.open('/proc/self/ns/mnt', os.O_RDONLY)

        def back():
            found = libc.setns(before, _MOUNTS)
            os.close(before)
            os.chdir(here)
            self.assertEqual(0, found)

        self.need(libc.unshare(_MOUNTS) == 0, 'no mount namespace here')
        self.addCleanup(back)
        self.run_tool('mount', '--make-rprivate', '/')

    def loop(self, size_mib=64):
        """(path, backing file) of a loop device of its own."""
        self.need(os.geteuid() == 0, 'only root can set up a loop device')
        self.need_programs('losetup')
        backing = self.directory / f'backing-{time.monotonic_ns()}'
        backing.touch()
        os.truncate(backing, size_mib * 2 ** 20)
        found = subprocess.run(
            [which('losetup'), '--find', '--show', backing],
            capture_output=True, text=True)
        self.need(found.returncode == 0,
                  f'no loop device: {found.stderr.strip()}')
        path = found.stdout.strip()
        self.addCleanup(self.run_tool, 'losetup', '-d', path)
        return path, backing

    def run_tool(self, program, *arguments):
        self.need_programs(program)
        return subprocess.run(
            [which(program), *map(str, arguments)], check=True,
            capture_output=True, text=True, stdin=subprocess.DEVNULL,
            close_fds=True).stdout


def free_port():
    """A port of the loopback that nobody listens on.

    It is below those that Linux gives to clients: one of these could be taken
    before the server binds it, or by a client of a server that restarts.
    """
    for port in random.sample(range(20_000, 30_000), 100):
        with contextlib.suppress(OSError), socket.create_server(
                ('127.0.0.1', port)):
            return port
    raise AssertionError('100 ports were tried, and none is free')


wait_until = case.wait_until


def lines(path):
    """How many lines a file has, 0 where there is none."""
    return path.read_bytes().count(b'\n') if path.exists() else 0


def state(pid):
    """The letter of a process's state, Z where it has gone, too."""
    try:
        stat = pathlib.Path(f'/proc/{pid}/stat').read_text()
    except FileNotFoundError:
        return 'Z'
    return stat.rpartition(')')[2].split()[0]


def interrupt(process, number=signal.SIGINT):
    """Sends a signal and waits: (exit code, stdout, stderr)."""
    process.send_signal(number)
    out, err = process.communicate(timeout=case.PATIENCE_S)
    return process.returncode, out, err


def end(process):
    """Kills what a test that failed has not waited for."""
    if process.poll() is None:
        process.kill()
        process.communicate()


def children(pid, name):
    """The processes of this name that a process began, as /proc has them."""
    found = []
    for path in pathlib.Path(f'/proc/{pid}/task').glob('*/children'):
        for child in path.read_text().split():
            with contextlib.suppress(FileNotFoundError):
                comm = pathlib.Path(f'/proc/{child}/comm').read_text()
                found += [child] if comm == f'{name}\n' else []
    return found
