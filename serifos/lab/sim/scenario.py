# SPDX-License-Identifier: Apache-2.0
"""Cases of volumes that Cinder places and planners balance.

Section 6.2 of the paper: 10 to 16 random workloads (Eq. 17-19), placed one
after another by available capacity, then balanced by planners that know
the devices only through models, and measured again.
"""

from __future__ import annotations

from collections.abc import Callable
from collections.abc import Mapping
from collections.abc import Sequence
import dataclasses
import functools
from typing import Any

import numpy as np

from serifos.cmd.balancer import configuration
from serifos import conf
from serifos.design import random_tests
from serifos.facts.cluster import Cluster
from serifos.facts.cluster import Volume
from serifos.facts.dataset import Sample
from serifos.facts.hot_by import LATENCY
from serifos.facts import pools
from serifos.facts import workload
from serifos.lab.sim.cloud import SimulatedCloud
from serifos.lab.sim import device
from serifos.lab.sim import devices
from serifos.lab.sim import modeler
from serifos.lab.sim import paper
from serifos.lab.sim.tails import Tails
from serifos.model.model import Model
from serifos.model import pool_models
from serifos.model import pool_sums
from serifos.plan import bfd
from serifos.plan import capacity
from serifos.plan.limits import Limits
from serifos.plan.plan import Plan
from serifos.plan.predictions import Predictions
from serifos.plan.problem import Floats
from serifos.plan.problem import Ints
from serifos.plan import relieve
from serifos.scheduler import predict

CAPACITY = 'capacity'
"""The baseline: nothing is moved."""

PLACEMENT = 'placement'
"""The volumes placed by predictions, as they come; nothing is moved."""

BY_MEAN = 'relieve by mean'

PLANNERS: Mapping[str, Callable[..., Plan]] = {
    'algorithm1': functools.partial(bfd.plan, paper=True),
    'bfd': bfd.plan,
    'relieve': relieve.plan,
    BY_MEAN: lambda cluster, models, limits: relieve.plan(
        cluster, _ByMean(models), limits),
}
"""``algorithm1`` is the paper's without a guard, ``bfd`` the same that makes
only moves which the local rule accepts, ``relieve`` at most four moves. Where
models tell tenants apart, there is ``relieve`` by the mean of each pool, too:
the figure of other models, which a tenant of small blocks dilutes."""

NAMES = (PLACEMENT, *PLANNERS)


class _ByMean:
    """Predictions of models as if they did not tell tenants apart."""

    hot_by = LATENCY

    def __init__(self, models: Predictions) -> None:
        self.loads, self.latency = models.loads, models.latency
        self.patterns, self.printed = models.patterns, models.printed
        self.above = models.above

    def tenants(self, pools: Ints, loads: Floats, which: Ints,
                own: Floats) -> Floats:
        return self.latency(pools, loads)[which]

    def figure(self, pools: Ints, loads: Floats,
               own: Floats) -> Floats:
        return self.latency(pools, loads)


@dataclasses.dataclass(frozen=True)
class Seen:
    """The latencies of a host or a workload, µs; 0 where it has no I/O."""

    latency_us: float = 0.0
    read_p99_us: float = 0.0
    write_p99_us: float = 0.0


@dataclasses.dataclass(frozen=True)
class PlannerResult:
    """The outcome of one planner in a case.

    :param kind: of the models that the planner knew; '' for the baseline
    :param hosts: in the testbed's order
    """

    planner: str
    kind: str
    moves: int
    moved_gib: float
    hosts: tuple[Seen, ...]
    workloads: tuple[Seen, ...]


@dataclasses.dataclass(frozen=True)
class Case:
    """The inputs of one case, for a process of its own.

    :param models: kind → ssd's name → model
    :param ios: requests of a run
    :param tails: of what volumes see; None for the simulation's own
    """

    testbed: devices.Testbed
    number: int
    seed: int
    models: Mapping[str, Mapping[str, Model]]
    ios: int = device.IOS
    tails: Tails | None = None


