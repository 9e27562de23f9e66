# SPDX-License-Identifier: Apache-2.0
"""What one pass over all hot devices has moved so far."""

from __future__ import annotations

import numpy as np

from serifos.plan.outcomes import Outcomes
from serifos.plan.outcomes import Step
from serifos.plan.problem import Bools
from serifos.plan.quota import Quota
from serifos.plan.state import State


class Sweep:
    """One pass over all hot devices, until none has a volume left to try.

    :param came: bool[devices] that received a volume: no sources any more
    :param alone: devices off which each move has to count by itself
    :ivar steps: volume and target of each move
    :ivar gave: bool[devices] that a volume left: no targets
    :ivar begun: device → its figure before the first move of its bundle
    """

    def __init__(self, state: State, quota: Quota, came: Bools,
                 alone: set[int]) -> None:
        self.state, self.quota = state, quota
        self.came, self.alone = came.copy(), alone
        self.steps: list[Step] = []
        self.gave = np.zeros(len(came), bool)
        self.begun: dict[int, float] = {}

    @property
    def short(self) -> set[int]:
        """The devices whose bundles fell short of min_gain."""
        keeps = self.state.problem.limits.keeps
        return {device for device, was in self.begun.items()
                if self.state.figure_us[device] > was * keeps}

    def full(self, device: int) -> bool:
        """Whether no more moves may leave a device; a bundle is one."""
        return device not in self.begun and self.quota.full(device)

    def make(self, moves: Outcomes, single: Bools) -> None:
        """Makes the moves of a round, each off a device of its own."""
        device = self.state.problem.device
        source = device[self.state.home[moves.volume]]
        counts = ~np.isin(source, list(self.begun))
        made = (~counts | (np.cumsum(counts) <= self.quota.left)
                ) & self.state.affordable(moves.volume)
        moves, source, single = moves[made], source[made], single[made]
        self.quota = self.quota.after(source[counts[made]])
        for at in source[~single].tolist():
            self.begun.setdefault(at, float(self.state.figure_us[at]))
        self.steps += zip(moves.volume.tolist(), moves.target.tolist())
        self.gave[source] = True
        self.came[device[moves.target]] = True
        self.state = self.state.after(moves.volume, moves.target)
