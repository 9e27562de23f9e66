# SPDX-License-Identifier: Apache-2.0
"""Simulation of networks without an exact solution.

Stations that serve gamma-distributed work in the order of its arrival, as
those of the paper do, have no product form: they are simulated, event by
event. All requests in service at a station progress alike, so a station
needs one clock of its own, and each of its requests the time on that clock
at which it will be done.

Noorshams, Rostami, Kounev, Reussner: I/O Performance Modeling of
Virtualized Storage Systems, section IV.
"""

from __future__ import annotations

import collections
from collections.abc import Callable
from collections.abc import Iterator
from collections.abc import Sequence
import heapq
import math

import numpy as np
import numpy.typing as npt

from serifos.lab.calibrate import network

_BLOCK = 4096

Floats = npt.NDArray[np.float64]


def response_us(stations: Sequence[network.Station], clients: int,
                rng: np.random.Generator, requests: int) -> float:
    """The exact mean response time where there is one, else a simulated one.

    :param clients: 1 or more
    """
    if network.product_form(stations, clients):
        return network.response_us(stations, clients)
    return float(simulated_us(stations, clients, rng, requests).mean())


def simulated_us(stations: Sequence[network.Station], clients: int,
                 rng: np.random.Generator, requests: int) -> Floats:
    """The response times of simulated requests, in order: float[requests].

    A tenth as many, and two of each client, come before those that count.
    """
    ended = _ended(stations, clients, rng)
    for _ in range(requests // 10 + 2 * clients):
        next(ended)
    return np.array([next(ended) for _ in range(requests)])


class _Line:
    """The state of a station: requests in service, waiting, its clock."""

    def __init__(self, station: network.Station,
                 work: Iterator[float]) -> None:
        self._station, self._work = station, work
        self._served: list[tuple[float, float]] = []
        self._waiting: collections.deque[float] = collections.deque()
        self._clock = self._now = 0.0
        self.next = math.inf

    def join(self, now: float, issued: float) -> None:
        """Adds a request that was sent at ``issued``, at the time ``now``."""
        self._advance(now)
        self._waiting.append(issued)
        self._begin()

    def leave(self) -> float:
        """Removes the request that is done; returns when it was issued."""
        self._advance(self.next)
        _, issued = heapq.heappop(self._served)
        self._begin()
        return issued

    def _rate(self) -> float:
        present = len(self._served) + len(self._waiting)
        return self._station.speed(present) / len(self._served)

    def _advance(self, now: float) -> None:
        if self._served:
            self._clock += (now - self._now) * self._rate()
        self._now = now

    def _begin(self) -> None:
        while self._waiting and len(self._served) < self._station.at_once:
            heapq.heappush(self._served, (
                self._clock + next(self._work), self._waiting.popleft()))
        self.next = self._now + max(
            0.0, self._served[0][0] - self._clock) / self._rate() if (
                self._served) else math.inf


def _ended(stations: Sequence[network.Station], clients: int,
           rng: np.random.Generator) -> Iterator[float]:
    """The response times of requests as they end, µs; without end."""
    used = [station for station in stations if station.demand_us]
    lines = [_Line(station, _drawn(
        lambda s=station: rng.gamma(s.shape, s.time_us / s.shape, _BLOCK)))
        for station in used]
    chance = _drawn(lambda: rng.random(_BLOCK))
    ending = len(lines)

    def after(number: int) -> int:
        while number < ending and next(chance) >= used[number].visits:
            number += 1
        return number
    now = 0.0
    starting = clients
    while True:
        for _ in range(starting):
            while (first := after(0)) == ending:
                yield 0.0
            lines[first].join(now, now)
        number = min(range(ending), key=lambda i: lines[i].next)
        now = lines[number].next
        issued = lines[number].leave()
        onward = after(number + 1)
        if onward < ending:
            lines[onward].join(now, issued)
        else:
            yield now - issued
        starting = int(onward == ending)


def _drawn(block: Callable[[], Floats]) -> Iterator[float]:
    while True:
        yield from block().tolist()
