# SPDX-License-Identifier: Apache-2.0
"""Quota of moves of a plan: max_moves.

Several moves off a device that count as one, a bundle, are made together or
not at all, and take one of it.
"""

from __future__ import annotations

import dataclasses

import numpy as np
import numpy.typing as npt

from serifos.plan.problem import Ints
from serifos.plan.problem import Problem

SMALL = 20
"""Pools of a small cloud, at most: there max_moves is that of a plan, on
larger ones that of each device."""


@dataclasses.dataclass(frozen=True, eq=False)
class Quota:
    """The moves that a plan may make, and those that it made.

    :param most: None for any number
    :param each: whether so many may leave each device, or be made in all
    :param off: int[devices], the moves that left each, a bundle once
    """

    most: int | None
    each: bool
    off: Ints

    @classmethod
    def of(cls, problem: Problem, unset: int | None = None) -> Quota:
        """Of a plan without moves.

        :param unset: moves on a small cloud where the limits name none
        """
        small = len(problem.cluster.pools) <= SMALL
        most = problem.limits.max_moves
        return cls(unset if small and most is None else most, not small,
                   np.zeros(len(problem.predicted), np.intp))

    def after(self, devices: npt.ArrayLike) -> Quota:
        """With moves more, one off each device as often as it is named."""
        off = self.off.copy()
        np.add.at(off, np.asarray(devices, np.intp), 1)
        return dataclasses.replace(self, off=off)

    def full(self, device: int) -> bool:
        """Whether no more moves may leave a device."""
        made = self.off[device] if self.each else self.off.sum()
        return self.most is not None and bool(made >= self.most)

    @property
    def left(self) -> float:
        """How many more may be made in all."""
        return np.inf if self.most is None or self.each else (
            self.most - self.off.sum())

    @property
    def reached(self) -> bool:
        """Whether no more moves may leave some device."""
        made = self.off if self.each else self.off.sum()
        return self.most is not None and bool(np.any(made >= self.most))
