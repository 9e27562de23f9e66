# SPDX-License-Identifier: Apache-2.0
"""serifos-model compare-kinds: a table, a page, resumed, never all lost."""

import dataclasses
import json

import ddt
import fixtures

from serifos.design import d_optimal
from serifos.files import documents
from serifos.lab.tuning import search
from tests.unit import case
from tests.unit.cmd import command
from tests.unit.model import fake
from tests.unit import samples


@ddt.ddt
class CompareKindsTest(case.DirectoryCase):

    def setUp(self):
        super().setUp()
        self.useFixture(fake.Kind())
        self.dataset = self.dir / 'd.jsonl'
        self.journal = self.dir / 'd.compare.jsonl'
        dataset = samples.dataset(d_optimal.runs(50), fake.truth)
        samples.write(self.dataset, dataset)

    def compare(self, *options, kinds=('power', 'outstanding'), sets=()):
        named = [part for kind in kinds for part in ('--kind', kind)]
        return command.model(
            'compare-kinds', self.dataset, *sets, *named, '--jobs', 1,
            '--iterations', 2, *options)

    def rows(self, *options, **kinds):
        code, out, err = self.compare(*options, '-f', 'json', **kinds)
        self.assertEqual(0, code, err)
        return json.loads(out), err

    def test_standard_against_tuned(self):
        (standard, tuned, linear), _ = self.rows()
        self.assertEqual(
            [('power', 'standard'), ('power', 'tuned'),
             ('outstanding', 'standard')],
            [(row['kind'], row['settings'])
             for row in (standard, tuned, linear)])
        self.assertAlmostEqual(1.25, tuned['values']['power'], delta=0.06)
        for part in ('interpolation', 'small_blocks', 'large_blocks',
                     'high_counts'):
            self.assertLess(tuned[part], standard[part] / 3)
        self.assertLess(tuned['change'], -0.7)
        self.assertLess(tuned['p_of_tuning'], 0.1)
        self.assertIsNone(tuned['p_of_best'])
        self.assertGreater(tuned['r2'], 0.99)

    def test_a_person_reads_percent(self):
        code, out, _ = self.compare()
        self.assertEqual(0, code)
        self.assertRegex(out, r'power +\| tuned +\| latency_us +\| 0\.99')
        self.assertRegex(out, r'-\d\d\.\d %.* power 1\.2')

    def test_every_kind_is_compared_where_none_is_named(self):
        rows, _ = self.rows('--no-tune', kinds=())
        kinds = [row['kind'] for row in rows]
        self.assertEqual(len(set(kinds)), len(kinds))
        self.assertLessEqual({'consolidation', 'outstanding', 'power'},
                             set(kinds))
        self.assertFalse(self.journal.exists())

    def test_the_page_has_the_figures(self):
        page = self.dir / 'p.html'
        self.rows('--page', page)
        text = page.read_text()
        self.assertEqual(5, text.count('<svg'))
        for part in ('Goodness of fit', 'Interpolation', 'small blocks',
                     'large blocks', 'more workloads', 'distribution',
                     'The effect of tuning', 'Which kinds differ',
                     'power, tuned', 'The settings', 'The runs',
                     f'Measured on {samples.HEADER.host}'):
            self.assertIn(part, text)
        self.assertRegex(text, r'class="verdict">\w.* predicts latency best: '
                         r'\w.*: .* % error, \d+ runs\.')

    def test_several_figures_and_their_mean(self):
        rows, _ = self.rows(
            '--no-tune', '--predicts', 'latency_us', '--predicts',
            'request_latency_us', kinds=('outstanding',))
        self.assertEqual(['latency_us', 'request_latency_us', 'mean'],
                         [row['predicts'] for row in rows])

    def written(self, name, runs, truth=fake.truth, **header):
        return samples.write(self.dir / name, samples.dataset(
            runs, truth, dataclasses.replace(samples.HEADER, **header)))

    def test_several_datasets_and_their_mean(self):
        other = self.written('e.jsonl', d_optimal.runs(40), host='node2')
        page = self.dir / 'p.html'
        rows, _ = self.rows('--page', page, sets=[other])
        names = ['d', 'e']
        self.assertEqual([name for name in (*names, 'mean')
                          for _ in range(3)], [row['dataset'] for row in rows])
        for row, one, another in zip(rows[6:], rows, rows[3:]):
            self.assertAlmostEqual(
                (one['interpolation'] + another['interpolation']) / 2,
                row['interpolation'])
        self.assertEqual(self.rows()[0], [
            {name: value for name, value in row.items() if name != 'dataset'}
            for row in rows[:3]])
        self.assertTrue((self.dir / 'e.compare.jsonl').exists())
        text = page.read_text()
        self.assertIn('in the mean of the datasets.', text)
        self.assertIn(f'{names[1]}: latency_us', text)

    def test_runs_to_test_on_are_of_their_device(self):
        other = self.written('e.jsonl', d_optimal.runs(40), host='node2')
        runs = d_optimal.runs(20, seed=1)
        tests = [part for name, factor, host in (
            ('s.jsonl', 1e-3, 'node2'), ('t.jsonl', 1e3, 'node1'))
            for part in ('--test', self.written(
                name, runs, lambda run, by=factor: by * fake.truth(run),
                host=host))]
        page = self.dir / 'p.html'
        rows, _ = self.rows('--no-tune', '--held-out', 0, *tests, '--page',
                            page, kinds=('power',), sets=[other])
        self.assertEqual(['dataset', 'kind', 'settings', 'predicts', 'r2',
                          'other_runs'], [*rows[0]][:6])
        self.assertNotIn('interpolation', rows[0])
        first, second, mean = (row['other_runs'] for row in rows)
        self.assertLess(first, 1)
        self.assertGreater(second, 100)
        self.assertAlmostEqual((first + second) / 2, mean)
        self.assertIn('Other runs', page.read_text())

    def test_nothing_would_be_tested(self):
        code, out, err = self.compare('--no-tune', '--held-out', 0)
        self.assertEqual((2, ''), (code, out))
        self.assertIn('is tested with --held-out 0; give runs', err)

    def test_how_far_repeated_runs_are_apart(self):
        page = self.dir / 'p.html'
        once = documents.read_dataset(self.dataset)
        samples.write(self.dataset, dataclasses.replace(
            once, samples=once.samples + tuple(
                dataclasses.replace(run, round=2) for run in once.samples)))
        _, err = self.rows('--no-tune', '--page', page)
        self.assertIn('latency_us of 50 configurations was measured more '
                      'than once; the relative standard error of its mean '
                      'is ', err)
        text = page.read_text()
        for words in ('Repeated runs', 'the paper&#39;s mean',
                      'the configurations of the largest errors'):
            self.assertIn(words, text)

    def test_runs_of_another_dataset(self):
        runs = [run for run in d_optimal.runs(50, seed=1) if len(run) == 2]
        path, page = self.dir / 'two.jsonl', self.dir / 'p.html'
        samples.write(path, samples.dataset(
            runs, lambda run: 3 * fake.truth(run)))
        alone, _ = self.rows('--no-tune')
        rows, _ = self.rows('--no-tune', '--test', path, '--page', page)
        for was, row in zip(alone, rows, strict=True):
            self.assertEqual(was, {name: value for name, value in row.items()
                                   if name != 'other_runs'})
        self.assertAlmostEqual(2 / 3, rows[0]['other_runs'], delta=0.2)
        self.assertIn('Other runs', page.read_text())

    def test_runs_of_one_workload_on_several_volumes(self):
        """Each of two volumes has half of the requests outstanding."""
        path = self.dir / 'two.jsonl'
        one = [run for run in d_optimal.runs(50, seed=1) if len(run) == 1]
        halves = [[dataclasses.replace(w, iodepth=w.iodepth / 2)] * 2
                  for w, in one]
        found = []
        for runs in one, halves:
            samples.write(path, samples.dataset(runs, lambda run: fake.truth(
                [dataclasses.replace(run[0], iodepth=sum(
                    w.iodepth for w in run))])))
            found.append(self.rows('--no-tune', '--test', path,
                                   '--test-as-one', kinds=('power',))[0])
        self.assertEqual(*found)

    def test_as_one_is_of_runs_to_test_on(self):
        code, out, err = self.compare('--no-tune', '--test-as-one')
        self.assertEqual((2, ''), (code, out))
        self.assertIn('--test-as-one is of the runs of --test', err)

    def test_unlike_workloads_are_not_one(self):
        code, out, err = self.compare('--no-tune', '--test', self.dataset,
                                      '--test-as-one')
        self.assertEqual((2, '', 1), (code, out, len(err.splitlines())))
        self.assertIn('is not one workload on several volumes', err)

    def test_runs_that_are_fitted_to_are_no_test(self):
        for path in self.dataset, self.dir / 'some.jsonl':
            if path != self.dataset:
                found = documents.read_dataset(self.dataset)
                samples.write(path, dataclasses.replace(
                    found, samples=found.samples[:3]))
            code, out, err = self.compare('--no-tune', '--test', path)
            self.assertEqual((2, '', 1), (code, out, len(err.splitlines())))
            self.assertIn('are fitted to as well, so that they test nothing',
                          err)

    def test_other_runs_are_of_the_same_device(self):
        path = self.dir / 'other.jsonl'
        samples.write(path, samples.dataset(
            d_optimal.runs(20), fake.truth, dataclasses.replace(
                samples.HEADER, host='node2')))
        code, out, err = self.compare('--no-tune', '--test', path)
        self.assertEqual((2, ''), (code, out))
        self.assertIn('not of the same device (host node1 and node2)', err)

    def test_what_was_evaluated_is_not_evaluated_again(self):
        first, _ = self.rows()
        kept = self.journal.read_text()
        self.useFixture(fixtures.MonkeyPatch(
            'serifos.lab.tuning.search.cost',
            lambda *args: self.fail('evaluated again')))
        self.assertEqual(first, self.rows()[0])
        self.assertEqual(kept, self.journal.read_text())

    def test_ctrl_c_resumes(self):
        was = []

        def cut(*args):
            was.append(args)
            if len(was) == 7:
                raise KeyboardInterrupt
            return cost(*args)
        cost = search.cost
        patch = fixtures.MonkeyPatch('serifos.lab.tuning.search.cost', cut)
        with patch:
            code, out, err = self.compare()
        self.assertEqual((130, ''), (code, out))
        self.assertIn('d.compare.jsonl, and the same command resumes', err)
        self.assertEqual(7, len(self.journal.read_text().splitlines()))
        self.rows()

    def test_ctrl_c_without_a_search(self):
        def cut(*args):
            raise KeyboardInterrupt
        self.useFixture(fixtures.MonkeyPatch(
            'serifos.lab.compare.compare.judge', cut))
        code, _, err = self.compare('--no-tune')
        self.assertEqual(130, code)
        self.assertIn('nothing was kept', err)
        self.assertFalse(self.journal.exists())

    def test_another_division_of_the_runs_is_another_search(self):
        self.rows()
        code, _, err = self.compare('--held-out', 0.3)
        self.assertEqual(2, code)
        self.assertIn('another part', err)

    def test_a_kind_that_cannot_be_fitted_is_named(self):
        self.useFixture(fake.Failing())
        page = self.dir / 'p.html'
        rows, err = self.rows('--no-tune', '--page', page,
                              kinds=('failing', 'power'))
        self.assertEqual(['power'], [row['kind'] for row in rows])
        self.assertIn('failing was not compared for latency_us: these runs '
                      'are not for me', err)
        self.assertIn('these runs are not for me', page.read_text())

    def test_none_can_be_fitted(self):
        self.useFixture(fake.Failing())
        code, _, err = self.compare(kinds=('failing',))
        self.assertEqual(2, code)
        self.assertIn('No kind can be fitted', err)

    @ddt.data(('--held-out', 0.9), ('--seed', -1), ('--jobs', 0),
              ('--iterations', 0), ('--splits', 0), ('--least-gain', 2),
              ('--page', '/nowhere/p.html'),
              ('--predicts', 'read_p99_us'))
    def test_absurd_options_are_one_sentence(self, options):
        code, out, err = self.compare(*options)
        self.assertEqual((2, ''), (code, out))
        self.assertEqual(1, len(err.splitlines()), err)
        self.assertFalse(self.journal.exists())

    def test_too_few_runs(self):
        lines = self.dataset.read_text().splitlines(True)
        self.dataset.write_text(''.join(lines[:15]))
        code, _, err = self.compare()
        self.assertEqual(2, code)
        self.assertIn('needs 20: measure more', err)
