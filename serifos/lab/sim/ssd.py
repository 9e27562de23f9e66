# SPDX-License-Identifier: Apache-2.0
"""A simulated SSD: its parameters, and its requests one by one.

An event-driven closed network: each workload keeps ``iodepth`` requests
outstanding; a request passes the host's thread of its volume where that
takes time, its die, then its channel, and is followed by the next, after
the workload's think time if it has one.
"""

from __future__ import annotations

from collections.abc import Callable
from collections.abc import Iterable
from collections.abc import Iterator
from collections.abc import Sequence
import dataclasses
import heapq
import itertools
import math
from typing import Any

import numpy as np

from serifos import errors
from serifos.facts.workload import Workload

Done = tuple[int, bool, float]
"""A finished request: its workload, whether it wrote, its latency in µs."""

_WARM_ROUNDS = 2    # requests of every outstanding one that do not count,
_LEAST_ROUNDS = 16  # and that do, at least
_BLOCK = 4096
_UNSERVED = -1.0  # of a request that the thread has yet to serve

Requests = Callable[[Sequence[int]], Iterable[tuple[float, Done]]]
"""(the workload of each outstanding request) → requests as they finish, each
with the time in µs; without end."""


def refuse_negative(device: Any) -> None:
    """Refuses what is negative, no number, or not whole where a count is.

    :param device: a dataclass whose first field is its name
    :raises InputError: of the first such field
    """
    for field in dataclasses.fields(device)[1:]:
        value = getattr(device, field.name)
        if not (math.isfinite(value) and value >= 0):
            raise errors.InputError(
                f'{field.name} of the simulated device {device.name} is '
                f'{value}; give a number that is not negative.')
        if field.type == 'int' and value % 1:
            raise errors.InputError(
                f'{field.name} of the simulated device {device.name} is '
                f'{value}; give a whole number.')


def between(rng: np.random.Generator, least: float, greatest: float) -> float:
    """A value drawn log-uniformly."""
    return float(least * math.exp(
        rng.uniform(0, math.log(greatest / least))))


@dataclasses.dataclass(frozen=True)
class Ssd:
    """A simulated SSD; planners and models never read it.

    :param dies: requests whose fixed cost can run at once
    :param read_us: fixed cost of a random read on its die, µs
    :param write_us: the same of a random write
    :param program_us_per_kib: time of a write on its die beside that
    :param bus_read_us_per_kib: time of a read on its channel
    :param bus_write_us_per_kib: the same of a write
    :param sequential: fixed cost of a sequential request over a random one
    :param drain_us_per_kib: pace at which the write buffer empties
    :param buffer_kib: the write buffer; a run begins with a full one
    :param page_kib: a smaller write fills the buffer, or the fast area, as
        one of this size
    :param channels: each with every so-many-th die
    :param stripe_kib: a larger request uses several channels; 0 for never
    :param fast_kib: the fast area; a run begins with a full one
    :param fold_us_per_kib: pace at which it is folded, and has room again
    :param direct: factor on the die time of a write that finds it full
    :param gc_us: time of one garbage collection on a die
    :param gc_us_per_kib: garbage collection due for each KiB written at
        random; a sequential one causes none
    :param cache_share: share of one workload's region in the cache;
        workloads together share it evenly
    :param cache_us: time of a hit, instead of that on a die
    :param readahead: share of sequential reads that are hits
    :param noise_cv: coefficient of variation of the time on a die
    :param run_cv: the same of a whole run against another
    :param thread_us: time of a request in its volume's thread of the host,
        which serves one after another; 0 where none waits for it
    :param thread_us_per_kib: the same of each KiB
    """

    name: str
    dies: int
    read_us: float
    write_us: float
    bus_read_us_per_kib: float
    bus_write_us_per_kib: float
    program_us_per_kib: float = 0.0
    sequential: float = 1.0
    drain_us_per_kib: float = 0.0
    buffer_kib: float = 0.0
    page_kib: float = 0.0
    noise_cv: float = 0.0
    run_cv: float = 0.0
    channels: int = 1
    stripe_kib: float = 0.0
    fast_kib: float = 0.0
    fold_us_per_kib: float = 0.0
    direct: float = 1.0
    gc_us: float = 0.0
    gc_us_per_kib: float = 0.0
    cache_share: float = 0.0
    cache_us: float = 0.0
    readahead: float = 0.0
    thread_us: float = 0.0
    thread_us_per_kib: float = 0.0

    def __post_init__(self) -> None:
        refuse_negative(self)
        if not (self.dies and self.channels and self.bus_read_us_per_kib
                and self.bus_write_us_per_kib):
            raise errors.InputError(
                f'The simulated device {self.name} needs a die, a channel, '
                'and a bus with a cost; give dies, channels and both costs '
                'of the bus.')
        if max(self.cache_share, self.readahead) > 1:
            raise errors.InputError(
                f'The simulated device {self.name} has more hits than reads; '
                'give a cache_share and a readahead of 1 at the most.')


