# SPDX-License-Identifier: Apache-2.0

import collections
import itertools
import json

import ddt
from hypothesis import given
from hypothesis import strategies
import testtools

from serifos.design import design
from serifos.design import full
from serifos import errors
from tests.unit.cmd import command
from tests.unit.papers import golden


@ddt.ddt
class CombinationsTest(testtools.TestCase):

    @ddt.data(1, 2, 3, 4, 5)
    def test_counts_are_the_papers(self, count):
        expected = golden.SERIFOS['combination_counts'][str(count)]
        self.assertEqual(
            expected, full.number(full.TRAINING, count))

    def test_sets_are_as_many_as_the_arithmetic_says(self):
        made = collections.Counter(
            len(run) for run in full.sets(full.TRAINING))
        self.assertEqual(golden.SERIFOS['combination_counts']['total'],
                         made.total())
        self.assertEqual(
            [12, 78, 364, 1365, 4368], [made[n] for n in range(1, 6)])

    def test_the_1120_settings_of_noorshams(self):
        """Table 1 of their paper, as design --study counts it."""
        code, out, err = command.model(
            'design', '--study', '--full', '-f', 'json',
            '--write-pcts', '0,25,30,50,70,75,100',
            '--block-kibs', '4,8,12,16,20,24,28,32',
            '--random-pcts', '0,100', '--iodepths', '100',
            '--file-set-gibs', '1,25,50,75,100', '--schedulers', 'bfq,none')
        self.assertEqual(0, code, err)
        self.assertEqual(golden.REGRESSION['configurations']['all'],
                         json.loads(out)[-1]['sets'])

    def test_the_total_has_no_seconds(self):
        for form, said in (('table', ' – '), ('csv', '"total",80,1,'),
                           ('value', 'total 80 1 – ')):
            code, out, err = command.model('design', '-f', form)
            self.assertEqual(0, code, err)
            self.assertIn(said, out)
            self.assertNotIn('None', out)

    def test_a_study_has_as_many_runs_as_study_makes(self):
        for options, sets in (((), 40), (('--runs', '30'), 30),
                              (('--full',), 660),
                              (('--full', '--counts', '2'), 4356),
                              (('--counts', '1,2'), 80)):
            code, out, err = command.model(
                'design', '--study', '-f', 'json', *options)
            self.assertEqual((0, ''), (code, err))
            self.assertEqual(sets, json.loads(out)[-1]['sets'], options)
        code, _, err = command.model('design', '--study', '--tests', '3')
        self.assertEqual(2, code)
        self.assertIn('--tests is not of a study', err)

    def test_conditions_are_of_a_study(self):
        code, _, err = command.model('design', '--schedulers', 'bfq,none')
        self.assertEqual(2, code)
        self.assertIn('give --study', err)

    def test_study_has_the_papers_660_patterns(self):
        runs = list(full.sets(full.STUDY))
        self.assertEqual(
            golden.SERIFOS['device_model_vectors']['patterns'], len(runs))
        self.assertEqual(660, len(set(runs)))

    @given(strategies.sets(strategies.integers(0, 100), min_size=1,
                           max_size=3),
           strategies.integers(1, 3))
    def test_every_order_of_the_product_is_there_once(self, pcts, count):
        space = design.Space(tuple(pcts), (4, 8), (count,))
        runs = list(full.sets(space))
        product = {tuple(sorted(run, key=lambda w: w.pattern)) for run in
                   itertools.product(space.patterns, repeat=count)}
        self.assertEqual(product, set(runs))
        self.assertEqual(len(product), len(runs))
        self.assertEqual(full.number(space, count), len(runs))

    @ddt.data(
        ({'write_pcts': ()}, 'at least one write_pct'),
        ({'write_pcts': (101,)}, 'write_pct 101'),
        ({'write_pcts': (float('nan'),)}, 'write_pct nan'),
        ({'write_pcts': (0.5,)}, 'write_pct of 0.5; give a whole'),
        ({'random_pcts': (99.9,)}, 'random_pct of 99.9'),
        ({'block_kibs': (0,)}, 'block_kib 0'),
        ({'iodepths': (0,)}, 'iodepth 0'),
        ({'counts': (65,)}, 'count 65'))
    @ddt.unpack
    def test_an_absurd_space_is_refused(self, change, words):
        space = {'write_pcts': (50,), 'block_kibs': (4,), 'counts': (1,)}
        exc = self.assertRaises(
            errors.InputError, lambda: design.Space(**(space | change)))
        self.assertIn(words, str(exc))
