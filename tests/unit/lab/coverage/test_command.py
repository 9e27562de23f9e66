# SPDX-License-Identifier: Apache-2.0

import dataclasses

from serifos.facts import workload as wl
from tests.unit.cmd import test_model_commands as commands
from tests.unit import samples


def run(write_pct, block_kib, iodepth, number=1):
    return (wl.Workload(write_pct, block_kib, iodepth),) * number


SMALL = [run(w, s, q) for w in (0, 50, 100) for s in (4, 8) for q in (1, 2)]
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
        self.assertIn('bench covers 27% of tenants', err)
        self.assertEqual(out, self.covers(
            self.benchmark, self.tenants, '-f', 'csv', '--clusters',
            '2')[1])

    def test_a_benchmark_covers_itself(self):
        code, out, err = self.covers(self.benchmark, self.benchmark)
        self.assertEqual((0, ''), (code, out.strip()), err)
        self.assertIn('covers 100%', err)

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
        for words in ('What bench covers', 'log latency_us', 'cluster 1:',
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
        self.refused('A --seed of -1', 'coverage', self.benchmark,
                     self.tenants, '--seed', '-1')
        self.refused('There is no dataset', 'coverage', self.benchmark,
                     self.dir / 'none.jsonl')
        self.refused('p.html cannot be written', 'coverage', self.benchmark,
                     self.tenants, '--page', '/nowhere/p.html')
