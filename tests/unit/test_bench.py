# SPDX-License-Identifier: Apache-2.0
"""tools/bench, on what a moment can do."""

import importlib
import itertools
import json
import pathlib
import re
import subprocess
import sys
from unittest import mock

import numpy as np

from serifos.telemetry import exporter
from tests.fakes.settings import Limits
from tests.unit import case
from tests.unit.cmd import command
from tests.unit.lab.backtest import histories
from tools.bench import weeks

ROOT = pathlib.Path(__file__).parents[2]
BENCH = ROOT / 'tools/bench'
TABLE = ROOT / 'doc/source/_static/bench-speed.txt'


class BenchTestCase(case.DirectoryCase):

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        with mock.patch.object(sys, 'path', [str(BENCH), *sys.path]):
            (cls.clusters, cls.algorithm_1, cls.optimum, cls.history,
             cls.backtests, cls.bonds, cls.truth, cls.process, cls.speed,
             cls.annealing, cls.telemetry) = map(importlib.import_module, (
                 'clusters', 'algorithm_1', 'optimum', 'history',
                 'backtests', 'bonds', 'truth', 'process', 'speed',
                 'annealing', 'telemetry'))

    def test_what_node_exporters_answer_is_read(self):
        found = exporter.reading(1.0, exporter.parse(
            self.telemetry.text(3, 1.8e9)))
        self.assertIsNone(found.fault)
        self.assertEqual((self.telemetry.VOLUMES, {}),
                         (len(found.volumes), found.faults))

    def test_plain_python_and_the_planner_move_alike(self):
        cluster = self.clusters.make_cluster(60, 10, seed=3, blur=True)
        for gain in (0.0, 0.1):
            limits = Limits(min_gain=gain)
            self.assertEqual(
                len(self.clusters.plan('bfd', cluster, limits).moves),
                self.algorithm_1.migrations(cluster, limits))

    def test_the_documents_show_what_the_planners_do_today(self):
        shown = re.findall(
            r'^ *(1000|10000) +(\d+)  (\S.*?)  +[\d.]+ +\d+ +\d+ +(\d+)'
            r' *(?:(\d+) -> (\d+))?', TABLE.read_text(), re.MULTILINE)
        found = 0
        for volumes, pools, work, moves, *hot in shown:
            if 'tenant' in work or volumes == '10000' and work != 'relieve':
                continue
            made = self.speed.timed(work, int(volumes), int(pools), None)
            self.assertEqual(int(moves), made['moves'], work)
            for change in made['left'][:1]:
                self.assertEqual([change.before, change.after],
                                 [*map(int, hot)], work)
            found += 1
        self.assertEqual(8, found)

    def test_annealing_moves_no_more_than_it_may(self):
        cluster = self.clusters.make_cluster(60, 10, seed=3, blur=True)
        annealer = self.annealing.Annealer(cluster, 4, 300.0, seed=0)
        before = annealer.least
        found = annealer.run(0.2)
        self.assertTrue(0 < len(found) <= 4)
        self.assertLessEqual(sum(
            cluster.volumes[each].size_gib for each in found), 300.0)
        self.assertLess(annealer.least, before)

    def test_the_optimum_is_the_least_of_all_placements(self):
        cluster = self.clusters.make_cluster(5, 3, seed=1)
        known = self.clusters.make_fleet(cluster)
        own = known.loads(v.workload for v in cluster.volumes)
        least = min(
            known.latency(np.arange(3), np.array([
                own[np.array(homes) == pool].sum(axis=0)
                for pool in range(3)])).max()
            for homes in itertools.product(range(3), repeat=5)
            if all(sum(v.size_gib for v, h in zip(cluster.volumes, homes)
                       if h == i) <= pool.total_gib
                   for i, pool in enumerate(cluster.pools)))
        best, bound = self.optimum.least_worst(cluster)
        np.testing.assert_allclose((best, bound), least, rtol=1e-3)
        for planner in self.clusters.PLANNERS:
            plan = self.clusters.plan(planner, cluster, Limits())
            self.assertGreaterEqual(plan.max_us.after, least * (1 - 1e-9))

    def test_a_search_without_a_model_relieves_the_worst_pool(self):
        class Kibs:
            def latencies_us(self, cluster):
                return [sum(v.workload.block_kib for v in cluster.volumes
                            if v.pool == pool.name)
                        for pool in cluster.pools]

        first = self.clusters.make_cluster(16, 5, seed=1, by_capacity=True)
        moved, swapped = (
            self.truth.searched(Kibs(), first, most, gain, swaps)
            for most, gain, swaps in ((4, 0.1, False), (30, 0.0, True)))
        before, after, least = (
            max(Kibs().latencies_us(each))
            for each in (first, moved, swapped))
        self.assertTrue(before > after >= least)
        for pool in (*moved.pools, *swapped.pools):
            self.assertGreaterEqual(pool.free_gib, 0)

    def test_a_command_is_measured_apart_from_who_measures_it(self):
        cpu_s, mib = self.process.run([sys.executable, '-c', 'pass'])
        more_s, more_mib = self.process.run([
            sys.executable, '-c',
            'import time; x = b"a" * 2 ** 26\n'
            'while time.process_time() < 0.5: x.count(b"b")'])
        self.assertTrue(0 < cpu_s < 0.5 <= more_s)
        self.assertGreater(more_mib, mib + 60)
        self.assertRaises(
            subprocess.CalledProcessError, self.process.run,
            [sys.executable, '-c', 'raise SystemExit(1)'])

    def test_the_memory_of_bonds_grows_as_their_volumes_do(self):
        self.patch(self.bonds, 'SIZES', (500, 1000))
        ratios = [float(line.split()[-2]) for line in self.bonds.lines(False)
                  if line.endswith('times')]
        self.assertEqual(2, len(ratios))
        for ratio in ratios:  # where it grows with pairs, 4
            self.assertLess(ratio, 3)

    def test_json_lines_keep_what_the_history_keeps(self):
        rng, names = np.random.default_rng(0), self.history.names_of(7)
        begin, end = self.history.BEGIN, (
            self.history.BEGIN + self.history.DAY_S)
        day = self.history.done(7, begin, end, 300, rng)
        after = self.history.done(7, end, end + 300, 60, rng)
        found = []
        for kind in self.history.KINDS.values():
            kept = kind(self.dir)
            kept.fill(day)
            kept.write(after)
            found.append([kept.read(names, step_s) for step_s in (
                300, 3600)])
        for ours, theirs in zip(*found):
            np.testing.assert_allclose(ours.sums, theirs.sums, rtol=1e-5)
            np.testing.assert_allclose(
                day.rolled_up(ours.step_s).sums, ours.sums, rtol=1e-5)

    def backtest(self, seed):
        """The file of a backtest of a day under two policies."""
        models = histories.models(self.dir / 'models', 'FAST')
        week, out = (self.dir / f'{name}{seed}' for name in (
            'week.csv', 'backtest.json'))
        weeks.write(week, *weeks.drawn(weeks.Week(10, 2, 1800, seed)))
        code, text, err = command.simulate(
            'backtest', week, '--models', models, '--jobs', 1, '--pools', 2,
            '--scale', 2, '--policy', 'cinder', '--policy',
            'bfd:hold=1,window=0', '-f', 'json')
        self.assertEqual(0, code, err)
        out.write_text(text)
        return out

    def test_backtests_are_one_table(self):
        paths = [self.backtest(seed) for seed in (1, 2)]
        first, second = documents = [
            json.loads(path.read_text())['policies'] for path in paths]
        cinder, bfd = self.backtests.rows([
            {'policies': each} for each in documents])
        self.assertEqual(len(self.backtests.HEADER), len(bfd))
        self.assertEqual(('cinder', '0 of 2', 0, 0, 0), (
            cinder[0], cinder[3], *cinder[4:7]))
        self.assertEqual('bfd:hold=1,window=0', bfd[0])
        for at, name, unit in ((1, 'worst_us', 1e3), (4, 'moves', 1),
                               (5, 'moves_per_ten_a_week', 1)):
            values = [each[1][name] / unit for each in documents]
            self.assertAlmostEqual(sum(values) / 2, bfd[at])
            if at == 5:
                self.assertAlmostEqual(max(values), bfd[at + 1])
        fewer = sum(each[1]['slo_minutes'] < each[0]['slo_minutes']
                    for each in documents)
        self.assertEqual(f'{fewer} of 2', bfd[3])
        self.assertGreater(first[1]['moves'] + second[1]['moves'], 0)
        printed = subprocess.run(
            [sys.executable, '-m', 'tools.bench.backtests', *paths],
            cwd=BENCH.parents[1], capture_output=True, text=True)
        self.assertEqual((0, 1), (
            printed.returncode, printed.stdout.count('2 histories')),
            printed.stderr)
        self.assertIn(f'{fewer} of 2', printed.stdout)
