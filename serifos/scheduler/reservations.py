# SPDX-License-Identifier: Apache-2.0
"""Which volumes were placed that ``cluster.json`` does not show at work yet?

A burst of volumes must not all go to the pool that looks fastest. The
driver records what it places. For what others place, the capacity that a
pool has allocated beyond its volumes in ``cluster.json`` tells of it, and so
do volumes that are new there and idle. Every volume counts once, until it
is seen active or its time is over.

A request looks at what changed, not at all that is on its way.
"""

from __future__ import annotations

import collections
from collections.abc import Iterable
from collections.abc import Mapping
import dataclasses
import heapq
import itertools

from serifos.scheduler import booked
from serifos.scheduler import inferred
from serifos.scheduler import pending
from serifos.scheduler import predict
from serifos.scheduler import snapshot as sn
from serifos import workload as wl

MOST = 10_000
"""Volumes that are recorded one by one; the oldest makes way for the next,
and goes on counting by the capacity that it allocates."""

_KNOWN_S = 60.0
"""An observation so much younger than a placement shows the volume, or that
it is gone: Cinder writes its pool down before it is created."""

_AT_ONCE = 1000  # that end in one request
_SPARE = 1000  # ends of what has ended otherwise


@dataclasses.dataclass(frozen=True, slots=True)
class Reservation:
    """A volume on its way into a pool.

    :param at: when it was placed, seconds of the epoch
    :param home: the pool that it leaves, where it is no new one
    :param max_latency_us: what it was promised
    """

    pool: str
    workload: wl.Workload
    size_gib: float
    at: float
    home: str | None = None
    max_latency_us: float | None = None


