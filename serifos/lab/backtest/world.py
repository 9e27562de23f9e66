# SPDX-License-Identifier: Apache-2.0
"""Volumes on simulated devices over time, as their history says.

Between two events, which are the ends of slots and of copies and the
beginnings of migrations, nothing changes: what the devices answer then is
computed once, and counts for the seconds that it lasts. Where sources are
wiped, a volume that was copied takes space on both pools until that is over.

A copy reads its source and writes its target, 128 KiB at a time in order; a
volume that is wiped is written with zeros. Both are as much slower as these
devices fall behind.
"""

from __future__ import annotations

from collections.abc import Callable
from collections.abc import Collection
from collections.abc import Iterator
from collections.abc import Mapping
import dataclasses
import math

import numpy as np

from serifos import errors
from serifos.facts import cluster
from serifos.lab.backtest import queues
from serifos.lab.backtest.rates import COLUMNS
from serifos.lab.backtest.rates import Demand
from serifos.lab.backtest.rates import Floats
from serifos.lab.backtest.rates import Ints
from serifos.lab.backtest.rates import Rates
from serifos.plan import capacity

_KIB = 128.0
_NOTHING_S = 1e-4  # of a copy, which is within the rounding of times
_LEAST = 1e-3  # of its rate, on whatever device

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
    answer: queues.Answer

    @property
    def seconds(self) -> float:
        return self.end - self.begin


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


