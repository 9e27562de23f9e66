# SPDX-License-Identifier: Apache-2.0
"""Evacuation of a pool: best fit decreasing, without a minimum gain.

The volumes by decreasing block size, the idle and the unknown last, each to
the pool with the least planning figure after the move and, of equals, the
most free space; pools where an SLO would be violated come last.
One pass; a volume that cannot move is refused with the reason.
"""

from __future__ import annotations

import functools

import numpy as np

from serifos.facts.cluster import Cluster
from serifos.facts.refusals import Code
from serifos.plan import affinity
from serifos.plan.limits import Limits
from serifos.plan.outcomes import Outcomes
from serifos.plan import permits
from serifos.plan.plan import Cause
from serifos.plan.plan import Move
from serifos.plan.plan import Plan
from serifos.plan.plan import Refusal
from serifos.plan.predictions import Predictions
from serifos.plan.problem import Problem
from serifos.plan import refusals
from serifos.plan.slots import Slots
from serifos.plan.state import State
from serifos.plan import summary
from serifos.plan import violations

NAME = 'evacuate'


def plan(cluster: Cluster, models: Predictions, limits: Limits,
         pool: str, slots: Slots | None = None) -> Plan:
    """As :func:`of`, for a cluster.

    :param slots: as of :meth:`.problem.Problem.of`
    """
    return of(State.of(Problem.of(cluster, models, limits, slots)), pool)


def of(first: State, pool: str) -> Plan:
    """Moves that empty a pool as far as its volumes may move.

    :param pool: its name; it needs no model, and may be disabled
    :raises InputError: where the cluster has no such pool, it is down, or a
        stuck migration touches it
    """
    state, problem = first, first.problem
    left = problem.cluster.evacuable(pool)
    here = [i for i, volume in enumerate(problem.volumes)
            if volume.pool == left.name]
    moves: list[Move] = []
    refused: list[Refusal] = []
    for i in sorted(here, key=functools.partial(_order, problem)):
        if problem.bonds.bundle[i] != i:
            continue  # it goes with the first of its bundle
        found = _target(state, i)
        for each in problem.bonds.with_it(i).tolist():
            volume = problem.volumes[each]
            if isinstance(found, str):
                refused.append(Refusal(
                    volume.id, _fixed(problem, each) or found))
                continue
            moves.append(summary.move(
                state, each, found, Cause.EVACUATED.of(
                    pool=left.name, unknown='; no telemetry'
                    if volume.workload is None else '')))
            state = state.moved(each, found)
    return summary.figures(NAME, first, state, moves, refused,
                           truncated=False)


def _order(problem: Problem, volume: int) -> tuple[float, int]:
    workload = problem.volumes[volume].workload
    active = workload is not None and workload.is_active(
        problem.limits.active_floor)
    return -workload.block_kib if active else 0.0, volume


def _fixed(problem: Problem, volume: int) -> str | None:
    """Why a volume goes nowhere, telemetry or not, or None."""
    bonds = problem.bonds
    its = bonds.with_it(volume).tolist()
    for each in (volume, *its):
        said = problem.volumes[each].movable
        if said is not True:
            why = said or 'not movable'
            return why if each == volume else affinity.companion_stays(
                problem.volumes[each], why)
    return None if bonds.contradiction(volume) is None else (
        affinity.others_reason(bonds, problem.volumes, volume))


def _target(state: State, volume: int) -> int | str:
    """The target pool, or the reason for which there is none."""
    problem = state.problem
    if (why := _fixed(problem, volume)) is not None:
        return why
    elsewhere = problem.device != problem.device[problem.home[volume]]
    allowed = problem.open[problem.group[volume]] & elsewhere
    if not allowed.any():
        return Code.NO_OTHER_POOL.of()
    open_to = permits.pools(state, volume) & elsewhere
    if not open_to.any():
        return refusals.barred(
            state, volume, int(np.flatnonzero(allowed)[0])) or ''
    size = problem.carried_gib[volume]
    fits = np.flatnonzero(open_to & (state.room >= size))
    if not len(fits):
        roomiest = max(np.flatnonzero(open_to), key=state.room.item)
        return problem.limits.no_room(
            problem.cluster.pools[roomiest], float(state.room[roomiest]),
            float(size))
    price = problem.figure_us(
        problem.device[fits],
        state.loads[problem.device[fits]] + problem.carried[volume])
    source = state.figure_us[problem.device[state.home[[volume]]]]
    breaks = violations.breaks(state, Outcomes(
        np.full(len(fits), volume), fits, source, source, price))
    return int(fits[np.lexsort((fits, -state.room[fits], price, breaks))[0]])
