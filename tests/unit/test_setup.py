# SPDX-License-Identifier: Apache-2.0
"""The Debian packages that tools/setup.sh asks for."""

import pathlib
import subprocess

import ddt
import fixtures
import testtools

SETUP = pathlib.Path(__file__).parents[2] / 'tools' / 'setup.sh'


@ddt.ddt
class SetupTest(testtools.TestCase):

    def asked(self, line):
        """What would be installed by a line of shell."""
        return subprocess.run(
            ['bash', '-euo', 'pipefail', '-c',
             f'root=/none; . {SETUP}\n'
             f'install_packages() {{ echo "$@"; }}\n{line}'],
            check=True, capture_output=True, text=True).stdout.split()

    def test_only_what_is_missing(self):
        self.assertEqual(
            ['one', 'two'],
            self.asked('need sh=dash no-such-1=one no-such-2=two'))
        self.assertEqual([], self.asked('need sh=dash'))

    def test_a_file_will_do(self):
        self.assertEqual(['two'], self.asked(
            f'need {SETUP}=one /no/such/file=two'))

    @ddt.data((b'\x7fELF\x02/lib64/ld-linux-x86-64.so.2\0', ['tool-static']),
              (b'\x7fELF\x02\x01\x01\0', []))
    @ddt.unpack
    def test_a_program_that_wants_libraries_will_not_do(self, head, packages):
        place = pathlib.Path(self.useFixture(fixtures.TempDir()).path)
        (place / 'tool').write_bytes(head + bytes(8192))
        (place / 'tool').chmod(0o755)
        self.assertEqual(packages, self.asked(
            f'PATH={place}:$PATH; need_static tool=tool-static'))

    def test_a_program_that_is_missing_is_installed_once(self):
        self.assertEqual(['tool-static'], self.asked(
            'need_static no-such-tool=tool-static'))
