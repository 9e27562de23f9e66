# SPDX-License-Identifier: Apache-2.0
"""How does a planner go from move to move, and when is it done?"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from serifos.plan import pairs
from serifos.plan import plan as pl
from serifos.plan import problem as pm
from serifos.plan.problem import Bools
from serifos.plan.problem import Ints
from serifos.plan import state as st
from serifos.plan import verdict

Step = tuple[int, int]
"""A volume and the pool where it goes."""

Search = Callable[[st.State, Ints], Step | None]
"""The next acceptable move among volumes, in the planner's own taste."""


def plan(planner: str, problem: pm.Problem, search: Search) -> pl.Plan:
    """Moves until the search finds none, or there are max_moves.

    The search begins behind the volume that moved last. The plan is
    truncated where the search, in the state that the plan leads to, with
    the space that its moves free, still finds a move.
    """
    first = state = st.State.of(problem)
    steps: list[Step] = []
    queue, full = problem.candidates, problem.limits.max_moves
    while len(steps) != full and (step := search(state, queue)):
        steps, state = _follow(first, steps, state, step)
        behind = int(np.flatnonzero(queue == step[0])[0]) + 1
        queue = np.concatenate([queue[behind:], queue[:behind]])
    left = queue if len(steps) == full else queue[_waits(state, queue)]
    truncated = search(state.carried_out(), left) is not None
    return verdict.plan(planner, _states(first, steps), truncated)


def accepted(state: st.State, step: Step) -> st.State | None:
    """The state after a step, None where the step is not acceptable."""
    after = state.moved(*step)
    if state.problem.limits.accepts(state.score, after.score):
        return after
    return None


def _follow(first: st.State, steps: list[Step], state: st.State,
            step: Step) -> tuple[list[Step], st.State]:
    """The steps with one more; a volume's two as one where that may be."""
    volume, target = step
    if volume in dict(steps):
        short = [other for other in steps if other[0] != volume]
        if target != first.home[volume]:
            short.append(step)
        if (after := _replay(first, short)) is not None:
            return short, after
    return [*steps, step], state.moved(volume, target)


def _replay(state: st.State, steps: list[Step]) -> st.State | None:
    for volume, target in steps:
        if not pairs.allowed(state, np.array([volume]))[0, target]:
            return None
        after = accepted(state, (volume, target))
        if after is None:
            return None
        state = after
    return state


def _states(state: st.State, steps: list[Step]) -> list[st.State]:
    states = [state]
    for step in steps:
        states.append(states[-1].moved(*step))
    return states


def _waits(state: st.State, volumes: Ints) -> Bools:
    """Which volumes would fit somewhere once the plan's space is freed.

    The others find what they found before: no move.
    """
    freed = state.free > state.room
    size, which = np.unique(
        state.problem.size_gib[volumes], return_inverse=True)
    waits = [np.any((state.room[freed] < gib) & (gib <= state.free[freed]))
             for gib in size]
    return np.array(waits, bool)[which]
