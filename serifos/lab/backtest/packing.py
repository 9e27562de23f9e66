# SPDX-License-Identifier: Apache-2.0
"""Best placement for a known day, as a measure for others.

Volumes go, the busiest first, to the device that is then least busy, by its
busiest part; then single volumes and pairs of them change places as long as
that relieves the busiest device. Nobody can know the day; a policy is
measured by how near it comes. What the same packing makes of the days before
is what is in reach of one that knows the devices and moves what it likes, but
not the future.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from serifos.lab.backtest.rates import Floats
from serifos.lab.backtest.rates import Ints

_ROUNDS = 200
_PAIRS = 64


def least_worst(parts: Floats, size_gib: Floats,
                total_gib: Floats) -> float:
    """How busy the busiest device is in the best packing, as a fraction.

    As of :func:`packed`.
    """
    return busiest(parts, packed(parts, size_gib, total_gib))


def over_days(days: Sequence[Floats], size_gib: Floats, total_gib: Floats
              ) -> tuple[tuple[float, ...], ...]:
    """How busy the busiest device is on each day, packed by three of them.

    By that day, by the one before, and by the first one, which is known to
    all of the three.

    :param days: of each day, as of :func:`packed`
    """
    homes = [packed(day, size_gib, total_gib) for day in days]
    return tuple(
        tuple(busiest(day, home) for day, home in zip(days, known))
        for known in (homes, [*homes[:1], *homes], homes[:1] * len(homes)))


def busiest(parts: Floats, home: Ints) -> float:
    """How busy the busiest device is, as a fraction of its time.

    :param parts: as of :func:`packed`
    :param home: int[volumes], the pool of each
    """
    busy = np.zeros(parts.shape[1:])
    np.add.at(busy, home, parts[np.arange(len(home)), home])
    return float(busy.max())


def packed(parts: Floats, size_gib: Floats, total_gib: Floats) -> Ints:
    """The pool of each volume in the best packing, int[volumes].

    :param parts: float[volumes, pools, parts], how busy each volume makes
        each part of each device
    :param size_gib: float[volumes]
    :param total_gib: float[pools]
    """
    volumes, pools, _ = parts.shape
    home = np.empty(volumes, np.intp)
    busy = np.zeros(parts.shape[1:])
    room = total_gib.astype(float).copy()
    for volume in np.argsort(-parts.mean(axis=1).max(axis=1), kind='stable'):
        then = (busy + parts[volume]).max(axis=1)
        then[room < size_gib[volume]] = np.inf
        pool = int(np.argmin(then))
        home[volume] = pool
        busy[pool] += parts[volume, pool]
        room[pool] -= size_gib[volume]
    for _ in range(_ROUNDS):
        if not _better(parts, size_gib, home, busy, room):
            break
    return home


def _better(parts: Floats, size_gib: Floats, home: Floats, busy: Floats,
            room: Floats) -> bool:
    """Relieves the busiest device by a move or an exchange, in place."""
    worst = int(busy.max(axis=1).argmax())
    level = float(busy[worst].max()) * (1 - 1e-6)
    here = np.flatnonzero(home == worst)
    for volume in here.tolist():
        if (busy[worst] - parts[volume, worst]).max() >= level:
            continue
        then = (busy + parts[volume]).max(axis=1)
        then[(room < size_gib[volume])] = np.inf
        then[worst] = np.inf
        pool = int(np.argmin(then))
        if then[pool] < level:
            _move(parts, size_gib, home, busy, room, volume, pool)
            return True
    there = np.flatnonzero(home != worst)
    order = np.argsort(busy[home[there]].max(axis=1), kind='stable')
    there = there[order][:_PAIRS * len(here) or 1]
    for volume in here.tolist():
        pools = home[there]
        mine = (busy[worst] - parts[volume, worst]
                + parts[there, worst]).max(axis=1)
        its = (busy[pools] + parts[volume, pools]
               - parts[there, pools]).max(axis=1)
        fits = (room[pools] + size_gib[there] >= size_gib[volume]) & (
            room[worst] + size_gib[volume] >= size_gib[there])
        then = np.where(fits, np.maximum(mine, its), np.inf)
        if len(then) and then.min() < level:
            other = int(there[int(np.argmin(then))])
            pool = int(home[other])
            _move(parts, size_gib, home, busy, room, volume, pool)
            _move(parts, size_gib, home, busy, room, other, worst)
            return True
    return False


def _move(parts: Floats, size_gib: Floats, home: Floats, busy: Floats,
          room: Floats, volume: int, pool: int) -> None:
    was = int(home[volume])
    busy[was] -= parts[volume, was]
    busy[pool] += parts[volume, pool]
    room[was] += size_gib[volume]
    room[pool] -= size_gib[volume]
    home[volume] = pool
