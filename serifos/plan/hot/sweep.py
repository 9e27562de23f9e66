# SPDX-License-Identifier: Apache-2.0
"""What one pass over all hot devices has moved so far."""

from __future__ import annotations

import numpy as np

from serifos.plan import outcomes as oc
from serifos.plan.problem import Bools
from serifos.plan import state as st

Step = tuple[int, int]


class Sweep:
    """One pass over all hot devices, until none has a volume left to try.

    :param came: bool[devices] that received a volume: no sources any more
    :param alone: devices off which each move has to count by itself
    :param before: the plan's moves so far, where they are limited
    :param most: moves of the plan, None for max_moves off each device
    :ivar steps: volume, target and source device of each move
    :ivar begun: device → its figure before the first move of its bundle
    """

    def __init__(self, state: st.State, came: Bools, alone: set[int],
                 before: list[Step] | None = None,
                 most: int | None = None) -> None:
        problem = state.problem
        self.state, self.came, self.alone = state, came.copy(), alone
        self.steps: list[tuple[int, int, int]] = []
        self.begun: dict[int, float] = {}
        self.off = np.bincount(
            problem.device[problem.home[[v for v, _ in before or ()]]],
            minlength=len(came))
        self.left = most if most is None else most - len(before or ())
        self.most = problem.limits.max_moves if (
            before is not None and most is None) else None
        classes: dict[str | None, int] = {}
        self.model = np.array([
            classes.setdefault(pool.model, len(classes))
            for pool in problem.cluster.pools], np.intp)

    @property
    def short(self) -> set[int]:
        """The devices whose bundles fell short of min_gain."""
        keeps = self.state.problem.limits.keeps
        return {device for device, was in self.begun.items()
                if self.state.figure_us[device] > was * keeps}

    def full(self, device: int) -> bool:
        """Whether no more moves may leave a device, or be made at all."""
        return (self.left is not None and len(self.steps) >= self.left) or (
            self.most is not None and bool(self.off[device] >= self.most))

    def make(self, moves: oc.Outcomes, single: Bools) -> None:
        """Makes the moves of a round, each off a device of its own."""
        if self.left is not None:
            room = self.left - len(self.steps)
            moves = moves[np.arange(min(room, len(single)))]
        device = self.state.problem.device
        for volume, target, alone in zip(
                moves.volume.tolist(), moves.target.tolist(),
                single.tolist()):
            source = int(device[self.state.home[volume]])
            if not alone:
                self.begun.setdefault(
                    source, float(self.state.figure_us[source]))
            self.steps.append((volume, target, source))
            self.off[source] += 1
        self.came[device[moves.target]] = True
        self.state = self.state.moved(moves.volume, moves.target)