def run(requests: Requests, workloads: Sequence[Workload],
        runtime_s: float, ios: int,
        before: int = 0) -> tuple[list[Done], float]:
    """The finished requests, and the time that they took, µs.

    :param before: requests that do not count, at least
    """
    queued = [i for i, w in enumerate(workloads)
              for _ in range(max(1, round(w.iodepth)))]
    warm = max(before, _WARM_ROUNDS * len(queued))
    total = warm + max(ios, _LEAST_ROUNDS * len(queued))
    end = runtime_s * 1e6
    done: list[Done] = []
    began, missing = 0.0, set(range(len(workloads)))
    for now, request in requests(queued):
        done.append(request)
        if len(done) <= warm:
            began = now
            continue
        missing.discard(request[0])
        if not missing and (len(done) >= total or now > end):
            break
    return done[warm:], now - began


class Threads:
    """The host's threads, each of which serves one volume's requests in turn.

    :param us: the thread's time for a request
    :param us_per_kib: and for each KiB of it

    ``costs_us`` is what a request of each workload takes there; where it is
    0, requests do not wait for the thread.
    """

    def __init__(self, us: float, us_per_kib: float,
                 workloads: Sequence[Workload]) -> None:
        self.costs_us = [us + us_per_kib * w.block_kib for w in workloads]
        self._free = [0.0] * len(workloads)

    def served(self, now: float, who: int) -> float:
        """When a request that comes now goes on to the device."""
        self._free[who] = max(now, self._free[who]) + self.costs_us[who]
        return self._free[who]


