# SPDX-License-Identifier: Apache-2.0
"""The plan of a sequence of moves: its figures and reasons."""

from __future__ import annotations

from collections.abc import Iterable
from collections.abc import Sequence
import dataclasses
import math

import numpy as np

from serifos.facts.cluster import Volume
from serifos.facts import phrases
from serifos.facts.refusals import Reason
from serifos.plan import copying
from serifos.plan.hot import hot_pools
from serifos.plan.outcomes import Step
from serifos.plan.plan import Cause
from serifos.plan.plan import Change
from serifos.plan.plan import Move
from serifos.plan.plan import Plan
from serifos.plan.plan import Refusal
from serifos.plan.problem import Floats
from serifos.plan.problem import Ints
from serifos.plan.quota import Quota
from serifos.plan import refusals
from serifos.plan.state import State
from serifos.plan import violations


def plan(planner: str, first: State, last: State,
         steps: Sequence[Step], truncated: bool,
         why: Sequence[str | None] = (),
         quota: Quota | None = None) -> Plan:
    """The plan that these steps make, (volume, target) each.

    :param why: the reason of each; None, and after the last of them, for
        one that its figures tell
    :param quota: how they count; None where each counts as one
    """
    if quota is None:
        quota = Quota.of(first.problem).after(first.problem.device[
            first.home[[volume for volume, _ in steps]]])
    why = [*why, *[None] * (len(steps) - len(why))]
    every, there, row = first.problem.bonds.expanded(
        *np.array([*steps], np.intp).reshape(-1, 2).T)
    moves = _moves(first, [*zip(every.tolist(), there.tolist())],
                   [why[step] for step in row.tolist()])
    return figures(planner, first, last, moves, refusals.of(
        first, last, {move.volume for move in moves}, quota), truncated)


def figures(planner: str, first: State, last: State,
            moves: Sequence[Move], refused: Iterable[Refusal],
            truncated: bool) -> Plan:
    """A plan of these moves, which lead from one state to the other."""
    pools = first.problem.cluster.pools
    shown = [(pool.name, float(was), float(then)) for pool, was, then
             in zip(pools, first.mean_us, last.mean_us)
             if not math.isnan(was)]
    was, then = first.score, last.score
    return Plan(
        planner, tuple(moves),
        tuple(sorted(refused, key=lambda refusal: refusal.volume)),
        truncated, {name: Change(*pair) for name, *pair in shown},
        Change(was.max_us, then.max_us),
        Change(was.mean_us, then.mean_us),
        Change(was.variance_us2, then.variance_us2),
        Change(*(len(violations.broken(state)) for state in (first, last))),
        Change(*(len(violations.violated(first, state))
                 for state in (first, last))),
        Change(*(int(hot_pools(state).sum())
                 for state in (first, last))),
        tuple(pool.name for pool in pools if pool.unexplained is not None),
        tuple(pool.drift_sentence for pool in pools
              if pool.drifting is not None))


def left(made: Plan, first: State) -> Plan:
    """What is left of a plan: its moves of volumes that are where they were.

    Its figures are of the state, its refusals those of the plan.

    :param first: of an observation after the plan
    """
    problem = first.problem
    place = {volume.id: i for i, volume in enumerate(problem.volumes)}
    pools = {pool.name: i for i, pool in enumerate(problem.cluster.pools)}
    ahead = [each for each in made.moves if each.target in pools
             and each.volume in place and problem.volumes[
                 place[each.volume]].pool == each.source]
    steps = [(place[each.volume], pools[each.target]) for each in ahead]
    last = first.moved(*map(list, zip(*steps))) if steps else first
    found = figures(made.planner, first, last, _moves(
        first, steps, [each.reason for each in ahead]), made.refused,
        made.truncated)
    return dataclasses.replace(
        found, id=made.id, created_at=made.created_at,
        expires_at=made.expires_at, window_s=made.window_s)


def move(state: State, volume: int, target: int, reason: Reason) -> Move:
    """The move of one volume that leads from one state to the next."""
    return _moves(state, [(volume, target)], [reason])[0]


def _moves(first: State, steps: Sequence[Step],
           why: Sequence[str | None]) -> list[Move]:
    """The moves, each with the figures of its two pools at its turn."""
    problem, pools = first.problem, first.problem.cluster.pools
    if not len(steps):
        return []
    volume, target = np.array([*steps], np.intp).T
    pair, before, after = _turns(first, volume, target)
    rate = np.array(problem.limits.copying.s_per_gib)[
        problem.attached[volume]]
    seen = [problem.models.mean(pool, load) for pool, load in zip(
        [*pair, *pair], [*before, *after])]
    seen += [copying.at_rate(seen[side], problem.models.mean(
        pair[side], before[side] + problem.copies[side]), rate)
        for side in (copying.READER, copying.WRITER)]
    figure = _figures(first, pair, before, after)
    made = []
    for row in range(len(volume)):
        moved = problem.volumes[volume[row]]
        was, came, then, came_then, during, came_during = (
            _known(each[row]) for each in seen)
        reason = why[row] or _reason(
            *figure[:, row], problem.thresholds.keeps[volume[row]],
            problem.hot_by)
        made.append(Move(
            moved.id, *(pools[side[row]].name for side in pair),
            moved.size_gib, was, then, came, came_then, reason,
            float(problem.copy_s[volume[row]]), during, came_during,
            *_measured(moved)))
    return made


def _measured(volume: Volume) -> tuple[float | None, float | None]:
    """Its latency at the device and as QEMU sees it, where both are known."""
    seen = volume.workload
    return (None, None) if volume.qemu_latency_us is None else (
        seen and seen.latency_us, volume.qemu_latency_us)


def _turns(first: State, volume: Ints,
           target: Ints) -> tuple[Ints, Floats, Floats]:
    """Pools int[2, n] and their Loads float[2, n, slots, features].

    Source and target, before the move and after it, at each turn.
    """
    problem = first.problem
    home: dict[int, int] = {}
    loads: dict[int, Floats] = {}
    pair = np.empty((2, len(volume)), np.intp)
    before, after = np.empty(
        (2, 2, len(volume), *problem.loads.shape[1:]))
    for row, (v, to) in enumerate(zip(volume.tolist(), target.tolist())):
        pair[:, row] = home.get(v, problem.home[v]), to
        home[v] = to
        for side, sign in (0, -1), (1, 1):
            device = int(problem.device[pair[side, row]])
            now = loads.get(device, first.loads[device])
            before[side, row] = now
            after[side, row] = loads[device] = now + sign * problem.loads[v]
    return pair, before, after


def _figures(first: State, pair: Ints, before: Floats,
             after: Floats) -> Floats:
    """µs[3, n]: the source's planning figure, then both afterwards."""
    problem = first.problem
    device = problem.device[pair]
    found = np.full((3, pair.shape[1]), np.nan)
    for row, at, load in ((0, device[0], before[0]), (1, device[0], after[0]),
                          (2, device[1], after[1])):
        known = problem.predicted[at]
        found[row, known] = problem.figure_us(at[known], load[known])
    return found


def _known(latency_us: float) -> float | None:
    return None if math.isnan(latency_us) else float(latency_us)


def _reason(was_us: float, left_us: float, came_us: float,
            keeps: float, hot_by: str) -> Reason:
    worse_us = max(left_us, came_us)
    if worse_us <= was_us * keeps:
        return Cause.HOT.of(
            worse=phrases.worse(hot_by),
            change=phrases.exact_change(was_us, worse_us, hot_by))
    return Cause.HOT_WITH_OTHERS.of(
        change=phrases.exact_change(was_us, left_us, hot_by))
