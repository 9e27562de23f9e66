# SPDX-License-Identifier: Apache-2.0

import dataclasses
import json

from serifos.facts.workload import Workload
from tests.unit.cmd import test_model_commands as commands
from tests.unit import samples


def run(write_pct, block_kib, iodepth, number=1):
    return (Workload(write_pct, block_kib, iodepth),) * number


SMALL = [run(w, s, q) for w in (0, 50, 100) for s in (4, 8)
         for q in (1, 2, 3, 4)]
LARGE = [run(w, s, q, 4) for w in (0, 50) for s in (512, 1024)
         for q in (32, 64)]


class CoverageTest(commands.ModelCase):

    def written(self, name, runs, header=samples.HEADER):
        return samples.write(
            self.dir / f'{name}.jsonl', samples.dataset(
                runs, lambda r: 100. + sum(
                    w.block_kib * w.iodepth for w in r), header))

    def setUp(self):
        super().setUp()
        self.benchmark = self.written('bench', SMALL)
        self.tenants = self.written('tenants', SMALL[:3] + LARGE)

    def covers(self, *arguments):
        from tests.unit.cmd import command
        return command.model('coverage', *arguments)

    def test_the_runs_that_are_not_covered_and_what_is_near(self):
        code, out, err = self.covers(self.benchmark, self.tenants, '-f',
                                     'csv', '--clusters', '2')
        self.assertEqual(0, code, err)
        header, *lines = out.splitlines()
        self.assertIn('nearest_covered', header)
        self.assertEqual(8, len(lines), out)
        self.assertTrue(all('512:' in line or '1024:' in line
                            for line in lines))
        self.assertIn('0:512:32:100 4x', out)
        self.assertIn('bench covers 27 % of tenants', err)
        self.assertEqual(out, self.covers(
            self.benchmark, self.tenants, '-f', 'csv', '--clusters',
            '2')[1])

    def test_a_thin_benchmark_does_not_reach_far(self):
        page = self.dir / 'p.html'
        for number, words in ((1, '1 run is'),
                              (12, '12 different runs are')):
            thin = self.written('thin', SMALL[:number] * 2)
            code, _, err = self.covers(thin, self.tenants, '--page', page)
            self.assertEqual(0, code, err)
            self.assertRegex(err, r'thin covers at most \d+ % of tenants, by '
                             f'cluster only: {words} too few for '
                             'distances .*; give one of 20 or more, or '
                             '--distance.')
            self.assertNotIn('by distance', err)
            self.assertRegex(err, r'reads: at most \d+ % covered')
            self.assertRegex(page.read_text(),
                             r'gaps: at least \d+ % of tenants')
        self.assertIn('% by distance', self.covers(
            thin, self.tenants, '--distance', '1')[2])
        code, out, err = self.covers(thin, thin)
        self.assertIn('thin covers every run of thin.', err)

    def test_a_thin_benchmark_covers_nothing_for_sure(self):
        page, thin = self.dir / 'p.html', self.written('thin', SMALL[:12])
        near = self.written('near', [run(r[0].write_pct + 5, 4, 2)
                                     for r in SMALL[:12]])
        code, _, err = self.covers(thin, near, '--page', page, '--clusters',
                                   '2')
        self.assertEqual(0, code, err)
        self.assertIn('thin covers at most 100 % of near', err)
        text = page.read_text()
        for words in ('class="verdict">Not decided: 12 different',
                      'at most 100 %', 'No run for certain: 12 different'):
            self.assertIn(words, text)
        self.assertNotIn('Every run is covered', text)

    def test_a_benchmark_covers_itself(self):
        code, out, err = self.covers(self.benchmark, self.benchmark)
        self.assertEqual((0, ''), (code, out), err)
        self.assertIn('bench covers every run of bench.', err)

    def test_programs_get_a_header_though_all_is_covered(self):
        out = self.covers(self.benchmark, self.benchmark, '-f', 'csv')[1]
        self.assertEqual(1, len(out.splitlines()))
        self.assertEqual('[]', self.covers(
            self.benchmark, self.benchmark, '-f', 'json')[1].strip())

    def test_one_depth_covers_neither_other_depths_nor_think_times(self):
        study = self.written('study', [
            run(w, s, 8) for w in (0, 25, 50, 75, 100)
            for s in (4, 8, 16, 32, 64)])
        deep = [run(w, 16, q) for w in (0, 50, 100) for q in (1, 2, 8)]
        thinks = [(dataclasses.replace(r[0], think_time_us=5000.0),)
                  for r in deep]
        tenants = self.written('tenants', deep + thinks)
        code, out, err = self.covers(study, tenants, '-f', 'csv')
        self.assertEqual(0, code, err)
        self.assertIn('study covers 17 % of tenants', err)
        self.assertIn('0:16:1:100:5000', out)
        self.assertIn(' by cluster, 17 % by distance', err)
        self.assertIn('100 % by distance (up to 99 ', self.covers(
            study, tenants, '--distance', '99')[2])

    def test_reads_and_writes_apart(self):
        reads = self.written('reads', [
            run(0, s, q) for s in (4, 8, 16, 32) for q in (1, 2, 4, 8, 16)])
        err = self.covers(reads, self.tenants)[2]
        self.assertIn('writes: 0 % covered, for the benchmark has none.', err)
        self.assertRegex(err, r'reads: \d+ % covered')

    def test_predict_takes_what_is_printed(self):
        from tests.unit.cmd import command
        thinks = [(dataclasses.replace(r[0], think_time_us=500.0),) * 2
                  for r in SMALL]
        out = self.covers(self.benchmark, self.written('thinks', thinks),
                          '-f', 'json')[1]
        model = self.dir / 'm.json'
        command.model('fit', self.benchmark, '--kind', 'outstanding',
                      '--out', model)
        rows = json.loads(out)
        self.assertEqual(len(thinks), len(rows))
        for row in rows:
            one, twice = row['run'].split()
            self.assertEqual('2x', twice)
            code, _, err = command.model('predict', model, '-w', one,
                                         '-w', one)
            self.assertEqual(0, code, err)

    def test_of_two_devices_the_latency_plays_no_role(self):
        other = self.written('other', LARGE, dataclasses.replace(
            samples.HEADER, host='node2'))
        page = self.dir / 'p.html'
        self.assertEqual(0, self.covers(
            self.benchmark, other, '--page', page)[0])
        self.assertNotIn('log latency_us', page.read_text())

    def test_the_page(self):
        page = self.dir / 'p.html'
        self.covers(self.benchmark, self.tenants, '--page', page)
        text = page.read_text()
        self.assertEqual(2, text.count('<svg'))
        for words in ('Coverage by bench', 'log latency_us', 'cluster 1:',
                      'Not covered', 'bench leaves gaps: 73 % of tenants',
                      'latency, ms', f'on {samples.HEADER.host}'):
            self.assertIn(words, text)

    def test_quiet_is_quiet(self):
        from tests.unit.cmd import command
        page = self.dir / 'p.html'
        self.assertEqual((0, '', ''), command.model(
            '-q', 'coverage', self.benchmark, self.tenants, '--page', page))
        self.assertTrue(page.exists())

    def test_the_page_of_what_is_covered(self):
        page = self.dir / 'p.html'
        same = self.written('same', SMALL)
        self.covers(self.benchmark, same, '--page', page)
        self.assertIn('class="verdict">bench covers all of same: ',
                      page.read_text())

    def test_bad_arguments(self):
        self.refused('Only a benchmark', 'coverage', self.benchmark)
        self.refused('give 2 to', 'coverage', self.benchmark, self.tenants,
                     '--clusters', '1')
        self.refused('A --distance of -1', 'coverage', self.benchmark,
                     self.tenants, '--distance', '-1')
        self.refused('A --seed of -1', 'coverage', self.benchmark,
                     self.tenants, '--seed', '-1')
        self.refused('There is no dataset', 'coverage', self.benchmark,
                     self.dir / 'none.jsonl')
        self.refused('p.html cannot be written', 'coverage', self.benchmark,
                     self.tenants, '--page', '/nowhere/p.html')
