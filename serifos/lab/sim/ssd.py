# SPDX-License-Identifier: Apache-2.0
"""Parameters of a simulated SSD."""

from __future__ import annotations

import dataclasses
import math
from typing import Any

import numpy as np

from serifos import errors


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
