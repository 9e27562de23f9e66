# SPDX-License-Identifier: Apache-2.0
"""Evacuation of a pool: best fit decreasing, without a minimum gain.

The volumes by decreasing block size, the idle and the unknown last, each to
the pool with the least predicted latency after the move and, of equals, the
most free space; pools where a latency promise would be broken come last.
One pass; a volume that cannot move is refused with the reason.
"""

from __future__ import annotations

import functools
import math

import numpy as np

from serifos import errors
from serifos.facts import cluster as cl
from serifos.plan import limits as lm
from serifos.plan import plan as pl
from serifos.plan import problem as pm
from serifos.plan.problem import Ints
from serifos.plan import promises
from serifos.plan import state as st
from serifos.plan import summary


def plan(cluster: cl.Cluster, load: pm.LoadOf, latency: pm.LatencyOf,
         limits: lm.Limits, pool: str) -> pl.Plan:
    """Moves that empty a pool as far as its volumes may move.

    :param pool: its name; it needs no model, and may be disabled
    :raises InputError: where the cluster has no such pool, or it is down
    """
    left = cluster.pool(pool)
    if left.state == 'down':
        raise errors.InputError(
            f'{pool} is down, so nothing can be copied off it; evacuate it '
            'when its service is up.')
    here = [volume for volume in cluster.volumes if volume.pool == left.name]
    state = st.State.of(pm.Problem.of(cluster, load, latency, limits))
    first, problem = state, state.problem
    place = {volume.id: i for i, volume in enumerate(problem.volumes)}
    order = functools.partial(_order, limits.active_floor)
    moves: list[pl.Move] = []
    refused: list[pl.Refusal] = []
    for volume in sorted(here, key=order):
        found = _target(state, place[volume.id])
        if isinstance(found, str):
            refused.append(pl.Refusal(volume.id, found))
            continue
        after = state.moved(place[volume.id], found)
        moves.append(_move(state, after, volume, found))
        state = after
    return summary.figures('evacuate', first, state, moves, refused,
                           truncated=False)


def _order(floor: float, volume: cl.Volume) -> tuple[float, str]:
    workload = volume.workload
    active = workload is not None and workload.is_active(floor)
    return -workload.block_kib if active else 0.0, volume.id


def _target(state: st.State, volume: int) -> int | str:
    """The target pool, or the reason for which there is none."""
    problem = state.problem
    if problem.volumes[volume].movable is not True:
        return str(problem.volumes[volume].movable or 'not movable')
    open_to = problem.open[problem.group[volume]].copy()
    open_to[problem.device == problem.device[problem.home[volume]]] = False
    if not open_to.any():
        return ('no other pool is up, has a model, is in its zone, and has '
                'its backend and type')
    size = problem.size_gib[volume]
    fits = np.flatnonzero(open_to & (state.room >= size))
    if not len(fits):
        roomiest = max(np.flatnonzero(open_to), key=state.room.item)
        return lm.no_room(problem.cluster.pools[roomiest],
                          float(state.room[roomiest]), float(size))
    price = _prices(state, volume, fits)
    breaks = [promises.broken(state, volume, pool) is not None
              for pool in fits]
    return int(fits[np.lexsort((fits, -state.room[fits], price, breaks))[0]])


def _prices(state: st.State, volume: int, pools: Ints) -> pm.Floats:
    """µs[pools] that each would show with the volume."""
    problem = state.problem
    return problem.latency(
        pools, state.loads[problem.device[pools]]
        + problem.load(np.array([volume])))


def _move(state: st.State, after: st.State, volume: cl.Volume,
          target: int) -> pl.Move:
    pools = state.problem.cluster.pools
    home = next(i for i, pool in enumerate(pools)
                if pool.name == volume.pool)
    source = (_known(float(s.latency_us[home])) for s in (state, after))
    others = (float(s.latency_us[target]) for s in (state, after))
    return pl.Move(
        volume.id, volume.pool, pools[target].name, volume.size_gib,
        *source, *others, f'{volume.pool} is evacuated'
        + ('; no telemetry' if volume.workload is None else ''))


def _known(latency_us: float) -> float | None:
    return None if math.isnan(latency_us) else latency_us
