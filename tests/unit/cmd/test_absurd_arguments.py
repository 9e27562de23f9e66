# SPDX-License-Identifier: Apache-2.0
"""Unusable arguments: one sentence at once, and no file is made."""

import contextlib
from importlib import metadata
import logging
import os

import ddt

from serifos.files import documents
from tests.fuzz import arguments as verbs
from tests.fuzz import files
from tests.fuzz import targets
from tests.unit import case
from tests.unit.cmd import command
from tests.unit import samples

MODEL = files.CORPUS / 'model' / 'cart.json'
RUNS = files.CORPUS / 'dataset' / 'runs.jsonl'
CLUSTER = files.CORPUS / 'cluster' / 'cluster.json'
DIGITS = '9' * 5000


@ddt.ddt
class AbsurdArgumentsTest(case.DirectoryCase):

    def setUp(self):
        super().setUp()
        os.mkfifo(self.dir / 'pipe')

    def refused(self, run, *arguments):
        code, out, err = run(*arguments)
        self.assertEqual((2, ''), (code, out), err)
        self.assertNotIn('Traceback', err)
        self.assertLess(len(err), 3000)
        return err

    @ddt.data('', '.', '/dev/zero', '/nonesuch', 'x' * 300, 'PIPE', 'a\nb')
    def test_a_path_that_is_no_file(self, path):
        path = str(self.dir / 'pipe') if path == 'PIPE' else path
        for arguments in (('predict', path, '-w', '30:16'), ('show', path),
                          ('check', path, RUNS), ('check', MODEL, path)):
            self.refused(command.model, *arguments)
        for arguments in (('--cluster', path, '--models', self.dir),
                          ('--cluster', CLUSTER, '--models', path)):
            if path != '.' or 'cluster' not in str(arguments[1]):
                self.refused(command.balance, 'plan', *arguments)

    @ddt.data('/dev/null', '.', 'PIPE', '/nonesuch/m.json', 'x' * 300)
    def test_an_output_that_is_no_file(self, path):
        path = str(self.dir / 'pipe') if path == 'PIPE' else path
        data = samples.write(self.dir / 'd.jsonl', samples.dataset(
            [[targets.WORKLOADS[0]] * n for n in range(1, 25)],
            lambda run: 100.0))
        self.assertIn('cannot be written', self.refused(
            command.model, 'fit', data, '--kind', 'cart', '--out', path))

    @ddt.data(
        (command.model, 'fit', '/no/runs', '--out'),
        (command.model, 'calibrate', '/no/runs', '--out'),
        (command.model, 'relate', '/no/runs', '/no/others', '--out'),
        (command.model, 'report', '/no/model', '/no/runs', '--out'),
        (command.model, 'calibrate', '/no/runs', '--out', 'm.json', '--page'),
        (command.balance, 'plan', '--cluster', '/no/cluster', '--out'),
        (command.simulate, 'dataset', '--runs=1', 'SSD1'))
    def test_an_output_is_refused_before_the_work(self, words):
        self.assertIn(
            '/nonesuch/out cannot be written: No such file or directory.',
            self.refused(*words, '/nonesuch/out'))

    @ddt.data('nan', 'inf', '-1', '1e400', DIGITS, '', '\n')
    def test_a_seed_that_is_none(self, seed):
        err = self.refused(command.model, 'fit', RUNS, '--out', 'm.json',
                           f'--seed={seed}')
        self.assertIn('--seed', err)

    @ddt.data('nan:16', '30:inf', '30:1e400', '30', '', ':', DIGITS,
              '30:16:8:101', '30:16:8:100:1:1')
    def test_a_workload_that_is_none(self, text):
        self.refused(command.model, 'predict', MODEL, '-w', text)

    def test_no_workload_at_all(self):
        self.assertEqual(
            'serifos-model: Give a workload with -w, such as -w 30:16.\n',
            self.refused(command.model, 'predict', MODEL))

    @ddt.data('--runs=100000000', '--runs=' + DIGITS, '--runtime=nan',
              '--write-pcts=nan', '--write-pcts=,', '--counts=1e9',
              '--counts=1000000000', '--rounds=99999999', '--sampled=1e9',
              '--enough-error=inf', '--block-kibs=1e400',
              '--iodepths=' + ','.join(map(str, range(1, 4000))) * 2)
    def test_a_design_that_cannot_be(self, option):
        self.refused(command.model, 'design', option)

    @ddt.data(
        ('--iodepths=0', 'iodepth 0 cannot be run; give 1 to 4096.'),
        ('--write-pcts=101', 'write_pct 101 cannot be run; give 0 to 100.'),
        ('--block-kibs=0.1', 'block_kib 0.1 cannot be run; give 0.5 to '
                             '65536.'),
        ('--think-times=-5', 'think_time_us -5 cannot be run; give 0 to '
                             '10000000.'))
    @ddt.unpack
    def test_a_vector_out_of_bounds(self, option, says):
        self.assertEqual(f'serifos-model: {says}\n', self.refused(
            command.model, 'design', option))

    def test_vectors_of_endless_patterns(self):
        # It made them all, until memory was full.
        many = ','.join(str(n) for n in range(1, 4000))
        err = self.refused(
            command.model, 'design', '--full', '--block-kibs', many,
            '--think-times', many)
        self.assertIn('47,976,003 patterns', err)

    @ddt.data('--max-moves=0', '--max-moves=x', '--min-gain=nan',
              '--active-floor=inf', '--max-moves=' + DIGITS)
    def test_limits_that_are_none(self, option):
        self.refused(command.balance, 'plan', '--cluster', CLUSTER,
                     '--models', self.dir, option)

    def test_a_configuration_without_an_end(self):
        err = self.refused(command.balance, '--config-file', '/dev/zero',
                           'plan', '--cluster', CLUSTER)
        self.assertIn('/dev/zero is a character device', err)

    def test_a_name_that_is_not_utf8(self):
        exc = self.assertRaises(
            documents.errors.InputError, documents.write_json,
            self.dir / 'm.json', {'name': os.fsdecode(b'\xff')})
        self.assertIn('is not UTF-8', str(exc))
        self.assertFalse((self.dir / 'm.json').exists())


SEEDS = {tuple(word for word in seed.decode().split('\n') if not
               word.startswith('--config'))[:2]: seed.decode().split('\n')
         for seed in files.seeds('arguments')}
"""Program and verb → a command."""

SLOW = {'backtest'}
"""Looks at the models first."""


@ddt.ddt
class NumbersTest(case.DirectoryCase):

    def setUp(self):
        super().setUp()
        logging.disable()
        self.addCleanup(logging.disable, logging.NOTSET)
        self.enterContext(contextlib.chdir(self.dir))
        verbs.prepare()

    def test_every_verb_has_a_command(self):
        self.assertEqual({
            (program, point.name) for program in verbs.LOOKING
            for point in metadata.entry_points(
                group=program.replace('-', '.'))}, set(SEEDS))

    @ddt.data(*sorted(SEEDS))
    def test_absurd_numbers(self, which):
        """A traceback would be an error of the test."""
        every = which[1] not in SLOW
        for name in verbs.numbers(*which):
            for value in '', 'nan', 'inf', '-1', '1e308':
                with command.captured() as (out, err):
                    try:
                        code = verbs.run(
                            [*SEEDS[which], f'{name}={value}'], every)
                    except SystemExit as exc:
                        code = exc.code
                self.assertIn(code, (0, 1, 2, 3), (name, value))
                self.assertNotIn('Traceback', err.getvalue())