class World:
    """Time, places and copies.

    :param demand: what volumes ask for, without gaps but before a volume's
        first known slot and after its last
    :param size_gib: float[volumes]
    :param home: volume → pool, of volumes that need not be placed
    :param copy_mib_s: how fast a copy is where devices keep up
    :param wiping_mib_s: the same of what it leaves; None where that is gone
        at once
    :param seen: is called with each stretch

    ``copies`` are the volumes on their way, ``wipes`` those whose old copy
    is being wiped.
    """

    def __init__(self, demand: Rates, size_gib: Floats,
                 pools: tuple[cluster.Pool, ...], devices: queues.Devices,
                 copy_mib_s: float, wiping_mib_s: float | None,
                 seen: Callable[[Stretch], object],
                 home: Mapping[str, str]) -> None:
        self.demand, self.pools, self.size_gib = demand, pools, size_gib
        self.number = {pool.name: i for i, pool in enumerate(pools)}
        self.now = demand.begin
        self.end = demand.begin + demand.slots * demand.step_s
        self.copies: dict[int, Transfer] = {}
        self.wipes: dict[int, Transfer] = {}
        self.home = np.full(len(demand.volumes), ABSENT, np.intp)
        self.changed: Callable[[int], object] = lambda volume: None
        self._given = home
        self._copy_mib_s, self._wiping_mib_s = copy_mib_s, wiping_mib_s
        self._devices, self._seen = devices, seen
        known = ~np.isnan(demand.values[:, :, 0])
        some = known.any(axis=1)
        self._first = np.where(some, known.argmax(axis=1), demand.slots)
        self._last = np.where(
            some, demand.slots - known[:, ::-1].argmax(axis=1), 0)
        self._slot = 0
        self._taken = np.zeros(len(pools))
        self._begin_slot()
        self._open = self._stretch()

    def free_gib(self, pool: int) -> float:
        """What no volume and no copy has allocated."""
        return self.pools[pool].total_gib - float(self._taken[pool])

    def advance(self, seconds: float) -> bool:
        """Lets time pass; True where the history is over."""
        to = min(self.now + seconds, self.end)
        while self.now < self.end and (then := self._next()) <= to:
            self._close(then)
            for volume, copy in list(self.copies.items()):
                if copy.over:
                    self._ended(volume, copy)
            for volume, wipe in list(self.wipes.items()):
                if wipe.over:
                    del self.wipes[volume]
                    self._taken[wipe.target] -= self.size_gib[volume]
            if then >= self._slot_end - 1e-6:
                self._slot += 1
                if self._slot == self.demand.slots:
                    self.now = self.end
                    return True
                self._begin_slot()
            self._open = self._stretch()
        self.now = to
        return self.now >= self.end

    def migrate(self, volume: int, target: int) -> None:
        """Begins to copy a volume; there has to be room."""
        self._close(self.now)
        self.copies[volume] = Transfer(
            int(self.home[volume]), target, self.now,
            1024 * float(self.size_gib[volume]), self._copy_mib_s)
        self._taken[target] += self.size_gib[volume]
        self._open = self._stretch()

    def so_far(self) -> Stretch:
        """The stretch that lasts, up to now."""
        return dataclasses.replace(self._open, end=self.now)

    @property
    def _slot_end(self) -> float:
        return self.demand.begin + (self._slot + 1) * self.demand.step_s

    def _next(self) -> float:
        """When something changes."""
        return min(self._slot_end, *(
            self._open.begin + each.left_s
            for each in self._transfers()), math.inf)

    def _close(self, at: float) -> None:
        done = dataclasses.replace(self._open, end=at)
        for each in self._transfers():
            each.left_mib -= each.mib_s * done.seconds
        if done.seconds > 0:
            self._seen(done)
        self.now = at

    def _transfers(self) -> list[Transfer]:
        return [*self.copies.values(), *self.wipes.values()]

    def _ended(self, volume: int, copy: Transfer) -> None:
        del self.copies[volume]
        was = int(self.home[volume])
        if self._wiping_mib_s is None:
            self._taken[was] -= self.size_gib[volume]
        else:
            self.wipes[volume] = Transfer(
                None, was, self.now, 1024 * float(self.size_gib[volume]),
                self._wiping_mib_s)
        self.home[volume] = copy.target
        self.changed(volume)

    def _begin_slot(self) -> None:
        """Volumes are created and deleted."""
        gone = (self.home != ABSENT) & (self._slot >= self._last)
        for volume in np.flatnonzero(gone).tolist():
            if volume not in self.copies:
                self._taken[self.home[volume]] -= self.size_gib[volume]
                self.home[volume] = ABSENT
                self.changed(volume)
        new = np.flatnonzero(self._first == self._slot)
        for volume in new.tolist():
            self.home[volume] = self._place(volume)
            self._taken[self.home[volume]] += self.size_gib[volume]
            self.changed(volume)

    def _place(self, volume: int) -> int:
        """The pool that is given for it, else by Cinder's free capacity.

        :raises InputError: where there is no room for it
        """
        name, size = self.demand.volumes[volume], float(self.size_gib[volume])
        given = self.number.get(self._given.get(name, ''))
        if given is not None:
            return given
        pools = cluster.Cluster(tuple(
            dataclasses.replace(pool, free_gib=self.free_gib(i))
            for i, pool in enumerate(self.pools)), ())
        found = capacity.place(cluster.Volume(name, '', size), pools)
        if found is None:
            raise errors.InputError(
                f'No pool has {size:g} GiB left for volume {name}; give more '
                'pools by --pools, or larger ones by --pool-gib.')
        return self.number[found]

    def _stretch(self) -> Stretch:
        """What the devices answer from now on."""
        values = np.nan_to_num(
            self.demand.values[:, self._slot].astype(float))
        there = np.flatnonzero(self.home != ABSENT)
        count, transfers = len(there), self._transfers()
        own = Demand.of(values[there])
        on, theirs = demands(transfers)
        pool = np.concatenate([self.home[there], on])
        answer = self._devices.answer(pool, own.beside(theirs))
        for each in transfers:
            each.slow(answer.served)
        rates = np.zeros((len(self.home), len(COLUMNS)))
        rates[there, :4] = values[there, :4] * answer.served[
            self.home[there], None]
        rates[there, 4] = answer.outstanding[:count]
        latency, every = np.zeros((2, len(self.home)))
        latency[there] = answer.latency_us[:count]
        every[there] = own.reads_s + own.writes_s
        parts = np.zeros((len(self.home), 3))
        parts[there] = self._devices.busy(pool[:count], own)
        return Stretch(self.now, self.now, self.home.copy(), rates, latency,
                       every, parts, answer)
