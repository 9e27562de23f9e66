# SPDX-License-Identifier: Apache-2.0
"""Moves off pools that will be full within the horizon by their own growth.

Volumes leave such a pool until what is left of its space, up to max_fill, is
enough for its growth. Idle ones may move, too. No target becomes such a pool,
for the space of its own growth is no room of it. None shows more after the
move, unless it stays under what the source showed, or under the mean and half
of hot_ratio; and no SLO is violated.

Planning ends: what growth lacks falls with each such move and rises with no
other, since none fills that space.
"""

from __future__ import annotations

import numpy as np

from serifos.facts.cluster import Pool
from serifos.facts.refusals import Reason
from serifos.plan import affinity
from serifos.plan.limits import LEAST_GAIN
from serifos.plan.limits import Limits
from serifos.plan import outcomes
from serifos.plan.plan import Cause
from serifos.plan.problem import Bools
from serifos.plan.problem import Ints
from serifos.plan.quota import Quota
from serifos.plan.state import State
from serifos.plan import violations

_DAY_S, _HOUR_S = 86400.0, 3600.0

_ROUNDING_GIB = 1e-6


def why(pool: Pool, limits: Limits) -> Reason | None:
    """That a pool is full within the horizon by its growth, or None."""
    if not limits.growth_gib(pool) or (
            limits.room_gib(pool) >= -_ROUNDING_GIB):
        return None
    left_s = limits.full_in_s(pool)
    if left_s <= 0:
        return Cause.SPACE.of(pool=pool.name, when=', and grows')
    left = (f'{left_s / _DAY_S:.2g} days' if left_s >= 2 * _DAY_S else
            f'{left_s / _HOUR_S:.2g} hours')
    return Cause.SPACE.of(pool=pool.name, when=f' in {left} by its growth')


def steps(state: State, quota: Quota) -> tuple[
        list[outcomes.Step], list[str], State, Quota]:
    """Moves off the pools that fill up, the soonest full one first.

    :returns: the moves, the reason of each, where they lead, and what is
        left of the quota
    """
    found: list[outcomes.Step] = []
    reasons: list[str] = []
    if state.problem.limits.capacity_horizon_s is None:
        return found, reasons, state, quota
    for pool, reason in _soonest_first(state):
        device = int(state.problem.device[pool])
        while state.free[pool] < -_ROUNDING_GIB and not quota.full(device):
            step = _best(state, pool)
            if step is None:
                break
            state, quota = state.after(*step), quota.after(device)
            found.append(step)
            reasons.append(reason)
    return found, reasons, state, quota


def _soonest_first(state: State) -> list[tuple[int, str]]:
    """The pools that fill up and may be left, and why they are."""
    problem, limits = state.problem, state.problem.limits
    pools = problem.cluster.pools
    found = [(limits.full_in_s(pool), i, reason)
             for i, pool in enumerate(pools)
             if pool.state == 'up' and pool.balance and problem.modelled[i]
             and (reason := why(pool, limits)) is not None]
    return [(i, reason) for _, i, reason in sorted(found)]


def _best(state: State, pool: int) -> outcomes.Step | None:
    """The smallest volume whose move is enough, else the largest.

    Of equals to the pool with the least figure then.
    """
    problem = state.problem
    here = np.flatnonzero((state.home == pool) & (
        state.home == problem.home) & (problem.carried_gib > 0) & (
            problem.bonds.bundle == np.arange(len(state.home))))
    volumes = np.array([v for v in here.tolist() if _may(state, v)], np.intp)
    if not len(volumes):
        return None
    moves = outcomes.every(state, volumes,
                           outcomes.coolest(state) | _roomiest(state))
    moves = moves[_harmless(state, moves)]
    if not len(moves.volume):
        return None
    size = problem.carried_gib[moves.volume]
    short = size < -state.free[pool]
    best = np.lexsort((moves.target, moves.volume, moves.came_us,
                       np.where(short, -size, size), short))[0]
    return int(moves.volume[best]), int(moves.target[best])


def _may(state: State, volume: int) -> bool:
    problem = state.problem
    return affinity.own_reason(problem.volumes[volume]) is None and (
        affinity.others_reason(
            problem.bonds, problem.volumes, volume) is None)


def _harmless(state: State, moves: outcomes.Outcomes) -> Bools:
    """bool[n]: whether a move slows its target no more than it may."""
    problem = state.problem
    target = problem.device[moves.target]
    level = state.level_us[problem.group[moves.volume]] * (
        1 + problem.thresholds.hot_ratio[target] / 2)
    was = state.figure_us[target]
    fine = moves.came_us <= (1 + LEAST_GAIN) * np.maximum(
        np.maximum(was, moves.before_us), level)
    fine[fine] = ~violations.breaks(state, moves[fine])
    return fine


def _roomiest(state: State) -> Bools:
    """bool[pools]: the :data:`.outcomes.NEAREST` with the most room."""
    found = np.zeros(len(state.room), bool)
    order: Ints = np.argsort(-state.room, kind='stable')
    found[order[:outcomes.NEAREST]] = True
    return found
