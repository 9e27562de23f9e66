# SPDX-License-Identifier: Apache-2.0

import configparser
import dataclasses
import json

import ddt
import testtools

from serifos import errors
from serifos.lab.screening import design as screening
from serifos.lab.screening import job as screen_job
from serifos.lab.screening import journal
from serifos.lab.screening import levels
from serifos.lab.screening.levels import JobTarget
from serifos.lab.screening.levels import space
from serifos.lab.screening import plan
from serifos.lab.screening import screening as screening_cmd
from serifos.lab.screening import screening_target
from serifos.modeler import campaign
from tests.unit import case
from tests.unit.papers import golden

GIB = 2 ** 30
DIRECTORY = JobTarget('/srv/x', 800 * GIB, True, 512)
DEVICE = JobTarget('/dev/sdx', 8 * GIB, False, 512)


def options(place=DIRECTORY, **levels):
    """The options of the job of a run."""
    text = screen_job.job(space(place, {}).run(levels), place, 7, 10)
    parser = configparser.ConfigParser(interpolation=None)
    parser.read_string(text)
    return dict(parser['serifos'])


@ddt.ddt
class LevelsTest(testtools.TestCase):

    def test_the_papers_20_parameters_and_levels(self):
        for name, (low, high) in golden.SCREENING['fio_levels'].items():
            ours = levels.PARAMETERS[name]
            for level, paper in ((ours.low, low), (ours.high, high)):
                paper = str(paper).lower() if isinstance(
                    paper, bool) else str(paper)
                self.assertIn(level, (paper, f'{paper}B'))
        self.assertEqual(20, len(space(DIRECTORY, {}).varied))

    def test_files_are_scaled_to_the_space_allowed_and_it_is_said(self):
        small = space(JobTarget('/srv/x', 4 * GIB, True, 512), {})
        self.assertEqual(('1MiB', '4MiB'), small.varied['max_file_size'])
        self.assertIn('up to 4MiB, not 1GiB', small.said[0])
        self.assertEqual('1GiB', space(
            DIRECTORY, {}).varied['max_file_size'][1])

    def test_a_device_has_no_files(self):
        varied = space(DEVICE, {})
        self.assertEqual(15, len(varied.varied))
        self.assertIn('files_used, min_file_size, max_file_size, overwrite, '
                      'file_service are about files and dropped',
                      varied.said[0])

    def test_a_device_of_4_kib_blocks(self):
        varied = space(JobTarget('/dev/sdx', 8 * GIB, False, 4096), {})
        self.assertEqual('4KiB', varied.held['min_block_size'])
        self.assertIn('dropped and held at 4KiB', varied.said[-1])
        buffered = space(JobTarget('/dev/sdx', 8 * GIB, False, 4096),
                         {'directio': ('false',)})
        self.assertIn('min_block_size', buffered.varied)

    def test_held_and_chosen(self):
        varied = space(DIRECTORY, {'io_depth': ('7',)},
                       ('operation', 'fsync'))
        self.assertEqual({'operation', 'fsync'}, set(varied.varied))
        self.assertEqual(('7', 'malloc'), (varied.held['io_depth'],
                                           varied.held['buffer_alloc']))

    def test_what_is_held_low_needs_no_room_for_more(self):
        place = JobTarget('/srv/x', GIB, True, 512)
        varied = space(place, {}, ('io_depth',))
        self.assertEqual('1', varied.held['files_used'])
        self.assertIn('give 1.562 or more', str(self.assertRaises(
            errors.InputError, space, place, {},
            ('files_used', 'thread_count', 'max_file_size'))))

    @ddt.data(('io_depth', '10'), ('thread_count', '3'),
              ('max_block_size', '16KiB'), ('thinktime', '32'),
              ('operation', None), ('fsync', None))
    @ddt.unpack
    def test_a_level_between(self, name, level):
        self.assertEqual(level, space(DIRECTORY, {}).middle(name))

    @ddt.data(
        ({'nope': ('1',)}, 'no parameter nope'),
        ({'io_depth': ('0', '4')}, 'give 1 to 4096'),
        ({'io_depth': ('nan',)}, "cannot be 'nan'"),
        ({'io_depth': ('8', '4')}, 'the lower level first'),
        ({'operation': ('trim',)}, 'read or write'),
        ({'directio': ('yes',)}, 'false or true'),
        ({'min_block_size': ('600B',)}, 'a multiple of 512B'),
        ({'min_block_size': ('8KiB',)}, 'cannot go together'),
        ({'max_block_size': ('4KiB', '2MiB')}, 'cannot go together'),
        ({'max_file_size': ('1MiB', '2GiB')}, 'need more than'))
    @ddt.unpack
    def test_levels_that_cannot_be(self, asked, words):
        exc = self.assertRaises(errors.InputError, space, DIRECTORY,
                                asked)
        self.assertIn(words, str(exc))

    @ddt.data((JobTarget('/x', GIB, True, 512), {}, 'give 1.562 or more'),
              (DEVICE, {'files_used': ('1',)}, 'is about files'),
              (JobTarget('/dev/x', 2 ** 20, False, 512), {}, 'too small'),
              (JobTarget('/dev/x', GIB, False, 4096),
               {'min_block_size': ('1KiB', '2KiB')}, 'multiples of 4KiB'))
    @ddt.unpack
    def test_a_place_that_cannot_take_them(self, place, asked, words):
        exc = self.assertRaises(errors.InputError, space, place, asked)
        self.assertIn(words, str(exc))

    def test_nothing_varied(self):
        exc = self.assertRaises(errors.InputError, space, DIRECTORY, {
            'fsync': ('true',)}, ('fsync',))
        self.assertIn('vary one at least', str(exc))


