# SPDX-License-Identifier: Apache-2.0
"""Volumes inferred from capacity that no known volume explains."""

from __future__ import annotations

import collections
import dataclasses

from serifos.facts.workload import Workload

WHOLE_GIB = 1e-6
"""Less than this is rounding, not a volume."""

MOST = 32
"""Entries that are kept for a pool; then the two oldest become one."""

_REMEMBERED, _REMEMBERED_S = 64, 60.0
"""Weighed requests that are remembered, and for how long."""


@dataclasses.dataclass(slots=True, eq=False)
class Unrecorded:
    """Volumes of which only the capacity is known.

    :param count: of them; 0 once they only account for the capacity
    """

    pool: str
    gib: float
    at: float
    workload: Workload
    count: int = 1


@dataclasses.dataclass(frozen=True, slots=True)
class Weighed:
    """A request to create a volume, as the weigher saw it."""

    size_gib: float
    workload: Workload
    at: float


class _Pool:
    """The entries of a pool, the oldest first, and their total size."""

    def __init__(self) -> None:
        self.entries: list[Unrecorded] = []
        self.gib = 0.0


class Inferred:
    """The inferred volumes of all pools."""

    def __init__(self) -> None:
        self._of: dict[str, _Pool] = {}
        self._weighed: collections.deque[Weighed] = collections.deque(
            maxlen=_REMEMBERED)

    def remember(self, request: Weighed) -> None:
        self._weighed.append(request)

    def expire(self, now: float) -> None:
        while self._weighed and self._weighed[0].at < now - _REMEMBERED_S:
            self._weighed.popleft()

    def explains(self, pool: str, beyond_gib: float) -> bool:
        """Whether the entries of a pool add up to ``beyond_gib`` already."""
        its = self._of.get(pool)
        if its is None:
            return beyond_gib <= WHOLE_GIB
        return abs(max(0.0, beyond_gib) - its.gib) <= WHOLE_GIB

    def explain(self, pool: str, beyond_gib: float, mean_gib: float,
                request: Weighed
                ) -> tuple[list[Unrecorded], list[Unrecorded]]:
        """Makes the entries of a pool add up to ``beyond_gib``.

        :returns: the entries that were removed, and those that are new
        """
        its = self._of.setdefault(pool, _Pool())
        gone = self._shrink(its, beyond_gib)
        new = []
        if len(its.entries) >= MOST:
            first, second = its.entries[:2]
            new = its.entries[:2] = [Unrecorded(
                pool, first.gib + second.gib, second.at, second.workload,
                first.count + second.count)]
            gone += [first, second]
        grown = self._grow(pool, beyond_gib - its.gib, mean_gib, request)
        its.entries += grown
        self._sum(pool, its)
        return gone, new + grown

    def take(self, pool: str, gib: float) -> Unrecorded | None:
        """Removes the entry of a volume of this size that is known now."""
        its = self._of.get(pool)
        for one in its.entries if its else ():
            if one.count <= 1 and abs(one.gib - gib) < WHOLE_GIB:
                its.entries.remove(one)
                self._sum(pool, its)
                return one
        return None

    def _sum(self, pool: str, its: _Pool) -> None:
        its.gib = sum(one.gib for one in its.entries)
        if not its.entries:
            del self._of[pool]

    def _shrink(self, its: _Pool, beyond_gib: float) -> list[Unrecorded]:
        gone = []
        over = its.gib - beyond_gib
        while over > WHOLE_GIB and its.entries:
            oldest = its.entries[0]
            if oldest.gib > over + WHOLE_GIB:  # only a part of it went
                oldest.gib -= over
                break
            over -= oldest.gib
            gone.append(its.entries.pop(0))
        its.gib = sum(one.gib for one in its.entries)
        return gone

    def _grow(self, pool: str, gap: float, mean_gib: float,
              request: Weighed) -> list[Unrecorded]:
        new = []
        for earlier in list(self._weighed) if gap > WHOLE_GIB else ():
            if WHOLE_GIB < earlier.size_gib <= gap + WHOLE_GIB:
                self._weighed.remove(earlier)
                new.append(Unrecorded(pool, earlier.size_gib, earlier.at,
                                      earlier.workload))
                gap -= earlier.size_gib
        if gap > WHOLE_GIB:
            size = max(request.size_gib, mean_gib) or gap
            new.append(Unrecorded(pool, gap, request.at, request.workload,
                                  max(1, round(gap / size))))
        return new
