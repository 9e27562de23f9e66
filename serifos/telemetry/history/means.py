# SPDX-License-Identifier: Apache-2.0
"""What volumes did lately, by the means of a source that only tells these.

Pure. A mean over ten minutes is taken for what happened in each of them, and
of reads and writes their shares of all requests.
"""

from __future__ import annotations

from collections.abc import Sequence
import dataclasses

import numpy as np

from serifos.facts import activity
from serifos.facts.history import Series
from serifos.facts.workload import Workload

_UNSEEN = (0.0,) * 9


@dataclasses.dataclass(frozen=True)
class Means:
    """The port :class:`.facts.history.History` over one observation."""

    observed: activity.Observed

    def read(self, places: Sequence[activity.MeasuredVolume], begin: float,
             end: float, step_s: int) -> Series:
        """As far as the observation goes."""
        found = Series.empty([place.volume for place in places], begin,
                             end, step_s)
        seen = self.observed.volumes
        since, until, *rates = np.array([
            self._of(seen[volume]) if volume in seen else _UNSEEN
            for volume in found.volumes], float).reshape(-1, 9).T
        for slot, begins in enumerate(found.begins):
            seconds = np.clip(
                np.minimum(until, min(begins + step_s, end))
                - np.maximum(since, max(begins, begin)), 0, None)
            found.sums[:, slot] = seconds * rates
        return found

    def _of(self, one: activity.Activity) -> tuple[float, ...]:
        """From when, until when, and the figures of each second."""
        return (self.observed.at - one.seconds, self.observed.at, 1.0,
                *_rates(one.mean))


def _rates(mean: Workload) -> tuple[float, ...]:
    """In the order of the kernel's counters."""
    write = mean.write_pct / 100
    iops, size = mean.iops or 0.0, mean.block_kib * 1024
    return (iops * (1 - write), iops * write, iops * (1 - write) * size,
            iops * write * size, mean.outstanding * (1 - write),
            mean.outstanding * write)
