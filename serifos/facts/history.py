# SPDX-License-Identifier: Apache-2.0
"""Histories of volumes, by slots of time over hours, days and weeks.

A slot holds sums: how many seconds of it were seen, and the requests, the
bytes and the time of the requests that were completed in them. So longer
slots are sums of shorter ones, a rate is a sum over the seconds seen, and
what was not seen is no part of it: means are weighted by seconds.
"""

from __future__ import annotations

from collections.abc import Sequence
import dataclasses
import math

import numpy as np
import numpy.typing as npt

FIGURES = ('seconds', 'reads', 'writes', 'read_bytes', 'written_bytes',
           'read_s', 'write_s')
"""What is summed in a slot: seconds that were seen; requests; bytes; seconds
that all requests took together. Behind the first, in the order of the
kernel's counters."""

Array = npt.NDArray[np.float32]
"""A row for each slot of time, a column for each volume."""


@dataclasses.dataclass(frozen=True, eq=False)
class Series:
    """What some volumes did, in T slots of time, one after another.

    Activities are arrays (T, volumes), NaN where nothing was seen, and zero
    where a volume was seen to be idle.

    :param volumes: their ids
    :param begin: of the first slot, seconds of the epoch
    :param step_s: of every slot
    :param sums: (7, T, volumes), in the order of :data:`FIGURES`; where a
        source does not measure a figure it is NaN
    """

    volumes: tuple[str, ...]
    begin: int
    step_s: int
    sums: Array

    @classmethod
    def empty(cls, volumes: Sequence[str], begin: float, end: float,
              step_s: int) -> Series:
        """Nothing seen, in all slots that these seconds touch."""
        first = math.floor(begin / step_s)
        count = max(0, math.ceil(end / step_s) - first)
        return cls(tuple(volumes), first * step_s, step_s, np.zeros(
            (len(FIGURES), count, len(volumes)), np.float32))

    @property
    def count(self) -> int:
        """Of slots."""
        return self.sums.shape[1]

    @property
    def end(self) -> int:
        return self.begin + self.count * self.step_s

    @property
    def begins(self) -> range:
        """When each slot begins, seconds of the epoch."""
        return range(self.begin, self.end, self.step_s)

    @property
    def seconds(self) -> Array:
        """Seconds that were seen of each slot."""
        return self.sums[0]

    @property
    def read_iops(self) -> Array:
        """Reads a second."""
        return self._rate(self._of('reads'))

    @property
    def write_iops(self) -> Array:
        """Writes a second."""
        return self._rate(self._of('writes'))

    @property
    def iops(self) -> Array:
        """Requests a second."""
        return self._rate(self._requests)

    @property
    def read_kib_s(self) -> Array:
        """KiB read a second."""
        return self._rate(self._of('read_bytes') / 1024)

    @property
    def write_kib_s(self) -> Array:
        """KiB written a second."""
        return self._rate(self._of('written_bytes') / 1024)

    @property
    def write_pct(self) -> Array:
        """Writes in percent of all requests."""
        return self._each(100 * self._of('writes'))

    @property
    def block_kib(self) -> Array:
        """Mean request size, KiB."""
        return self._each((self._of('read_bytes')
                           + self._of('written_bytes')) / 1024)

    @property
    def latency_us(self) -> Array:
        """Mean latency of all requests, µs."""
        return self._each(1e6 * self._busy_s)

    @property
    def outstanding(self) -> Array:
        """Requests outstanding in the mean, by Little's law."""
        return self._rate(self._busy_s)

    def rolled_up(self, step_s: int) -> Series:
        """The same in longer slots, each the sum of those in it.

        :param step_s: a multiple of ours
        """
        if step_s % self.step_s:
            raise ValueError(f'{step_s} s is no multiple of {self.step_s} s')
        found = Series.empty(self.volumes, self.begin, self.end, step_s)
        if not self.count:
            return found
        longer = np.arange(self.begin, self.end, self.step_s) // step_s
        firsts = np.unique(longer, return_index=True)[1]
        return dataclasses.replace(
            found, sums=np.add.reduceat(self.sums, firsts, axis=1))

    @property
    def _requests(self) -> Array:
        return self._of('reads') + self._of('writes')

    @property
    def _busy_s(self) -> Array:
        return self._of('read_s') + self._of('write_s')

    def _of(self, figure: str) -> Array:
        return self.sums[FIGURES.index(figure)]

    def _rate(self, total: Array) -> Array:
        """A total a second; NaN where nothing was seen."""
        return np.divide(total, self.seconds, where=self.seconds > 0,
                         out=np.full(total.shape, np.nan, np.float32))

    def _each(self, total: Array) -> Array:
        """A total a request; 0 of an idle volume."""
        found = np.where(self.seconds > 0, np.float32(0), np.float32(np.nan))
        return np.divide(total, self._requests, where=self._requests > 0,
                         out=found)