@ddt.ddt
class JobTest(testtools.TestCase):

    @ddt.data(
        ('operation', 'write', 'rw', 'read', 'write'),
        ('access_pattern', 'random', 'rw', 'read', 'randread'),
        ('files_used', '100', 'nrfiles', '1', '100'),
        ('min_file_size', '1MiB', 'filesize', '512-1048576', '1048576'),
        ('max_file_size', '1GiB', 'filesize', '512-1048576',
         '512-1073741824'),
        ('min_block_size', '4KiB', 'bsrange', '512-4096', '4096-4096'),
        ('max_block_size', '64KiB', 'bsrange', '512-4096', '512-65536'),
        ('io_depth', '100', 'iodepth', '1', '100'),
        ('overwrite', 'true', 'overwrite', '0', '1'),
        ('fsync', 'true', 'fsync', '0', '1'),
        ('thinktime', '1000', 'thinktime', '0', '1000'),
        ('write_buffer_sync', 'true', 'sync', '0', '1'),
        ('file_service', 'random', 'file_service_type', 'roundrobin',
         'random'),
        ('thread_count', '8', 'numjobs', '1', '8'),
        ('threads_similarity', 'true', 'filename_format',
         'serifos.$jobnum.$filenum', 'serifos.$filenum'),
        ('posix_fadvise', 'true', 'fadvise_hint', '0', '1'),
        ('async_io_engine', 'true', 'ioengine', 'psync', 'posixaio'),
        ('directio', 'true', 'direct', '0', '1'),
        ('buffer_alloc', 'mmap', 'iomem', 'malloc', 'mmap'))
    @ddt.unpack
    def test_what_each_parameter_changes(self, name, level, option, low,
                                         high):
        before, after = options(), options(**{name: level})
        self.assertEqual((low, high), (before[option], after[option]))
        beside = {'filesize', 'size'}  # a file holds a block; size follows
        self.assertLessEqual(
            {o for o in before if before[o] != after[o]},
            {option} | (beside if name in ('min_block_size', 'files_used',
                                           'max_file_size') else set()))

    def test_the_queue_parts_the_asynchronous_engines_alone(self):
        self.assertEqual('libaio', options(
            async_io_engine='true', io_engine_queue='true')['ioengine'])
        self.assertEqual(options(), options(io_engine_queue='true'))

    def test_a_file_holds_a_block(self):
        self.assertEqual('4096-1048576', options(
            min_block_size='4KiB')['filesize'])

    def test_threads_on_a_device_have_a_region_each_or_one(self):
        own = options(DEVICE, thread_count='8')
        self.assertEqual(
            ('1073741824', '1073741824', '/proc/self/fd/7', '0'),
            (own['size'], own['offset_increment'], own['filename'],
             own['allow_mounted_write']))
        one = options(DEVICE, thread_count='8', threads_similarity='true')
        self.assertEqual((str(8 * GIB), '0'),
                         (one['size'], one['offset_increment']))
        self.assertNotIn('nrfiles', own)


