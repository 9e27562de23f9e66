# SPDX-License-Identifier: Apache-2.0
"""Volumes that do what their history says, on simulated devices, over time.

Between two events, which are the ends of slots and of copies and the
beginnings of migrations, nothing changes: what the devices answer then is
computed once, and counts for the seconds that it lasts. A copy reads its
source and writes its target, 128 KiB at a time in order, and is as much
slower as these devices fall behind.
"""

from __future__ import annotations

from collections.abc import Callable
from collections.abc import Mapping
import dataclasses
import math

import numpy as np

from serifos import errors
from serifos.facts import cluster as cl
from serifos.lab.backtest import rates as rt
from serifos.lab.backtest.simulated import truth
from serifos.lab.backtest.simulated.truth import Floats
from serifos.lab.backtest.simulated.truth import Ints
from serifos.plan import capacity

ABSENT = -1
"""The home of a volume that is not there yet, or no more."""

_COPY_KIB = 128.0
_NOTHING_S = 1e-4  # of a copy, which is within the rounding of times


@dataclasses.dataclass
class Copy:
    """A volume on its way."""

    volume: int
    target: int
    left_mib: float
    mib_s: float = 0.0


@dataclasses.dataclass(frozen=True, eq=False)
class Stretch:
    """What happened while nothing changed.

    :param home: int[volumes], pools or :data:`ABSENT`
    :param rates: float[volumes, columns] as served, as of a Series
    :param latency_us: float[volumes], 0 without a request
    :param asked: float[volumes], requests per second asked for
    :param parts: float[volumes, parts], how busy each makes its device
    :param answer: of the devices, copies included
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


class World:
    """Time, places and copies.

    :param demand: what volumes ask for, without gaps but before a volume's
        first known slot and after its last
    :param size_gib: float[volumes]
    :param home: volume → pool, of volumes that need not be placed
    :param copy_mib_s: how fast a copy is on devices that keep up
    :param seen: is called with each stretch
    """

    def __init__(self, demand: rt.Rates, size_gib: Floats,
                 pools: tuple[cl.Pool, ...], devices: truth.Devices,
                 copy_mib_s: float, seen: Callable[[Stretch], object],
                 home: Mapping[str, str]) -> None:
        self.demand, self.size_gib, self.pools = demand, size_gib, pools
        self.number = {pool.name: i for i, pool in enumerate(pools)}
        self.now = demand.begin
        self.end = demand.begin + demand.slots * demand.step_s
        self.copies: dict[int, Copy] = {}
        self.home = np.full(len(demand.volumes), ABSENT, np.intp)
        self.changed: Callable[[int], object] = lambda volume: None
        self._given = home
        self._devices, self._copy_mib_s, self._seen = (
            devices, copy_mib_s, seen)
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
                if copy.left_mib <= _NOTHING_S * copy.mib_s:
                    self._arrived(volume, copy)
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
        self.copies[volume] = Copy(
            volume, target, 1024 * float(self.size_gib[volume]))
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
            self._open.begin + copy.left_mib / copy.mib_s
            for copy in self.copies.values()), math.inf)

    def _close(self, at: float) -> None:
        done = dataclasses.replace(self._open, end=at)
        for copy in self.copies.values():
            copy.left_mib -= copy.mib_s * done.seconds
        if done.seconds > 0:
            self._seen(done)
        self.now = at

    def _arrived(self, volume: int, copy: Copy) -> None:
        del self.copies[volume]
        self._taken[self.home[volume]] -= self.size_gib[volume]
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
        pools = cl.Cluster(tuple(
            dataclasses.replace(pool, free_gib=self.free_gib(i))
            for i, pool in enumerate(self.pools)), ())
        found = capacity.place(cl.Volume(name, '', size), pools)
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
        count, copies = len(there), list(self.copies.values())
        reads, writes, kib, random = values[there, :4].T
        asked = reads + writes
        some = np.maximum(asked, 1e-12)
        ways = len(copies)
        rate = np.full(ways, self._copy_mib_s * 1024 / _COPY_KIB)
        none = np.zeros(ways)
        sources = np.array([self.home[copy.volume] for copy in copies], int)
        targets = np.array([copy.target for copy in copies], int)
        pool = np.concatenate([self.home[there], sources, targets])
        asks = truth.Demand(
            np.concatenate([reads, rate, none]),
            np.concatenate([writes, none, rate]),
            np.concatenate([kib / some, np.full(2 * ways, _COPY_KIB)]),
            np.concatenate([random / some, none, none]))
        answer = self._devices.answer(pool, asks)
        for copy, source in zip(copies, sources):
            copy.mib_s = self._copy_mib_s * max(1e-3, min(
                answer.served[source], answer.served[copy.target]))
        rates = np.zeros((len(self.home), len(rt.COLUMNS)))
        rates[there, :4] = values[there, :4] * answer.served[
            self.home[there], None]
        rates[there, 4] = answer.outstanding[:count]
        latency, every = np.zeros((2, len(self.home)))
        latency[there], every[there] = answer.latency_us[:count], asked
        parts = np.zeros((len(self.home), 3))
        parts[there] = self._devices.busy(pool[:count], truth.Demand(
            reads, writes, kib / some, random / some))
        return Stretch(self.now, self.now, self.home.copy(), rates, latency,
                       every, parts, answer)
