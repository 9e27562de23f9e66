# SPDX-License-Identifier: Apache-2.0
"""The sizes of volumes over time: tenants extend them, and never shrink them.

A volume is extended at the beginning of a slot, as soon as its pool has room
and no migration of it is under way, which is when Cinder does it.
"""

from __future__ import annotations

from collections.abc import Mapping
from collections.abc import Sequence

from serifos.lab.backtest.simulated.demand import Floats

Steps = Mapping[str, Sequence[tuple[float, float]]]
"""Volume → since when it has had how many GiB, both rising."""


class Sizes:
    """What tenants want.

    :param size_gib: float[volumes], of those that are never extended
    :param steps: of those that are
    """

    def __init__(self, volumes: Sequence[str], size_gib: Floats,
                 steps: Steps) -> None:
        self._gib = size_gib
        self._steps = [(number, steps[volume])
                       for number, volume in enumerate(volumes)
                       if volume in steps]

    def at(self, now: float) -> Floats:
        """float[volumes]; before its first step a volume has that size."""
        found = self._gib.copy()
        for number, its in self._steps:
            found[number] = next(
                (gib for since, gib in reversed(its) if since <= now),
                its[0][1])
        return found
