# SPDX-License-Identifier: Apache-2.0
"""serifos-sim evaluate: tables, a page, and the same for a seed."""

import json
import re

import ddt
import fixtures
import numpy as np
import testtools

from serifos.facts import dataset
from serifos.facts.workload import Workload
from serifos.files import documents
from serifos.lab.sim import evaluation
from serifos.lab.sim import modeler
from tests.unit.cmd import command

SMALL = ('--cases', 1, '--sets', 10, '--tests', 1)
CHEAP = ('--kind', 'consolidation', '--kind', 'outstanding')


def evaluate(*arguments):
    return command.simulate('evaluate', *arguments)


@ddt.ddt
class EvaluateTest(testtools.TestCase):

    def setUp(self):
        super().setUp()
        self.out = self.useFixture(fixtures.TempDir()).join('made', 'here')

    def read(self, name):
        with open(f'{self.out}/{name}', encoding='utf-8') as file:
            return file.read()

    def test_tables_and_page_and_data(self):
        truths = '--truth', 'other', '--truth', 'paper'
        code, out, err = evaluate(*SMALL, *CHEAP[:2], *truths, '--out',
                                  self.out)
        self.assertEqual((0, 1), (code, err.count('Took ')), err)
        for part in ('Testbed paper', 'Testbed other', 'Table 6', 'Table 7',
                     'algorithm1', 'relieve', 'worst tenant', '-82 %',
                     '24.497', 'AGED', 'the paper '):
            self.assertIn(part, out)
        text = self.read('evaluation.html')
        self.assertEqual({2, 3, 4, 5, 6}, {
            int(n) for n in re.findall(r'Figure (\d)', text)})
        self.assertEqual(9, text.count('<svg'))
        for testbed in ('paper', 'other'):
            self.assertRegex(
                text, r'class="verdict">.*orth it on testbed '
                rf'{testbed}: \w+ brings the slowest host from [\d.]+ to '
                r'[\d.]+ ms in the mean of 1 case')
        self.assertIn('evaluate --cases 1 --seed 0', text)
        doc = json.loads(self.read('evaluation.json'))
        self.assertEqual(evaluation.EVALUATION_SCHEMA, doc['schema'])
        self.assertEqual(['other', 'paper'], doc['settings']['testbeds'])
        self.assertIn(' '.join(truths), text)
        self.assertEqual([1, 1], [len(c) for c in doc['outcomes'].values()])
        for each in doc['balancing']:
            if (each['testbed'], each['kind']) == ('paper', 'consolidation'):
                self.assertTrue(0 < each['reduction']['variance_us2'] <= 1)
        low, middle, high = (round(us) for us in np.percentile(
            doc['residuals_us']['consolidation']['AGED'], (25, 50, 75)))
        self.assertRegex(
            out.partition('Figure 2')[2],
            rf'AGED +consolidation +{low:,} +{middle:,} +{high:,}\b')

    def test_the_kinds_of_a_full_evaluation_can_be_built(self):
        self.assertLessEqual({*evaluation.EvaluationSettings().kinds},
                             {*modeler.KINDS})

    def test_the_papers_kind_predicts_alike_beyond_its_range(self):
        cases = []

        def mapper(title, function, items):
            if title == 'Simulating the cases':
                cases.extend(items)
            return map(function, items)

        evaluation.run(evaluation.EvaluationSettings(
            cases=1, testbeds=('paper',), sets=10, tests=1,
            kinds=('consolidation',)), mapper)
        for model in cases[0].models['consolidation'].values():
            load = model.load([Workload(50, 1024)] * 7)
            self.assertEqual(model.predict(load), model.plan(load))

    def test_99th_percentiles_are_planned_by_in_any_processes(self):
        # Each is 50 times its mean, so that chance has no part in them.
        tails = self.useFixture(fixtures.TempDir()).join('tails.jsonl')
        run = dataset.Sample((Workload(50, 8),), 1.0, seen=({
            'latency_us': 1.0,
            'read_latency_us': 1.0, 'read_p99_us': 50.0,
            'write_latency_us': 1.0, 'write_p99_us': 50.0},))
        documents.write_dataset(
            tails, dataset.Dataset(dataset.Header({}), (run,)))
        options = (*SMALL, '--truth', 'paper', '--kind', 'consolidation',
                   '--predicts', 'write_p99_us', '--tails', tails)
        _, out, _ = evaluate(*options, '--jobs', 1, '-f', 'json')
        doc = json.loads(out)
        _, out, _ = evaluate(*options, '--jobs', 2, '--out', self.out)
        again = json.loads(self.read('evaluation.json'))
        self.assertEqual(doc, {name: again[name] for name in doc})
        self.assertEqual(
            [('placement', 'consolidation'),
             ('algorithm1', 'consolidation'), ('bfd', 'consolidation'),
             ('relieve', 'consolidation')],
            [(each['planner'], each['kind']) for each in doc['balancing']])
        for each in doc['balancing']:
            self.assertTrue(
                0 < each['reduction']['p99_write_variance_us2'] <= 1)
        models = doc['models']['consolidation'].values()
        self.assertEqual({'write_p99_us'}, {m['predicts'] for m in models})
        for model in models:  # 50 times the 22 to 25 us of the mean
            self.assertAlmostEqual(
                50 * 23.5, model['parameters']['5+']['sum_block_kib'],
                delta=50 * 3)
        # The paper's errors are of means and do not stand beside these.
        self.assertIn('mean relative error of write_p99_us', out)
        self.assertNotIn('the paper ', out.partition('Table 7')[2])
        self.assertNotIn('outcomes', doc)

    @ddt.data((('--cases', 0), 'cases of 0'), (('--cases', -5), 'of -5'),
              (('--seed', -1), 'seed of -1'), (('--jobs', 0), 'jobs of 0'),
              (('--sets', 3), '3 sets'), (('--tests', 0), 'tests of 0'),
              (('--tails', '/nowhere.jsonl'), '/nowhere.jsonl'),
              (('--out', '/dev/null/x'), '/dev/null/x'))
    @ddt.unpack
    def test_absurd_options_are_one_sentence(self, options, part):
        code, out, err = evaluate('--truth', 'paper', *options)
        self.assertEqual((2, ''), (code, out), err)
        self.assertIn(part, err)
        self.assertEqual(1, len(err.splitlines()), err)

    @ddt.data(('--truth', 'mine'), ('--kind', 'mars'), ('--cases', 'many'))
    def test_unknown_choices_are_refused(self, options):
        code, _, err = evaluate(*options)
        self.assertEqual(2, code)
        self.assertIn(options[0], err)
