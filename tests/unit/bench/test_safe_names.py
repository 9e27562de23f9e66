# SPDX-License-Identifier: Apache-2.0

import configparser
import os

import ddt
from hypothesis import given
from hypothesis import settings
from hypothesis import strategies
import testtools

from serifos.bench import target
from serifos import errors
from serifos.lab.screening import job as screen_job
from serifos.lab.screening.levels import JobTarget
from serifos.lab.screening.levels import PARAMETERS
from serifos.lab.screening.levels import space
from serifos.lab.screening import screening_target

GIB = 2 ** 30
SPECIAL = ';#:%$\\[]"\'`*?{}|<>&!^()\n\r\t\x00\x1b\x7f\x85\u2028\ufeff\udcff'
DIRECTORY = space(JobTarget('/x', 800 * GIB, True, 512), {})
DEVICE = space(JobTarget('/dev/x', 8 * GIB, False, 512), {})


@ddt.ddt
class NamesTest(testtools.TestCase):

    @ddt.data(*SPECIAL)
    def test_characters_that_fio_may_read_otherwise(self, character):
        for name in (f'/srv/a{character}b', f'/srv/a{character}',
                     f'{character}/b'):
            self.assertIn('may not take literally', str(self.assertRaises(
                errors.InputError, target.refuse_unsafe, name)))

    @ddt.data('/srv/a ', ' /srv', '/srv/ a', '/srv /a', '-x/y', '',
              '/' + 'a/' * 1024)
    def test_shapes(self, name):
        self.assertRaises(errors.InputError, target.refuse_unsafe, name)

    @ddt.data('/dev/nvme0n1', '/dev/mapper/a-b--c', '/srv/My disk/x',
              '/srv/été/字', '/srv/-x', 'd/a=b,c@d~e+f.g_h')
    def test_what_is_taken(self, name):
        self.assertIsNone(target.refuse_unsafe(name))

    @given(strategies.text())
    def test_nothing_special_is_ever_taken(self, text):
        try:
            target.refuse_unsafe(text)
        except errors.InputError as exc:
            self.assertNotIn('\n', str(exc))
        else:
            self.assertFalse(set(text) & set(SPECIAL))
            self.assertTrue(text.isprintable())
            self.assertEqual(text, text.strip())

    @ddt.data('--config=x', '-v', 'a b', 'a;b', 'a\nb', '..', '.', 'x' * 128,
              'é')
    def test_what_is_no_name_of_a_group(self, name):
        self.assertRaises(errors.InputError, target.refuse_no_group, name)
        self.assertRaises(errors.InputError, target.find, name,
                          target.TargetOptions(1))

    @ddt.data('file:/srv/a;b', 'file: a', '/dev/a#b', './a:b',
              'file:/srv/a\nb')
    def test_targets(self, text):
        self.assertRaises(errors.InputError, target.find, text,
                          target.TargetOptions(1))

    def test_a_directory_for_screen(self):
        self.assertRaises(errors.InputError, screening_target.find,
                          '/dev/a\nb=c', 1)


def lines(text):
    parser = configparser.RawConfigParser(
        strict=True, delimiters=('=',), comment_prefixes=None,
        empty_lines_in_values=False)
    parser.read_string(text)
    return {name: dict(parser[name]) for name in parser.sections()}


class JobFileTest(testtools.TestCase):
    """A file has the one section and the options meant, each once."""

    @settings(max_examples=30, deadline=None)
    @given(strategies.dictionaries(
        strategies.one_of(strategies.sampled_from([*screen_job.SHAPES]),
                          strategies.text()),
        strategies.one_of(strategies.integers(), strategies.text(),
                          strategies.sampled_from(
            ['1', '1\n', '1\nexec_prerun=x', 'none', '/proc/self/fd/7',
             '/proc/self/fd/7/../../../../etc']))))
    def test_arbitrary_options(self, options):
        try:
            text = screen_job.text(options)
        except errors.InputError:
            return
        self.assertEqual(
            {screen_job.SECTION: {k: str(v) for k, v in options.items()}},
            lines(text))
        self.assertEqual(len(options) + 1, text.count('\n'))
        self.assertLessEqual({*options}, {*screen_job.SHAPES})

    @settings(max_examples=30, deadline=None)
    @given(strategies.text(), strategies.booleans(), strategies.dictionaries(
        strategies.sampled_from([*PARAMETERS]),
        strategies.one_of(strategies.text(), strategies.integers(-9, 9).map(
            str), strategies.sampled_from(
            ['read\nexec_prerun=x', '1;', '2KiB', '٣', '9' * 400]))))
    def test_arbitrary_names_and_levels(self, path, is_directory, levels):
        space = DIRECTORY if is_directory else DEVICE
        place = JobTarget(
            os.path.join('/', path), 8 * GIB, is_directory, 512)
        expected = lines(screen_job.job(space.run({}), place, 7, 10))
        try:
            text = screen_job.job({**space.run({}), **levels}, place, 7, 10)
        except errors.InputError:
            return
        found = lines(text)
        self.assertEqual([screen_job.SECTION], [*found])
        self.assertEqual({*expected[screen_job.SECTION]},
                         {*found[screen_job.SECTION]})
        self.assertEqual(1 + len(found[screen_job.SECTION]),
                         text.count('\n'))
        place = 'directory' if is_directory else 'filename'
        self.assertEqual(expected[screen_job.SECTION][place],
                         found[screen_job.SECTION][place])

    def test_no_option_of_ours_runs_a_command_or_opens_a_name(self):
        for name in ('exec_prerun', 'exec_postrun', 'include', 'opendir',
                     'write_bw_log', 'read_iolog', 'ioengine_so_path'):
            self.assertNotIn(name, screen_job.SHAPES)
