# SPDX-License-Identifier: Apache-2.0
"""Cache of a history: settled slots are asked for once.

A server takes seconds to tell a day of a thousand volumes, and a balancer
wants that day every round: it remembers the slots that nothing changes any
more, and asks for those that came since, and for volumes that are new or
somewhere else now.
"""

from __future__ import annotations

from collections.abc import Callable
from collections.abc import Mapping
from collections.abc import Sequence
import dataclasses

import numpy as np

from serifos.facts import activity
from serifos.facts.activity import History
from serifos.facts.history import Series


@dataclasses.dataclass
class Memory:
    """What was read last, by the length of slots.

    :ivar kept: length, s → where volumes were, and what they did
    :ivar at: when, seconds of the epoch
    """

    at: float = 0.0

    kept: dict[int, tuple[Mapping[str, activity.MeasuredVolume],
                          Series]] = dataclasses.field(
                              default_factory=dict)


@dataclasses.dataclass(frozen=True)
class Remembered:
    """The port :class:`.facts.activity.History` over one that takes long.

    :param settled_s: how long after a slot its figures may still change
    """

    past: History
    memory: Memory
    clock: Callable[[], float]
    settled_s: float

    def read(self, places: Sequence[activity.MeasuredVolume], begin: float,
             end: float, step_s: int) -> Series:
        """As :meth:`.facts.activity.History.read`."""
        found = Series.empty([place.volume for place in places], begin,
                             end, step_s) if step_s > 0 else None
        if self.clock() < self.memory.at:
            # It was ahead, and what is to come was taken for settled.
            self.memory.kept.clear()
        self.memory.at = self.clock()
        where, known = self.memory.kept.get(step_s, ({}, None))
        if found is None or known is None or not (
                known.begin <= found.begin < known.end):
            where = {}
        new = [nth for nth, place in enumerate(places)
               if where.get(place.volume) != place]
        if len(new) == len(places):
            read = self.past.read(places, begin, end, step_s)
            self._remember(places, read)
            return read
        same = sorted({*range(len(places))} - {*new})
        self._recall(found, known, same)
        since = min(known.end, found.end)
        for columns, at in (new, begin), (same, since):
            if columns and at < found.end:
                its = self.past.read([places[nth] for nth in columns], at,
                                     end, step_s)
                found.sums[:, found.count - its.count:, columns] = its.sums
        self._remember(places, found)
        return found

    @staticmethod
    def _recall(found: Series, known: Series,
                columns: Sequence[int]) -> None:
        """Fills these columns of a series as far as they are known."""
        number = {volume: nth for nth, volume in enumerate(known.volumes)}
        first = (found.begin - known.begin) // found.step_s
        count = min(known.count - first, found.count)
        found.sums[:, :count, columns] = known.sums[
            :, first:first + count][..., [number[found.volumes[nth]]
                                          for nth in columns]]

    def _remember(self, places: Sequence[activity.MeasuredVolume],
                  read: Series) -> None:
        """Keeps the slots that are settled.

        Not where few volumes were asked for, in between.
        """
        where, _ = self.memory.kept.get(read.step_s, ({}, None))
        count = int(np.clip((self.clock() - self.settled_s - read.begin)
                            // read.step_s, 0, read.count))
        if count and 2 * len(places) >= len(where):
            self.memory.kept[read.step_s] = (
                {place.volume: place for place in places},
                dataclasses.replace(read, sums=read.sums[:, :count].copy()))
