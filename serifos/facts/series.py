# SPDX-License-Identifier: Apache-2.0
"""What volumes did over days, in equal slots of time.

Rates and outstanding I/Os alone are kept, which add up: over volumes, and
over slots when weighted by their seconds. What is made of them, a mix, a
block size, a latency, is made at the end.
"""

from __future__ import annotations

from collections.abc import Iterator
from collections.abc import Sequence
import dataclasses

import numpy as np
import numpy.typing as npt

from serifos.facts import history as hs
from serifos.facts import workload as wl

Floats = npt.NDArray[np.floating]

COLUMNS = ('reads_s', 'writes_s', 'kib_s', 'random_s', 'outstanding')
"""Requests per second that read and that write, KiB per second, requests per
second at a random offset, and the mean of outstanding I/Os."""


@dataclasses.dataclass(frozen=True, eq=False)
class Series:
    """The activity of volumes in slots.

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

    def between(self, begin: float, end: float) -> Series:
        """The slots that begin in [begin, end)."""
        first, last = (int(np.clip(np.ceil((at - self.begin) / self.step_s),
                                   0, self.slots)) for at in (begin, end))
        return Series(self.begin + first * self.step_s, self.step_s,
                      self.volumes, self.values[:, first:last])

    def rows(self, volumes: Sequence[str]) -> Floats:
        """float[n, slots, columns] of these volumes; NaN for unknown ones."""
        place = {volume: i for i, volume in enumerate(self.volumes)}
        found = np.full((len(volumes), *self.values.shape[1:]), np.nan)
        known = [i for i, volume in enumerate(volumes) if volume in place]
        found[known] = self.values[[place[volumes[i]] for i in known]]
        return found


def of(history: hs.Series) -> Series:
    """The rates of sums; all requests count as random, which no counter tells.

    NaN also in slots of which a figure was not measured.
    """
    values = np.stack([
        history.read_iops, history.write_iops,
        history.read_kib_s + history.write_kib_s, history.iops,
        history.outstanding], axis=-1).astype(float)
    return Series(float(history.begin), float(history.step_s),
                  history.volumes, values.transpose(1, 0, 2))


def workloads(values: Floats) -> Iterator[wl.Workload | None]:
    """Workloads of rows of :data:`COLUMNS`; None where nothing is known.

    :param values: float[n, columns]
    """
    for reads, writes, kib, random, q in values.tolist():
        if q != q:
            yield None
            continue
        iops = reads + writes
        if not iops:
            yield wl.Workload(0.0, 4.0, 0.0, iops=0.0, latency_us=0.0)
            continue
        yield wl.Workload(
            100 * writes / iops, kib / iops, random_pct=100 * random / iops,
            iops=iops, latency_us=1e6 * q / iops)
