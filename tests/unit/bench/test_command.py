# SPDX-License-Identifier: Apache-2.0

import os
import pathlib
import subprocess
import sys
import time

import fixtures
import testtools

from serifos.bench import command
from serifos import errors


class CommandTest(testtools.TestCase):

    def test_what_it_printed(self):
        self.assertEqual('a b\n', command.run(['echo', 'a b']))

    def test_its_own_words_where_it_fails(self):
        self.assertIn('failed: oh no', str(self.assertRaises(
            errors.ToolError, command.run,
            ['sh', '-c', 'echo oh no >&2; exit 3'])))

    def test_exit_codes_that_are_no_failure(self):
        self.assertEqual('', command.run(['sh', '-c', 'exit 3'],
                                         accept=(0, 3)))

    def test_a_missing_program_is_named_with_its_package(self):
        self.assertIn('apt-get install no-such-program', str(
            self.assertRaises(errors.ToolError, command.run,
                              ['no-such-program'])))

    def test_what_changes_their_output_stays_behind(self):
        for name, value in (('LANG', 'de_DE.UTF-8'), ('LC_ALL', 'de_DE'),
                            ('POSIXLY_CORRECT', '1'), ('LVM_REPORT_FD', '9'),
                            ('LVM_SYSTEM_DIR', '/etc/mine')):
            self.useFixture(fixtures.EnvironmentVariable(name, value))
        said = dict(line.split('=', 1)
                    for line in command.run(['env']).splitlines())
        self.assertEqual({'LC_ALL': 'C', 'LVM_SYSTEM_DIR': '/etc/mine'}, {
            name: value for name, value in said.items()
            if name.startswith(('L', 'P')) and not name.startswith(
                ('LD_', 'PATH', 'PWD'))})

    def test_what_hangs_is_killed_with_all_that_it_started(self):
        began = time.monotonic()
        first, second = command.together(
            [['sh', '-c', 'sleep 60 & echo $!; wait'], ['echo', 'done']],
            3)
        self.assertLess(time.monotonic() - began, 30)
        self.assertIsNone(first.code)
        self.assertEqual((0, 'done\n'), (second.code, second.out))
        self.assertTrue(gone(int(first.out)))

    def test_it_may_die_with_us(self):
        said = pathlib.Path(self.useFixture(fixtures.TempDir()).path, 'pid')
        with subprocess.Popen([sys.executable, '-c', (
                'from serifos.bench import command; command.together(['
                f'["sh", "-c", "echo $$ > {said}; exec sleep 60"]], 60, '
                'die_with_us=True)')]) as us:
            while not (said.exists() and said.read_text().strip()):
                self.assertIsNone(us.poll())
                time.sleep(0.05)
            us.kill()
        self.assertTrue(gone(int(said.read_text())))

    def test_what_it_reads_and_inherits(self):
        fd = os.open(self.useFixture(fixtures.TempDir()).path, os.O_RDONLY)
        self.addCleanup(os.close, fd)
        found, = command.together(
            [['sh', '-c', f'cat; cd /proc/self/fd/{fd} && echo there']], 60,
            inherit=(fd,), typed='hello\n')
        self.assertEqual((0, 'hello\nthere\n'), (found.code, found.out))

    def test_what_looks_at_it_may_end_it(self):
        seen = []

        def look(pid):
            seen.append(pid)
            if len(seen) > 2:
                raise errors.DeviceError('no more')
        self.assertRaises(errors.DeviceError, command.together,
                          [['sleep', '60'], ['sleep', '60']], 60, look=look)
        self.assertEqual(2, len({*seen}))
        for pid in {*seen}:
            self.assertTrue(gone(pid))

    def test_they_run_at_the_same_time(self):
        # Who opens one end of a pipe waits for the other end.
        pipe = pathlib.Path(self.useFixture(fixtures.TempDir()).path, 'pipe')
        os.mkfifo(pipe)
        first, second = command.together(
            [['sh', '-c', f'echo met > {pipe}'], ['cat', str(pipe)]], 60)
        self.assertEqual((0, 0, 'met\n'), (
            first.code, second.code, second.out))


def gone(pid):
    """Whether a process has ended, within twenty seconds."""
    for _ in range(400):
        try:
            os.kill(pid, 0)
            with open(f'/proc/{pid}/stat') as file:
                if file.read().rpartition(')')[2].split()[0] == 'Z':
                    return True
        except (ProcessLookupError, FileNotFoundError):
            return True
        time.sleep(0.05)
    return False
