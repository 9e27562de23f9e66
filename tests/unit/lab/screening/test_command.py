# SPDX-License-Identifier: Apache-2.0

import dataclasses
import json
import random

import ddt
import fixtures

from serifos.lab.screening import design as screening
from serifos.lab.screening import effects
from serifos.lab.screening import journal
from serifos.lab.screening.levels import JobTarget
from serifos.lab.screening.levels import space
from serifos.lab.screening import plan
from serifos.lab.screening import screening as screening_job
from serifos.lab.screening.screening import ScreeningOptions
from serifos.lab.screening import screening_target
from serifos.report import table
from tests.unit import case
from tests.unit.cmd import command

SEVEN = ('max_block_size', 'thinktime', 'operation', 'directio', 'io_depth',
         'fsync', 'thread_count')
PLACE = JobTarget('/srv/x', 800 * 2 ** 30, True, 512)
SPACE = space(PLACE, {}, ('operation', 'io_depth', 'fsync',
                          'max_block_size', 'directio'))


def figures(levels):
    """Writes are four times slower, depth peaks in between."""
    value = 1000.0 * {'1': 1, '10': 50, '100': 16}[levels['io_depth']]
    value *= 0.25 if levels['operation'] == 'write' else 1
    return dict.fromkeys(journal.RESPONSES, value)


def write(path, target='/srv/x', seen=figures, **header):
    """A journal of all runs of a screening and of its full factorial."""
    names = tuple(SPACE.varied)
    keys = ('io_depth', 'operation')
    rows = [*plan.rows(SPACE, names, screening.plackett_burman(8)),
            *plan.rows(SPACE, keys, screening.full_factorial(2)),
            *(row for *_, three in plan.middles(SPACE, keys)
              for row in three)]
    begun = journal.ScreeningHeader(
        {'target': target}, 'node1', '6.1', 'fio-3.33', 1.0,
        SPACE.varied, SPACE.held)
    header = dataclasses.replace(begun, **header)
    with journal.resumed(path, header):
        for row in rows:
            journal.append(path, journal.ScreeningRun(
                row, 1, seen(row)))


