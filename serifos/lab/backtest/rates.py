# SPDX-License-Identifier: Apache-2.0
"""Demands of volumes, in equal slots of time and at once.

What was observed of volumes, latency included, is
:class:`.facts.history.Series`. Here are only rates, which add up: over
volumes, and over slots when weighted by their seconds; and where requests go,
which no counter reports.
"""

from __future__ import annotations

import dataclasses

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.floating]
Ints = npt.NDArray[np.intp]

COLUMNS = ('reads_s', 'writes_s', 'kib_s', 'random_s', 'outstanding')
"""Requests per second that read and that write, KiB per second, requests per
second at a random offset, and the mean of outstanding I/Os, which is a
device's answer and NaN before."""


@dataclasses.dataclass(frozen=True, eq=False)
class Rates:
    """The rates of volumes in slots.

    :param begin: of the first slot, seconds of the epoch
    :param step_s: seconds of a slot
    :param volumes: their ids
    :param values: float[volumes, slots, columns], in the order of
        :data:`COLUMNS`; NaN in a slot of which nothing is known, 0 in an
        idle one
    """

    begin: float
    step_s: float
    volumes: tuple[str, ...]
    values: Floats

    @property
    def slots(self) -> int:
        return self.values.shape[1]

    def between(self, begin: float, end: float) -> Rates:
        """The slots that begin in [begin, end)."""
        first, last = (int(np.clip(np.ceil((at - self.begin) / self.step_s),
                                   0, self.slots)) for at in (begin, end))
        return Rates(self.begin + first * self.step_s, self.step_s,
                     self.volumes, self.values[:, first:last])


@dataclasses.dataclass(frozen=True, eq=False)
class Demand:
    """What volumes ask of devices at a time, float[n] each.

    :param reads_s: requests per second that read
    :param writes_s: the same that write
    :param random: share of requests at a random offset
    """

    reads_s: Floats
    writes_s: Floats
    kib: Floats
    random: Floats

    @classmethod
    def of(cls, rates: Floats) -> Demand:
        """Of float[n, columns], in the order of :data:`COLUMNS`."""
        reads, writes, kib, random = rates[:, :4].T
        some = np.maximum(reads + writes, 1e-12)
        return cls(reads, writes, kib / some, random / some)

    def beside(self, other: Demand) -> Demand:
        """These and then others."""
        return Demand(*(np.concatenate([getattr(each, field.name)
                                        for each in (self, other)])
                        for field in dataclasses.fields(self)))
