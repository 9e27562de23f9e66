# SPDX-License-Identifier: Apache-2.0

import os
import pathlib
import tempfile

import fixtures
import testtools

from serifos.bench import scratch
from serifos import errors

SIZE = 2 ** 20


class ScratchTest(testtools.TestCase):

    def setUp(self):
        super().setUp()
        # Not /tmp, which may live in memory and take no direct I/O.
        directory = tempfile.mkdtemp(dir='/var/tmp')
        self.useFixture(fixtures.MonkeyPatch('tempfile.tempdir', directory))
        self.addCleanup(os.rmdir, directory)
        self.path = pathlib.Path(
            self.useFixture(fixtures.TempDir()).path, 'x')

    def make(self, keep=False, size=SIZE):
        with scratch.made(self.path, size, keep) as fd:
            return os.fstat(fd)

    def left(self):
        return os.listdir(self.path.parent)

    def test_made_of_exactly_the_size_and_without_a_name(self):
        with scratch.made(self.path, SIZE, False) as fd:
            info = os.fstat(fd)
            self.assertEqual((SIZE, SIZE, 0), (
                info.st_size, info.st_blocks * 512, info.st_nlink))
            self.assertEqual([], self.left())
        self.assertEqual([], self.left())

    def test_a_directory(self):
        """The root ended with a traceback."""
        for path in (pathlib.Path('/'), self.path.parent):
            self.assertIn(f'such as {path / "scratch"}.',
                          scratch.refusal(path, SIZE))

    def test_gone_where_the_build_fails(self):
        def fail():
            with scratch.made(self.path, SIZE, False):
                raise errors.ToolError('no')
        self.assertRaises(errors.ToolError, fail)
        self.assertEqual([], self.left())

    def test_what_a_user_puts_there_meanwhile_is_the_users(self):
        with scratch.made(self.path, SIZE, False) as fd:
            self.path.write_text('precious')
            os.pwrite(fd, b'x' * 4096, 0)
        self.assertEqual('precious', self.path.read_text())

    def test_what_is_kept_is_the_users_from_then_on(self):
        self.assertEqual(1, self.make(keep=True).st_nlink)
        self.assertEqual(['x'], self.left())
        self.assertEqual(SIZE, self.path.stat().st_size)
        self.refused('exists')

    def test_somebody_elses_file_in_place_of_what_shall_be_kept(self):
        def replaced():
            with scratch.made(self.path, SIZE, True):
                self.path.unlink()
                self.path.write_text('precious')
        self.assertIn('removed or replaced', str(self.assertRaises(
            errors.DeviceError, replaced)))
        self.assertEqual('precious', self.path.read_text())

    def refused(self, words):
        def files():
            return sorted((p.name, p.lstat().st_ino, p.lstat().st_mtime_ns)
                          for p in self.path.parent.iterdir())
        before = files()
        self.assertIn(words, str(self.assertRaises(
            errors.DeviceError, self.make)))
        self.assertEqual(before, files())

    def test_somebody_elses_file(self):
        self.path.write_text('precious')
        self.refused('serifos did not make it')
        self.assertEqual('precious', self.path.read_text())

    def test_a_file_of_before_is_left_and_it_is_said(self):
        """An inode that a note names may be another file's by now."""
        self.path.write_text('precious')
        self.path.with_name('x.serifos').write_text(
            '{"schema": "serifos-scratch/1", "size": 1048576, "inode": '
            f'{self.path.stat().st_ino}}}')
        self.refused('an earlier serifos left it')

    def test_a_link_to_a_file(self):
        target = self.path.with_name('target')
        target.write_text('precious')
        self.path.symlink_to(target)
        self.refused('did not make it')

    def test_a_dangling_link(self):
        self.path.symlink_to(self.path.with_name('nothing'))
        self.refused('did not make it')

    def test_no_space(self):
        self.assertIn('does not fit', str(self.assertRaises(
            errors.DeviceError, self.make, size=2 ** 60)))

    def test_no_directory(self):
        self.path = self.path / 'x'
        self.assertIn('No such file or directory', str(self.assertRaises(
            errors.DeviceError, self.make)))

    def test_another_build_in_the_same_directory(self):
        with scratch.made(self.path, SIZE, False):
            self.refused('Another build')

    def test_a_fill_that_went_elsewhere(self):
        with scratch.made(self.path, SIZE, False) as fd:
            os.pwrite(fd, b'x' * (SIZE - 4096), 0)
            self.assertIn('did not write the scratch file', str(
                self.assertRaises(errors.DeviceError,
                                  scratch.refuse_unwritten, fd, self.path,
                                  SIZE)))
            os.pwrite(fd, b'x', SIZE - 1)
            scratch.refuse_unwritten(fd, self.path, SIZE)
