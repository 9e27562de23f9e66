# SPDX-License-Identifier: Apache-2.0
"""serifos-sim backtest: tables and a document."""

import json

from serifos.facts.cluster import Cluster
from serifos.facts.cluster import Volume
from serifos.files import documents
from tests.unit import case
from tests.unit.cmd import command
from tests.unit.lab.backtest import histories
from tools.bench import weeks


class BacktestTest(case.DirectoryCase):

    def setUp(self):
        super().setUp()
        self.models = histories.models(self.dir / 'models', 'FAST')
        self.week = self.dir / 'week.csv.gz'
        weeks.write(self.week, *weeks.drawn(weeks.Week(12, 2, 1800)))

    def backtest(self, *arguments):
        return command.simulate('backtest', self.week, '--models',
                                self.models, '--jobs', 1, *arguments)

    def test_tables(self):
        code, text, err = self.backtest(
            '--policy', 'cinder', '--policy', 'stay', '--pools', 2)
        self.assertEqual((0, 1), (code, err.count('Took ')), err)
        self.assertNotIn('Migrating', err)
        for part in ('12 volumes, 2 days', 'worst pool, ms', 'stay',
                     'day 2'):
            self.assertIn(part, text)

    def test_json_alone_on_stdout(self):
        code, text, err = self.backtest(
            '-f', 'json', '--policy', 'cinder', '--policy', 'bfd:hold=1',
            '--pools', 2)
        self.assertEqual(0, code, err)
        doc = json.loads(text)
        self.assertEqual('serifos-backtest/1', doc['schema'])
        cinder, bfd = doc['policies']
        self.assertEqual((0, 2, 48), (
            cinder['moves'], cinder['pools'], len(cinder['hours'])))
        self.assertGreater(bfd['moves'], 0)

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
                          ('--cluster', 'nowhere.json'), ('--days', 'nan')):
            code, text, err = self.backtest(*arguments)
            self.assertEqual((2, '', 1), (code, text, len(
                err.splitlines())), err)
        self.week.write_text('no gzip')
        code, _, err = self.backtest()
        self.assertEqual((2, 1), (code, len(err.splitlines())), err)