SPACE = space(DIRECTORY, {}, ('operation', 'io_depth', 'fsync'))
HEADER = journal.ScreeningHeader(
    {'target': '/srv/x'}, 'node1', '6.1', 'fio-3.33', 1.0, SPACE.varied,
    SPACE.held)
ROWS = plan.rows(SPACE, tuple(SPACE.varied), screening.plackett_burman(4))


def seen(levels):
    factor = {'write': 0.5, '100': 8.0}
    value = 1000.0
    for level in (levels['operation'], levels['io_depth']):
        value *= factor.get(level, 1.0)
    return dict.fromkeys(journal.RESPONSES, value)


class CampaignTest(case.DirectoryCase):

    def setUp(self):
        super().setUp()
        self.path = self.dir / 'x-screening.jsonl'
        self.progress, self.asked = [], []
        self.wanted = plan.wanted(ROWS, 2, seed=0)

    def show(self, *step):
        self.progress.append(step)

    def run_it(self, measure=seen, stop=lambda: False):
        def noted(levels):
            self.asked.append(levels)
            return measure(levels)
        return screening_cmd.run(
            self.wanted, self.path, HEADER, noted,
            campaign.Ports(self.show, stop))

    def test_every_run_once_and_on_disk(self):
        self.assertEqual(0, self.run_it())
        header, runs = journal.read(self.path)
        self.assertEqual(HEADER, header)
        self.assertEqual(8, len({run.key for run in runs}))
        self.assertEqual(8, len(runs))
        self.assertEqual(('screen', 8, 8, 0), self.progress[-1])

    def test_stopped_it_goes_on_where_it_was(self):
        exc = self.assertRaises(errors.Interrupted, self.run_it,
                                stop=lambda: len(self.asked) == 3)
        self.assertIn('Stopped with 3 of 8', str(exc))
        with open(self.path, 'a') as file:
            file.write('{"levels": {"opera')
        self.assertIn('cut short', str(self.assertRaises(
            errors.FormatError, journal.read, self.path)))
        self.run_it()
        self.assertEqual(8, len(self.asked))
        self.assertEqual(8, len(journal.read(self.path)[1]))

    def test_remounted_runs_are_not_mixed_with_others(self):
        self.run_it()
        self.assertFalse(journal.read(self.path)[0].remounted)
        other = dataclasses.replace(HEADER, remounted=True)
        exc = self.assertRaises(errors.InputError, journal.had, self.path,
                                other)
        self.assertIn('begun with remounted: no, not yes; give', str(exc))
        self.assertEqual(['remounted no and yes'], HEADER.unlike(other))

    def test_other_settings_are_named_one_by_one(self):
        self.run_it()
        varied = {**HEADER.varied, 'io_depth': ('1', '7'),
                  'thinktime': ('0', '1000')}
        del varied['fsync']
        held = {**HEADER.held, 'fsync': 'false'}
        del held['thinktime']
        exc = self.assertRaises(
            errors.InputError, journal.had, self.path, dataclasses.replace(
                HEADER, runtime_s=2.0, varied=varied, held=held,
                device={'target': '/srv/x', 'size_gib': 2.0}))
        self.assertEqual(
            f'{self.path} cannot be resumed by this, for it was begun with '
            'runtime_s: 1, not 2; io_depth: 1,100, not 1,7; '
            'size_gib: none, not 2; fsync: varied, not held; '
            'thinktime: held, not varied; give another --output, or what it '
            'was begun with.', str(exc))

    def test_a_journal_of_before_was_not_remounted(self):
        self.run_it()
        lines = self.path.read_text().splitlines()
        first = json.loads(lines[0])
        del first['remounted']
        self.path.write_text('\n'.join([json.dumps(first), *lines[1:], '']))
        self.assertEqual(HEADER, journal.read(self.path)[0])
        self.assertEqual(8, len(journal.had(self.path, HEADER)))

    def test_a_larger_design_takes_up_the_runs_of_a_smaller(self):
        self.run_it()
        folded = plan.rows(SPACE, tuple(SPACE.varied), screening.foldover(
            screening.plackett_burman(4)))
        self.wanted = plan.wanted(folded, 2, seed=0)
        self.run_it()
        self.assertEqual(16, len(self.asked))

    def test_other_conditions_are_not_mixed(self):
        self.run_it()
        other = journal.ScreeningHeader(**{**vars(HEADER), 'runtime_s': 2.0})
        exc = self.assertRaises(
            errors.InputError, journal.had, self.path, other)
        self.assertIn('runtime_s: 1, not 2;', str(exc))

    def test_effects_take_all_runs(self):
        self.run_it()
        how = plan.ResponseScale('iops', True)
        made = journal.read(self.path)[1]
        self.assertEqual((4, 2), plan.responses(ROWS, 2, made, how).shape)
        exc = self.assertRaises(errors.InputError, plan.responses, ROWS, 3,
                                made, how)
        self.assertIn('4 of the 12 runs are missing', str(exc))

    def test_lines_that_are_no_runs(self):
        self.run_it()
        lines = self.path.read_text().splitlines()
        for line in ('[]', '{}', '{"levels": {}, "round": 1, "iops": 1}',
                     '{"levels": {}, "round": 1, "iops": -1, '
                     '"latency_us": 1, "bandwidth_kib_s": 1}', 'x'):
            self.path.write_text('\n'.join([lines[0], line, '']))
            self.assertRaises(errors.FormatError, journal.read, self.path)
        self.path.write_text('{"schema": "serifos-screening/9"}\n')
        self.assertIn('serifos-screening/9', str(self.assertRaises(
            errors.FormatError, journal.read, self.path)))


