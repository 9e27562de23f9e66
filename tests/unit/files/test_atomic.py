# SPDX-License-Identifier: Apache-2.0

import fcntl
import os
import socket
import stat
import time

import ddt

from serifos import errors
from serifos.files import atomic
from tests.unit import case


@ddt.ddt
class ReadTest(case.DirectoryCase):

    def refused(self, path, words, **bound):
        exc = self.assertRaises(
            errors.InputError, atomic.read_text, path, 'model', **bound)
        self.assertIn(words, str(exc))
        self.assertNotIn('\n', str(exc))

    def test_a_text(self):
        path = self.dir / 'm'
        path.write_text('µs')
        self.assertEqual('µs', atomic.read_text(path, 'model'))

    @ddt.data(('', 'There is no model'), ('/nonesuch', 'There is no model'),
              ('/tmp\0', 'cannot be read: embedded null'),
              ('/dev/zero', 'is a character device; give the regular file'),
              ('/dev/null', 'is a character device'),
              ('/tmp', '/tmp is a directory'),
              ('x' * 300, 'cannot be read: File name too long'))
    @ddt.unpack
    def test_what_is_no_file_is_refused(self, path, words):
        self.refused(path, words)

    def test_a_fifo_is_not_waited_for(self):
        os.mkfifo(self.dir / 'pipe')
        self.refused(self.dir / 'pipe', 'is a FIFO')

    def test_a_link_in_a_circle(self):
        (self.dir / 'm').symlink_to(self.dir / 'm')
        self.refused(self.dir / 'm', 'Too many levels of symbolic links')

    def test_a_file_that_is_too_large(self):
        path = self.dir / 'm'
        with open(path, 'wb') as file:
            file.truncate(2 ** 21 + 1)
        self.refused(path, 'larger than the 2 MiB', most=2 ** 21)

    def test_what_is_not_text(self):
        (self.dir / 'm').write_bytes(b'\xff\xfe')
        self.refused(self.dir / 'm', 'not UTF-8')


