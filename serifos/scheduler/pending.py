# SPDX-License-Identifier: Apache-2.0
"""Volumes that were placed but were not observed active yet.

A burst of volumes must not all go to the pool that looks fastest. The
driver records what it places. What others place is inferred from the
capacity that Cinder says a pool has allocated beyond its volumes in
``pools.json``, and from volumes that are new there and idle. Every volume
counts once, until it is seen active or expires. A request processes the
changes since the last one, not all pending volumes.
"""

from __future__ import annotations

import collections
from collections.abc import Iterable
from collections.abc import Iterator
import dataclasses
import heapq
import itertools
from typing import NamedTuple

from serifos.facts import pools
from serifos.facts.workload import Workload
from serifos.scheduler import affinity
from serifos.scheduler import inferred
from serifos.scheduler.request import Candidate

MOST_IN_POOL = 8
"""Workloads of a pool that are kept apart; the others count as their mean.

So the cost of a prediction does not depend on what tenants ask for.
"""

MOST = 10_000
"""Volumes that are recorded one by one; beyond that the oldest is dropped,
and goes on counting by the capacity that it allocates."""

_KNOWN_S = 60.0
"""An observation so much younger than a placement shows the volume unless it
was deleted: Cinder stores its pool before it is created."""

_AT_ONCE = 1000  # that expire in one request
_SPARE = 1000  # obsolete entries of the heap that are kept

Key = str | inferred.Unrecorded  # the id of a recorded volume, or an entry


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
        if workload in self._counts or len(self._counts) < MOST_IN_POOL:
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
        """At most :data:`MOST_IN_POOL` workloads and another, with counts."""
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


