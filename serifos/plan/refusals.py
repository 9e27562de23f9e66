# SPDX-License-Identifier: Apache-2.0
"""Refusals of a plan: the reasons why volumes stay.

Volumes of hot pools have one, and those that exceed their SLO; on a small
cloud also all that share a pool with such a one. Of pools that the plan
relieves, those have one that may not move at all. A volume is judged by its
move to the pool of least figure with it, among the :data:`.outcomes.NEAREST`
pools of least figure, open to it or not.
"""

from __future__ import annotations

from collections.abc import Collection
from collections.abc import Iterator

import numpy as np

from serifos.facts.refusals import Code
from serifos.plan import copying
from serifos.plan.hot import hot_pools
from serifos.plan.hot import is_hot
from serifos.plan import limits
from serifos.plan import outcomes
from serifos.plan import permits
from serifos.plan.plan import Refusal
from serifos.plan.problem import Ints
from serifos.plan.problem import Problem
from serifos.plan.quota import Quota
from serifos.plan.state import State
from serifos.plan import violations

_MANY = 2048  # volumes that are priced at once


def of(first: State, last: State, moved: Collection[str],
       quota: Quota) -> Iterator[Refusal]:
    """The refusals of a plan that leads from one state to the other.

    :param moved: the ids of the volumes that the plan moves
    """
    problem, every = last.problem, last.problem.limits.every_refusal
    here, late = np.flatnonzero(last.home >= 0), violations.broken(last)
    hot, asked = np.zeros((2, len(problem.volumes)), bool)
    asked[late] = True
    pools, before = hot_pools(last) | every, hot_pools(first)
    if not quota.each:
        pools[last.home[late]] = True
        before[first.home[violations.broken(first)]] = True
    asked[here] |= pools[last.home[here]]
    hot[here] = asked[here]
    asked[here] |= before[last.home[here]]
    asked |= every
    stays = [v for v in np.flatnonzero(asked).tolist()
             if problem.volumes[v].id not in moved]
    why = {v: problem.refusal(v) for v in stays}
    may = [v for v in stays if why[v] is None and hot[v]]
    near = _near(last)
    for begin in range(0, len(may), _MANY):
        volumes = np.array(may[begin:begin + _MANY], np.intp)
        moves = _best(last, volumes, near)
        why.update(dict.fromkeys(volumes.tolist(), Code.NO_OTHER_MODEL.of()))
        why.update((volume, reason or Code.OTHERS_FIRST.of())
                   for volume, reason in zip(
                       moves.volume.tolist(), against(last, moves, quota)))
    for volume, reason in why.items():
        if reason:
            yield Refusal(problem.volumes[volume].id, reason)


def _near(state: State) -> Ints:
    """The pools of least figure, open to volumes or not."""
    pools = np.flatnonzero(state.problem.modelled)
    order = np.argsort(state.figure_us[state.problem.device[pools]],
                       kind='stable')
    return np.sort(pools[order[:outcomes.NEAREST]])


def _best(state: State, volumes: Ints, near: Ints) -> outcomes.Outcomes:
    """The best move of each volume; none of one that has no other device."""
    device = state.problem.device
    row, column = np.nonzero(
        device[near] != device[state.home[volumes]][:, None])
    found = outcomes.outcomes(state, volumes[row], near[column])
    order = np.lexsort((found.came_us, row))
    return found[order[np.diff(row[order], prepend=-1) != 0]]


def against(state: State, moves: outcomes.Outcomes,
            quota: Quota) -> list[str | None]:
    """The first thing that speaks against each move; None for nothing."""
    asked, which = state.problem.thresholds, moves.volume
    enough = moves.worse_us <= moves.before_us * asked.keeps[which]
    worthy = iter(_against_worthy(state, moves[enough], quota))
    return [next(worthy) if fine else limits.shortfall(
                was, then, gain, state.problem.hot_by, by_type)
            for fine, was, then, gain, by_type in zip(
                enough.tolist(), moves.before_us.tolist(),
                moves.worse_us.tolist(), asked.min_gain[which].tolist(),
                asked.by_type[which].tolist())]


def _against_worthy(state: State, moves: outcomes.Outcomes,
                    quota: Quota) -> Iterator[str | None]:
    """The same of moves that would lower the greater figure."""
    problem = state.problem
    source = problem.device[state.home[moves.volume]]
    cool = ~is_hot(state, moves.volume)
    no_cause = cool & ~violations.exceeded(state)[source]
    breaks = violations.whose(state, moves)
    eases = violations.eases(state, moves)
    unpaid = copying.why_not(state, moves)
    for row, volume in enumerate(moves.volume.tolist()):
        target = int(moves.target[row])
        pool = problem.cluster.pools[target]
        by_rules = barred(state, volume, target)
        if by_rules is not None:
            yield by_rules
        elif no_cause[row]:
            yield Code.NOT_HOT.of()
        elif breaks[row] >= 0:
            broken = int(breaks[row])
            whose = ('it' if broken == volume else
                     f'volume {problem.volumes[broken].id} there')
            yield Code.VIOLATES_SLO.of(pool=pool.name, whose=whose,
                                       slo=problem.slos.us[broken])
        elif cool[row] and not eases[row]:
            yield Code.SHIFTS_SLOS.of(pool=pool.name)
        elif (price := unpaid[row]) is not None:
            yield price
        elif problem.carried_gib[volume] > state.gib_left:
            yield Code.MAX_GIB.of(gib=problem.carried_gib[volume],
                                  most=problem.limits.max_gib_per_plan)
        elif quota.full(int(source[row])):
            yield Code.MAX_MOVES.of(most=quota.most)
        else:
            yield None


def barred(state: State, volume: int, target: int) -> str | None:
    """Why rules or space keep a volume from a pool, or None."""
    problem = state.problem
    pool, its = problem.cluster.pools[target], problem.bonds.with_it(volume)
    size = problem.size_gib[its[
        state.home[its] == state.home[volume]]].sum()
    reason = (_by_rules(problem, volume, target)
              or permits.why_not(state, volume, target)
              or _other_barred(state, volume, target))
    if reason is not None or size <= state.room[target]:
        return reason
    full = problem.limits.no_room(pool, state.room[target], size)
    return full if size > state.free[target] or pool.space_unknown else (
        Code.NO_SPACE_YET.of(full=full))


def _other_barred(state: State, volume: int, target: int) -> str | None:
    """Why rules keep what moves with a volume from a pool, or None."""
    problem = state.problem
    return next((
        Code.COMPANION_STAYS.of(volume=problem.volumes[other].id,
                                why=f'and {why}')
        for other in problem.bonds.with_it(volume).tolist()
        if other != volume and (
            why := _by_rules(problem, other, target)) is not None), None)


def _by_rules(problem: Problem, volume: int, target: int) -> str | None:
    """Why rules keep a volume from a pool, its bonds and space aside."""
    one, pool = problem.volumes[volume], problem.cluster.pools[target]
    return limits.target_refusal(
        problem.cluster.pools[problem.home[volume]].zone,
        one.required_backend_name, one.volume_type, pool
    ) or problem.limits.unexplained(pool)
