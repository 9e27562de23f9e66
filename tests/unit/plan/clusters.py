# SPDX-License-Identifier: Apache-2.0
"""Clusters for the planners' tests: hand-made ones, and random ones."""

from __future__ import annotations

from collections.abc import Iterable
import dataclasses
import random
from typing import Any

from hypothesis import strategies
import numpy as np

from serifos.facts.cluster import Cluster
from serifos.facts.cluster import Pool
from serifos.facts.cluster import Volume
from serifos.facts import refusals
from serifos.facts.workload import ACTIVE_FLOOR
from serifos.facts.workload import Workload
from serifos.model.model import Model
from serifos.model import pool_models
from serifos.plan.plan import Move
from serifos.plan.plan import Plan
from serifos.plan.slots import Slots
from tests.unit import samples

IDLE = Workload(50, 16, iops=2, latency_us=900)

WIDE = {'write_pct': (0, 100), 'block_kib': (0, 1024), 'iodepth': (0, 64),
        'count': (1, 10)}


def model(name: str, parameters: dict[str, Any], kind: str = 'consolidation',
          **over: Any) -> Model:
    return Model(**{'name': name, 'kind': kind, 'range': WIDE,
                    'parameters': parameters, 'quality': {'mre': 0.1},
                    **over})


# 'flat' is 10 µs per KiB of block, 'slow' 30; 'odd' is not monotone, a
# second volume makes it faster and so do writes; 'deep' knows outstanding,
# 'apart' tells tenants apart.
MODELS = {m.name: m for m in (
    model('flat', {'5+': {'sum_block_kib': 10}}),
    model('slow', {'5+': {'sum_block_kib': 30}}),
    model('odd', {'1': {'intercept_us': 400, 'sum_write_pct': -3,
                        'sum_block_kib': 20},
                  '2': {'intercept_us': -80, 'sum_block_kib': 13},
                  '5+': {'sum_write_pct': 0.6, 'sum_block_kib': 21}},
          range={**WIDE, 'block_kib': (4, 128), 'count': (1, 3)}),
    model('deep', {'intercept_us': 90, 'sum_q_r': 4, 'sum_q_w': 9,
                   'sum_q_s_r': 2.5, 'sum_q_s_w': 3.25}, 'outstanding'),
    model('apart', samples.APART, 'tenant'))}

ATTACHED = refusals.Reason('attached', refusals.Code.ATTACHED)


def pool(name: str, model: str | None = 'flat', free_gib: float = 1000,
         **more: Any) -> Pool:
    return Pool(name, model, 2000, free_gib, **more)


def volume(name: str, where: str, block_kib: float = 16,
           size_gib: float = 10, **more: Any) -> Volume:
    more.setdefault('workload', Workload(50, block_kib))
    return Volume(name, where, size_gib, **more)


def models_of(cluster: Cluster,
              floor: float = ACTIVE_FLOOR) -> pool_models.Fleet:
    return pool_models.Fleet(
        [MODELS.get(p.model) for p in cluster.pools], floor)


def planned(planner: Any, cluster: Cluster, limits: Any,
            their: Slots | None = None) -> Plan:
    known = models_of(cluster)
    return planner.plan(cluster, known, limits, slots=their)


def applied(cluster: Cluster, moves: Iterable[Move]) -> Cluster:
    for move in moves:
        moving = cluster.volume(move.volume)
        cluster = cluster.without(moving).place(moving, move.target)
    return cluster


def clusters(most_pools: int = 8,
             most_volumes: int = 12) -> strategies.SearchStrategy[Cluster]:
    """Random clusters, by seed: in most of them there is much to do.

    Every other one has thresholds of its own.
    """
    return strategies.integers(0, 1 << 32).map(
        lambda seed: (_particular if seed % 2 else dataclasses.replace)(
            of_seed(seed // 2, most_pools, most_volumes)))


def _particular(cluster: Cluster) -> Cluster:
    """The cluster where pools and volumes say when to move."""
    rng = random.Random(len(cluster.volumes))
    return dataclasses.replace(
        cluster,
        pools=tuple(dataclasses.replace(
            pool, hot_ratio=rng.choice((None, 0.0, 0.1, 1.0, 10.0)))
            for pool in cluster.pools),
        volumes=tuple(dataclasses.replace(
            volume, min_gain=rng.choice((None, None, 0.0, 0.05, 0.3, 1.0)))
            for volume in cluster.volumes))


def of_seed(seed: int, most_pools: int = 8,
            most_volumes: int = 12) -> Cluster:
    """The random cluster of one seed."""
    return _cluster(random.Random(seed), most_pools, most_volumes)


def _cluster(rng: random.Random, most_pools: int,
             most_volumes: int) -> Cluster:
    obstacles, tight = rng.random() < 0.3, rng.random() < 0.5
    shared = rng.random() < 0.3
    pools = [Pool(
        f'n{i}@s#s', rng.choice(('flat', 'slow', 'odd', 'deep', 'apart')),
        1000, rng.choice((0, 10, 20.25, 30.5)) if tight else 1000, 'a', 's',
        device=rng.choice((None, 'sda', 'sdb')) if shared else None)
        for i in range(rng.randint(1, most_pools))]
    crowded = rng.choices(pools, k=2)
    volumes = [Volume(
        f'v{i}', rng.choice(rng.choice((pools, crowded))).name,
        rng.choice((0, 10, 10, 20.25, 60)),
        max_latency_us=rng.choice((None, 500)), workload=_workload(rng))
        for i in range(rng.randint(0, most_volumes))]
    if obstacles:
        pools = [dataclasses.replace(
            p, model=rng.choice((p.model, p.model, None)),
            zone=rng.choice('aaab'), backend_name=rng.choice('sst'),
            state=rng.choice(('up', 'up', 'up', 'down'))) for p in pools]
        volumes = [dataclasses.replace(
            v, pool=rng.choice((v.pool,) * 9 + ('gone',)),
            movable=rng.choice((True, True, True, ATTACHED)),
            required_backend_name=rng.choice((None, 's')),
            workload=rng.choice((v.workload,) * 4 + (None, IDLE)))
            for v in volumes]
    rng.shuffle(volumes)
    return Cluster(tuple(pools), tuple(volumes))


def slots(cluster: Cluster, rng: random.Random, number: int) -> Slots:
    """What the known volumes did in slots, at random; of some nothing."""
    seen = [v.id for v in cluster.volumes
            if v.workload is not None and rng.random() < 0.9]
    rows = [[_slot(rng) for _ in range(number)] for _ in seen]
    return Slots(tuple(seen), np.array(rows, float).reshape(
        len(seen), number, 4))


def _slot(rng: random.Random) -> tuple[float, ...]:
    if rng.random() < 0.1:
        return (np.nan,) * 4
    return pattern(IDLE if rng.random() < 0.3 else _workload(rng))


def pattern(workload: Workload) -> tuple[float, ...]:
    return (workload.write_pct, workload.block_kib, workload.outstanding,
            workload.random_pct)


def _workload(rng: random.Random) -> Workload:
    if rng.random() < 0.7:
        return Workload(
            rng.choice((0, 5, 30, 95, 100)),
            rng.choice((0, 4, 8, 16, 64, 128, 256)), rng.choice((1, 8, 33)))
    return Workload(
        rng.uniform(0, 100), rng.uniform(0, 300),
        iops=rng.uniform(0, 1e4), latency_us=rng.uniform(0, 1e4))
