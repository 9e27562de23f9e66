# SPDX-License-Identifier: Apache-2.0
"""The moves of a plan that were carried out, by the journal."""

from __future__ import annotations

from collections.abc import Iterable
from collections.abc import Mapping
import dataclasses
from typing import Any

from serifos.facts import journal
from serifos.facts import times
from serifos.plan import undo

_MOVED = (*journal.MOVED, 'timeout')
"""Results after which a volume may be elsewhere, as last_moves has it."""


@dataclasses.dataclass(frozen=True)
class Carried:
    """What was carried out of a plan.

    :param requested: volumes of which a move was requested
    :param moves: those that ended or are under way, in that order
    :param ended_at: when the last of them ended, seconds of the epoch; 0
        for none
    """

    requested: int
    moves: tuple[undo.Made, ...]
    ended_at: float


def carried(entries: Iterable[journal.Entry], plan_id: str) -> Carried:
    """What was carried out of a plan."""
    asked: dict[str, Mapping[str, Any]] = {}
    ended: dict[str, tuple[str, float]] = {}
    under_way: set[str] = set()
    for entry in entries:
        volume = entry.facts.get('volume', '')
        if entry.kind == 'request':
            under_way.discard(volume)
            if entry.facts['plan'] == plan_id:
                asked[volume] = entry.facts
                ended.pop(volume, None)
                under_way.add(volume)
        elif entry.kind == 'outcome' and volume in under_way:
            under_way.remove(volume)
            ended[volume] = entry.facts['result'], times.parse(entry.at)
    moved = {volume: at for volume, (result, at) in ended.items()
             if result in _MOVED}
    order = [*moved, *(each for each in asked if each in under_way)]
    return Carried(len(asked), tuple(
        undo.Made(volume, asked[volume]['source'], asked[volume]['target'],
                  volume in moved) for volume in order),
        max(moved.values(), default=0.0))
