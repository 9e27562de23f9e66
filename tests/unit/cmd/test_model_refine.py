# SPDX-License-Identifier: Apache-2.0

import json
import time

import numpy as np

from serifos.database import connection
from serifos.database.history_store import Store
from serifos.database import journal
from serifos.facts import cluster
from serifos.facts.history import Series
from serifos.files import documents
from tests.unit import case
from tests.unit.cmd import command
from tests.unit.model import test_live
from tests.unit import samples

HOURS = 60


class RefineTest(case.DirectoryCase):
    """A pool of two volumes, 1.5 times as slow as its model says."""

    def setUp(self):
        super().setUp()
        self.model = self.dir / 'm.json'
        documents.write_model(self.model, test_live.MODEL)
        self.out = self.dir / 'new.json'
        self.conf = self.dir / 'serifos.conf'
        self.conf.write_text(
            f'[serifos]\nstate_dir = {self.dir}\n[telemetry]\n'
            'endpoints = n:http://127.0.0.1:1/metrics\n')

    def refine(self, *arguments):
        code, out, err = command.model(
            '--config-file', self.conf, 'refine', self.model, '-f', 'json',
            *arguments)
        return code, json.loads(out) if out else err

    def observe(self, **pool):
        documents.write_cluster(self.dir / 'cluster.json', cluster.Cluster(
            (cluster.Pool('a', **{'model': 'm', **pool}),),
            tuple(cluster.Volume(name, 'a', 1) for name in 'uv')))

    def keep(self, factor):
        """A history of what both volumes did until now."""
        end = self.end = int(time.time()) // 3600 * 3600
        series = Series.empty('uv', end - HOURS * 3600, end, 60)
        rng = np.random.default_rng(0)
        for hour in range(HOURS):
            q, kib = rng.uniform(1, 16, 2), rng.choice([4., 8., 16., 32.], 2)
            write = rng.uniform(0, 1, 2)
            us = factor * (90 + sum(q * (1 - write) * (4 + 2.5 * kib)
                                    + q * write * (9 + 3.25 * kib)))
            iops = 1e6 * q / us
            reads, writes = iops * (1 - write), iops * write
            series.sums[:, hour * 60:(hour + 1) * 60] = 60 * np.array([
                [1, 1], reads, writes, 1024 * kib * reads,
                1024 * kib * writes, us / 1e6 * reads, us / 1e6 * writes,
                ])[:, None]
        store = Store(connection.Database(
            f'sqlite:///{self.dir}/history.sqlite',
            content=connection.HISTORY))
        self.assertTrue(store.add(series, store.until()))

    def test_from_the_history(self):
        self.observe()
        self.keep(1.5)
        code, found = self.refine('--output', self.out)
        self.assertEqual((0, True, str(self.out)), (
            code, found['better'], found['written']))
        self.assertAlmostEqual(1 / 3, found['mre'], 2)
        self.assertLess(found['refined_mre'], 0.02)
        self.assertAlmostEqual(1.5, found['predicts_times'][1], 1)
        self.assertEqual(HOURS, found['runs'] + found['held_out_runs'])
        refined = documents.read_model(self.out)
        self.assertEqual('outstanding', refined.kind)

    def test_a_table_is_for_a_person(self):
        self.observe()
        self.keep(1.5)
        code, out, err = command.model(
            '--config-file', self.conf, 'refine', self.model)
        self.assertEqual((0, ''), (code, err))
        self.assertRegex(out, r'\| mre +\| 33\.\d % ')
        self.assertRegex(out, r'\| range +\| write_pct \d+ to \d+, ')
        self.assertNotRegex(out, r'[{\[]')

    def test_nothing_is_written_unless_asked(self):
        self.observe()
        self.keep(1.5)
        before = {path.name: path.stat().st_mtime_ns
                  for path in self.dir.iterdir() if path.suffix == '.json'}
        self.assertEqual(0, self.refine()[0])
        self.assertEqual(before, {
            path.name: path.stat().st_mtime_ns
            for path in self.dir.iterdir() if path.suffix == '.json'})

    def test_a_model_that_is_not_better_is_not_written(self):
        path = self.dir / 'runs.jsonl'
        samples.write(path, test_live.dataset(21, 1.0, 0.3, 4))
        code, found = self.refine('--observations', path, '--output',
                                  self.out)
        self.assertEqual((1, False, None), (
            code, found['better'], found['written']))
        self.assertFalse(self.out.exists())

    def test_since_the_last_migration_only(self):
        self.observe()
        self.keep(1.5)
        moves = journal.Journal(connection.Database(
            f'sqlite:///{self.dir}/journal.sqlite'),
            lambda: self.end - 20 * 3600)
        ends = {'volume': 'x', 'source': 'a', 'target': 'b'}
        moves.write('request', plan='p', size_gib=1, **ends)
        moves.write('outcome', result='success', reason='', seconds=1, **ends)
        code, found = self.refine()
        self.assertEqual((0, 20), (
            code, found['runs'] + found['held_out_runs']))
        code, said = self.refine('--days', '0.5')
        self.assertEqual(2, code)
        self.assertRegex(said, '1[123] live runs are too few')

    def test_no_pool_names_the_model(self):
        self.observe(model='other')
        code, said = self.refine()
        self.assertEqual(2, code)
        self.assertIn('no pool with volumes that names the model m', said)

    def test_absurd_times(self):
        for given in ('--days', '0'), ('--days', 'nan'), ('--step', '0'):
            code, said = self.refine(*given)
            self.assertEqual(2, code)
            self.assertIn('cannot be read', said)
