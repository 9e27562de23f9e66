# SPDX-License-Identifier: Apache-2.0
"""A history of volumes that do the same every day."""

from __future__ import annotations

from collections.abc import Mapping
from collections.abc import Sequence
import dataclasses

import numpy as np

from serifos.facts import activity
from serifos.facts.history import Series


@dataclasses.dataclass
class EveryDay:
    """The port :class:`.facts.activity.History`.

    :param figures: volume → for each hour of a day, in a second, the figures
        of :data:`.facts.history.FIGURES` behind its seconds
    :param since: before which nothing was seen, seconds of the epoch
    :ivar asked: (begin, end, step_s) of each reading
    """

    figures: Mapping[str, Sequence[Sequence[float]]]
    since: float = 0.0
    asked: list[tuple[float, float, int]] = dataclasses.field(
        default_factory=list)

    def read(self, places: Sequence[activity.MeasuredVolume], begin: float,
             end: float, step_s: int) -> Series:
        self.asked.append((begin, end, step_s))
        found = Series.empty([place.volume for place in places], begin,
                             end, step_s)
        hours = [int(at % 86400 // 3600) for at in found.begins]
        for column, volume in enumerate(found.volumes):
            if volume in self.figures:
                its = np.array(self.figures[volume], float)[hours]
                found.sums[:, :, column] = step_s * np.vstack(
                    [np.ones(len(hours)), its.T]) * [
                        at >= self.since for at in found.begins]
        return found
