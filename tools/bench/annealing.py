# SPDX-License-Identifier: Apache-2.0
"""Section ``annealing``: plans beside simulated annealing of equal cost."""

from __future__ import annotations

from collections.abc import Iterator
import math
import random
import time

import algorithm_1
import clusters

from serifos.facts.cluster import Cluster
from serifos.lab.sim import scenario
from serifos.plan.hot import hot_pools
from serifos.plan.problem import Problem
from serifos.plan.state import State

POOLS, VOLUMES, SECONDS = 200, 2_000, 60.0
POWER = 8
_WARM, _COLD = 3e-3, 1e-6
"""Of the log of the power mean: by how much a step may raise it at first, and
at the end."""
_AT_ONCE = 256  # proposals between two looks at the clock


class Annealer:
    """Annealing of the power mean of all pools by a bounded set of moves.

    A proposal moves a volume, one that moved already to another pool or home,
    or one in place of another that goes home. As for the planners, a move
    takes what was free of its target at the beginning, and frees nothing.

    :param moves: volumes that may be elsewhere than at first
    :param gib: that these may have together
    """

    def __init__(self, cluster: Cluster, moves: int, gib: float,
                 seed: int) -> None:
        self.rng = random.Random(seed)
        self.volumes, self.moves, self.gib = cluster.volumes, moves, gib
        known = dict(zip(('s3500', 's3610'), clusters.models()))
        self.hosts = [algorithm_1.Host(pool, known[pool.model])
                      for pool in cluster.pools]
        index = {pool.name: i for i, pool in enumerate(cluster.pools)}
        self.first = [index[volume.pool] for volume in self.volumes]
        for volume, host in zip(self.volumes, self.first):
            self.hosts[host].add(volume.workload)
        self.us = [host.predict() for host in self.hosts]
        self.total = self.least = sum(us ** POWER for us in self.us)
        self.away_gib = 0.0
        self.away: dict[int, int] = {}

    def run(self, seconds: float) -> dict[int, int]:
        """Volume → host of the least power mean that was seen."""
        begin, best = time.process_time(), {}
        while (passed := (time.process_time() - begin) / seconds) < 1:
            degree = _WARM * (_COLD / _WARM) ** passed
            self.total = sum(us ** POWER for us in self.us)
            for _ in range(_AT_ONCE):
                self._try(degree)
                if self.total < self.least * (1 - 1e-9):
                    self.least, best = self.total, dict(self.away)
        return best

    def _try(self, degree: float) -> None:
        steps = self._proposal()
        if not steps:
            return
        was = [(volume, self.away.get(volume, self.first[volume]))
               for volume, _ in steps]
        before = self.total
        self._make(steps)
        rise = math.log(self.total / before) / POWER
        if len(self.away) > self.moves or self.away_gib > self.gib or any(
                self.hosts[host].free_capacity < 0 for _, host in steps) or (
                rise > 0 and self.rng.random() >= math.exp(-rise / degree)):
            self._make(was[::-1])

    def _proposal(self) -> list[tuple[int, int]]:
        """Volumes and their hosts then; some of them do not fit."""
        full = len(self.away) >= self.moves
        old = self.rng.choice([*self.away]) if self.away and (
            full or self.rng.random() < 0.3) else None
        if old is not None and self.rng.random() < 0.5:
            host = self.rng.randrange(len(self.hosts))
            return [(old, host)] if host != self.away[old] else []
        home = [] if old is None else [(old, self.first[old])]
        new = self.rng.randrange(len(self.volumes))
        if new in self.away:
            return home
        return [*home, (new, self.rng.randrange(len(self.hosts)))]

    def _make(self, steps: list[tuple[int, int]]) -> None:
        for number, there in steps:
            volume, here = self.volumes[number], self.away.get(
                number, self.first[number])
            if there == here:
                continue
            for host, sign in ((here, -1), (there, 1)):
                self.hosts[host].add(volume.workload, sign)
                if host != self.first[number]:
                    self.hosts[host].free_capacity -= sign * volume.size_gib
                    self.away_gib += sign * volume.size_gib
                self.total -= self.us[host] ** POWER
                self.us[host] = self.hosts[host].predict()
                self.total += self.us[host] ** POWER
            self.away[number] = there
            if there == self.first[number]:
                del self.away[number]


def figures(state: State, first: State, seconds: float) -> str:
    """What an assignment of the volumes leads to."""
    moved = state.home != first.home
    us = state.latency_us
    return (f'{moved.sum():6} {state.problem.size_gib[moved].sum():7.0f} '
            f'{hot_pools(state).sum():5} {us.max():10.0f} '
            f'{(us ** POWER).mean() ** (1 / POWER):11.0f} {us.std():7.0f} '
            f'{seconds:9.2f}')


def lines(quick: bool) -> Iterator[str]:
    """Lines of the section."""
    yield (f'{"seed":>5}  {"by":10} moves     GiB   hot  worst, µs  '
           'power mean  spread   seconds')
    for seed in range(1 if quick else 3):
        cluster = clusters.make_cluster(VOLUMES, POOLS, seed, blur=True)
        first = State.of(Problem.of(
            cluster, clusters.make_fleet(cluster), scenario.limits()))
        yield f'{seed:5}  {"none":10}' + figures(first, first, 0.0)
        pools = {pool.name: i for i, pool in enumerate(cluster.pools)}
        for planner in clusters.PLANNERS:
            begin = time.process_time()
            plan = clusters.plan(planner, cluster, scenario.limits())
            seconds = time.process_time() - begin
            last = first.moved([int(move.volume) for move in plan.moves],
                               [pools[move.target] for move in plan.moves])
            yield f'{"":5}  {planner:10}' + figures(last, first, seconds)
            longest = SECONDS / 10 if quick else SECONDS
            found = Annealer(cluster, len(plan.moves), sum(
                move.size_gib for move in plan.moves), seed).run(longest)
            yield f'{"":5}  {"annealing":10}' + figures(first.moved(
                [*found], [*found.values()]), first, longest)
    yield (f'{POOLS} pools, {VOLUMES} volumes. Annealing lowers the power '
           f'mean (of {POWER}) of all pools by as many moves and GiB, without '
           'min_gain; spread: the standard deviation over pools, µs.')
