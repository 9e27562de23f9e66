# SPDX-License-Identifier: Apache-2.0
"""Copies of volumes, and the wiping of what they leave, as load of pools.

A copy reads its source and writes its target, 128 KiB at a time in order; a
volume that is wiped is written with zeros. Both are as much slower as these
devices fall behind.
"""

from __future__ import annotations

from collections.abc import Collection
from collections.abc import Iterator
import dataclasses

import numpy as np

from serifos.lab.backtest.simulated.demand import Demand
from serifos.lab.backtest.simulated.demand import Floats
from serifos.lab.backtest.simulated.demand import Ints

_KIB = 128.0
_NOTHING_S = 1e-4  # of a copy, which is within the rounding of times
_LEAST = 1e-3  # of its rate, on whatever device


@dataclasses.dataclass
class Transfer:
    """A volume that is copied or wiped.

    :param source: the pool that is read, None for wiping
    :param target: the pool that is written
    :param began: seconds of the epoch
    :param left_mib: until it is over
    :param full_mib_s: how fast on devices that keep up
    :param mib_s: how fast now
    """

    source: int | None
    target: int
    began: float
    left_mib: float
    full_mib_s: float
    mib_s: float = 0.0

    @property
    def left_s(self) -> float:
        return self.left_mib / self.mib_s

    @property
    def over(self) -> bool:
        return self.left_mib <= _NOTHING_S * self.mib_s

    def slow(self, served: Floats) -> None:
        """As much as its devices fall behind.

        :param served: float[pools], the share of the demands
        """
        ends = [self.target] + [self.source] * (self.source is not None)
        self.mib_s = self.full_mib_s * max(_LEAST, float(served[ends].min()))


def demands(transfers: Collection[Transfer]) -> tuple[Ints, Demand]:
    """What these ask for: the pools, and the demand on each."""
    rows = [*_rows(transfers)]
    pool, reads, writes = np.array(rows).reshape(-1, 3).T
    return pool.astype(np.intp), Demand(
        reads, writes, np.full(len(rows), _KIB), np.zeros(len(rows)))


def _rows(transfers: Collection[Transfer]
          ) -> Iterator[tuple[float, float, float]]:
    """Pool, requests per second that read, and that write."""
    for each in transfers:
        rate = each.full_mib_s * 1024 / _KIB
        if each.source is not None:
            yield each.source, rate, 0.0
        yield each.target, 0.0, rate
