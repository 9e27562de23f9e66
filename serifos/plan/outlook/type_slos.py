# SPDX-License-Identifier: Apache-2.0
"""SLOs by the type of volumes that makes them: met and violated."""

from __future__ import annotations

import collections
import dataclasses

from serifos.plan.slo import beyond
from serifos.plan.state import State


@dataclasses.dataclass(frozen=True, slots=True)
class TypeSlo:
    """The volumes that have one SLO by one type.

    :param violated: of them, that are measured to see more, and those of
        these that are predicted to do so after a plan
    :param forecast: the others that are predicted to, before and after
    """

    volume_type: str
    most_us: float
    volumes: int
    violated: tuple[int, int]
    forecast: tuple[int, int]


def by_type(first: State, last: State) -> tuple[TypeSlo, ...]:
    """Those with most violations first.

    :param last: after the plan
    """
    volumes = first.problem.volumes

    def counted(which: list[int]) -> collections.Counter[tuple[str, float]]:
        return collections.Counter(
            (volumes[each].volume_type or '',
             float(first.problem.slos.us[each])) for each in which)

    every = counted(first.problem.slos.volumes.tolist())
    violated, forecast = (
        [counted(which(first, state).tolist()) for state in (first, last)]
        for which in (beyond.violated, beyond.forecast))
    return tuple(sorted(
        (TypeSlo(*key, number, *((was[key], then[key])
                                 for was, then in (violated, forecast)))
         for key, number in every.items()),
        key=lambda each: (-each.violated[0], -each.forecast[0],
                          each.most_us, each.volume_type)))