@ddt.ddt
class ScreenTest(case.DirectoryCase):

    def setUp(self):
        super().setUp()
        self.path = self.dir / 'x-screening.jsonl'
        write(self.path)

    def screened(self, *options):
        code, out, err = command.model('screen', self.path, '-f', 'json',
                                       *options)
        self.assertEqual(0, code, err)
        return json.loads(out), err

    def test_the_effects_of_a_journal(self):
        rows, err = self.screened()
        self.assertEqual(['io_depth', 'operation'],
                         [row['parameter'] for row in rows[:2]])
        self.assertEqual((16, 0.25), (rows[0]['effect'], rows[1]['effect']))
        self.assertEqual(('1', '100', 'yes'), (
            rows[0]['low'], rows[0]['high'], rows[0]['key']))
        self.assertEqual((0.8, 1.0), (rows[0]['share'],
                                      rows[1]['cumulative']))
        self.assertIn('io_depth explains 80 % of the variation of '
                      'bandwidth_kib_s; the key parameter to look at', err)

    def saturated(self, seen, rounds=3):
        """What a screening of 7 parameters in 8 runs says, and its page."""
        path, page = self.dir / 's-screening.jsonl', self.dir / 's.html'
        varied = space(PLACE, {}, SEVEN)
        rows = plan.rows(varied, tuple(varied.varied),
                         screening.plackett_burman(8))
        with journal.resumed(path, journal.ScreeningHeader(
                {'target': '/srv/x'}, 'node1', '6.1', 'fio-3.33', 1.0,
                varied.varied, varied.held)):
            for levels, number in plan.wanted(rows, rounds, 0):
                journal.append(path, journal.ScreeningRun(
                    levels, number, seen(levels)))
        code, _, err = command.model('screen', path, '--page', page)
        self.assertEqual(0, code, err)
        return err, page.read_text()

    def test_of_noise_in_every_column_nothing_is_decided(self):
        noise = random.Random(1)
        for rounds in (1, 3):
            err, page = self.saturated(lambda _: dict.fromkeys(
                journal.RESPONSES, noise.uniform(900, 1100)), rounds)
            self.assertIn('The design has no spare column', err)
            self.assertIn('--foldover, or more --runs', err)
            self.assertNotIn('0 % of the variation is due to', err)
            self.assertIn('class="verdict">Not decided: ', page)
            self.assertNotIn('matter', page)
            self.assertNotIn('None of these explains', page)
            (self.dir / 's-screening.jsonl').unlink()

    def test_the_noise_of_a_design_without_a_spare_column(self):
        noise = random.Random(1)

        def seen(levels):
            slow = 0.1 if levels['thinktime'] == '1000' else 1
            return dict.fromkeys(journal.RESPONSES,
                                 slow * noise.uniform(900, 1100))
        err, page = self.saturated(seen)
        self.assertIn('thinktime explains 100 %', err)
        self.assertIn('error between 3 rounds): thinktime. ', err)
        self.assertIn('noise makes about 0 % of the variation.', err)
        self.assertIn('class="verdict">1 of 7 parameters matters most: '
                      'thinktime. It explains 100 % of the', page)

    def test_a_design_of_one_parameter_repeats_its_levels(self):
        varied = space(PLACE, {}, ('thinktime',))
        rows = plan.rows(varied, ('thinktime',), screening.plackett_burman(4))
        wanted = plan.wanted(rows, 3, 0)
        self.assertEqual(12, len({journal.key(*one) for one in wanted}))
        noise = random.Random(3)
        made = [journal.ScreeningRun(levels, number, dict.fromkeys(
            journal.RESPONSES, noise.uniform(900, 1100)))
            for levels, number in wanted]
        self.assertEqual(3, plan.rounds(rows, made))
        found = effects.analyse(
            screening.plackett_burman(4), ('thinktime',), plan.responses(
                rows, 3, made, plan.ResponseScale('iops', True)))
        self.assertGreater(found.rest, 0.1)

    def test_differences(self):
        rows, _ = self.screened('--scale', 'linear', '--response', 'iops')
        self.assertEqual(9375, rows[0]['effect'])

    def test_a_journal_is_read_with_the_rounds_that_it_has(self):
        _, runs = journal.read(self.path)
        for run in runs[1:]:
            journal.append(self.path, journal.ScreeningRun(
                run.levels, 2, run.seen))
        self.assertIn('Lenth', self.screened()[1])
        journal.append(self.path, journal.ScreeningRun(
            runs[0].levels, 2, runs[0].seen))
        self.assertIn('the error between 2 rounds', self.screened()[1])

    def test_every_run_is_made_three_times_by_default(self):
        header, _ = journal.read(self.path)
        place = screening_target.Screened(None, PLACE, None)
        given = ScreeningOptions(
            '/srv/x', None, False, None, 0, None, (), False, None, 1.0, 4.0,
            None, 300.0, None, 'bandwidth', 'log')
        job = screening_job.CheckedScreening(
            given, place, header, self.path, screening.plackett_burman(8))
        self.assertEqual(24, len(job.wanted()))
        self.assertEqual(8, len(dataclasses.replace(
            job, options=dataclasses.replace(given, rounds=1)).wanted()))

    def test_remounting_needs_a_directory(self):
        for words, target in (('is measured already', self.path),
                              ('is no directory', '/dev/null')):
            code, _, err = command.model('screen', str(target), '--remount')
            self.assertEqual(2, code, err)
            self.assertIn(words, err)

    def test_what_is_not_there_may_be_a_directory_or_a_device(self):
        code, _, err = command.model('screen', '/nonexistent')
        self.assertEqual(3, code, err)
        self.assertIn('no directory or block device /nonexistent', err)

    def test_a_file_is_no_target_and_is_told_what_is(self):
        for target in ('/dev/null', str(self.path.with_suffix('.txt'))):
            self.path.with_suffix('.txt').touch()
            code, _, err = command.model('screen', target)
            self.assertEqual(3, code, err)
            self.assertIn(f'{target} is neither a directory nor a block '
                          'device; name one of these', err)
            self.assertNotIn('volume group', err)
            self.assertNotIn('file:', err)

    def test_the_factorial_and_its_warning(self):
        rows, err = self.screened('--factorial', '--keys',
                                  'io_depth,operation')
        self.assertEqual({'io_depth', 'operation', 'io_depth × operation'},
                         {row['parameter'] for row in rows
                          if row['design'] == 'factorial'})
        self.assertEqual(self.screened('--keys', 'io_depth,operation')[0],
                         [row for row in rows
                          if row['design'] == 'screening'])
        self.assertIn('WARNING: io_depth is not monotone', err)

    def test_what_has_no_levels_has_none_in_the_table(self):
        arguments = ('screen', self.path, '--factorial', '--keys',
                     'io_depth,operation')
        code, out, err = command.model(*arguments)
        self.assertEqual(0, code, err)
        self.assertNotIn('None', out)
        self.assertRegex(out, r'io_depth × operation +\| – +\| – ')
        self.assertEqual(0, command.model(*arguments, '--sort-column',
                                          'low')[0])
        row, = (row for row in self.screened(*arguments[2:])[0]
                if '×' in row['parameter'])
        self.assertEqual((None, None), (row['low'], row['high']))

    def test_show_makes_no_run_and_is_not_refused(self):
        disk = self.useFixture(fixtures.TempDir(rootdir='/var/tmp')).path
        arguments = ('screen', disk, '--size-gib', '0.01',
                     '--output', self.path, '--parameters', 'fsync')
        code, out, err = command.model(*arguments, '--show')
        self.assertEqual(0, code, err)
        self.assertIn(f'note: {self.path} cannot be resumed by this', err)
        self.assertIn('0 of them are made already', err)
        self.assertIn('| fsync', out)
        code, _, err = command.model(*arguments)
        self.assertEqual(2, code, err)
        self.assertIn('io_depth, directio: varied, not held;', err)
        self.assertNotRegex(err, r"[{}']|\('|None")

    def test_a_parameter_that_turns_is_split(self):
        rows, _ = self.screened('--factorial', '--keys', 'io_depth,operation')
        split = [row for row in rows if row['design'] == 'split']
        self.assertEqual(
            [('io_depth', '1', '10', 50.0), ('io_depth', '10', '100', 0.32)],
            [(row['parameter'], row['low'], row['high'], row['effect'])
             for row in split])
        self.assertTrue(all(row['from'] <= row['effect'] <= row['to']
                            for row in split))
        self.assertEqual([0.0, 0.0], [row['p_value'] for row in split])

    def test_devices_are_compared_by_their_effects(self):
        def other(levels):
            sync = 0.5 if levels['fsync'] == 'true' else 1
            return {name: value * sync
                    for name, value in figures(levels).items()}
        path, page = self.dir / 'y-screening.jsonl', self.dir / 'p.html'
        write(path, '/srv/y', other)
        rows, err = self.screened('--compare', path, '--page', page)
        fsync = rows[0]
        self.assertEqual(('y-screening', 'fsync', 1.0, 0.5, 2.0, 'yes'),
                         tuple(fsync[name] for name in (
                             'other', 'parameter', 'effect', 'other_effect',
                             'apart', 'differs')))
        self.assertEqual({'no'}, {row['differs'] for row in rows[1:]})
        self.assertIn('1 of 5 parameters act differently on x-screening and '
                      'y-screening, beyond noise: fsync.', err)
        text = page.read_text()
        self.assertEqual(1, text.count('<svg'))
        self.assertIn('class="verdict">1 of 5 parameters act', text)
        self.assertIn('target /srv/y', text)

    def test_a_screening_compared_with_itself_differs_in_nothing(self):
        rows, err = self.screened('--compare', self.path)
        self.assertEqual({('no', 1.0)},
                         {(row['differs'], row['apart']) for row in rows})
        self.assertIn('correlate at 1.00', err)

    @ddt.data(({'runtime_s': 30.0}, 'runtime_s'),
              ({'held': {**SPACE.held, 'thread_count': '7'}},
               'thread_count'))
    @ddt.unpack
    def test_what_was_measured_otherwise_is_not_compared(self, header, name):
        path = self.dir / 'y-screening.jsonl'
        write(path, '/srv/y', **header)
        code, out, err = command.model(
            'screen', self.path, '--compare', path)
        self.assertEqual((2, ''), (code, out))
        self.assertIn(f'{path} was measured otherwise: {name} ', err)
        self.assertIn('screen both alike', err)
        self.assertEqual(1, err.count('\n'), err)

    def test_the_page(self):
        page = self.dir / 'p.html'
        self.screened('--page', page, '--factorial', '--keys',
                      'io_depth,operation')
        text = page.read_text()
        self.assertEqual(2, text.count('<svg'))
        self.assertIn('io_depth × operation', text)
        self.assertIn('not monotone', text)
        self.assertIn('class="verdict">2 of 5 parameters matter most: '
                      'io_depth, operation. They explain 100 % of', text)
        self.assertIn('The device: target /srv/x.\nMeasured on node1.', text)
        self.assertRegex(text, '<title>io_depth.*: \\S+ %</title>')

    def test_differences_of_latency_are_in_ms_on_the_page(self):
        page = self.dir / 'p.html'
        rows, _ = self.screened('--page', page, '--scale', 'linear',
                                '--response', 'latency')
        text = page.read_text()
        self.assertIn('effect, ms', text)
        self.assertIn(f'>{table.shown(rows[0]["effect"] / 1e3)}<', text)

    @ddt.data(
        (('--runs', '4'), 'give --runs 8 or more'),
        (('--runs', '10'), 'multiple of 4'),
        (('--rounds', '0'), 'A --rounds of 0'),
        (('--rounds', '2'), '8 of the 16 runs are missing'),
        (('--factorial', '--keys', 'directio,fsync'),
         'missing in {0}, which is only read; to make them, give /srv/x '
         '--output {0} instead'),
        (('--parameters', 'fsync'), 'so leave out --parameters; name a dir'),
        (('--levels', 'io_depth=1,2'), 'so leave out --levels; name'),
        (('--size-gib', '9', '--runtime', '7'),
         'measured already, so leave out --runtime, --size-gib; name'),
        (('--output', 'x', '--seed', '3', '--yes-destroy', 'x', '--show'),
         'so leave out --seed, --output, --yes-destroy; name'),
        (('--hang-after', '9'), 'so leave out --hang-after; name'),
        (('--foldover',), 'are missing'),
        (('--runtime', 'nan'), 'A --runtime of nan'),
        (('--hang-after', '0'), 'A --hang-after of 0'),
        (('--compare', '/dev/sdx'), 'not the journal of a screening'),
        (('--compare', 'a.jsonl', '--show'), 'cannot go together'),
        (('--compare', 'a.jsonl', '--factorial'), 'cannot go together'),
        (('--keys', 'thinktime'), 'not varied here'),
        (('--keys', 'fsync,fsync'), 'each once'),
        (('--page', '/nowhere/p.html'), 'p.html cannot be written'))
    @ddt.unpack
    def test_bad_arguments(self, options, words):
        code, out, err = command.model('screen', self.path, *options)
        self.assertEqual((2, ''), (code, out))
        self.assertIn(words.format(self.path), err)
        self.assertEqual(1, err.count('\n'), err)

    def test_targets_that_are_none(self):
        for target in ('vg0', 'file:/x', 'no-screening.jsonl'):
            code, _, err = command.model('screen', target)
            self.assertEqual(2, code, err)
            self.assertEqual(1, err.count('\n'), err)
