# SPDX-License-Identifier: Apache-2.0
"""``screen`` with real fio: interrupted, resumed, bad input, a device."""

import json

from serifos.lab.screening import journal
from tests.functional import machine

ARGUMENTS = (
    '--runtime', '1', '--size-gib', '0.0625', '--rounds', '1', '--parameters',
    'operation,access_pattern,max_block_size,io_depth,fsync,directio,'
    'threads_similarity', '--levels', 'thread_count=2', '--levels',
    'files_used=4', '--levels', 'max_file_size=4MiB', '--levels',
    'min_file_size=1MiB', '--levels', 'min_block_size=4KiB')


class ScreenTest(machine.MachineTest):

    programs = ('fio', 'lsblk', 'findmnt')

    def setUp(self):
        super().setUp()
        self.target = self.directory / 'x'
        self.target.mkdir()
        (self.target / 'precious').write_text('x')
        self.journal = self.directory / 'x-screening.jsonl'

    def assert_nothing_left(self):
        self.assertEqual(['precious'],
                         [p.name for p in self.target.iterdir()])

    def test_interrupted_resumed_and_told(self):
        self.refused(3, 'type yes when asked', 'screen', self.target,
                     *ARGUMENTS)
        self.assert_nothing_left()
        self.assertFalse(self.journal.exists())
        process = self.start('screen', self.target, *ARGUMENTS,
                             '--yes-destroy', 'yes')
        machine.wait_until(lambda: machine.lines(self.journal) >= 3)
        code, _, err = machine.interrupt(process)
        self.assertEqual(130, code, err)
        self.assertIn('the same command resumes', err)
        made = machine.lines(self.journal) - 1
        self.assertTrue(2 <= made < 8, made)
        self.assert_nothing_left()
        code, out, err = self.model('screen', self.target, *ARGUMENTS,
                                    '-f', 'json', typed='yes\n')
        self.assertEqual(0, code, err)
        self.assertIn('files there of up to 0.0625 GiB together', err)
        self.assertIn(f'{made} of them are made already', err)
        self.assertIn('screen: 8 of 8', err)
        self.assert_nothing_left()
        _, runs = journal.read(self.journal)
        self.assertEqual(8, len({run.key for run in runs}))
        rows = json.loads(out)
        self.assertEqual([*range(1, 8)], [row['rank'] for row in rows])
        self.assertAlmostEqual(1, rows[-1]['cumulative'], places=2)
        # Blocks of up to 64 KiB for up to 4 KiB carry more, anywhere.
        block, = (r for r in rows if r['parameter'] == 'max_block_size')
        self.assertGreater(block['effect'], 1)
        # From the journal alone, without a target:
        again = self.model('screen', self.journal, '-f', 'json')[1]
        self.assertEqual(rows, json.loads(again))

    def test_bad_arguments_touch_nothing(self):
        for code, words, arguments in (
                (2, 'of --size-gib', (self.target, '--size-gib', '1')),
                (2, 'A --runtime of 0', (self.target, '--runtime', '0')),
                (2, 'multiple of 4', (self.target, '--runs', '26')),
                (2, 'too few', (self.target, '--runs', '12')),
                (2, 'cannot be screened', ('vg0',)),
                (3, 'does not fit', (self.target, '--size-gib', '1048576')),
                (3, 'There is no directory or block',
                 (self.directory / 'no',))):
            self.refused_at_once(code, words, 'screen', *arguments)
        self.assert_nothing_left()
        self.assertFalse(self.journal.exists())

    def test_a_device(self):
        device, backing = self.loop(64)
        arguments = (
            'screen', device, '--runtime', '1', '--rounds', '1',
            '--parameters',
            'operation,access_pattern,max_block_size,io_depth,directio',
            '--levels', 'thread_count=1')
        self.refused(3, 'Nothing was touched', *arguments)
        self.refused(3, 'nothing was touched', *arguments,
                     '--yes-destroy', '/dev/sda')
        self.assertEqual(bytes(2 ** 16), backing.read_bytes()[:2 ** 16])
        code, out, err = self.model(*arguments, '-f', 'json',
                                    typed=f'{device}\n')
        self.assertEqual(0, code, err)
        shown, _, after = err.partition('EVERYTHING')
        self.assertIn('files_used, min_file_size, max_file_size, overwrite, '
                      f'file_service are about files and dropped: {device}',
                      shown)
        self.assertIn('screen: 8 of 8', after)
        self.assertEqual(
            {'operation', 'access_pattern', 'max_block_size', 'io_depth',
             'directio'}, {row['parameter'] for row in json.loads(out)})
        self.assertNotEqual(bytes(2 ** 16), backing.read_bytes()[:2 ** 16])
        self.assertEqual(64 * 2 ** 20, backing.stat().st_size)

    def test_a_mounted_device_is_not_touched(self):
        device, _ = self.loop(64)
        self.mounted(device)
        self.refused(3, 'is in use', 'screen', device, '--yes-destroy',
                     device)
