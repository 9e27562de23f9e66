# SPDX-License-Identifier: Apache-2.0
"""bfd --paper plans what the paper's Algorithm 1 does, in any range."""

from __future__ import annotations

import json
import pathlib
import random

import ddt

from serifos.balancer import planning
from serifos.facts.cluster import Cluster
from serifos.facts.cluster import Pool
from serifos.facts.cluster import Volume
from serifos.facts import workload
from serifos.files import documents
from serifos.plan import bfd
from tests.fakes.settings import Limits
from tests.unit import case
from tests.unit.cmd import command
from tests.unit.papers import golden
from tests.unit.plan import algorithm_1

MODELS = (pathlib.Path(__file__).parents[3]
          / 'etc/serifos/examples/paper/models')
STEMS = {'SSD1': 'intel-s3500', 'SSD2': 'intel-s3610'}
TRAINING, TESTS = (golden.SERIFOS[name] for name in (
    'training_vectors', 'test_vectors'))
BEYOND = {'write_pct': [*range(101)], 'block_kib': [1, 2.25, 700, 4096]}
BELOW_0 = {'write_pct': [0, 1, 7], 'block_kib': [0.5, 1, 1.25]}
CASES = 60
"""Of each of these four sets of vectors."""


def drawn(vectors: dict, seed: int
          ) -> tuple[list[algorithm_1.Workload], list[algorithm_1.Host]]:
    """Workloads at random on the paper's hosts, or on others."""
    rng = random.Random(seed)
    hosts = [algorithm_1.Host(f'{ssd}-{i}', ssd, of['capacity_gb'])
             for ssd, of in golden.SERIFOS['balancing']['testbed'].items()
             for i in range(of['hosts'] if seed % 2 else rng.randint(1, 5))]
    rng.shuffle(hosts)
    workloads = []
    for i in range(rng.randint(*golden.SERIFOS['balancing']['workloads'])):
        size = rng.choice(TESTS['size_gib'])
        fitting = [host for host in hosts if host.free_capacity >= size]
        if fitting:
            host = rng.choice(fitting)
            host.free_capacity -= size
            workloads.append(algorithm_1.Workload(
                f'{rng.getrandbits(64):x}', rng.choice(vectors['write_pct']),
                rng.choice(vectors['block_kib']), size, host.name))
    return workloads, hosts


def observed(workloads: list[algorithm_1.Workload],
             hosts: list[algorithm_1.Host]) -> Cluster:
    """The same, as serifos sees it; predictions of a pool are corrected."""
    return Cluster(
        tuple(Pool(host.name, STEMS[host.ssd], 1000, host.free_capacity,
                   correction=3.0 if i == 1 else 1.0)
              for i, host in enumerate(hosts)),
        tuple(Volume(each.name, each.host, each.size,
                     workload=workload.Workload(each.wr, each.bs))
              for each in workloads))


@ddt.ddt
class Algorithm1Test(case.DirectoryCase):

    @ddt.data(TRAINING, TESTS, BEYOND, BELOW_0)
    def test_equal_plans(self, vectors):
        models = {stem: documents.read_model(MODELS / f'{stem}.json')
                  for stem in STEMS.values()}
        moves = 0
        for seed in range(CASES):
            workloads, hosts = drawn(vectors, seed)
            cluster = observed(workloads, hosts)
            fleet = planning.corrected_fleet(
                cluster, models, workload.ACTIVE_FLOOR)
            plan = bfd.plan(cluster, fleet, Limits(), paper=True)
            self.assertEqual(algorithm_1.load_balance(workloads, hosts),
                             plan.steps, seed)
            moves += len(plan.moves)
        self.assertGreater(moves, 2 * CASES)

    @ddt.data(*range(12))
    def test_the_command_plans_and_predicts_the_same(self, seed):
        workloads, hosts = drawn(TESTS, seed)
        path = self.dir / 'cluster.json'
        documents.write_cluster(path, observed(workloads, hosts))
        code, out, err = command.balance(
            'plan', '--cluster', path, '--models', MODELS, '--planner', 'bfd',
            '--paper', '-f', 'json')
        self.assertEqual((0, ''), (code, err))
        plan = json.loads(out)
        for host, latency in algorithm_1.latencies(workloads, hosts).items():
            self.assertAlmostEqual(
                latency, plan['latency_us'][host]['before'])
        self.assertEqual(
            algorithm_1.load_balance(workloads, hosts),
            [(move['volume'], move['from'], move['to'])
             for move in plan['moves']])
