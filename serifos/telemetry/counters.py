# SPDX-License-Identifier: Apache-2.0
"""Activity of a volume between two readings of its counters.

Pure arithmetic. Counters only grow while a device lives; where one has
fallen the device was reset, so what happened between those two readings is
unknown, and that interval is left out rather than guessed.
"""

from __future__ import annotations

from collections.abc import Iterable
from collections.abc import Mapping
from collections.abc import Sequence
import dataclasses
import math

from serifos.facts import activity
from serifos.facts.workload import Workload

MOST = 2.0 ** 64
"""What a counter of the kernel can hold."""

ABSURD = {'iops': 1e9, 'latency_us': 1e12, 'iodepth': 1e6,
          'block_kib': 2.0 ** 22}
"""Above what any device does: requests of 11 days, or of 4 GiB."""


def is_figure(value: object) -> bool:
    """Whether this can be the value of a kernel counter."""
    return (isinstance(value, (int, float)) and not isinstance(value, bool)
            and 0 <= value <= MOST)


def is_time(value: object) -> bool:
    """Whether this can be seconds of the epoch, up to the year 9999."""
    return is_figure(value) and value <= 253_402_300_799  # type: ignore


@dataclasses.dataclass(frozen=True, slots=True)
class Counters:
    """The counters of one logical volume, as the kernel keeps them.

    :param reads: completed requests
    :param writes: completed requests
    :param read_bytes: bytes
    :param written_bytes: bytes
    :param read_s: seconds that all reads took together
    :param write_s: seconds that all writes took together
    """

    reads: float
    writes: float
    read_bytes: float
    written_bytes: float
    read_s: float
    write_s: float

    @property
    def values(self) -> tuple[float, ...]:
        return (self.reads, self.writes, self.read_bytes,
                self.written_bytes, self.read_s, self.write_s)

    @property
    def are_sane(self) -> bool:
        return all(map(is_figure, self.values))


@dataclasses.dataclass(frozen=True, slots=True)
class Reading:
    """The counters of the volumes of one host at one moment.

    :param at: seconds of the epoch
    :param volumes: what follows ``volume-`` in an LV's name → its counters
    :param faults: the same → why its counters cannot be used
    :param started: when the host booted by its own clock, seconds of the
        epoch
    :param fault: why nothing at all is known
    :param clock: what the host's own clock showed, seconds of the epoch
    """

    at: float
    volumes: Mapping[str, Counters] = dataclasses.field(default_factory=dict)
    faults: Mapping[str, str] = dataclasses.field(default_factory=dict)
    started: float | None = None
    fault: str | None = None
    clock: float | None = None

    @property
    def uptime_s(self) -> float | None:
        """Seconds since the host booted; no clock has to be right for it.

        Its boot time moves with its clock, so their difference is right
        even where that clock is wrong.
        """
        if self.started is None or self.clock is None:
            return None
        return self.clock - self.started


@dataclasses.dataclass(frozen=True, slots=True)
class Delta:
    """The I/O from ``start`` to ``end``, seconds of the epoch.

    :param requests: reads and writes that were completed
    :param size: bytes read and written
    :param busy_s: seconds that these requests took together
    """

    start: float
    end: float
    requests: float
    writes: float
    size: float
    busy_s: float

    @property
    def seconds(self) -> float:
        return self.end - self.start

    @property
    def outstanding(self) -> float:
        """Little's law: the seconds waited in each second."""
        return self.busy_s / self.seconds


def fell(before: Counters, after: Counters) -> bool:
    """Whether a counter is lower than before: the device was reset."""
    return any(b < a for a, b in zip(before.values, after.values))


def between(start: float, before: Counters,
            end: float, after: Counters) -> Delta | None:
    """The I/O between two readings; None where it is unknown."""
    if end <= start or fell(before, after):
        return None
    reads, writes, read_bytes, written_bytes, read_s, write_s = (
        b - a for a, b in zip(before.values, after.values))
    return Delta(start, end, reads + writes, writes,
                 read_bytes + written_bytes, read_s + write_s)


def together(start: float, end: float, deltas: Iterable[Delta]) -> Delta:
    """The I/O of several volumes in an interval that holds all of these."""
    return Delta(start, end, *_sums(deltas))


def mean_activity(deltas: Sequence[Delta], until: float
                  ) -> activity.Activity | None:
    """The mean activity over intervals, oldest first; None for none.

    :param until: the time of the last reading, which may lie behind the
        last interval where what happened in between is unknown
    """
    if not deltas:
        return None
    return activity.Activity(
        _workload(deltas), seconds=sum(d.seconds for d in deltas),
        intervals=len(deltas), quiet_s=_since(deltas, until, 'requests'),
        unwritten_s=_since(deltas, until, 'writes'))


def absurd(found: activity.Activity) -> str | None:
    """The implausible figure, a clause; None where all are plausible."""
    for name, most in ABSURD.items():
        value = getattr(found.mean, name)
        if not 0 <= value <= most:
            return f'its counters give an implausible {name} of {value:g}'
    return None


def _workload(deltas: Sequence[Delta]) -> Workload:
    requests, writes, size, busy_s = _sums(deltas)
    if requests <= 0:
        return Workload(0.0, 0.0, iodepth=0.0, iops=0.0, latency_us=0.0)
    seconds = sum(d.seconds for d in deltas)
    return Workload(
        write_pct=min(100 * writes / requests, 100.0),
        block_kib=size / requests / 1024, iodepth=busy_s / seconds,
        iops=requests / seconds, latency_us=1e6 * busy_s / requests)


def _since(deltas: Sequence[Delta], until: float, what: str) -> float:
    since = until
    for delta in reversed(deltas):
        if getattr(delta, what) > 0 or delta.end < since:
            break
        since = delta.start
    return until - since


def _sums(deltas: Iterable[Delta]) -> tuple[float, float, float, float]:
    columns = zip(*((d.requests, d.writes, d.size, d.busy_s)
                    for d in deltas))
    requests, writes, size, busy_s = map(math.fsum, columns)
    return requests, writes, size, busy_s