def run(case: Case) -> list[PlannerResult]:
    """The baseline, then placement and every planner with each kind."""
    cloud = placed(case)
    outcomes = [_outcome(cloud, CAPACITY, '', [])]
    observed = cloud.observe()
    for kind, models in case.models.items():
        fleet = pool_models.Fleet(
            [models[pool.model] for pool in observed.pools])
        outcomes.append(_outcome(
            _by_predictions(case, cloud.cluster, models), PLACEMENT, kind,
            []))
        for name, planner in PLANNERS.items():
            if name == BY_MEAN and not any(
                    model.tenants for model in models.values()):
                continue
            moves = _moves(planner, observed, fleet)
            balanced = cloud.copy()
            for volume, pool in moves:
                balanced.migrate(volume, pool)
            outcomes.append(_outcome(balanced, name, kind, moves))
    return outcomes


def placed(case: Case) -> SimulatedCloud:
    """The workloads of a case, placed by available capacity.

    A volume that no host has room for is drawn again.
    """
    rng = np.random.default_rng(_chance(case))
    cloud = _cloud(case)
    least, greatest = paper.WORKLOADS
    count = int(rng.integers(least, greatest + 1))
    while len(cloud.cluster.volumes) < count:
        volume = Volume(
            f'volume-{len(cloud.cluster.volumes) + 1:02}', '',
            float(rng.choice(paper.SIZES_GIB)),
            workload=random_tests.drawn(rng, case.testbed.volumes))
        pool = capacity.place(volume, cloud.cluster)
        if pool is not None:
            cloud.create(volume, pool)
    return cloud


def _by_predictions(case: Case, first: Cluster,
                    models: Mapping[str, Model]) -> SimulatedCloud:
    """The volumes of a cluster, placed one after another by predictions.

    One that no host has room for then goes where it was.
    """
    cloud = _cloud(case)
    for volume in first.volumes:
        pool = place(volume, cloud.cluster, models)
        cloud.create(volume, pool or volume.pool)
    return cloud


def limits(**given: Any) -> Limits:
    """The limits of an operator who sets no option; copies are not priced."""
    return dataclasses.replace(configuration.limits_of(conf.defaults()),
                               **{'horizon_s': None, **given})


def _cloud(case: Case) -> SimulatedCloud:
    return SimulatedCloud(case.testbed, _chance(case), case.ios,
                          case.tails)


def _chance(case: Case) -> list[int]:
    return [case.seed, modeler.Purpose.CASE, case.number]


def _moves(planner: Callable[..., Plan], cluster: Cluster,
           fleet: pool_models.Fleet) -> list[tuple[str, str]]:
    plan = planner(cluster, fleet, limits())
    return [(move.volume, move.target) for move in plan.moves]


def _outcome(cloud: SimulatedCloud, planner: str, kind: str,
             moves: Sequence[tuple[str, str]]) -> PlannerResult:
    samples = cloud.measure().values()
    return PlannerResult(
        planner, kind, len(moves),
        sum(cloud.cluster.volume(volume).size_gib for volume, _ in moves),
        hosts=tuple(map(_host, samples)),
        workloads=tuple(
            Seen(*(w[f.name] or 0.0 for f in dataclasses.fields(Seen)))
            for sample in samples if sample for w in sample.seen))


def _host(sample: Sample | None) -> Seen:
    if sample is None:
        return Seen()
    return Seen(*(sample.figure(f.name) or 0.0
                  for f in dataclasses.fields(Seen)))


def place(volume: Volume, cluster: Cluster,
          models: Mapping[str, Model]) -> str | None:
    """The pool that is predicted to be best for all tenants with it.

    Of those that have room; what it will do is known, as by extra specs of
    its type. None where no pool fits.
    """
    known = pool_sums.of(cluster, models, workload.ACTIVE_FLOOR, {})
    found: dict[str, float] = {}
    for each in known.devices:
        model = models.get(each.model)
        if model is not None:
            its = model.load([volume.workload])
            prediction = predict.prediction(
                model, pools.load(each.load) + its,
                pools.load(known.everyone) + its, its, (),
                known.correction[each.name, each.model])
            if prediction is not None:
                found[each.name] = prediction.latency_us
    return min((pool.name for pool in capacity.fitting(volume, cluster)
                if pool.device_key in found),
               key=lambda name: found[cluster.pool(name).device_key],
               default=None)
