# SPDX-License-Identifier: Apache-2.0
"""Explain the latency of a pool: its volumes, and possible moves.

Of each volume: what its pool would show without it, where it could go best,
and what speaks against that. Of one volume the same for every pool.
"""

from __future__ import annotations

from collections.abc import Sequence
import dataclasses

import numpy as np

from serifos.facts.cluster import Volume
from serifos.facts import hot_by
from serifos.plan import outcomes
from serifos.plan import outlook
from serifos.plan import problem
from serifos.plan.quota import Quota
from serifos.plan import refusals
from serifos.plan.state import State
from serifos.plan import violations

Ints = problem.Ints


@dataclasses.dataclass(frozen=True, slots=True)
class Goal:
    """A pool that a volume could go to.

    :param was_us: what it shows now, the mean over its tenants
    :param then_us: with the volume
    :param barred: whether rules or space keep it from there
    :param why: what speaks against it; None where the move is acceptable by
        itself
    """

    pool: str
    was_us: float
    then_us: float
    barred: bool
    why: str | None


@dataclasses.dataclass(frozen=True, slots=True)
class Part:
    """What one volume has to do with what its pool shows.

    :param outstanding: I/Os
    :param share: of those of its device, 0 to 1
    :param figure_us: for how long it keeps its device busy, µs of each
        second; None where pools are not compared by that
    :param without_us: what its pool would show without it; None where the
        pool has no model
    :param late: whether it exceeds its SLO, as predicted
    :param why: what keeps it where it is, whatever the pool; None where
        nothing does, empty for an idle volume
    :param goals: the pools that it could go to, the best first
    """

    volume: Volume
    outstanding: float
    share: float
    figure_us: float | None
    without_us: float | None
    late: bool
    why: str | None
    goals: tuple[Goal, ...]


@dataclasses.dataclass(frozen=True, slots=True)
class Heat:
    """How a pool stands against those where its volumes may live.

    :param figure_us: its planning figure
    :param level_us: the mean of theirs, for the volume to which it is the
        hottest
    :param hot_ratio: how far above that mean it is hot
    """

    figure_us: float
    level_us: float
    hot_ratio: float


def heat(state: State, pool: str) -> Heat | None:
    """How hot a pool is; None without a model, or active volumes."""
    problem, at = state.problem, _place(state, pool)
    here = np.flatnonzero((state.home == at) & problem.active)
    if not problem.modelled[at] or not len(here):
        return None
    level_us = float(state.level_us[problem.group[here]].min())
    device = problem.device[at]
    return Heat(
        float(state.figure_us[device]), level_us,
        float(problem.thresholds.hot_ratio[device])) if (
            0 < level_us < np.inf) else None


def parts(state: State, pool: str) -> tuple[Part, ...]:
    """The active volumes of a pool and its device, the heaviest first.

    Each with the one pool that it could go to best.
    """
    problem, at = state.problem, _place(state, pool)
    device = problem.device[at]
    here = np.flatnonzero((state.home >= 0) & problem.active)
    here = here[problem.device[state.home[here]] == device]
    found = _parts(state, here, at)
    may = here[[part.why is None for part in found]]
    every = outcomes.every(state, may, outcomes.coolest(state))
    order = np.lexsort((every.came_us, every.volume))
    best = every[order[np.diff(every.volume[order], prepend=-1) != 0]]
    goals = dict(zip(best.volume.tolist(), _goals(state, best)))
    found = [dataclasses.replace(
        part, goals=(goals[volume],) if volume in goals else ())
        for part, volume in zip(found, here.tolist())]
    return tuple(sorted(found, key=lambda part: (
        np.inf if part.without_us is None else part.without_us,
        -part.outstanding, part.volume.id)))


def part(state: State, volume: str) -> Part:
    """One volume, with every pool on another device that has a model.

    :raises StopIteration: where the cluster has no such volume
    """
    problem = state.problem
    one = next(i for i, each in enumerate(problem.volumes)
               if each.id == volume)
    at = int(state.home[one])
    alone, = _parts(state, np.array([one]), at)
    if at < 0 or not problem.modelled[at] or not problem.active[one]:
        return alone
    others = np.flatnonzero(
        problem.modelled & (problem.device != problem.device[at]))
    every = outcomes.outcomes(state, np.full(len(others), one), others)
    every = every[np.argsort(every.came_us, kind='stable')]
    return dataclasses.replace(alone, goals=tuple(sorted(
        _goals(state, every),
        key=lambda goal: (goal.barred, goal.why is not None))))


def _parts(state: State, volumes: Ints, at: int) -> list[Part]:
    """Volumes, without the pools that they could go to.

    :param at: the pool that is looked at, -1 for one that is not listed
    """
    problem = state.problem
    q = outlook.outstanding(problem)[volumes]
    without = np.full(len(volumes), np.nan)
    total = float(q.sum())
    figure = np.full(len(volumes), np.nan)
    if at >= 0 and problem.hot_by == hot_by.BUSY and problem.modelled[at]:
        figure = problem.models.figure(
            np.full(len(volumes), at), *[problem.loads[volumes]] * 2)
    if at >= 0:
        device = problem.device[at]
        total = float(state.queued[device])
        without = problem.models.mean(
            np.full(len(volumes), at),
            state.loads[device] - problem.loads[volumes])
    late = set(violations.broken(state).tolist())
    return [Part(
        problem.volumes[volume], float(its), float(its) / (total or 1.0),
        _known(own), _known(left), volume in late, problem.refusal(volume),
        ())
        for volume, its, own, left in zip(
            volumes.tolist(), q, figure, without)]


def _known(figure_us: float) -> float | None:
    return None if np.isnan(figure_us) else float(figure_us)


def _goals(state: State, moves: outcomes.Outcomes) -> list[Goal]:
    problem = state.problem
    device = problem.device[moves.target]
    then = problem.models.mean(
        moves.target, state.loads[device] + problem.carried[moves.volume])
    against: Sequence[str | None] = refusals.against(
        state, moves, Quota.of(problem))
    barred = [refusals.barred(state, volume, target) for volume, target in zip(
        moves.volume.tolist(), moves.target.tolist())]
    return [Goal(
        problem.cluster.pools[target].name, float(state.mean_us[target]),
        float(then_us), bar is not None, bar or why)
        for target, then_us, bar, why in zip(
            moves.target.tolist(), then, barred, against)]


def _place(state: State, pool: str) -> int:
    names = [each.name for each in state.problem.cluster.pools]
    return names.index(pool)