class Pending:
    """The pending volumes of all pools; callers hold a lock.

    ``with_slo`` are the pools where a volume with an SLO is pending,
    ``revisions`` has for each device a number that changes with the volumes
    pending there.
    """

    def __init__(self, ttl_s: float, default: Workload) -> None:
        self._ttl_s = ttl_s
        self._default = default
        self._recorded: collections.OrderedDict[str, PendingVolume] = (
            collections.OrderedDict())
        self._inferred = inferred.Inferred()
        self._pools: dict[str, PendingPool] = {}
        self.with_slo: set[str] = set()
        self.revisions: dict[str, int] = {}
        self._number = itertools.count(1)
        self._ends: list[tuple[float, int, Key]] = []
        self._most_ends = _SPARE
        self._known: pools.Pools | None = None
        # Pool → GiB of recorded volumes that the file does not have there:
        # of new ones, and of those that move, whose copies it may have.
        self._new_gib: collections.Counter[str] = collections.Counter()
        self._moving_gib: collections.Counter[str] = collections.Counter()

    def record(self, volume_id: str, one: PendingVolume) -> None:
        """Records a volume that the driver placed, perhaps once more."""
        self._expire(one.at)
        self._keep(volume_id, one)

    def weighed(self, request: inferred.Weighed) -> None:
        """Remembers a weighed request, whose pool is not reported."""
        self._inferred.remember(request)

    def renew(self, known: pools.Pools, now: float) -> None:
        """Drops volumes that expired or that a new pools.json shows."""
        self._expire(now)
        if known is self._known:
            return
        before, self._known = self._known, known
        for volume_id, one in list(self._recorded.items()):
            listed = known.volume.get(volume_id)
            if listed is None:
                # Deleted; or neither new any more nor moving.
                if before and volume_id in before.volume or (
                        known.observed_at or 0.0) > one.at + _KNOWN_S:
                    self._forget(volume_id)
            elif listed.pool != one.home:
                if listed.active:
                    self._forget(volume_id)
                elif listed.pool != one.pool:
                    self._keep(volume_id, dataclasses.replace(
                        one, pool=listed.pool))
        for listed in known.volumes if before else ():
            if listed.created_at is not None and not (
                    listed.id in self._recorded
                    or listed.id in before.volume):
                self._arrive(listed, now)
        self._new_gib.clear()
        self._moving_gib.clear()
        for volume_id, one in self._recorded.items():
            self._book(volume_id, one, 1)
        self.revisions.clear()
        for pool in self._pools:
            self._revise(pool)

    def infer(self, candidates: Iterable[Candidate],
              request: inferred.Weighed) -> None:
        """Infers volumes from the allocated capacity of the candidates."""
        new, moving = self._new_gib, self._moving_gib
        for pool, _, allocated in candidates:
            its = self._known.pool.get(pool)
            if allocated is None or its is None:
                continue
            beyond = allocated - its.gib - new.get(pool, 0) - max(
                moving.get(pool, 0), its.copies_gib)
            if self._inferred.explains(pool, beyond):
                continue
            gone, found = self._inferred.explain(
                pool, max(0.0, beyond), self._known.mean_gib, request)
            for entry in gone:
                self._silence(entry)
            for entry in found:
                if entry.count:
                    self._add(pool, entry.workload, entry.count)
                    self._expire_later(entry.at, entry)

    def several(self, pools: Iterable[str],
                but: str | None = None) -> dict[Workload, int]:
        """The workloads pending in some pools, with their numbers.

        :param but: the id of a volume to leave out
        """
        found: dict[Workload, int] = {}
        for each in self._in(pools, but):
            for workload, count in each.several().items():
                found[workload] = found.get(workload, 0) + count
        return found

    def slos(self, pools: Iterable[str], but: str | None = None
             ) -> Iterable[PendingSlo]:
        """The SLOs of the volumes that are pending in some pools."""
        return itertools.chain.from_iterable(
            each.slos for each in self._in(pools, but))

    def pool_of(self, volume_id: str | None) -> str | None:
        """The pool that a recorded volume was placed in."""
        one = self._recorded.get(volume_id or '')
        return one and one.pool

    def placed(self) -> Iterator[tuple[str, str, affinity.Wish]]:
        """Volume, pool and wish of the recorded volumes that have one."""
        for volume, one in self._recorded.items():
            if one.wish is not None:
                yield volume, one.pool, one.wish

    def _in(self, pools: Iterable[str],
            but: str | None) -> Iterable[PendingPool]:
        one = self._recorded.get(but or '')
        for pool in pools:
            found = self._pools.get(pool)
            if found is None:
                continue
            if one is not None and one.pool == pool:
                found = found.copy()
                found.remove(one.workload, 1, one.max_latency_us)
            yield found

    def _keep(self, volume_id: str, one: PendingVolume) -> None:
        self._forget(volume_id)
        while len(self._recorded) >= MOST:
            self._forget(next(iter(self._recorded)))
        self._recorded[volume_id] = one
        self._book(volume_id, one, 1)
        self._add(one.pool, one.workload, 1, one.max_latency_us)
        self._expire_later(one.at, volume_id)

    def _forget(self, volume_id: str) -> None:
        one = self._recorded.pop(volume_id, None)
        if one is not None:
            self._book(volume_id, one, -1)
            self._remove(one.pool, one.workload, 1, one.max_latency_us)

    def _book(self, volume_id: str, one: PendingVolume, sign: int) -> None:
        """Adds or subtracts its size, unless the file counts it there."""
        listed = self._known and self._known.volume.get(volume_id)
        if listed is None or listed.pool != one.pool:
            booked = self._moving_gib if one.home else self._new_gib
            booked[one.pool] += sign * one.size_gib

    def _add(self, pool: str, workload: Workload, count: int,
             slo_us: float | None = None) -> None:
        self._pools.setdefault(pool, PendingPool()).add(
            workload, count, slo_us)
        if slo_us is not None:
            self.with_slo.add(pool)
        self._revise(pool)

    def _remove(self, pool: str, workload: Workload, count: int,
                slo_us: float | None = None) -> None:
        its = self._pools[pool]
        its.remove(workload, count, slo_us)
        if not its.slos:
            self.with_slo.discard(pool)
        if not its:
            del self._pools[pool]
        self._revise(pool)

    def _revise(self, pool: str) -> None:
        its = self._known and self._known.pool.get(pool)
        if its:
            self.revisions[its.device] = next(self._number)

    def _silence(self, entry: inferred.Unrecorded) -> None:
        """Keeps an entry for its capacity, but adds no load for it."""
        if entry.count:
            self._remove(entry.pool, entry.workload, entry.count)
            entry.count = 0

    def _expire_later(self, at: float, what: Key) -> None:
        heapq.heappush(self._ends, (at, next(self._number), what))
        if len(self._ends) > self._most_ends:
            self._ends = [end for end in self._ends
                          if self._counts(end[0], end[2])]
            heapq.heapify(self._ends)
            self._most_ends = 2 * len(self._ends) + _SPARE

    def _counts(self, at: float, what: Key) -> bool:
        if isinstance(what, inferred.Unrecorded):
            return what.count > 0
        return what in self._recorded and self._recorded[what].at == at

    def _expire(self, now: float) -> None:
        for _ in range(_AT_ONCE):
            if not self._ends or self._ends[0][0] >= now - self._ttl_s:
                break
            at, _, what = heapq.heappop(self._ends)
            if isinstance(what, inferred.Unrecorded):
                self._silence(what)
            elif self._counts(at, what):
                self._forget(what)
        self._inferred.expire(now)

    def _arrive(self, listed: pools.ListedVolume, now: float) -> None:
        """Takes in a new volume that was not recorded here."""
        entry = self._inferred.take(listed.pool, listed.size_gib)
        if entry is not None:
            self._silence(entry)
        at = entry.at if entry else listed.created_at
        if not listed.active and at >= now - self._ttl_s:
            means = self._known.type.get(listed.volume_type)
            self._keep(listed.id, PendingVolume(
                listed.pool, entry.workload if entry else (
                    means and means.active) or self._default,
                listed.size_gib, at, max_latency_us=listed.max_latency_us))