class Reservations:
    """All of them; whoever uses it keeps a lock.

    ``promising`` are the pools that one with a promise is on its way to.
    """

    def __init__(self, ttl_s: float, default: wl.Workload) -> None:
        self._ttl_s = ttl_s
        self._default = default
        self._recorded: collections.OrderedDict[str, Reservation] = (
            collections.OrderedDict())
        self._booked = booked.Booked()
        self._pending: dict[str, pending.Pending] = {}
        self.promising: set[str] = set()
        self._inferred = inferred.Inferred()
        self._ends: list[tuple[float, int, str | inferred.Guess]] = []
        self._number = itertools.count()
        self._changed: set[str] = set()
        self._snapshot: sn.Snapshot | None = None

    def record(self, volume_id: str, reservation: Reservation) -> None:
        """The driver placed this volume, perhaps for the second time."""
        self._expire(reservation.at)
        self._keep(volume_id, reservation)

    def ask(self, asked: inferred.Asked) -> None:
        """A volume was weighed that this process may not learn to place."""
        self._inferred.ask(asked)

    def update(self, snapshot: sn.Snapshot,
               candidates: Iterable[predict.Candidate],
               asked: inferred.Asked) -> None:
        """Takes in what is known now, before a request is judged.

        :param asked: what capacity that nobody explains is taken for
        """
        self._expire(asked.at)
        if snapshot is not self._snapshot:
            self._meet(snapshot, asked.at)
        gib, sums = snapshot.gib, self._booked
        for pool, _, allocated in candidates:
            if allocated is None or pool not in snapshot.devices:
                continue
            beyond = allocated - gib[pool]
            if pool in sums.pools:
                beyond -= sums.gib(pool)
            if self._inferred.explains(pool, beyond):
                continue
            gone, new = self._inferred.explain(
                pool, max(0.0, beyond), snapshot.mean_gib, asked)
            for guess, count in gone:
                self._leave(pool, guess.workload, count)
            for guess in new:
                self._come(pool, guess.workload, guess.count)
                self._end(guess.at, guess)

    def several(self, pools: Iterable[str],
                but: str | None = None) -> dict[wl.Workload, int]:
        """What is on its way to some pools, one volume left out.

        :param but: the id of the volume that is asked about
        """
        found: dict[wl.Workload, int] = {}
        for _, each in self._pending_in(pools, but):
            for workload, count in each.several().items():
                found[workload] = found.get(workload, 0) + count
        return found

    def promised_us(self, pools: Iterable[str],
                    but: str | None = None) -> float | None:
        """The least latency promised to any on its way there."""
        return min((each.promised_us for _, each
                    in self._pending_in(pools, but)
                    if each.promised_us is not None), default=None)

    def pool_of(self, volume_id: str | None) -> str | None:
        """Where a volume is on its way to, if it is recorded."""
        one = self._recorded.get(volume_id or '')
        return one and one.pool

    def pools(self) -> Iterable[str]:
        """Those that something is on its way to."""
        return self._pending.keys()

    def changed(self) -> set[str]:
        """The pools where that is not what it was at the last call."""
        found, self._changed = self._changed, set()
        return found

    def _pending_in(self, pools: Iterable[str], but: str | None
                    ) -> Iterable[tuple[str, pending.Pending]]:
        one = self._recorded.get(but or '')
        for pool in pools:
            found = self._pending.get(pool)
            if found is None:
                continue
            if one is not None and one.pool == pool:
                found = found.copy()
                found.remove(one.workload, 1, one.max_latency_us)
            yield pool, found

    def _keep(self, volume_id: str, one: Reservation) -> None:
        self._forget(volume_id)
        while len(self._recorded) >= MOST:
            self._forget(next(iter(self._recorded)))
        self._recorded[volume_id] = one
        self._booked.add(volume_id, one.pool, one.size_gib,
                         one.home is not None, self._snapshot)
        self._come(one.pool, one.workload, 1, one.max_latency_us)
        self._end(one.at, volume_id)

    def _forget(self, volume_id: str) -> None:
        one = self._recorded.pop(volume_id, None)
        if one is not None:
            self._booked.remove(volume_id)
            self._leave(one.pool, one.workload, 1, one.max_latency_us)

    def _come(self, pool: str, workload: wl.Workload, count: int,
              promise_us: float | None = None) -> None:
        self._pending.setdefault(pool, pending.Pending()).add(
            workload, count, promise_us)
        if promise_us is not None:
            self.promising.add(pool)
        self._changed.add(pool)

    def _leave(self, pool: str, workload: wl.Workload, count: int,
               promise_us: float | None = None) -> None:
        if not count:
            return
        its = self._pending[pool]
        its.remove(workload, count, promise_us)
        if its.promised_us is None:
            self.promising.discard(pool)
        if not its:
            del self._pending[pool]
        self._changed.add(pool)

    def _end(self, at: float, what: str | inferred.Guess) -> None:
        """Notes when something will count no more."""
        heapq.heappush(self._ends, (at, next(self._number), what))
        alive = len(self._recorded) + self._inferred.alive
        if len(self._ends) > 2 * alive + _SPARE:
            self._ends = [end for end in self._ends if self._stands(end)]
            heapq.heapify(self._ends)

    def _stands(self, end: tuple[float, int, str | inferred.Guess]) -> bool:
        at, _, what = end
        if isinstance(what, inferred.Guess):
            return what.count > 0
        return what in self._recorded and self._recorded[what].at == at

    def _finish(self, what: str | inferred.Guess) -> None:
        if isinstance(what, inferred.Guess):
            # It goes on explaining its capacity, but counts no more.
            self._leave(what.pool, what.workload, what.count)
            self._inferred.silence(what)
        else:
            self._forget(what)

    def _expire(self, now: float) -> None:
        since = now - self._ttl_s
        for _ in range(_AT_ONCE):
            if not self._ends or self._ends[0][0] >= since:
                break
            end = heapq.heappop(self._ends)
            if self._stands(end):
                self._finish(end[2])
        self._inferred.expire(now)

    def _meet(self, snapshot: sn.Snapshot, now: float) -> None:
        """Another cluster.json than before: who is new, at work or gone?"""
        before, self._snapshot = self._snapshot, snapshot
        for volume_id, one in list(self._recorded.items()):
            volume = snapshot.volumes.get(volume_id)
            if volume is None:
                if (before and volume_id in before.volumes
                        or snapshot.taken_at > one.at + _KNOWN_S):
                    self._forget(volume_id)
            elif volume.pool != one.home:
                if snapshot.active(volume):
                    self._forget(volume_id)
                elif volume.pool != one.pool:
                    self._keep(volume_id, dataclasses.replace(
                        one, pool=volume.pool))
        if before is not None:
            self._arrive(snapshot, before.volumes, now)
        self._booked.renew(snapshot, (
            (volume_id, one.pool, one.size_gib, one.home is not None)
            for volume_id, one in self._recorded.items()))

    def _arrive(self, snapshot: sn.Snapshot, before: Mapping[str, object],
                now: float) -> None:
        """Volumes that the last file did not have."""
        for volume in snapshot.volumes.values():
            if volume.id in before or volume.id in self._recorded:
                continue
            guess = self._inferred.take(volume.pool, volume.size_gib)
            if guess is not None:
                self._leave(volume.pool, guess.workload, guess.count)
                self._inferred.silence(guess)
            if not snapshot.active(volume):
                self._keep(volume.id, Reservation(
                    volume.pool, guess.workload if guess else
                    snapshot.seen.get(volume.volume_type or '',
                                      self._default),
                    volume.size_gib, guess.at if guess else now,
                    max_latency_us=volume.max_latency_us))
