# SPDX-License-Identifier: Apache-2.0
"""What would a device that nobody has let a set of workloads see?

A request passes one of many dies (its fixed cost, its program time, noise),
then a channel in order (its bytes). Beside that a device may have

- several channels, over which large requests are striped;
- a write buffer that drains at a pace of its own and holds the channel when
  it is full;
- a fast area (single-level cells) for writes, folded into the rest at a pace
  of its own: a write that finds it full goes to the rest directly and is
  slow, which is the cliff;
- garbage collection: what is written at random makes a die collect, and
  whatever is on that die waits;
- a cache that holds a share of what is read: hits need no die.

No model of serifos has this form.
"""

from __future__ import annotations

from collections.abc import Sequence
import dataclasses
import math
from typing import Any

import numpy as np

from serifos import errors
from serifos.facts import dataset as ds
from serifos.facts import workload as wl
from serifos.lab.sim import events

IOS = 6000
"""Requests after which a run ends, however long it was meant to be."""


@dataclasses.dataclass(frozen=True)
class Truth:
    """What a simulated device is; serifos is never told.

    :param dies: requests whose fixed cost can run at once
    :param read_us: fixed cost of a random read on its die, µs
    :param write_us: the same of a random write
    :param program_us_per_kib: what a write holds its die for beside that
    :param bus_read_us_per_kib: what a read holds its channel for
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
    :param direct: time on a die of a write that finds it full over another
    :param gc_us: for how long one collection holds a die
    :param gc_us_per_kib: how much collecting each KiB written at random
        causes; a sequential one causes none
    :param cache_share: how much of one workload's region the cache holds;
        workloads together share it evenly
    :param cache_us: what a hit costs instead of the time on a die
    :param readahead: share of sequential reads that are hits
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

    def __post_init__(self) -> None:
        for field in dataclasses.fields(self)[1:]:
            value = getattr(self, field.name)
            if not (math.isfinite(value) and value >= 0):
                raise errors.InputError(
                    f'{field.name} of the simulated device {self.name} is '
                    f'{value}; give a number that is not negative.')
        if not (self.dies and self.channels and self.bus_read_us_per_kib
                and self.bus_write_us_per_kib):
            raise errors.InputError(
                f'The simulated device {self.name} needs a die, a channel, '
                'and a bus that takes its time; give dies, channels and both '
                'costs of the bus.')
        if max(self.cache_share, self.readahead) > 1:
            raise errors.InputError(
                f'The simulated device {self.name} finds more than it reads; '
                'give a cache_share and a readahead of 1 at the most.')


@dataclasses.dataclass(frozen=True)
class Device:
    """A truth, and the chance by which its next runs differ.

    :param ios: requests after which a run ends; more where that would be
        less than 16 for each that is outstanding
    :param erratic: whether thoughts are of exponential length, not all of
        one; many requesters who think so are an open loop
    """

    truth: Truth
    rng: np.random.Generator
    ios: int = IOS
    erratic: bool = False

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
        return _sample(workloads, *events.run(
            self.truth, workloads, runtime_s, self.ios, self.rng,
            self.erratic))


def _sample(workloads: Sequence[wl.Workload],
            seen: Sequence[events.Done], elapsed_us: float) -> ds.Sample:
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