def requests(ssd: Ssd, workloads: Sequence[Workload],
             rng: np.random.Generator, erratic: bool,
             queued: Sequence[int]) -> Iterator[tuple[float, Done]]:
    """The requests of a device, as :data:`Requests` says."""
    pace = lognormal(rng, ssd.run_cv, 1).item()
    dies = [_on_die(ssd, w, pace) for w in workloads]
    buses, lanes = zip(*(_on_channels(ssd, w, pace) for w in workloads))
    kibs = [max(w.block_kib, ssd.page_kib) for w in workloads]
    drains = [ssd.drain_us_per_kib * pace * kib for kib in kibs]
    folds = [ssd.fold_us_per_kib * pace * kib for kib in kibs]
    garbage = [ssd.gc_us_per_kib * pace * kib * w.random_pct / 100
               for kib, w in zip(kibs, workloads)]
    shares = [w.write_pct / 100 for w in workloads]
    misses = [1 - (1 - share) * _hits(ssd, w, len(workloads))
              for share, w in zip(shares, workloads)]
    thinks = [w.think_time_us for w in workloads]
    think_factors = _think_factors(rng) if erratic else itertools.repeat(1.0)
    chance = _chance(ssd, rng)
    cache_us, gc_us = ssd.cache_us * pace, ssd.gc_us * pace
    room = ssd.buffer_kib * ssd.drain_us_per_kib * pace
    fast = ssd.fast_kib * ssd.fold_us_per_kib * pace
    threads = Threads(ssd.thread_us, ssd.thread_us_per_kib, workloads)
    # A channel is first in, first out, so requests are issued in order
    # where nobody thinks; a heap keeps those that do in order, too, and
    # those that their volume's thread has served at the time given last.
    issues = [(erratic * thinks[i] * next(think_factors), i, _UNSERVED)
              for i in queued]
    heapq.heapify(issues)
    leaving: list[tuple[float, int, float, int, bool, int]] = []
    die_free, bus_free = [0.0] * ssd.dies, [0.0] * ssd.channels
    last, number, debt, buffered, folded = 0.0, 0, 0.0, room, fast
    while True:
        if issues and (not leaving or issues[0][0] <= leaving[0][0]):
            now, who, issued = heapq.heappop(issues)
            if issued == _UNSERVED:
                issued = now
                if threads.costs_us[who]:
                    heapq.heappush(
                        issues, (threads.served(now, who), who, issued))
                    continue
            u, die, noise = next(chance)
            write = u < shares[who]
            number += 1
            if u >= misses[who]:
                heapq.heappush(leaving, (
                    now + cache_us, number, issued, who, write, die))
                continue
            cost = dies[who][write] * noise
            if write:  # goes to the next die; a read must go where data is
                die = number % ssd.dies
                if fast:
                    level = max(folded, now) + folds[who]
                    if level > now + fast:
                        cost *= ssd.direct
                    else:
                        folded = level
            at = die_free[die]
            at = (at if at > now else now) + cost
            die_free[die] = at
            if write and gc_us:
                debt += garbage[who]
                if debt >= gc_us:
                    due = debt // gc_us * gc_us
                    debt -= due
                    die_free[die] = at + due
            heapq.heappush(leaving, (at, number, issued, who, write, die))
            continue
        at, _, issued, who, write, die = heapq.heappop(leaving)
        used = lanes[who][die % ssd.channels]
        start = bus_free[used[0]]
        start = at if at > start else start
        if write and room:
            buffered = max(buffered, start - room) + drains[who]
            start = max(start, buffered - room)
        cost, end = buses[who][write], 0.0
        for lane in used:
            free = bus_free[lane]
            free = (start if start > free else free) + cost
            bus_free[lane] = free
            end = free if free > end else end
        heapq.heappush(issues, (
            end + thinks[who] * next(think_factors), who, _UNSERVED))
        last = end if end > last else last
        yield last, (who, write, end - issued)


def _on_die(ssd: Ssd, w: Workload,
            pace: float) -> tuple[float, float]:
    """µs of a read, of a write."""
    x = w.random_pct / 100
    fixed = x + (1 - x) * ssd.sequential
    return (pace * ssd.read_us * fixed, pace * (
        ssd.write_us * fixed + ssd.program_us_per_kib * w.block_kib))


def _on_channels(ssd: Ssd, w: Workload, pace: float
                 ) -> tuple[tuple[float, float], list[tuple[int, ...]]]:
    """µs on each channel, read and write; its channels, by the first."""
    pieces = min(ssd.channels, math.ceil(
        w.block_kib / ssd.stripe_kib)) if ssd.stripe_kib else 1
    us = pace * w.block_kib / pieces
    return ((us * ssd.bus_read_us_per_kib, us * ssd.bus_write_us_per_kib),
            [tuple((first + i) % ssd.channels for i in range(pieces))
             for first in range(ssd.channels)])


def _hits(ssd: Ssd, w: Workload, count: int) -> float:
    """The share of a workload's reads that are cache hits."""
    x = w.random_pct / 100
    return (x * min(1.0, ssd.cache_share / count)
            + (1 - x) * ssd.readahead)


def _chance(ssd: Ssd, rng: np.random.Generator
            ) -> Iterator[tuple[float, int, float]]:
    """For each request: a number that decides its kind, die, noise."""
    while True:
        yield from zip(
            rng.random(_BLOCK).tolist(),
            rng.integers(ssd.dies, size=_BLOCK).tolist(),
            lognormal(rng, ssd.noise_cv, _BLOCK).tolist())


def _think_factors(rng: np.random.Generator) -> Iterator[float]:
    """Exponential factors of mean 1 for each thinktime."""
    while True:
        yield from rng.exponential(size=_BLOCK).tolist()


def lognormal(rng: np.random.Generator, cv: float,
              size: int) -> np.ndarray[Any, Any]:
    """Factors of mean 1."""
    variance = math.log1p(cv * cv)
    return rng.lognormal(-variance / 2, math.sqrt(variance), size)
