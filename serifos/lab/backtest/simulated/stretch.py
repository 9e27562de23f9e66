# SPDX-License-Identifier: Apache-2.0
"""What happened in a simulated cloud while nothing changed."""

from __future__ import annotations

import dataclasses

from serifos.lab.backtest.simulated.demand import Floats
from serifos.lab.backtest.simulated.demand import Ints
from serifos.lab.backtest.simulated import truth

ABSENT = -1
"""The home of a volume that is not there yet, or no more."""


@dataclasses.dataclass(frozen=True, eq=False)
class Stretch:
    """What happened while nothing changed.

    :param home: int[volumes], pools or :data:`ABSENT`
    :param rates: float[volumes, columns] as served, as of a Series
    :param latency_us: float[volumes], 0 without a request
    :param asked: float[volumes], requests per second asked for
    :param parts: float[volumes, parts], how busy each makes its device
    :param answer: of the devices, copies and wiping included
    """

    begin: float
    end: float
    home: Ints
    rates: Floats
    latency_us: Floats
    asked: Floats
    parts: Floats
    answer: truth.Answer

    @property
    def seconds(self) -> float:
        return self.end - self.begin
