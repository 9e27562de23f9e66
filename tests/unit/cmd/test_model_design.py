# SPDX-License-Identifier: Apache-2.0

import json

import ddt
import testtools

from tests.unit.cmd import command


@ddt.ddt
class DesignTest(testtools.TestCase):

    def test_full_prints_the_papers_sets_and_hours(self):
        code, out, _ = command.model('design', '--full', '-f', 'json')
        self.assertEqual(0, code)
        rows = json.loads(out)
        self.assertEqual([12, 78, 364, 1365, 4368, 6187],
                         [row['sets'] for row in rows])
        # 188,310 s a round, five rounds.
        self.assertEqual(261.54, rows[-1]['hours'])

    def test_the_default_is_80_runs_at_the_most(self):
        code, out, _ = command.model('design', '-f', 'json')
        total = json.loads(out)[-1]
        self.assertEqual((0, 80, 1, 0.33), (
            code, total['sets'], total['rounds'], total['hours']))

    def test_a_fixed_short_one(self):
        _, out, _ = command.model('design', '--runs', '40', '-f', 'json')
        *rows, total = json.loads(out)
        self.assertEqual(40, total['sets'])
        self.assertEqual([*range(1, 11)], [row['workloads'] for row in rows])

    def test_other_vectors(self):
        _, out, _ = command.model(
            'design', '--full', '--write-pcts', '0,100', '--block-kibs', '4',
            '--counts', '1,2', '--rounds', '2', '--runtime', '6',
            '-f', 'json')
        rows = json.loads(out)
        self.assertEqual([2, 3, 5], [row['sets'] for row in rows])
        self.assertEqual(round(5 * 2 * 6 / 3600, 2), rows[-1]['hours'])

    def test_think_times_are_vectors_too(self):
        _, out, _ = command.model(
            'design', '--full', '--write-pcts', '50', '--block-kibs', '4',
            '--counts', '1', '--think-times', '0,100,1000', '-f', 'json')
        self.assertEqual([3, 3], [row['sets'] for row in json.loads(out)])

    def test_random_runs(self):
        _, out, _ = command.model(
            'design', '--sampled', '400', '--runtime', '10', '-f', 'json')
        total = json.loads(out)[-1]
        self.assertEqual((400, 1.11), (total['sets'], total['hours']))

    def test_random_tests(self):
        _, out, _ = command.model('design', '--tests', '100', '-f', 'json')
        *rows, total = json.loads(out)
        self.assertEqual([100] * 5, [row['sets'] for row in rows[:5]])
        self.assertEqual(700, total['sets'])

    def test_random_tests_of_some_counts_alone(self):
        _, out, _ = command.model('design', '--tests', '4', '--counts', '2,8',
                                  '-f', 'json')
        self.assertEqual([(2, 4), (8, 4), ('total', 8)], [
            (row['workloads'], row['sets']) for row in json.loads(out)])

    @ddt.data(
        (['--tests', '0'], 'A --tests of 0'),
        (['--tests', '5', '--full'], '--full and --tests contra'),
        (['--tests', '5', '--enough-gain', '0.1'], 'chosen one after another'),
        (['--sampled', '0'], 'A --sampled of 0'), (['--seed', '-1'], 'of -1'),
        (['--sampled', '5', '--runs', '80'], '--runs and --sampled contra'),
        (['--think-times', '-1'], 'think_time_us -1'),
        (['--runs', '3'], 'too few'),
        (['--enough-error', '1'], '--enough-error of 1'),
        (['--enough-gain', 'nan'], '--enough-gain of nan'),
        (['--runs', '20', '--enough-gain', '0.1'], 'chosen one after another'),
        (['--write-pcts', '5', '--block-kibs', '4', '--iodepths', '8',
          '--counts', '1'],
         'hold 1 different runs'),
        (['--full', '--runs', '80'], 'contradict'),
        (['--write-pcts', ','], 'design is empty'),
        (['--write-pcts', 'nan'], 'write_pct nan'),
        (['--full', '--counts', '30'], 'narrow them'),
        (['--runtime', '0'], 'runtime of 0'),
        (['--runtime', 'inf'], 'runtime of inf'),
        (['--rounds', '0'], 'A --rounds of 0'),
        (['--rounds', '2', '--valid-round', '3'], 'Round 3'),
        (['--counts', 'many'], 'not a list of numbers'))
    @ddt.unpack
    def test_absurd_options_get_one_sentence(self, options, words):
        code, out, err = command.model('design', *options)
        self.assertEqual(2, code)
        self.assertIn(words, err)
        self.assertNotIn('Traceback', err)
