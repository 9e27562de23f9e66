# SPDX-License-Identifier: Apache-2.0
"""Rounds of the balancer with noisy rates or drifted devices.

The workloads stay as they are; each round observes every rate with an error
of its own. What moves then, once the cloud is balanced, moves for noise.

Or the devices drifted since their models were made, and each round observes
what they do now.
"""

from __future__ import annotations

from collections.abc import Mapping
import dataclasses

import numpy as np

from serifos.balancer import planning
from serifos.facts.cluster import Cluster
from serifos.lab.sim.cloud import SimulatedCloud
from serifos.lab.sim import devices
from serifos.lab.sim import scenario
from serifos.lab.sim import ssd as ssds
from serifos.model.model import Model
from serifos.plan import recent

BATCH = 2
"""Moves of a plan that are carried out in a round."""


@dataclasses.dataclass(frozen=True)
class Loop:
    """The inputs of one loop, for a process of its own.

    :param noise: the standard deviation of log rates
    :param hold: as [balancer] hold; 1 for no smoothing
    """

    case: scenario.Case
    models: Mapping[str, Model]
    rounds: int = 200
    noise: float = 0.1
    hold: int = 3


@dataclasses.dataclass(frozen=True)
class Moved:
    """What a loop moved.

    :param returns: moves to a pool that the volume had been on
    """

    moves: int
    returns: int


def run(loop: Loop) -> Moved:
    """Plans each round on a noisy observation and makes its first moves."""
    now = scenario.placed(loop.case).observe()
    rng = np.random.default_rng([loop.case.seed, loop.case.number])
    latest, limits = recent.Recent(loop.hold), scenario.limits()
    been: dict[str, set[str]] = {v.id: {v.pool} for v in now.volumes}
    moves = returns = 0
    for at in range(loop.rounds):
        seen = _noisy(now, rng.normal(0.0, loop.noise, len(now.volumes)))
        smoothed = latest.smoothed(seen, at)
        latest = latest.after(recent.Round(at, seen, planning.hot_pools(
            planning.problem_of(seen, limits, loop.models)), frozenset()))
        plan = planning.make_plan('relieve', smoothed, dataclasses.replace(
            limits, held=latest.hot), loop.models)
        for move in plan.moves[:BATCH]:
            volume = now.volume(move.volume)
            now = now.without(volume).place(volume, move.target)
            moves += 1
            returns += move.target in been[move.volume]
            been[move.volume].add(move.target)
    return Moved(moves, returns)


@dataclasses.dataclass(frozen=True)
class Drift:
    """The inputs of a loop on drifted devices, for a process of its own.

    :param measured: whether what is measured corrects predictions
    :param by: the standard deviation of the log of each time of a device,
        of which each host has its own
    """

    case: scenario.Case
    models: Mapping[str, Model]
    measured: bool
    rounds: int = 8
    by: float = 0.25


@dataclasses.dataclass(frozen=True)
class Drifted:
    """The latency of the worst host, µs, and the moves in between."""

    before_us: float
    after_us: float
    moves: int


def drifted(loop: Drift) -> Drifted:
    """Plans each round on what is observed and makes its first moves."""
    rng = np.random.default_rng([loop.case.seed, loop.case.number, 25])
    hosts: dict[ssds.Ssd, tuple[int, float]] = {}
    models: dict[str, Model] = {}
    for ssd, (number, gib) in loop.case.testbed.hosts.items():
        for i in range(number):
            name = f'{ssd.name}-host{i}'
            hosts[_drifted(ssd, name, rng, loop.by)] = 1, gib
            models[name] = loop.models[ssd.name]
    bed = devices.Testbed(loop.case.testbed.name, hosts)
    cloud = scenario.placed(dataclasses.replace(loop.case, testbed=bed))
    moves, before = 0, _worst_us(cloud)
    limits = scenario.limits(trust_models=not loop.measured)
    for _ in range(loop.rounds):
        plan = planning.make_plan('relieve', planning.measured(
            cloud.observe(), limits, models), limits, models)
        for move in plan.moves[:BATCH]:
            cloud.migrate(move.volume, move.target)
            moves += 1
    return Drifted(before, _worst_us(cloud), moves)


def _worst_us(cloud: SimulatedCloud) -> float:
    return max(sample.latency_us for sample in cloud.measure().values()
               if sample)


def _drifted(ssd: ssds.Ssd, name: str, rng: np.random.Generator,
             by: float) -> ssds.Ssd:
    return dataclasses.replace(ssd, name=name, **{
        field.name: getattr(ssd, field.name) * float(
            np.exp(rng.normal(0.0, by)))
        for field in dataclasses.fields(ssd) if '_us' in field.name
        and not field.name.startswith('thread')})


def _noisy(cluster: Cluster, errors: np.ndarray) -> Cluster:
    """The cluster with each volume's rate off by a factor of exp(error)."""
    return dataclasses.replace(cluster, volumes=tuple(
        volume if volume.workload is None else dataclasses.replace(
            volume, workload=dataclasses.replace(
                volume.workload, iops=volume.workload.iops * float(
                    np.exp(error))))
        for volume, error in zip(cluster.volumes, errors)))
