# SPDX-License-Identifier: Apache-2.0
"""Moves for a large cloud, and off pools of many small volumes: in rounds.

In a round (:mod:`.group`) the hottest devices each make the best of a few
moves to the coolest pools: all moves of a round are exact, made at once, and
cost two calls of the models. A device that received a volume is none that
another leaves in the same plan.

On a device of more than 2 / min_gain active volumes, none of which reaches
min_gain by itself, several moves count as one, also against max_moves: each
keeps its target cool, and the rounds begin again without them unless together
they reach it.
"""

from __future__ import annotations

import numpy as np

from serifos.plan.outcomes import Step
from serifos.plan.quota import Quota
from serifos.plan.search.group import Group
from serifos.plan.search.sweep import Sweep
from serifos.plan.state import State


def steps(state: State, quota: Quota, once: bool = False
          ) -> tuple[list[Step], State, Quota]:
    """Moves off hot devices.

    :param once: whether to stop as soon as a move is accepted
    :returns: the moves, where they lead, and what is left of the quota
    """
    found: list[Step] = []
    came = np.zeros(len(state.figure_us), bool)
    while True:
        alone: set[int] = set()
        while short := (sweep := _done(
                Sweep(state, quota, came, alone), once)).short:
            alone |= short
        found += sweep.steps
        state, quota, came = sweep.state, sweep.quota, sweep.came
        if once or not sweep.steps:
            return found, state, quota


def _done(sweep: Sweep, once: bool = False) -> Sweep:
    """A sweep, carried out; to its first move if that is enough."""
    for group in range(len(sweep.state.problem.open)):
        if not (once and len(sweep.steps) > len(sweep.begun)):
            Group(sweep, group).drain(once)
    return sweep
