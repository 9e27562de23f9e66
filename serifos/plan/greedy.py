# SPDX-License-Identifier: Apache-2.0
"""The loop that greedy planners share: search, move, search again."""

from __future__ import annotations

from collections.abc import Callable
from collections.abc import Iterable

import numpy as np

from serifos.plan import copying
from serifos.plan import outcomes
from serifos.plan import plan as pl
from serifos.plan import problem as pm
from serifos.plan.problem import Bools
from serifos.plan.problem import Ints
from serifos.plan import promises
from serifos.plan import state as st
from serifos.plan import summary

Step = tuple[int, int]
"""A volume and its target pool, by index."""

Found = tuple[Step, st.State]
"""An acceptable step, and the state after it."""

Search = Callable[[st.State], Found | None]
"""Finds the next step; each planner has its own."""


def plan(planner: str, problem: pm.Problem,
         among: Callable[[pm.Problem, Ints], Search]) -> pl.Plan:
    """Moves until the search finds none, or there are max_moves.

    The plan is truncated where a search in the state that it leads to, with
    the space that its moves free, still finds a move.

    :param among: a search among some of the problem's volumes
    """
    first = state = st.State.of(problem)
    steps: list[Step] = []
    volumes, full = problem.candidates, problem.limits.max_moves
    search = among(problem, volumes)
    while len(steps) != full and (found := search(state)):
        steps, state = _follow(first, steps, *found)
    left = volumes if len(steps) == full else volumes[_waits(state, volumes)]
    truncated = among(problem, left)(state.carried_out()) is not None
    return summary.plan(planner, first, steps, truncated)


def first_accepted(state: st.State, steps: Iterable[Step]) -> Found | None:
    """The first of these steps that is acceptable from here."""
    for step in steps:
        after = state.moved(*step)
        if state.problem.limits.accepts(state.score, after.score) and (
                promises.broken(state, *step, after) is None) and (
                copying.outweighs(state, *step, after) is None):
            return step, after
    return None


def _follow(first: st.State, steps: list[Step], step: Step,
            after: st.State) -> tuple[list[Step], st.State]:
    """The steps with one more; a volume's two as one where that may be.

    The one takes the place of the first if it can, so that a plan keeps
    its order; else it comes last.
    """
    volume, target = step
    if any(volume == other for other, _ in steps):
        back = target == first.home[volume]
        others = [other for other in steps if other[0] != volume]
        in_place = [step if other[0] == volume else other for other in steps]
        for short in [others] if back else [in_place, [*others, step]]:
            if (shorter := _replay(first, short)) is not None:
                return short, shorter
    return [*steps, step], after


def _replay(state: st.State, steps: list[Step]) -> st.State | None:
    for volume, target in steps:
        if not outcomes.allowed(state, np.array([volume]))[0, target]:
            return None
        found = first_accepted(state, [(volume, target)])
        if found is None:
            return None
        state = found[1]
    return state


def _waits(state: st.State, volumes: Ints) -> Bools:
    """Which volumes would fit somewhere once the plan's space is freed.

    The others find what they found before: no move.
    """
    freed = state.free > state.room
    room, free = state.room[freed], state.free[freed]
    sizes = state.problem.size_gib[volumes].tolist()
    waits = {gib: np.any((room < gib) & (gib <= free)) for gib in set(sizes)}
    return np.array([waits[gib] for gib in sizes], bool)
