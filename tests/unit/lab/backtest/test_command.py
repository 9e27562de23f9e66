# SPDX-License-Identifier: Apache-2.0
"""serifos-sim backtest: a table, a document and a page."""

import json

from serifos.facts.cluster import Cluster
from serifos.facts.cluster import Volume
from serifos.files import documents
from tests.unit import case
from tests.unit.cmd import command
from tests.unit.lab.backtest import histories


class BacktestTest(case.DirectoryCase):

    def setUp(self):
        super().setUp()
        self.models = histories.models(self.dir / 'models', 'FAST')
        self.week = self.dir / 'week.csv.gz'
        code, _, err = command.simulate(
            'week', '--volumes', 12, '--days', 2, '--step', 1800, '--out',
            self.week)
        self.assertEqual(0, code, err)

    def backtest(self, *arguments):
        return command.simulate('backtest', self.week, '--models',
                                self.models, '--jobs', 1, *arguments)

    def test_tables_and_page_and_data(self):
        out = self.dir / 'out'
        code, text, err = self.backtest(
            '--policy', 'cinder', '--policy', 'bfd:hold=1', '--out', out,
            '--pools', 2)
        self.assertEqual((0, 1), (code, err.count('Took ')), err)
        self.assertNotIn('Migrating', err)
        for part in ('12 volumes, 2 days', 'worst pool, ms', 'bfd:hold=1',
                     'packed, the day known', 'day 2'):
            self.assertIn(part, text)
        page = (out / 'backtest.html').read_text()
        self.assertEqual(4, page.count('<svg'))
        self.assertIn('bfd:hold=1', page)
        self.assertRegex(page, r'(?s)class="verdict">(Worth|Not worth) it: '
                               r'under bfd:hold=1 the worst pool')
        doc = json.loads((out / 'backtest.json').read_text())
        self.assertEqual('serifos-backtest/1', doc['schema'])
        cinder, bfd = doc['policies']
        self.assertEqual((0, 2, 48), (
            cinder['moves'], cinder['pools'], len(cinder['hours'])))
        self.assertGreater(bfd['moves'], 0)
        self.assertGreaterEqual(bfd['next_day'], 0.99)

    def test_json_alone_on_stdout(self):
        code, text, err = self.backtest('-f', 'json', '--days', 1,
                                        '--policy', 'cinder')
        self.assertEqual(0, code, err)
        self.assertEqual(1, len(json.loads(text)['policies']))

    def test_the_pools_of_a_cluster(self):
        pools = histories.pools(3, 4000.0)
        path = self.dir / 'cluster.json'
        documents.write_cluster(path, Cluster(pools, (Volume(
            'volume-00001', pools[2].name, 100.0),)))
        code, text, err = self.backtest(
            '--cluster', path, '--policy', 'stay', '--policy', 'cinder',
            '-f', 'json', '--remove-pool', pools[2].name)
        self.assertEqual(0, code, err)
        self.assertEqual([3, 3, 2, 2], [
            each['pools'] for each in json.loads(text)['policies']])

    def test_errors_are_one_sentence(self):
        for arguments in (('--policy', 'guess'), ('--jobs', 0),
                          ('--cluster', 'nowhere.json'), ('--days', 'nan'),
                          ('--out', '/dev/null/x')):
            code, text, err = self.backtest(*arguments)
            self.assertEqual((2, '', 1), (code, text, len(
                err.splitlines())), err)
        self.week.write_text('no gzip')
        code, _, err = self.backtest()
        self.assertEqual((2, 1), (code, len(err.splitlines())), err)
