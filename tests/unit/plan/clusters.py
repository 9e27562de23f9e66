# SPDX-License-Identifier: Apache-2.0
"""Clusters for the planners' tests: hand-made ones, and random ones."""

from __future__ import annotations

from collections.abc import Iterable
from collections.abc import Sequence
from typing import Any

from hypothesis import strategies as st

from serifos import cluster as cl
from serifos.model import fleet
from serifos.model import model as mm
from serifos.plan import plan as pl
from serifos import workload as wl

WIDE = {'write_pct': (0, 100), 'block_kib': (0, 1024), 'iodepth': (0, 64),
        'count': (1, 10)}


def model(name: str, parameters: dict[str, Any], kind: str = 'consolidation',
          **over: Any) -> mm.Model:
    return mm.Model(**{'name': name, 'kind': kind, 'range': WIDE,
                       'parameters': parameters, 'quality': {'mre': 0.1},
                       **over})


# 'flat' is 10 µs per KiB of block; 'odd' is not monotone: a second volume
# makes it faster, and so do writes; 'deep' knows outstanding I/Os.
MODELS = {m.name: m for m in (
    model('flat', {'5+': {'sum_block_kib': 10}}),
    model('odd', {'1': {'intercept_us': 400, 'sum_write_pct': -3,
                        'sum_block_kib': 20},
                  '2': {'intercept_us': -80, 'sum_block_kib': 13},
                  '5+': {'sum_write_pct': 0.6, 'sum_block_kib': 21}},
          range={**WIDE, 'block_kib': (4, 128), 'count': (1, 3)}),
    model('deep', {'intercept_us': 90, 'sum_q_r': 4, 'sum_q_w': 9,
                   'sum_q_s_r': 2.5, 'sum_q_s_w': 3.25}, 'outstanding'))}


def pool(name: str, model: str | None = 'flat', free_gib: float = 1000,
         **more: Any) -> cl.Pool:
    return cl.Pool(name, model, 2000, free_gib, **more)


def volume(name: str, where: str, block_kib: float = 16,
           size_gib: float = 10, **more: Any) -> cl.Volume:
    more.setdefault('workload', wl.Workload(50, block_kib))
    return cl.Volume(name, where, size_gib, **more)


def models_of(cluster: cl.Cluster) -> fleet.Fleet:
    return fleet.Fleet([MODELS.get(p.model) for p in cluster.pools])


def planned(planner: Any, cluster: cl.Cluster, limits: Any) -> pl.Plan:
    known = models_of(cluster)
    return planner.plan(cluster, known.load, known.latency, limits)


def applied(cluster: cl.Cluster, moves: Iterable[pl.Move]) -> cl.Cluster:
    for move in moves:
        moving = cluster.volume(move.volume)
        cluster = cluster.without(moving).place(moving, move.target)
    return cluster


def _workloads() -> st.SearchStrategy[wl.Workload | None]:
    busy = st.builds(
        wl.Workload, st.sampled_from((0, 5, 30, 95, 100)),
        st.sampled_from((0, 4, 8, 16, 64, 128, 256)),
        st.sampled_from((1, 8, 33)))
    seen = st.builds(
        wl.Workload, st.floats(0, 100), st.floats(0, 300),
        iops=st.floats(0, 1e4), latency_us=st.floats(0, 1e4))
    return st.one_of(busy, busy, seen, st.none())


@st.composite
def clusters(draw: Any, most_pools: int = 6,
             most_volumes: int = 9) -> cl.Cluster:
    pools = [cl.Pool(
        f'n{i}@s#s', draw(st.sampled_from(('flat', 'odd', 'deep', None))),
        1000, draw(st.sampled_from((0, 15, 40.5, 1000))),
        draw(st.sampled_from(('a', 'a', 'a', 'b'))),
        draw(st.sampled_from(('s', 's', 't'))),
        draw(st.sampled_from(('up', 'up', 'up', 'down'))),
        draw(st.sampled_from((None, None, 'sda', 'sdb'))))
        for i in range(draw(st.integers(1, most_pools)))]
    # Many volumes crowd on the first pools, so that there is much to do.
    homes = [*(p.name for p in pools), pools[0].name, pools[0].name, 'gone']
    volumes = [cl.Volume(
        f'v{i}', draw(st.sampled_from(homes)),
        draw(st.sampled_from((0, 10, 20.25, 60))),
        required_backend_name=draw(st.sampled_from((None, None, 's'))),
        max_latency_us=draw(st.sampled_from((None, 500))),
        movable=draw(st.sampled_from((True, True, True, 'attached'))),
        workload=draw(_workloads()))
        for i in range(draw(st.integers(0, most_volumes)))]
    return cl.Cluster(tuple(pools), _shuffled(draw, volumes))


def _shuffled(draw: Any, items: Sequence[Any]) -> tuple[Any, ...]:
    return tuple(draw(st.permutations(items)))
