# SPDX-License-Identifier: Apache-2.0
"""What would a device that nobody has let a set of workloads see?

An event-driven closed network: each workload keeps ``iodepth`` requests
outstanding; a request passes one of many dies (its fixed cost, its program
time, noise), then the one bus in order (its bytes), and is followed by the
next, after the workload's think time if it has one. Writes fill a buffer that
drains at a pace of its own and hold the bus when it is full. No model of
serifos has this form.
"""

from __future__ import annotations

from collections.abc import Iterator
from collections.abc import Sequence
import dataclasses
import heapq
import math
from typing import Any

import numpy as np

from serifos import errors
from serifos.model import dataset as ds
from serifos import workload as wl

IOS = 6000
"""Requests after which a run ends, however long it was meant to be."""

_WARM_ROUNDS = 2    # requests of every outstanding one that do not count,
_LEAST_ROUNDS = 16  # and that do, at least
_BLOCK = 4096

Done = tuple[int, bool, float]
"""A finished request: its workload, whether it wrote, its latency in µs."""


@dataclasses.dataclass(frozen=True)
class Truth:
    """What a simulated device is; serifos is never told.

    :param dies: requests whose fixed cost can run at once
    :param read_us: fixed cost of a random read on its die, µs
    :param write_us: the same of a random write
    :param program_us_per_kib: what a write holds its die for beside that
    :param bus_read_us_per_kib: what a read holds the bus for
    :param bus_write_us_per_kib: the same of a write
    :param sequential: fixed cost of a sequential request over a random one
    :param drain_us_per_kib: pace at which the write buffer empties
    :param buffer_kib: the write buffer; a run begins with a full one
    :param page_kib: a smaller write fills the buffer as one of this size
    :param noise_cv: coefficient of variation of the time on a die
    :param run_cv: the same of a whole run against another
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

    def __post_init__(self) -> None:
        for field in dataclasses.fields(self)[1:]:
            value = getattr(self, field.name)
            if not (math.isfinite(value) and value >= 0):
                raise errors.InputError(
                    f'{field.name} of the simulated device {self.name} is '
                    f'{value}; give a number that is not negative.')
        if not (self.dies and self.bus_read_us_per_kib
                and self.bus_write_us_per_kib):
            raise errors.InputError(
                f'The simulated device {self.name} needs a die, and a bus '
                'that takes its time; give dies and both costs of the bus.')


@dataclasses.dataclass(frozen=True)
class Device:
    """A truth, and the chance by which its next runs differ.

    :param ios: requests after which a run ends; more where that would be
        less than 16 for each that is outstanding
    """

    truth: Truth
    rng: np.random.Generator
    ios: int = IOS

    def measure(self, workloads: Sequence[wl.Workload],
                runtime_s: float) -> ds.Sample:
        """Runs workloads together for ``runtime_s`` of simulated time.

        :raises InputError: where there is no workload, or no time
        """
        if not workloads:
            raise errors.InputError('A run needs at least one workload.')
        if not runtime_s > 0:
            raise errors.InputError(
                f'A run of {runtime_s} s cannot be made; give it some time.')
        return _sample(workloads, *_run(
            self.truth, workloads, runtime_s, self.ios, self.rng))


@dataclasses.dataclass(frozen=True)
class _Costs:
    """Of one workload, µs: on the die, on the bus, in the buffer."""

    read_us: float
    write_us: float
    bus_read_us: float
    bus_write_us: float
    drain_us: float

    @classmethod
    def of(cls, truth: Truth, w: wl.Workload, pace: float) -> _Costs:
        x = w.random_pct / 100
        fixed = x + (1 - x) * truth.sequential
        return cls(*(pace * us for us in (
            truth.read_us * fixed,
            truth.write_us * fixed + truth.program_us_per_kib * w.block_kib,
            truth.bus_read_us_per_kib * w.block_kib,
            truth.bus_write_us_per_kib * w.block_kib,
            truth.drain_us_per_kib * max(w.block_kib, truth.page_kib))))


def _run(truth: Truth, workloads: Sequence[wl.Workload], runtime_s: float,
         ios: int, rng: np.random.Generator) -> tuple[list[Done], float]:
    """Finished requests, and the µs in which they did."""
    queued = [i for i, w in enumerate(workloads)
              for _ in range(max(1, round(w.iodepth)))]
    warm = _WARM_ROUNDS * len(queued)
    total = warm + max(ios, _LEAST_ROUNDS * len(queued))
    end = runtime_s * 1e6
    done: list[Done] = []
    began, missing = 0.0, set(range(len(workloads)))
    for now, request in _requests(truth, workloads, queued, rng):
        done.append(request)
        if len(done) <= warm:
            began = now
            continue
        missing.discard(request[0])
        if not missing and (len(done) >= total or now > end):
            break
    return done[warm:], now - began


def _requests(truth: Truth, workloads: Sequence[wl.Workload],
              queued: Sequence[int], rng: np.random.Generator
              ) -> Iterator[tuple[float, Done]]:
    """Requests as they finish, each with the time in µs; without end."""
    pace = _lognormal(rng, truth.run_cv, 1).item()
    costs = [dataclasses.astuple(_Costs.of(truth, w, pace))
             for w in workloads]
    shares = [w.write_pct / 100 for w in workloads]
    thinks = [w.think_time_us for w in workloads]
    chance = _chance(truth, rng)
    room = truth.buffer_kib * truth.drain_us_per_kib * pace
    # The bus is first in, first out, so requests are issued in order where
    # nobody thinks; a sorted list is a heap.
    issues = [(0.0, i) for i in queued]
    leaving: list[tuple[float, int, float, int, bool]] = []
    die_free = [0.0] * truth.dies
    bus_free, buffered, number = 0.0, room, 0
    while True:
        if issues and (not leaving or issues[0][0] <= leaving[0][0]):
            issued, who = heapq.heappop(issues)
            u, die, noise = next(chance)
            write = u < shares[who]
            number += 1
            if write:  # goes to the next die; a read must go where data is
                die = number % truth.dies
            at = die_free[die]
            at = (at if at > issued else issued) + costs[who][write] * noise
            die_free[die] = at
            heapq.heappush(leaving, (at, number, issued, who, write))
            continue
        at, _, issued, who, write = heapq.heappop(leaving)
        start = at if at > bus_free else bus_free
        if write and room:
            buffered = max(buffered, start - room) + costs[who][4]
            start = max(start, buffered - room)
        bus_free = start + costs[who][2 + write]
        heapq.heappush(issues, (bus_free + thinks[who], who))
        yield bus_free, (who, write, bus_free - issued)


def _chance(truth: Truth, rng: np.random.Generator
            ) -> Iterator[tuple[float, int, float]]:
    """For each request: which kind, which die, how long there."""
    while True:
        yield from zip(
            rng.random(_BLOCK).tolist(),
            rng.integers(truth.dies, size=_BLOCK).tolist(),
            _lognormal(rng, truth.noise_cv, _BLOCK).tolist())


def _lognormal(rng: np.random.Generator, cv: float,
               size: int) -> np.ndarray[Any, Any]:
    """Factors of mean 1."""
    variance = math.log1p(cv * cv)
    return rng.lognormal(-variance / 2, math.sqrt(variance), size)


def _sample(workloads: Sequence[wl.Workload],
            seen: Sequence[Done], elapsed_us: float) -> ds.Sample:
    who, write, latency = (np.array(column) for column in zip(*seen))
    each = tuple(_seen(latency[who == i], write[who == i], elapsed_us)
                 for i in range(len(workloads)))
    return ds.Sample(
        workloads=tuple(dataclasses.replace(w, iops=None, latency_us=None)
                        for w in workloads),
        latency_us=float(np.mean([w['latency_us'] for w in each])),
        request_latency_us=float(latency.mean()), seen=each)


def _seen(latency: np.ndarray[Any, Any], write: np.ndarray[Any, Any],
          elapsed_us: float) -> dict[str, float | None]:
    figures: dict[str, float | None] = {'latency_us': float(latency.mean())}
    for name, part in (('read', latency[~write]), ('write', latency[write])):
        some = len(part) > 0
        figures[f'{name}_latency_us'] = float(part.mean()) if some else None
        figures[f'{name}_p99_us'] = (
            float(np.percentile(part, 99)) if some else None)
        figures[f'{name}_iops'] = len(part) / elapsed_us * 1e6
    return {**figures, 'iops': len(latency) / elapsed_us * 1e6}
