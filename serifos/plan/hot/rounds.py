# SPDX-License-Identifier: Apache-2.0
"""Moves for a large cloud, and off pools of many small volumes: in rounds.

In a round (:mod:`.group`) the hottest devices each make the best of a few
moves to the coolest pools: all moves of a round are exact, made at once, and
cost two calls of the models. A device that received a volume is none that
another leaves in the same plan.

On a device of more than 2 / min_gain active volumes, none of which reaches
min_gain by itself, several moves count as one: each keeps its target cool,
and the rounds begin again without them unless together they reach it.
"""

from __future__ import annotations

import numpy as np

from serifos.plan.hot import group as gr
from serifos.plan.hot import sweep as sw
from serifos.plan import state as st


def steps(state: st.State, most: int | None,
          once: bool = False) -> tuple[list[sw.Step], st.State]:
    """Moves off hot devices, and the state that they lead to.

    :param most: how many in all; None for max_moves off each device
    :param once: whether to stop as soon as a move is accepted
    """
    found: list[sw.Step] = []
    came = np.zeros(len(state.figure_us), bool)
    limited = not once and (most or state.problem.limits.max_moves)
    while most is None or len(found) < most:
        alone: set[int] = set()
        while short := (sweep := _done(
                sw.Sweep(state, came, alone), once)).short:
            alone |= short
        if limited:
            sweep = _done(sw.Sweep(state, came, alone, found, most))
        found += [(volume, target) for volume, target, _ in sweep.steps]
        state, came = sweep.state, sweep.came
        if once or not sweep.steps:
            break
    return found, state


def _done(sweep: sw.Sweep, once: bool = False) -> sw.Sweep:
    """A sweep, carried out; to its first move if that is enough."""
    for group in range(len(sweep.state.problem.open)):
        if not (once and len(sweep.steps) > len(sweep.begun)):
            gr.Group(sweep, group).drain(once)
    return sweep
