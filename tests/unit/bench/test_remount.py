# SPDX-License-Identifier: Apache-2.0

import dataclasses
import os
import pathlib

import testtools

from serifos.bench import mountinfo
from serifos.bench import remount
from serifos.bench import restore_notes
from serifos import errors
from tests.unit import case

GONE = mountinfo.Mount(
    43, 27, '8:4000', '/', '/nowhere/a b', ('rw', 'noatime'), (), 'ext4',
    '/dev/no-such-device', ('rw', 'stripe=4'))
COMMAND = ("mount -i -t ext4 -o rw,noatime,stripe=4 /dev/no-such-device "
           "'/nowhere/a b'")


class NoteTest(case.DirectoryCase):

    def setUp(self):
        super().setUp()
        self.folder = self.dir / 'run'

    def note(self, mount):
        note = restore_notes.Note('mount', mount.point, self.folder)
        with note.held():
            note.write({'mount': dataclasses.asdict(mount), 'uuid': None})
        return note

    def recover(self, mount):
        return remount.recover(pathlib.Path(mount.point), self.folder)

    def test_the_command_is_quoted(self):
        self.assertEqual(COMMAND, remount.words(GONE))

    def test_without_a_note_nothing_is_done(self):
        self.assertIsNone(self.recover(GONE))
        self.assertFalse(self.folder.exists())

    def test_a_note_of_what_is_mounted_again_goes(self):
        if os.geteuid() != 0:
            self.skipTest('only root mounts')
        root = dataclasses.replace(GONE, point='/')
        note = self.note(root)
        self.assertIsNone(self.recover(root))
        self.assertFalse(note.path.exists())

    def test_another_device_is_not_mounted_there(self):
        note = self.note(GONE)
        exc = self.assertRaises(errors.DeviceError, self.recover, GONE)
        self.assertIn('/nowhere/a b', str(exc))
        self.assertIn('is not what was mounted there' if os.geteuid() == 0
                      else COMMAND, str(exc))
        self.assertTrue(note.path.exists())

    def test_while_another_command_has_it_nothing_is_done(self):
        if os.geteuid() != 0:
            self.skipTest('only root mounts')
        note = self.note(GONE)
        with note.held(), testtools.ExpectedException(
                errors.DeviceError, '.*wait for its end'):
            self.recover(GONE)

    def test_a_note_that_is_not_ours(self):
        note = self.note(GONE)
        for text in ('{}', '[]', 'x', '{"schema": "serifos-put-back/9"}',
                     '{"schema": "serifos-put-back/1", "name": "/other"}',
                     '{"schema": "serifos-put-back/1", "name": "/nowhere/a '
                     'b", "mount": {"id": "x"}}'):
            note.path.write_text(text)
            self.assertRaises(errors.FormatError, self.recover, GONE)

    def test_a_lock_is_gone_with_its_command(self):
        note = self.note(GONE)
        for _ in range(2):
            with note.held():
                self.assertEqual(2, len([*self.folder.iterdir()]))
            self.assertEqual([note.path], [*self.folder.iterdir()])

    def test_names_that_look_alike_have_notes_of_their_own(self):
        self.assertEqual(3, len({
            restore_notes.Note('mount', name, self.folder).path
            for name in ('/a/b', '/a-b', '/a/b/')}))

    def test_what_is_not_mounted_as_shown_is_not_unmounted(self):
        exc = self.assertRaises(errors.DeviceError, remount.again, GONE,
                                self.folder)
        self.assertIn('nothing was unmounted', str(exc))
        self.assertFalse(self.folder.exists())

    def test_a_journal_is_not_on_what_is_unmounted(self):
        dev = self.dir.stat().st_dev
        here = dataclasses.replace(
            GONE, number=f'{os.major(dev)}:{os.minor(dev)}')
        exc = self.assertRaises(errors.InputError, remount.refuse_on, here,
                                self.dir / 'x.jsonl')
        self.assertIn('give an --output elsewhere', str(exc))
        self.assertIsNone(remount.refuse_on(GONE, self.dir / 'x.jsonl'))
