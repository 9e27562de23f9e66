# SPDX-License-Identifier: Apache-2.0
"""The volumes pending in one pool, counted by their expected workload."""

from __future__ import annotations

import collections
import dataclasses
from typing import NamedTuple

from serifos.facts.workload import Workload
from serifos.scheduler import affinity

MOST = 8
"""Workloads of a pool that are kept apart; the others count as their mean.

So the cost of a prediction does not depend on what tenants ask for.
"""


@dataclasses.dataclass(frozen=True, slots=True)
class PendingVolume:
    """A volume on its way into a pool.

    :param at: when it was placed, seconds of the epoch
    :param home: the pool that it leaves, None of a new volume
    :param max_latency_us: its SLO
    :param wish: with what it is to live, and without what
    """

    pool: str
    workload: Workload
    size_gib: float
    at: float
    home: str | None = None
    max_latency_us: float | None = None
    wish: affinity.Wish | None = None


class PendingSlo(NamedTuple):
    """A latency, µs, that is the SLO of a volume that does this.

    :param workload: None of one that is not kept apart
    """

    latency_us: float
    workload: Workload | None


class PendingPool:
    """The workloads of a pool with their counts, and the SLOs."""

    def __init__(self) -> None:
        self._counts: dict[Workload, int] = {}
        self._others = 0
        self._sums = (0.0,) * 4
        self._slos: collections.Counter[PendingSlo] = (
            collections.Counter())

    def add(self, workload: Workload, count: int,
            slo_us: float | None = None) -> None:
        if workload in self._counts or len(self._counts) < MOST:
            self._counts[workload] = self._counts.get(workload, 0) + count
        else:
            self._mix(workload, count)
        if slo_us is not None:
            self._slos[PendingSlo(
                slo_us, workload if workload in self._counts else None)
            ] += count

    def remove(self, workload: Workload, count: int,
               slo_us: float | None = None) -> None:
        """Removes ``count`` of those that were added."""
        if slo_us is not None:
            slo = PendingSlo(slo_us, workload)
            if slo not in self._slos:
                slo = PendingSlo(slo_us, None)
            self._slos[slo] -= count
            if self._slos[slo] <= 0:
                del self._slos[slo]
        kept = min(count, self._counts.get(workload, 0))
        if kept:
            self._counts[workload] -= kept
            if not self._counts[workload]:
                del self._counts[workload]
        if count > kept:
            self._mix(workload, kept - count)

    def _mix(self, its: Workload, count: int) -> None:
        self._others += count
        pattern = (its.write_pct, its.block_kib, its.outstanding,
                   its.random_pct)
        self._sums = tuple(
            max(0.0, total + count * value)
            for total, value in zip(self._sums, pattern)
        ) if self._others > 0 else (0.0,) * 4

    def several(self) -> dict[Workload, int]:
        """At most :data:`MOST` workloads and another, with their counts."""
        if self._others <= 0:
            return dict(self._counts)
        mean = Workload(*(total / self._others for total in self._sums))
        return {**self._counts,
                mean: self._counts.get(mean, 0) + self._others}

    @property
    def slos(self) -> list[PendingSlo]:
        """The distinct SLOs."""
        return list(self._slos)

    def copy(self) -> PendingPool:
        other = PendingPool()
        other._counts = dict(self._counts)
        other._others, other._sums = self._others, self._sums
        other._slos = self._slos.copy()
        return other

    def __bool__(self) -> bool:
        return bool(self._counts) or self._others > 0
