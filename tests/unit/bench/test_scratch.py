# SPDX-License-Identifier: Apache-2.0

import json
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
        with scratch.made(self.path, size, keep):
            return self.path.stat()

    def test_made_of_exactly_the_size_and_removed(self):
        info = self.make()
        self.assertEqual(SIZE, info.st_size)
        self.assertEqual(SIZE, info.st_blocks * 512)
        self.assertEqual([], os.listdir(self.path.parent))

    def test_removed_where_the_build_fails(self):
        def fail():
            with scratch.made(self.path, SIZE, False):
                raise errors.ToolError('no')
        self.assertRaises(errors.ToolError, fail)
        self.assertEqual([], os.listdir(self.path.parent))

    def test_what_we_kept_we_make_anew(self):
        self.make(keep=True)
        self.assertTrue(scratch.is_ours(self.path))
        self.assertEqual(2 * SIZE, self.make(size=2 * SIZE).st_size)
        self.assertFalse(self.path.exists())

    def refused(self, words):
        before = sorted((p.name, p.lstat().st_ino, p.lstat().st_mtime_ns)
                        for p in self.path.parent.iterdir())
        self.assertIn(words, str(self.assertRaises(
            errors.DeviceError, self.make)))
        self.assertEqual(before, sorted(
            (p.name, p.lstat().st_ino, p.lstat().st_mtime_ns)
            for p in self.path.parent.iterdir()))

    def test_somebody_elses_file(self):
        self.path.write_text('precious')
        self.refused('did not make it')
        self.assertEqual('precious', self.path.read_text())

    def test_somebody_elses_file_in_place_of_ours(self):
        self.make(keep=True)
        other = self.path.with_name('other')
        other.write_text('precious')
        other.replace(self.path)
        self.refused('did not make it')

    def test_a_file_of_ours_that_grew_is_ours_no_more(self):
        self.make(keep=True)
        with open(self.path, 'ab') as file:
            file.write(b'precious')
        self.refused('did not make it')

    def test_a_link_to_a_file(self):
        target = self.path.with_name('target')
        target.write_text('precious')
        self.path.symlink_to(target)
        self.refused('did not make it')

    def test_a_dangling_link(self):
        self.path.symlink_to(self.path.with_name('nothing'))
        self.refused('did not make it')

    def test_a_file_in_place_of_our_note(self):
        scratch.note(self.path).write_text('my notes')
        self.refused('is no note of serifos')

    def test_a_forged_note(self):
        self.path.write_text('precious')
        scratch.note(self.path).write_text(json.dumps(
            {'schema': scratch.SCHEMA, 'inode': 1, 'size': SIZE}))
        self.refused('did not make it')

    def test_no_space(self):
        self.assertIn('does not fit', str(self.assertRaises(
            errors.DeviceError, self.make, size=2 ** 60)))

    def test_no_directory(self):
        self.path = self.path / 'x'
        self.assertIn('There is no directory', str(self.assertRaises(
            errors.DeviceError, self.make)))

    def test_another_build_on_the_same_file(self):
        with scratch.made(self.path, SIZE, False):
            self.refused('Another build')
            self.assertTrue(self.path.exists())
