# SPDX-License-Identifier: Apache-2.0
"""What a person sees of relate and similar."""

import dataclasses
import json

import ddt

from serifos.facts import dataset
from serifos.facts.workload import Workload
from serifos.files import documents
from serifos.lab.relative import relation
from tests.unit import case
from tests.unit.cmd import command
from tests.unit.model import pairs
from tests.unit import samples

RUNS = pairs.runs(40)
MAIL = [(a[0], b[0]) for a, b in zip(RUNS, RUNS[1:26])]


@ddt.ddt
class RelateTest(case.DirectoryCase):

    def write(self, name, runs=RUNS, law=pairs.latency):
        return samples.write(self.dir / f'{name}.jsonl',
                             pairs.device(name, runs, law))

    def three(self):
        return (self.write('a'), self.write('b', law=lambda w: 60 + w.iodepth),
                self.write('c', law=lambda w: 2 * pairs.latency(w)))

    def test_the_papers_tables(self):
        code, out, err = command.model('relate', *self.three(), '-f', 'json')
        self.assertEqual(0, code, err)
        self.assertIn('40 runs in common', err)
        rows = json.loads(out)
        pairs_of = {row['of'] for row in rows if row['table'] == 'pairs'}
        self.assertEqual(9, len(pairs_of))
        self.assertIn('c to a', pairs_of)
        by = {(row['table'], row['of'], row['technique']): row
              for row in rows}
        self.assertEqual(0, by['pairs', 'a to a', 'SRF']['WC+SO'])
        self.assertIsNone(by['overall', 'all', 'CM']['SO'])
        self.assertGreater(by['overall', 'all', 'CM']['WC'],
                           by['overall', 'all', 'SRF']['WC+SO'])
        self.assertIn(('figures', 'inter_arrival_us', 'ARF'), by)

    def test_a_person_reads_percents(self):
        _, out, _ = command.model('relate', *self.three()[:2])
        self.assertRegex(out, r'overall \| all +\| CM +\| [\d.]+ %')

    def test_a_relation_for_the_balancer(self):
        path = self.dir / 'a-c.json'
        a, _, c = self.three()
        code, _, err = command.model('relate', a, c, '--out', path)
        self.assertEqual(0, code, err)
        self.assertIn('The relation from a to c', err)
        its = documents.read_document(
            path, 'relation', relation.RELATION_SCHEMA,
            relation.Relation.from_json)
        seen = Workload(30, 16, iops=2000, latency_us=4000)
        self.assertAlmostEqual(2, its.factor('latency_us', seen))
        self.assertEqual({'model': 'a'}, its.source)
        self.assertEqual(40, its.runs)

    def test_show_prints_a_relation(self):
        path = self.dir / 'a-c.json'
        slower = self.write('c', law=lambda w: (
            3 if w.write_pct > 50 else 1) * pairs.latency(w))
        command.model('relate', self.write('a'), slower, '--out', path)
        code, out, err = command.model('show', path)
        self.assertEqual((0, ''), (code, err))
        self.assertRegex(out, r'\| from +\| model a ')
        self.assertRegex(out, r'\| latency_us_error +\| [\d.]+ % ')
        text = ' '.join(out.replace('|', ' ').split())
        self.assertRegex(text, r'to / from: (3|1) write_pct')
        code, out, err = command.model('show', path, '-f', 'json')
        doc = json.loads(out)
        self.assertEqual((40, 'c'), (doc['runs'], doc['to']['model']))
        self.assertEqual({1.0, 3.0}, {round(end) for name, ends in doc.items()
                                      if name.startswith('latency_us, to')
                                      for end in ends})

    def test_a_workload_that_the_trees_were_not_fitted_on(self):
        a, _, c = self.three()
        others = [self.write(
            f'mail-{name}', MAIL, lambda w, by=by: by * pairs.latency(w))
            for name, by in (('a', 1), ('c', 2))]
        code, _, err = command.model(
            'relate', a, c, '--test', *others)
        self.assertEqual(2, code)
        self.assertIn('mail-a is of another device than the dataset in its '
                      'place (model a and mail-a)', err)
        for path, name in zip(others, 'ac'):
            path.write_text(path.read_text().replace(f'mail-{name}', name))
        page = self.dir / 'page.html'
        code, out, err = command.model(
            'relate', a, c, '--test', *others, '--page', page, '-f', 'json')
        self.assertEqual(0, code, err)
        self.assertIn('25 runs to test', err)
        rows = {(row['of'], row['technique']): row
                for row in json.loads(out) if row['table'] == 'test iops'}
        self.assertEqual(6, len(rows))
        self.assertGreater(rows['a to c', 'CM']['WC'],
                           rows['a to c', 'SRF']['WC+SO'])
        self.assertLess(rows['a to c', 'SRF']['WC+SO'], 0.2)
        text = page.read_text()
        for words in ('On runs of the other sort the IOPS are off by',
                      'Another sort of workload', 'Figure 3', 'Figure 4',
                      'where a shows', 'Table 4', 'Predicted distributions'):
            self.assertIn(words, text)

    def test_a_page_without_a_test(self):
        page = self.dir / 'page.html'
        code, _, err = command.model(
            'relate', *self.three()[:2], '--page', page)
        self.assertEqual(0, code, err)
        self.assertIn(f'The page is {page}', err)
        text = page.read_text()
        self.assertIn('Relative fitness of a, b', text)
        self.assertNotIn('Another sort', text)

    def test_the_best_round_of_each_run(self):
        first, second = (self.two_rounds(name, by)
                         for name, by in (('a', 1), ('b', 2)))
        rows = [json.loads(command.model(
            'relate', first, second, '-f', 'json', *options)[1])
            for options in ([], ['--best'])]
        self.assertNotEqual(*rows)

    def two_rounds(self, name, by):
        """The first round is quicker by a tenth for every other run."""
        slow = pairs.device(name, RUNS, lambda w: by * pairs.latency(w),
                            (2,), 2)
        quick = pairs.device(name, RUNS, lambda w: by * pairs.latency(w) * (
            0.9 if w.write_pct % 2 else 1.1))
        return samples.write(self.dir / f'{name}.jsonl', dataclasses.replace(
            slow, samples=quick.samples + slow.samples))

    @ddt.data(
        (['a'], 'Only one dataset'), (['a', 'a'], 'given twice'),
        (['a', 'lacking'], 'There is no dataset'),
        (['a', 'other'], 'a and other have 0 runs in common, and 20 are'),
        (['a', 'b', 'c', '--out', 'x'], 'give two datasets with --out'),
        (['a', 'b', '--test', 'c'], '--test has 1 datasets for 2 devices'),
        (['a', 'b', '--seed', '-1'], '--seed of -1'))
    @ddt.unpack
    def test_bad_input_is_one_sentence(self, arguments, words):
        self.three()
        self.write('other', pairs.runs(40, seed=5))
        code, _, err = command.model('relate', *(
            self.dir / f'{word}.jsonl' if word.isalpha() else word
            for word in arguments))
        self.assertEqual(2, code)
        self.assertIn(words, err)
        self.assertNotIn('Traceback', err)

    def cached(self, name, by):
        """The device sees more writes where the workload makes more."""
        made = pairs.device(name, RUNS)
        return samples.write(self.dir / f'{name}.jsonl', dataset.Dataset(
            dataclasses.replace(made.header, device={
                'model': name, dataset.PAGE_CACHE: 100.0}),
            tuple(dataclasses.replace(sample, seen=({
                **sample.seen[0], **pairs.CACHED,
                'device_write_iops': 1 + by * run[0].write_pct},))
                for run, sample in zip(RUNS, made.samples))))

    def test_behind_a_page_cache_requests_of_the_device_are_related(self):
        code, out, err = command.model(
            'relate', self.cached('a', 1), self.cached('b', 3), '-f', 'json')
        self.assertEqual(0, code, err)
        by = {(row['of'], row['technique']): row for row in json.loads(out)}
        # Its latency is the same in all runs, which the workloads' is not.
        self.assertEqual(0, by['latency_us', 'CM']['WC'])
        self.assertLess(0, by['iops', 'CM']['WC'])

    @ddt.data(('fit', 'a', '--out', 'x.json'), ('similar', 'a', 'b'),
              ('relate', 'a', 'b', '--out', 'x.json'),
              ('compare-kinds', 'a'), ('study', 'a'))
    def test_what_passed_the_page_cache_is_no_model_of_a_device(self, words):
        self.cached('a', 1), self.cached('b', 3)
        code, out, err = command.model(*(
            self.dir / f'{word}.jsonl' if len(word) == 1
            else self.dir / word if word == 'x.json' else word
            for word in words))
        self.assertEqual((2, '', 1), (code, out, len(err.splitlines())), err)
        self.assertIn('passed the page cache', err)
        self.assertFalse((self.dir / 'x.json').exists())

    def test_runs_that_are_fitted_to_are_no_test(self):
        a, b, *_ = self.three()
        code, out, err = command.model('relate', a, b, '--test', a, b)
        self.assertEqual((2, '', 1), (code, out, len(err.splitlines())), err)
        self.assertIn('are fitted to as well, so that they test nothing', err)

    def test_what_similar_prints_is_for_people(self):
        _, out, _ = command.model(
            'similar', self.write('a'), self.write('same', RUNS[:20]))
        self.assertIn('| yes ', out)
        self.assertNotIn('True', out)

    def test_similar_says_what_build_is_saved(self):
        same = self.write('same', RUNS[:20])
        code, out, err = command.model(
            'similar', self.write('a'), same, '-f', 'json')
        self.assertEqual(0, code, err)
        row, = json.loads(out)
        self.assertEqual((True, 0, 0.4, 0.2, 20), tuple(
            row[name] for name in ('alike', 'error', 'build_hours',
                                   'left_hours', 'runs')))
        self.assertIn('same may share the model of a; its build of 0.40 h '
                      'is saved, 0.20 h of which', err)

    def test_similar_devices_are_not_all(self):
        _, out, err = command.model('similar', *self.three(), '-f', 'json')
        self.assertEqual([False] * 3, [r['alike'] for r in json.loads(out)])
        self.assertNotIn('may share', err)

    @ddt.data('0', '1', 'nan')
    def test_an_absurd_bound(self, within):
        code, _, err = command.model(
            'similar', *self.three(), '--within', within)
        self.assertEqual(2, code)
        self.assertIn('--within', err)
