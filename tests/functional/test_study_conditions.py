# SPDX-License-Identifier: Apache-2.0
"""``study`` of file sets and I/O schedulers, on ext4 on a loop device."""

import collections
import json
import pathlib

from serifos.bench import io_scheduler
from serifos.bench import restore_notes
from serifos.files import documents
from tests.functional import machine

ARGUMENTS = ('--name', 'x', '--file-set-gibs', '0.02,0.06', '--write-pcts',
             '0,50,100', '--block-kibs', '4,16,64', '--random-pcts', '0,100',
             '--runs', '22', '--runtime', '0.5')


class ConditionsTest(machine.MachineTest):

    programs = ('fio', 'lsblk', 'findmnt', 'mkfs.ext4')

    def setUp(self):
        super().setUp()
        path, _ = self.loop(256)
        self.device = pathlib.Path(path).name
        queue = io_scheduler.read(self.device)
        others = [name for name in queue.offered if name != queue.active]
        self.need(others, f'{self.device} has no second I/O scheduler')
        self.names = tuple(sorted((queue.active, others[0])))
        self.other = others[0]
        self.first, self.file = queue.active, queue.path
        self.target = self.mounted(path)
        self.note = restore_notes.Note('scheduler', self.device).path
        self.dataset = self.directory / 'x.jsonl'
        self.asked = ('study', self.target, *ARGUMENTS, '--schedulers',
                      ','.join(self.names))
        self.confirmed = (*self.asked, '--yes-destroy', self.device)

    def active(self):
        return io_scheduler.read(self.device).active

    def assert_put_back(self):
        self.assertEqual(self.first, self.active())
        self.assertFalse(self.note.exists())

    def test_measured(self):
        self.refused(3, f'type {self.device}', *self.asked)
        self.assertEqual(self.first, self.active())
        code, out, err = self.model(*self.confirmed, '-f', 'json')
        self.assertEqual(0, code, err)
        self.assertIn(f'now {self.first}: {" and ".join(self.names)}', err)
        self.assert_put_back()
        terms = {row['term'] for row in json.loads(out)
                 if row['model'] == 'linear'}
        self.assertLessEqual({*'WXSFE'}, terms)
        made = documents.read_dataset(self.dataset).samples
        self.assertEqual(22, len({sample.key for sample in made}))
        counted = collections.Counter(s.condition for s in made)
        self.assertEqual(4, len(counted))
        # The table is printed again from the dataset, without a target.
        again = self.model('study', self.dataset, '-f', 'json')[1]
        self.assertEqual(json.loads(out), json.loads(again))
        code, out, err = self.model('fit', self.dataset, '--kind', 'lrm',
                                    '--out', 'x.json')
        self.assertEqual(0, code, err)
        self.assertRegex(out, r'predicts for .*file_set_gib 0\.06, scheduler')
        code, _, err = self.model('check', 'x.json', self.dataset)
        self.assertEqual(0, code, err)
        self.refused(2, 'varied', 'study', self.target, '--name', 'x',
                     '--size-gib', '0.06', '--runs', '12', '--runtime', '0.5')

    def test_interrupted_it_is_put_back_and_goes_on(self):
        process = self.start(*self.confirmed)
        machine.wait_until(lambda: machine.lines(self.dataset) >= 3)
        code, _, err = machine.interrupt(process)
        self.assertEqual(130, code, err)
        self.assert_put_back()
        code, _, err = self.model(*self.confirmed)
        self.assertEqual(0, code, err)
        self.assertEqual(
            22, len(documents.read_dataset(self.dataset).samples))
        self.assert_put_back()

    def test_killed_the_next_command_puts_it_back(self):
        process = self.start(*self.confirmed)
        machine.wait_until(lambda: self.active() == self.other)
        machine.interrupt(process, 9)
        self.assertEqual(self.other, self.active())
        self.assertTrue(self.note.exists())
        code, _, err = self.model('build', f'file:{self.target}/y.bin',
                                  '--name', 'y',
                                  '--size-gib', '0.05', *machine.SIX)
        self.assertEqual(0, code, err)
        self.assertIn(f'is {self.first} again', err)
        self.assert_put_back()

    def test_refused(self):
        self.refused(3, 'has no I/O scheduler nosuch but', *self.asked[:-1],
                     f'{self.first},nosuch')
        memory = pathlib.Path('/dev/shm')
        self.need(memory.is_dir(), 'there is no /dev/shm')
        self.refused(3, 'on no block device', 'study', f'file:{memory}/x.bin',
                     *ARGUMENTS, '--schedulers', ','.join(self.names))
        self.refused(2, 'file:PATH', 'study', f'/dev/{self.device}',
                     *ARGUMENTS)
        self.assertEqual(self.first, self.active())
        self.assertFalse(self.dataset.exists())
