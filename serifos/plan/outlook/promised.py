# SPDX-License-Identifier: Apache-2.0
"""Promises by the type of volumes that makes them: kept and broken."""

from __future__ import annotations

import collections
import dataclasses

from serifos.plan.promises import beyond
from serifos.plan import state as st


@dataclasses.dataclass(frozen=True, slots=True)
class Promised:
    """The volumes to which one latency is promised by one type.

    :param broken: of them, that see more, before and after a plan
    """

    volume_type: str
    most_us: float
    volumes: int
    broken: tuple[int, int]


def by_type(first: st.State, last: st.State) -> tuple[Promised, ...]:
    """Those with most broken promises first.

    :param last: after the plan
    """
    volumes = first.problem.volumes

    def counted(which: list[int]) -> collections.Counter[tuple[str, float]]:
        return collections.Counter(
            (volumes[each].volume_type or '',
             float(first.problem.promises.us[each])) for each in which)

    every = counted(first.problem.promises.volumes.tolist())
    was, then = (counted(beyond.broken(state).tolist())
                 for state in (first, last))
    return tuple(sorted(
        (Promised(*key, number, (was[key], then[key]))
         for key, number in every.items()),
        key=lambda each: (-each.broken[0], each.most_us, each.volume_type)))
