# SPDX-License-Identifier: Apache-2.0

import json

import ddt

from serifos.facts.dataset import Dataset
from serifos.facts.dataset import Sample
from serifos.facts.workload import Workload
from tests.unit.cmd import command
from tests.unit.cmd import test_model_commands as commands
from tests.unit import samples


@ddt.ddt
class SpreadTest(commands.ModelCase):

    def written(self, *rounds):
        """The read and write latencies, µs, of a run made in each round."""
        return samples.write(self.dir / 'r.jsonl', Dataset(
            samples.HEADER, tuple(
                Sample((Workload(50.0, 16.0),), 100.0, round=i,
                       seen=(seen,))
                for i, seen in enumerate(rounds, 1))))

    def repeated(self, *reads):
        return self.written(*(
            {'read_latency_us': float(us), 'write_latency_us': 50.0}
            for us in reads))

    def test_the_table(self):
        code, found = self.run_json('spread', self.repeated(90, 100, 110))
        self.assertEqual(0, code)
        self.assertEqual(
            [('read_latency_us', 1, 3), ('write_latency_us', 1, 3),
             ('latency_us', 1, 3)],
            [(row['figure'], row['configurations'], row['runs'])
             for row in found])
        for name in ('mean', 'median', 'p90'):
            self.assertAlmostEqual(0.057735, found[0][name], 6)
            self.assertEqual(0, found[1][name])

    def test_people_read_percent(self):
        _, out, err = command.model('spread', self.repeated(90, 100, 110))
        self.assertEqual('', err)
        self.assertRegex(out, r'read_latency_us +\| +1 \| +3 \| 5\.77 %')

    def test_a_dataset_that_tells_reads_and_writes_not_apart(self):
        _, found = self.run_json('spread', self.written({}, {}))
        self.assertEqual(['latency_us'], [row['figure'] for row in found])

    @ddt.data(
        ((99, 101), 'sure to 1 % for reads and 0 % for writes', 'at least as '
         'stable as'),
        ((80, 120), 'sure to 20 % for reads', 'less stable than the '
         'paper&#39;s runs, 8.45 % for reads: measure longer'))
    @ddt.unpack
    def test_the_page(self, reads, sure, judged):
        page = self.dir / 'p.html'
        code, _, err = command.model(
            'spread', self.repeated(*reads), '--page', page)
        self.assertEqual(0, code, err)
        self.assertIn(str(page), err)
        text = page.read_text()
        verdict, = (line for line in text.splitlines() if 'verdict' in line
                    and '<p' in line)
        self.assertIn(sure, verdict)
        self.assertIn(judged, verdict)
        for words in ('50:16:8:100', '8.45 %', '<svg', 'node1'):
            self.assertIn(words, text)

    def test_the_page_of_what_is_not_told_apart(self):
        page = self.dir / 'p.html'
        command.model('spread', self.written({}, {}), '--page', page)
        self.assertIn('Reads and writes were not measured apart.',
                      page.read_text())

    def test_nothing_was_measured_twice(self):
        self.refused('was measured twice; make its runs more than once, as '
                     'by --rounds 2.', 'spread', self.dataset)
        self.refused('was measured twice', 'spread', self.dataset, '--page',
                     self.dir / 'p.html')

    def test_a_dataset_without_runs(self):
        self.dataset.write_text(json.dumps(samples.HEADER.to_json()) + '\n')
        self.refused('', 'spread', self.dataset)

    def test_bad_arguments(self):
        self.refused('There is no dataset', 'spread', self.dir / 'no.jsonl')
        self.refused('p.html cannot be written', 'spread',
                     self.repeated(99, 101), '--page', '/nowhere/p.html')
        self.dataset.write_text('{"schema": "serifos-cluster/1"}\n')
        self.refused('is a cluster (serifos-cluster/1), not a dataset',
                     'spread', self.dataset)
