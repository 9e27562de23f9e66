# SPDX-License-Identifier: Apache-2.0
"""Which volumes were placed that ``cluster.json`` does not show at work yet?

A burst of volumes must not all go to the pool that looks fastest. The
driver records what it places. For what others place, the capacity that a
pool has allocated beyond its volumes in ``cluster.json`` tells of it, and so
do volumes that are new there and idle. Every volume counts once, until it
is seen active or its time is over.
"""

from __future__ import annotations

import collections
from collections.abc import Iterable
from collections.abc import Mapping
import dataclasses
import threading

from serifos.scheduler import known
from serifos.scheduler import predict
from serifos import workload as wl

_WHOLE = 1e-6
"""Less than this many GiB are rounding, not a volume."""

_KNOWN_S = 60.0
"""An observation so much younger than a placement shows the volume, or that
it is gone: Cinder writes its pool down before it is created."""

_REMEMBERED, _REMEMBERED_S = 64, 60.0
"""Requests whose outcome is still to be seen, and for how long."""


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


@dataclasses.dataclass(frozen=True, slots=True)
class Inferred:
    """Capacity allocated by volumes that we know nothing else of."""

    gib: float
    at: float
    workload: wl.Workload
    count: int = 1


@dataclasses.dataclass(frozen=True, slots=True)
class Asked:
    """A request that was weighed; where its volume went is not told."""

    size_gib: float
    workload: wl.Workload
    at: float


@dataclasses.dataclass(frozen=True)
class Standing:
    """What is on its way at one moment.

    :param workloads: device → workload → how many of that
    :param promised: device → the least latency promised to any, µs
    """

    workloads: dict[str, dict[wl.Workload, int]] = dataclasses.field(
        default_factory=dict)
    promised: dict[str, float] = dataclasses.field(default_factory=dict)

    def add(self, device: str, workload: wl.Workload, count: int) -> None:
        alike = self.workloads.setdefault(device, {})
        alike[workload] = alike.get(workload, 0) + count