class FiguresTest(testtools.TestCase):

    def test_from_fios_json(self):
        side = {'iops': 10.0, 'bw': 40, 'lat_ns': {
            'N': 100, 'mean': 5000, 'percentile': {'99.000000': 9000}}}
        idle = {'iops': 0, 'bw': 0, 'lat_ns': {'N': 0, 'mean': 0}}
        self.assertEqual(
            {'bandwidth_kib_s': 40, 'iops': 10, 'latency_us': 5},
            screening_target.figures(json.dumps({'timestamp_ms': 1, 'jobs': [
                {'error': 0, 'read': side, 'write': idle}]})))


class MiddleTest(testtools.TestCase):

    def test_a_depth_with_a_peak_in_between(self):
        def peak(levels):
            return dict.fromkeys(journal.RESPONSES, {
                '1': 100.0, '10': 900.0, '100': 200.0}[levels['io_depth']])
        keys = ('operation', 'io_depth')
        made = [journal.ScreeningRun(row, 1, peak(row))
                for *_, three in plan.middles(SPACE, keys) for row in three]
        how = plan.ResponseScale('iops', True)
        found = plan.turning(SPACE, keys, 1, made, how, 0.1)
        self.assertEqual(['low', 'high'], [m.others for m in found])
        self.assertIn('io_depth is not monotone', found[0].words)
        self.assertIn('900 at 10', found[0].words)
        self.assertEqual([], plan.turning(SPACE, keys, 1, made, how, 2))


