# SPDX-License-Identifier: Apache-2.0

import os

from serifos.bench import command
from serifos.bench import in_use
from serifos import errors
from tests.unit import case


class WatchTest(case.DirectoryCase):

    def setUp(self):
        super().setUp()
        self.ours, self.other = self.dir / 'ours', self.dir / 'other'
        self.fd = os.open(self.ours, os.O_RDWR | os.O_CREAT)
        self.addCleanup(os.close, self.fd)
        self.other.write_text('precious')
        self.looks = []
        self.free = 8 if self.fd == 9 else 9

    def run_it(self, script):
        look = in_use.watch(
            lambda: {in_use.identity(os.fstat(self.fd))}, (self.fd,))

        def looked(pid):
            self.looks.append(look(pid))
            return self.looks[-1]
        found, = command.together(
            [['sh', '-c', script]], 20, inherit=(self.fd,), look=looked)
        return found

    def test_it_writes_to_ours_though_the_name_is_another_files(self):
        self.other.replace(self.ours)
        found = self.run_it(f'exec {self.free}>{in_use.path(self.fd)}; '
                            f'echo x >&{self.free}; sleep 0.3')
        self.assertEqual(0, found.code, found.err)
        self.assertTrue(self.looks[-1])
        self.assertEqual(b'x\n', os.pread(self.fd, 9, 0))
        self.assertEqual('precious', self.ours.read_text())

    def test_it_opens_another_file(self):
        self.assertIn(f'{self.other} open for writing', str(
            self.assertRaises(errors.DeviceError, self.run_it,
                              f'exec {self.free}>>{self.other}; sleep 60')))
        self.assertEqual('precious', self.other.read_text())

    def test_it_opens_another_file_where_ours_was(self):
        self.assertRaises(
            errors.DeviceError, self.run_it,
            f'exec 0<&-; exec sh -c "exec 9>>{self.other}; sleep 60"')

    def test_what_it_reads_is_its_own_business(self):
        self.assertEqual(0, self.run_it(
            f'exec {self.free}<{self.other}; sleep 0.1').code)
        self.assertFalse(any(self.looks))

    def test_a_process_that_has_ended(self):
        self.assertFalse(in_use.watch(set, ())(2 ** 22 + 1))