class ReplaceTest(case.DirectoryCase):

    def setUp(self):
        super().setUp()
        self.path = self.dir / 'c.json'

    def refused(self, path, words):
        for refuses in atomic.refuse_unwritable, lambda its: atomic.replace(
                its, 'new'):
            exc = self.assertRaises(errors.InputError, refuses, path)
            self.assertIn(words, str(exc))
            self.assertIn('cannot be written', str(exc))

    def test_a_file_is_whole_and_closed_to_others(self):
        for text in ('old', 'new'):
            atomic.replace(self.path, text)
            self.assertEqual(text, self.path.read_text())
        self.assertEqual(0o640, stat.S_IMODE(self.path.stat().st_mode))
        self.assertEqual(['c.json'], os.listdir(self.dir))

    def test_what_can_be_written_is_not_touched_by_asking(self):
        self.path.write_text('old')
        for path in self.path, self.dir / 'new':
            atomic.refuse_unwritable(path)
        self.assertEqual(['c.json'], os.listdir(self.dir))
        self.assertEqual('old', self.path.read_text())

    def test_a_file_of_ours_is_replaced_by_its_own_kind_alone(self):
        said = '{"schema": "serifos-dataset/1", "device": {}}\n{}\n'
        for other, kind in (('{\n "schema": "serifos-model/1"}', 'model'),
                            ('<html></html>', ''), ('{}', '')):
            self.path.write_text(said)
            for refuses in (lambda path: atomic.replace(path, other),
                            lambda path: atomic.refuse_unwritable(path, kind)):
                exc = self.assertRaises(errors.InputError, refuses, self.path)
                self.assertIn('would be lost', str(exc))
                self.assertIn('(dataset)', str(exc))
                self.assertEqual(said, self.path.read_text())
        atomic.refuse_unwritable(self.path, 'dataset')
        atomic.replace(self.path, said.replace('/1', '/2'))
        self.assertIn('/2', self.path.read_text())

    def test_a_link_to_a_file_of_ours_may_be_replaced(self):
        kept = self.dir / 'kept'
        kept.write_text('{"schema": "serifos-model/1"}')
        self.path.symlink_to(kept)
        atomic.replace(self.path, 'new')
        self.assertEqual(('new', '{"schema": "serifos-model/1"}'),
                         (self.path.read_text(), kept.read_text()))

    def test_a_directory_in_which_nobody_makes_files(self):
        # Not even root does, whatever its mode says.
        self.refused('/proc/self/fd/new', 'No such file')

    def test_a_relative_name(self):
        self.addCleanup(os.chdir, os.getcwd())
        os.chdir(self.dir)
        atomic.replace('c.json', 'new')
        self.assertEqual('new', self.path.read_text())

    def test_a_device_stays_a_device(self):
        # Somebody who may replace it, root, would have no /dev/null left.
        link = self.dir / 'null'
        link.symlink_to('/dev/null')
        self.refused(link, 'it is a character device; give a file')
        self.assertTrue(link.is_symlink())

    def test_what_is_no_file_stays(self):
        (self.dir / 'd').mkdir()
        self.refused(self.dir / 'd', 'it is a directory')
        os.mkfifo(self.dir / 'pipe')
        self.refused(self.dir / 'pipe', 'it is a FIFO')
        with socket.socket(socket.AF_UNIX) as listening:
            listening.bind(str(self.dir / 's'))
            self.refused(self.dir / 's', 'it is a socket')

    def test_no_name_and_no_directory(self):
        self.refused('', 'No such file')
        self.refused(self.dir / 'no' / 'c.json', 'No such file')
        self.refused('a\0b', 'null')
        self.refused(self.dir / ('x' * 300), 'too long')

    def test_a_text_that_no_file_can_hold_leaves_the_old_one(self):
        atomic.replace(self.path, 'old')
        exc = self.assertRaises(
            errors.InputError, atomic.replace, self.path, 'a\ud800')
        self.assertIn('half a character', str(exc))
        self.assertEqual('old', self.path.read_text())
        self.assertEqual(['c.json'], os.listdir(self.dir))

    def test_a_link_is_replaced_and_not_what_it_names(self):
        other = self.dir / 'other'
        other.write_text('mine')
        self.path.symlink_to(other)
        atomic.replace(self.path, 'new')
        self.assertEqual('mine', other.read_text())
        self.assertEqual('new', self.path.read_text())

    def left(self, name='.c.json.0123456789abcdef.new', age_s=100):
        path = self.dir / name
        path.write_text('half')
        os.utime(path, (time.time() - age_s,) * 2)
        return path

    def test_what_a_kill_left_is_removed_by_the_next_writer(self):
        self.left()
        atomic.replace(self.path, 'new')
        self.assertEqual(['c.json'], os.listdir(self.dir))

    def test_a_writer_that_lives_is_left_alone(self):
        path = self.left()
        with open(path) as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            atomic.replace(self.path, 'new')
        self.assertTrue(path.exists())

    def test_nothing_else_is_removed(self):
        kept = [self.left(age_s=10),
                self.left('.c.json.0123456789abcdef.new.bak'),
                self.left('.c.json.swp'), self.left('.c.json.original'),
                self.left('.d.json.0123456789abcdef.new'),
                self.left('c.json.0123456789abcdef.new'),
                self.left('.cxjson.0123456789abcdef.new')]
        target = self.left('precious')
        link = self.dir / '.c.json.00000000000000ff.new'
        link.symlink_to(target)
        named = self.dir / '.c.json.00000000000000fe.new'
        named.hardlink_to(target)
        atomic.replace(self.path, 'new')
        for path in (*kept, target, named):
            self.assertEqual('half', path.read_text())
        self.assertTrue(link.is_symlink())
