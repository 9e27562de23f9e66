# SPDX-License-Identifier: Apache-2.0
"""What volumes are planned as: their history, reduced to slots of a day."""

from __future__ import annotations

from collections.abc import Sequence
import dataclasses

import numpy as np
import numpy.typing as npt

from serifos.balancer.settings import BalancerSettings
from serifos.facts import activity
from serifos.facts.history import FIGURES
from serifos.facts.history import History
from serifos.facts.history import Series
from serifos.plan.loads.slots import Slots

READ_AT_ONCE = 1 << 26
"""Numbers of a history that are read at once, 256 MiB."""

REACHES, REACHES_BUSY = 0.9, 0.25
"""How far back a history has to reach, as a part of what is planned by.

Until then the present tells more than the few hours of a night or a morning.
Where pools are compared by how busy they are, some hours tell more: what is
outstanding at present is no rate.
"""

REDUCED_AT_ONCE = 1 << 20
"""Numbers of a history that are reduced at once."""


def slots(history: History | None,
          places: Sequence[activity.MeasuredVolume], now: float,
          settings: BalancerSettings) -> Slots | None:
    """What volumes are planned as; None for what they do at present.

    By the last whole slots of the history, up to now, once it reaches back
    far enough.

    :param now: seconds of the epoch
    :raises SerifosError: where the history cannot be read
    """
    if history is None or not settings.history_s:
        return None
    step_s = settings.demand.step_s
    count = max(1, round(settings.history_s / step_s))
    end = int(now // step_s) * step_s
    each = count * len(FIGURES)
    seen = np.zeros(count, dtype=bool)
    found: list[Slots] = []
    for some in _pieces(places, READ_AT_ONCE // each):
        read = history.read(some, end - count * step_s, end, step_s)
        seen |= (read.seconds > 0).any(axis=1)
        found += [settings.demand.of(part)
                  for part in _parts(read, REDUCED_AT_ONCE // each)]
    reaches = REACHES_BUSY if settings.demand.busy else REACHES
    if count - _first(seen) < reaches * count or not any(
            part.known for part in found):
        return None
    return Slots(
        tuple(volume for part in found for volume in part.volumes),
        np.concatenate([part.patterns for part in found]),
        found[0].busy)


def _first(seen: npt.NDArray[np.bool_]) -> int:
    """The first that is true; their number where none is."""
    return int(seen.argmax()) if seen.any() else len(seen)


def _pieces(places: Sequence[activity.MeasuredVolume], most: int
            ) -> list[Sequence[activity.MeasuredVolume]]:
    step = max(1, most)
    return [places[first:first + step]
            for first in range(0, len(places), step)]


def _parts(read: Series, most: int) -> list[Series]:
    """The same, so many volumes each."""
    step = max(1, most)
    return [dataclasses.replace(
        read, volumes=read.volumes[first:first + step],
        sums=read.sums[:, :, first:first + step])
        for first in range(0, len(read.volumes), step)]
