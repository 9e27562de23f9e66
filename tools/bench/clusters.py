# SPDX-License-Identifier: Apache-2.0
"""Random clusters of the paper's SSDs and volumes, and plans of them."""

from __future__ import annotations

import dataclasses
import pathlib
import random

import numpy as np

from serifos.facts.cluster import Cluster
from serifos.facts.cluster import Pool
from serifos.facts.cluster import Volume
from serifos.facts.workload import Workload
from serifos.files import documents
from serifos.lab.sim import devices
from serifos.lab.sim import modeler
from serifos.lab.sim import scenario
from serifos.model import fit_runs
from serifos.model import held_out
from serifos.model.model import Model
from serifos.model import pool_busy
from serifos.model import pool_models
from serifos.plan import bfd
from serifos.plan import capacity
from serifos.plan.limits import Limits
from serifos.plan.plan import Plan
from serifos.plan.problem import Problem
from serifos.plan import relieve
from serifos.plan.slots import Slots
from serifos.plan.state import State

EXAMPLES = (pathlib.Path(__file__).parents[2]
            / 'etc/serifos/examples/paper/models')
PLANNERS = {'bfd': bfd.plan, 'relieve': relieve.plan}
WRITE_PCT = (5, 30, 50, 70, 95)
BLOCK_KIB = (4, 8, 16, 32, 64, 128, 256)
SIZE_GIB = (30, 60, 90, 120)


def models() -> tuple[Model, Model]:
    """The paper's two SSDs, as if trained on all that is asked of them.

    Beyond its range a model is planned with by its upper end, which no
    linear programme says.
    """
    wide = {'write_pct': (0, 100), 'block_kib': (0, 1024)}
    return tuple(dataclasses.replace(
        documents.read_model(EXAMPLES / f'intel-{name}.json'), range=wide)
        for name in ('s3500', 's3610'))


def tenant_models() -> tuple[Model, Model]:
    """The same SSDs, simulated, by models that tell tenants apart."""
    found = []
    for ssd in (devices.SSD1, devices.SSD2):
        job, = modeler.jobs(ssd, modeler.Purpose.TEST,
                            modeler.tests(0, 10, 30), 0, size=1000)
        found.append(Model(
            ssd.name, 'tenant', held_out.parameters('tenant', fit_runs.runs(
                modeler.measure(job), 'latency_us'), {}), {}, {}))
    return found[0], found[1]


def make_cluster(volumes: int, pools: int, seed: int, blur: bool = False,
                 by_capacity: bool = False) -> Cluster:
    """Volumes of Eq. 17-19 on three fifths S3500, two fifths S3610."""
    rng = random.Random(seed)
    gib = 2 * sum(SIZE_GIB) / len(SIZE_GIB) * volumes / pools
    cluster = Cluster(tuple(
        Pool(f'node{i}', 's3500' if i % 5 < 3 else 's3610', gib, gib)
        for i in range(pools)), ())
    made = [Volume(f'{i:06}', rng.choice(cluster.pools).name,
                   rng.choice(SIZE_GIB), workload=Workload(
                       rng.choice(WRITE_PCT) + blur * rng.random(),
                       rng.choice(BLOCK_KIB) + blur * rng.random()))
            for i in range(volumes)]
    if not by_capacity:
        return dataclasses.replace(cluster, volumes=tuple(made))
    for volume in made:
        where = capacity.place(volume, cluster)
        assert where is not None, 'the pools hold twice the volumes'
        cluster = cluster.place(volume, where)
    return cluster


def slo(cluster: Cluster, ratio: float,
        pair: tuple[Model, Model]) -> Cluster:
    """Every tenth volume with an SLO of so much of the pools' mean figure."""
    state = State.of(Problem.of(
        cluster, make_fleet(cluster, pair), scenario.limits()))
    most_us = ratio * float(state.figure_us.mean())
    return dataclasses.replace(cluster, volumes=tuple(
        volume if i % 10 else dataclasses.replace(
            volume, max_latency_us=most_us)
        for i, volume in enumerate(cluster.volumes)))


def make_slots(cluster: Cluster, slots: int, seed: int,
               busy: bool = False) -> Slots:
    """What each volume does at present, by a factor of its own each hour.

    A heavy-tailed one: of half as much again, as often as of a third less.

    :param busy: as of :class:`.slots.Slots`; a request then takes a
        millisecond
    """
    rng = np.random.default_rng(seed)
    now = np.array([(v.workload.write_pct, v.workload.block_kib,
                     v.workload.outstanding, v.workload.random_pct,
                     1000 * v.workload.outstanding)
                    for v in cluster.volumes], np.float32)
    found = np.repeat(now[:, None], slots, axis=1)
    factor = np.exp(rng.normal(
        0.0, 0.6, found.shape[:2]).astype(np.float32))
    found[..., 2] *= factor
    found[..., 4] *= factor
    return Slots(tuple(v.id for v in cluster.volumes), found, busy=busy)


def make_fleet(cluster: Cluster,
               pair: tuple[Model, Model] | None = None,
               busy: bool = False) -> pool_models.Fleet:
    """The pools' models, the paper's where no pair is given."""
    small, large = pair or models()
    kind = pool_busy.BusyFleet if busy else pool_models.Fleet
    return kind([small if pool.model == 's3500' else large
                 for pool in cluster.pools])


def plan(planner: str, cluster: Cluster, limits: Limits,
         pair: tuple[Model, Model] | None = None,
         slots: Slots | None = None) -> Plan:
    known = make_fleet(cluster, pair, slots is not None and slots.busy)
    return PLANNERS[planner](cluster, known, limits, slots=slots)
