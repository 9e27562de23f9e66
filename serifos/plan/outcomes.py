# SPDX-License-Identifier: Apache-2.0
"""The planning figures that moves would leave on their two devices.

A move changes its source and its target and no other device, so that many
moves are priced at once, each by two predictions.
"""

from __future__ import annotations

import dataclasses

import numpy as np

from serifos.plan import permits
from serifos.plan.problem import Bools
from serifos.plan.problem import Floats
from serifos.plan.problem import Ints
from serifos.plan.state import State

Step = tuple[int, int]
"""A volume and its target pool, by index."""

NEAREST = 20
"""Pools of least figure among which the target of one volume is sought."""


@dataclasses.dataclass(frozen=True, eq=False)
class Outcomes:
    """Moves, and the figures that each leaves on its two devices, µs[n].

    :param before_us: of the source before the move
    :param left_us: of the source after it
    :param came_us: of the target after it
    """

    volume: Ints
    target: Ints
    before_us: Floats
    left_us: Floats
    came_us: Floats

    def __getitem__(self, which: Ints | Bools) -> Outcomes:
        return Outcomes(*(getattr(self, field.name)[which]
                          for field in dataclasses.fields(self)))

    @property
    def worse_us(self) -> Floats:
        """The greater figure of the two devices afterwards."""
        return np.maximum(self.left_us, self.came_us)


def outcomes(state: State, volumes: Ints, targets: Ints) -> Outcomes:
    """The figures of moves, volume by volume with its target."""
    problem = state.problem
    begins = np.diff(volumes, prepend=-1) != 0  # lifted once for a run
    movers, which = volumes[begins], np.cumsum(begins) - 1
    source = problem.device[state.home[movers]]
    left = problem.changed_us(source, state.loads, movers, -1)
    came = problem.changed_us(
        problem.device[targets], state.loads, volumes, 1)
    return Outcomes(volumes, targets, state.figure_us[source][which],
                    left[which], came)


def every(state: State, volumes: Ints,
          pools: Bools | None = None) -> Outcomes:
    """The moves of volumes that rules and free space allow.

    :param pools: bool[pools], the targets to consider; None for all
    """
    may = allowed(state, volumes)
    row, target = np.nonzero(may if pools is None else may & pools)
    return outcomes(state, volumes[row], target)


def allowed(state: State, volumes: Ints) -> Bools:
    """bool[volumes, pools]: targets that rules and free space allow.

    And bonds, to each volume with all that moves with it.
    """
    problem = state.problem
    at = problem.device[state.home[volumes]]
    return (permits.every(state, volumes)
            & (problem.device != at[:, None])
            & (problem.carried_gib[volumes][:, None] <= np.minimum(
                state.room, state.gib_left)))


def fits(state: State, volumes: Ints, targets: Ints) -> Bools:
    """bool[n]: the same of each volume and its target."""
    problem = state.problem
    return (permits.each(state, volumes, targets)
            & (problem.device[targets] != problem.device[state.home[volumes]])
            & (problem.carried_gib[volumes] <= np.minimum(
                state.room[targets], state.gib_left)))


def coolest(state: State) -> Bools:
    """bool[pools]: the :data:`NEAREST` of each group, by their figure."""
    found = np.zeros(len(state.room), bool)
    for may in state.problem.open:
        pools = np.flatnonzero(may)
        order = np.argsort(state.figure_us[state.problem.device[pools]],
                           kind='stable')
        found[pools[order[:NEAREST]]] = True
    return found
