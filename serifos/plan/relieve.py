# SPDX-License-Identifier: Apache-2.0
"""The default planner: promises first, then hot pools, then nothing.

Promises that are broken are kept again where a move can (:mod:`.promises`);
then hot pools are relieved, on small clouds by the best of many sequences
of moves (:mod:`.hot.beam`), on large ones and for pools of many small volumes
in rounds (:mod:`.hot.rounds`).
"""

from __future__ import annotations

from serifos.facts import cluster as cl
from serifos.plan.hot import beam
from serifos.plan.hot import rounds
from serifos.plan import limits as lm
from serifos.plan.loads import slots as sl
from serifos.plan import plan as pl
from serifos.plan import predictions as pr
from serifos.plan import problem as pm
from serifos.plan import promises
from serifos.plan import state as st
from serifos.plan import summary

SMALL = 20
"""Pools of a small cloud, at most."""

MAX_MOVES = 4
"""Moves of a plan on a small cloud where the limits name none."""


def plan(cluster: cl.Cluster, models: pr.Predictions, limits: lm.Limits,
         slots: sl.Slots | None = None) -> pl.Plan:
    """Moves that keep promises and relieve hot pools.

    The plan is truncated where planning from the state that it leads to,
    with the space that its moves free, finds another move.

    :param models: predictions for the pools in the cluster's order
    :param slots: as of :meth:`.problem.Problem.of`
    """
    first = st.State.of(pm.Problem.of(cluster, models, limits, slots))
    steps, kept, last = _steps(first)
    truncated = bool(steps) and bool(
        _steps(last.carried_out(), once=True)[0])
    return summary.plan('relieve', first, last, steps, truncated,
                        [summary.KEPT] * kept)


def _steps(state: st.State, once: bool = False
           ) -> tuple[list[summary.Step], int, st.State]:
    """The moves, how many of them keep promises, and where they lead.

    :param once: whether one move is enough to know
    """
    small = len(state.room) <= SMALL
    most = (state.problem.limits.max_moves or MAX_MOVES) if small else None
    found, state = promises.steps(state, 1 if once else most)
    kept = len(found)
    if (once and found) or kept == most:
        return found, kept, state
    left = None if most is None else most - kept
    relieved, then = beam.steps(state, left) if small else ([], state)
    if not relieved:
        relieved, then = rounds.steps(state, left, once)
    return found + relieved, kept, then