class Reservations:
    """All of them; safe to share between threads, green or native."""

    def __init__(self, ttl_s: float, default: wl.Workload) -> None:
        self._ttl_s = ttl_s
        self._default = default
        self._lock = threading.Lock()
        self._recorded: dict[str, Reservation] = {}
        self._inferred: dict[str, list[Inferred]] = {}
        self._asked: collections.deque[Asked] = collections.deque(
            maxlen=_REMEMBERED)
        self._snapshot: known.Snapshot | None = None

    def record(self, volume_id: str, reservation: Reservation) -> None:
        """The driver placed this volume, perhaps for the second time."""
        with self._lock:
            self._expire(reservation.at)
            self._recorded[volume_id] = reservation

    def ask(self, asked: Asked) -> None:
        """A volume was weighed that this process may not learn to place."""
        with self._lock:
            self._asked.append(asked)

    def update(self, snapshot: known.Snapshot,
               candidates: Iterable[predict.Candidate], asked: Asked) -> None:
        """Takes in what is known now, before a request is judged.

        :param asked: what capacity that nobody explains is taken for
        """
        with self._lock:
            self._expire(asked.at)
            if snapshot is not self._snapshot:
                self._meet(snapshot, asked.at)
            booked = self._booked(snapshot)
            for candidate in candidates:
                pool, allocated = candidate.pool, candidate.allocated_gib
                if allocated is None or pool not in snapshot.devices:
                    continue
                beyond = (allocated - snapshot.gib[pool]
                          - booked.get(pool, 0.0))
                if beyond > _WHOLE or pool in self._inferred:
                    self._infer(pool, max(0.0, beyond), snapshot, asked)

    def standing(self, devices: Mapping[str, str],
                 but: str | None = None) -> Standing:
        """What is on its way now, one volume left out.

        :param devices: pool → device, of the pools that are known
        :param but: the id of the volume that is asked about
        """
        found = Standing()
        with self._lock:
            for volume_id, one in self._recorded.items():
                device = devices.get(one.pool)
                if device is None or volume_id == but:
                    continue
                found.add(device, one.workload, 1)
                if one.max_latency_us is not None:
                    found.promised[device] = min(
                        one.max_latency_us,
                        found.promised.get(device, one.max_latency_us))
            for pool, several in self._inferred.items():
                for guess in several:
                    if pool in devices and guess.count:
                        found.add(devices[pool], guess.workload, guess.count)
        return found

    def _expire(self, now: float) -> None:
        since = now - self._ttl_s
        for volume_id in [name for name, one in self._recorded.items()
                          if one.at < since]:
            del self._recorded[volume_id]
        for pool, several in self._inferred.items():
            # It goes on explaining its capacity, but counts no more.
            self._inferred[pool] = [
                dataclasses.replace(one, count=0)
                if one.at < since and one.count else one for one in several]
        while self._asked and self._asked[0].at < now - _REMEMBERED_S:
            self._asked.popleft()

    def _meet(self, snapshot: known.Snapshot, now: float) -> None:
        """Another cluster.json than before: who is new, at work or gone?"""
        before, self._snapshot = self._snapshot, snapshot
        for volume_id, one in list(self._recorded.items()):
            volume = snapshot.volumes.get(volume_id)
            if volume is None:
                if (before and volume_id in before.volumes
                        or snapshot.taken_at > one.at + _KNOWN_S):
                    del self._recorded[volume_id]
            elif volume.pool != one.home:
                if snapshot.active(volume):
                    del self._recorded[volume_id]
                elif volume.pool != one.pool:
                    self._recorded[volume_id] = dataclasses.replace(
                        one, pool=volume.pool)
        if before is None:
            return
        for volume in snapshot.cluster.volumes:
            if (volume.id in before.volumes
                    or volume.id in self._recorded):
                continue
            guess = self._take(volume.pool, volume.size_gib)
            if not snapshot.active(volume):
                self._recorded[volume.id] = Reservation(
                    volume.pool, guess.workload if guess else
                    snapshot.seen.get(volume.volume_type or '',
                                      self._default),
                    volume.size_gib, guess.at if guess else now,
                    max_latency_us=volume.max_latency_us)

    def _take(self, pool: str, gib: float) -> Inferred | None:
        """What was inferred of a volume of this size, which is found now."""
        several = self._inferred.get(pool, [])
        for one in several:
            if one.count <= 1 and abs(one.gib - gib) < _WHOLE:
                several.remove(one)
                return one
        return None

    def _booked(self, snapshot: known.Snapshot) -> dict[str, float]:
        """Pool → GiB allocated by what is recorded, yet not in the file.

        A volume that moves is recorded here, or its copy is there, or both.
        """
        sums: collections.Counter[str] = collections.Counter()
        moving: collections.Counter[str] = collections.Counter()
        for volume_id, one in self._recorded.items():
            volume = snapshot.volumes.get(volume_id)
            if volume is None or volume.pool != one.pool:
                (moving if one.home else sums)[one.pool] += one.size_gib
        copies = {pool.name: pool.copies_gib
                  for pool in snapshot.cluster.pools if pool.copies_gib}
        for pool in {*moving, *copies}:
            sums[pool] += max(moving[pool], copies.get(pool, 0.0))
        return sums

    def _infer(self, pool: str, beyond: float, snapshot: known.Snapshot,
               asked: Asked) -> None:
        """Makes the inferred ones of a pool explain ``beyond`` GiB."""
        several = self._inferred.setdefault(pool, [])
        gap = beyond - sum(one.gib for one in several)
        while gap < -_WHOLE:
            oldest = several.pop(0)
            gap += oldest.gib
            if gap > _WHOLE:  # only a part of it went
                several.insert(0, dataclasses.replace(oldest, gib=gap))
                gap = 0.0
        for earlier in list(self._asked):
            if _WHOLE < earlier.size_gib <= gap + _WHOLE:
                self._asked.remove(earlier)
                several.append(Inferred(earlier.size_gib, earlier.at,
                                        earlier.workload))
                gap -= earlier.size_gib
        if gap > _WHOLE:
            size = max(asked.size_gib, snapshot.mean_gib) or gap
            several.append(Inferred(gap, asked.at, asked.workload,
                                    max(1, round(gap / size))))
        if not several:
            del self._inferred[pool]
