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


class LearnTest(case.DirectoryCase):
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

    def learn(self, *arguments):
        code, out, err = command.model(
            '--config-file', self.conf, 'learn', self.model, '-f', 'json',
            *arguments)
        return code, json.loads(out) if out else err

    def observe(self, **pool):
        documents.write_cluster(self.dir / 'cluster.json', cluster.Cluster(
            (cluster.Pool('a', **{'model': 'm', **pool}),),
            tuple(cluster.Volume(name, 'a', 1) for name in 'uv')))

    def keep(self, factor, minutes=60):
        """A history of what both volumes did until now.

        :param minutes: for which each goes on to do the same
        """
        step = 60 * minutes
        end = self.end = int(time.time()) // step * step
        series = Series.empty('uv', end - HOURS * step, end, 60)
        rng = np.random.default_rng(0)
        for slot in range(HOURS):
            q, kib = rng.uniform(1, 16, 2), rng.choice([4., 8., 16., 32.], 2)
            write = rng.uniform(0, 1, 2)
            us = factor * (90 + sum(q * (1 - write) * (4 + 2.5 * kib)
                                    + q * write * (9 + 3.25 * kib)))
            iops = 1e6 * q / us
            reads, writes = iops * (1 - write), iops * write
            its = slice(slot * minutes, (slot + 1) * minutes)
            series.sums[:, its] = 60 * np.array([
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
        code, found = self.learn('--output', self.out)
        self.assertEqual((0, True, str(self.out)), (
            code, found['better'], found['written']))
        self.assertAlmostEqual(1 / 3, found['mre'], 2)
        self.assertLess(found['learned_mre'], 0.02)
        self.assertAlmostEqual(1.5, found['predicts_times'][1], 1)
        self.assertEqual(HOURS, found['runs'] + found['held_out_runs'])
        learned = documents.read_model(self.out)
        self.assertEqual('outstanding', learned.kind)

    def test_minutes_are_enough_for_a_model_where_there_is_none(self):
        self.observe(model='lvm-ssd')
        self.keep(1.5, minutes=1)
        self.conf.write_text(self.conf.read_text().replace(
            '[serifos]', f'[serifos]\nmodels_dir = {self.dir}'))
        self.model, out = 'lvm-ssd', self.dir / 'lvm-ssd.json'
        code, found = self.learn('--days', f'{25 / 1440}', '--output', out)
        self.assertEqual(0, code, found)
        self.assertEqual((True, 'none: devices measured before'), (
            found['better'], found['before']))
        self.assertIn('% error', found['verdict'])
        learned = documents.read_model(out)
        self.assertEqual(('lvm-ssd', 'tenant'), (learned.name, learned.kind))
        self.assertLess(learned.range['block_kib'][0],
                        learned.range['block_kib'][1])

    def test_a_table_is_for_a_person(self):
        self.observe()
        self.keep(1.5)
        code, out, err = command.model(
            '--config-file', self.conf, 'learn', self.model)
        self.assertEqual((0, ''), (code, err))
        self.assertRegex(out, r'\| mre +\| 33\.\d % ')
        self.assertRegex(out, r'\| range +\| write_pct \d+ to \d+, ')
        self.assertNotRegex(out, r'[{\[]')

    def test_nothing_is_written_unless_asked(self):
        self.observe()
        self.keep(1.5)
        before = {path.name: path.stat().st_mtime_ns
                  for path in self.dir.iterdir() if path.suffix == '.json'}
        self.assertEqual(0, self.learn()[0])
        self.assertEqual(before, {
            path.name: path.stat().st_mtime_ns
            for path in self.dir.iterdir() if path.suffix == '.json'})

    def test_a_model_that_is_not_better_is_not_written(self):
        path = self.dir / 'runs.jsonl'
        samples.write(path, test_live.dataset(21, 1.0, 0.3, 4))
        code, found = self.learn('--observations', path, '--output', self.out)
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
        code, found = self.learn()
        self.assertEqual((0, 20), (
            code, found['runs'] + found['held_out_runs']))
        code, said = self.learn('--days', '0.5', '--step', '3600')
        self.assertEqual(2, code)
        self.assertRegex(said, '1[123] live runs are too few')

    def test_no_pool_names_the_model(self):
        self.observe(model='other')
        code, said = self.learn()
        self.assertEqual(2, code)
        self.assertIn('no pool with volumes that names the model m', said)

    def test_absurd_times(self):
        for given in ('--days', '0'), ('--days', 'nan'), ('--step', '0'):
            code, said = self.learn(*given)
            self.assertEqual(2, code)
            self.assertIn('cannot be read', said)
