# SPDX-License-Identifier: Apache-2.0
"""Which devices may share a model of latency."""

from __future__ import annotations

import dataclasses
import itertools

import numpy as np

from serifos.lab.relative import common
from serifos.model import quality


@dataclasses.dataclass(frozen=True)
class Likeness:
    """Whether two devices may share a model of latency.

    :param factor: median of latency on the second over the first
    :param interval: the 5 % and 95 % quantile of it over the runs
    :param error: mean relative error of either's latency taken for the
        other's, the worse of both ways
    """

    first: str
    second: str
    factor: float
    interval: tuple[float, float]
    error: float

    def alike(self, within: float) -> bool:
        """The factor 1 is in the interval, and the error small enough."""
        low, high = self.interval
        return low <= 1 <= high and self.error <= within


def likenesses(devices: common.Devices) -> list[Likeness]:
    """Of each two devices, in their order."""
    found = []
    for a, b in itertools.combinations(range(len(devices.names)), 2):
        here, there = (devices.columns[i]['latency_us'] for i in (a, b))
        low, high = quality.interval(there, here)
        found.append(Likeness(
            devices.names[a], devices.names[b],
            float(np.median(there / here)), (1 + low, 1 + high),
            max(quality.mre(here, there), quality.mre(there, here))))
    return found