class FolderTest(case.DirectoryCase):

    def setUp(self):
        super().setUp()
        self.ours = self.dir / screening_target.NAME

    def test_made_emptied_and_removed(self):
        (self.dir / 'precious').write_text('x')
        with screening_target.made(self.dir, 1) as (_, empty):
            (self.ours / 'serifos.0.1').write_text('x')
            empty()
            self.assertEqual(['note.json'], [
                p.name for p in self.ours.iterdir()])
            (self.ours / 'serifos.2').write_text('x')
        self.assertEqual(['precious'], [p.name for p in self.dir.iterdir()])

    def test_left_behind_it_is_known_again(self):
        with screening_target.made(self.dir, 1):
            note = (self.ours / 'note.json').read_text()
            (self.ours / 'serifos.1').write_text('x')
            self.assertTrue(screening_target.is_ours(self.ours))
            self.assertIn('Another screening', str(self.assertRaises(
                errors.DeviceError,
                screening_target.made(self.dir, 1).__enter__)))
            self.assertTrue((self.ours / 'serifos.1').exists())
        self.ours.mkdir()
        (self.ours / 'note.json').write_text(note.replace(': ', ': 1'))
        self.assertFalse(screening_target.is_ours(self.ours))

    def test_what_jobs_make_is_removed_and_nothing_else(self):
        with screening_target.made(self.dir, 1) as (_, empty):
            for name in ('serifos.7', 'serifos.0.12'):
                (self.ours / name).write_text('x')
            empty()
            for name in ('serifos.conf', 'serifos.1.2.3', 'x'):
                (self.ours / name).write_text('precious')
                self.assertIn(f'holds {name}', str(self.assertRaises(
                    errors.DeviceError, empty)))
                (self.ours / name).unlink()
            (self.ours / 'mine').write_text('precious')
        self.assertEqual('precious', (self.ours / 'mine').read_text())

    def test_a_link_among_the_files_of_jobs(self):
        precious = self.dir / 'precious'
        precious.write_text('x')
        with screening_target.made(self.dir, 1) as (_, empty):
            (self.ours / 'serifos.0.0').symlink_to(precious)
            self.assertIn('holds serifos.0.0', str(self.assertRaises(
                errors.DeviceError, empty)))
        self.assertEqual('x', precious.read_text())

    def test_another_directory_in_place_of_ours(self):
        with screening_target.made(self.dir, 1) as (_, empty):
            self.ours.rename(self.dir / 'moved')
            self.ours.mkdir()
            (self.ours / 'serifos.0').write_text('precious')
            (self.dir / 'moved' / 'serifos.0').write_text('x')
            empty()
        self.assertEqual('precious', (self.ours / 'serifos.0').read_text())
        self.assertEqual([], [*(self.dir / 'moved').iterdir()])

    def test_a_directory_that_others_can_write_to(self):
        self.ours.mkdir()
        self.ours.chmod(0o777)
        (self.ours / 'note.json').write_text(
            '{"schema": "serifos-folder/1", "inode": '
            f'{self.ours.stat().st_ino}}}')
        self.assertIn('did not make it', screening_target.refusal(self.dir, 1))
        self.ours.chmod(0o700)
        self.assertIsNone(screening_target.refusal(self.dir, 1))

    def test_an_empty_directory_is_the_users(self):
        self.ours.mkdir()
        self.assertIn('did not make it', screening_target.refusal(self.dir, 1))

    def test_somebody_elses(self):
        self.ours.mkdir()
        (self.ours / 'serifos.1').write_text('precious')
        self.assertIn('did not make it', screening_target.refusal(self.dir, 1))
        self.assertRaises(errors.DeviceError,
                          screening_target.made(self.dir, 1).__enter__)
        self.assertEqual('precious', (self.ours / 'serifos.1').read_text())

    def test_no_room_or_no_directory(self):
        self.assertIn('does not fit',
                      screening_target.refusal(self.dir, 2 ** 60))
        self.assertIn('no directory',
                      screening_target.refusal(self.dir / 'no', 1))
