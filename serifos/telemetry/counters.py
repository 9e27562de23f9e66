# SPDX-License-Identifier: Apache-2.0
"""Counters of hosts: readings, activity between two, boot times.

Pure arithmetic. Counters only grow while a device lives; where one has
fallen the device was reset, so what happened between those two readings is
unknown, and that interval is left out rather than guessed.

A boot time is reported by the clock of the host, which may be wrong, and by
whoever answers for the host. So it is compared: with that clock, with ours,
with how long the host says it is up from one reading to the next, and with
its counters, which are reset at a boot and at no other time.
"""

from __future__ import annotations

from collections.abc import Iterable
from collections.abc import Mapping
from collections.abc import Sequence
import dataclasses
import itertools
import math
import operator
from typing import NamedTuple

from serifos.facts import activity
from serifos.facts.workload import Workload

MOST = 2.0 ** 64
"""What a counter of the kernel can hold."""

ABSURD = {'iops': 1e9, 'latency_us': 1e12, 'iodepth': 1e6,
          'block_kib': 2.0 ** 22}
"""Above what any device does: requests of 11 days, or of 4 GiB."""

_APART_S = 60.0
"""A host's clock that differs by more from ours is not trusted."""

_REBOOTED_S = 5.0
"""A boot time that differs by more is another boot, not another clock."""

_INEXACT_S = 10.0
"""How inexactly the time between two readings is known."""


def is_figure(value: object) -> bool:
    """Whether this can be the value of a kernel counter."""
    return (isinstance(value, (int, float)) and not isinstance(value, bool)
            and 0 <= value <= MOST)


def is_time(value: object) -> bool:
    """Whether this can be seconds of the epoch, up to the year 9999."""
    return is_figure(value) and value <= 253_402_300_799  # type: ignore


class Counters(NamedTuple):
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
    def are_sane(self) -> bool:
        return all(0 <= value <= MOST for value in self)


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


class Delta(NamedTuple):
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
    return True in map(operator.lt, after, before)


def between(start: float, before: Counters,
            end: float, after: Counters) -> Delta | None:
    """The I/O between two readings; None where it is unknown."""
    if end <= start or fell(before, after):
        return None
    reads, writes, read_bytes, written_bytes, read_s, write_s = map(
        operator.sub, after, before)
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


@dataclasses.dataclass(frozen=True, slots=True)
class Boot:
    """The boot time of a host, or why it is not known.

    :param at: seconds of the epoch by our clock, which took the readings
    :param doubt: why the reported time is not trusted, a clause
    """

    at: float | None = None
    doubt: str | None = None


def boot(readings: Sequence[Reading]) -> Boot:
    """The boot time by a host's usable readings, oldest first."""
    if not readings or (readings[-1].started is None
                        and readings[-1].clock is None):
        return Boot()
    doubt = _doubt_of(readings[-1]) or next(filter(None, itertools.starmap(
        _doubt_between, itertools.pairwise(readings))), None)
    if doubt is not None:
        return Boot(doubt=doubt)
    return Boot(readings[-1].at - _uptime_s(readings[-1]))


def went_on(before: Reading, after: Reading) -> bool:
    """Whether the counters of a host went on from one to the other.

    That is so where no boot lies between, and no clock was set, so that
    the time from one to the other is known too.
    """
    if before.uptime_s is not None and after.uptime_s is not None:
        return abs(_late_s(before, after)) <= _INEXACT_S
    if before.started is None or after.started is None:
        return True
    return abs(after.started - before.started) <= _REBOOTED_S


def _doubt_of(reading: Reading) -> str | None:
    if reading.started is None:
        return 'its boot time (node_boot_time_seconds) is not reported'
    if reading.clock is None:
        return ('its clock (node_time_seconds, of the collector time) is not '
                'reported, so that its boot time cannot be checked')
    if reading.started > reading.clock:
        return ('its boot time lies '
                f'{reading.started - reading.clock:.0f} s in the future of '
                'its own clock')
    ahead = reading.clock - reading.at
    if abs(ahead) > _APART_S:
        return (f'its clock is {abs(ahead):.0f} s '
                f'{"ahead of" if ahead > 0 else "behind"} ours')
    return None


def _doubt_between(before: Reading, after: Reading) -> str | None:
    """Why two successive readings contradict each other, or None."""
    if before.uptime_s is None or after.uptime_s is None:
        return None
    late_s = _late_s(before, after)
    if late_s < -_INEXACT_S:
        return (f'its uptime grew by {after.uptime_s - before.uptime_s:.0f} s '
                f'in {after.at - before.at:.0f} s')
    both = [(lv_id, was, after.volumes[lv_id]) for lv_id, was
            in before.volumes.items() if lv_id in after.volumes]
    kept = next((lv_id for lv_id, was, now in both
                 if not fell(was, now) and any(was)), None)
    if late_s <= _INEXACT_S:
        if kept is None and any(any(was) for _, was, _ in both):
            return 'its counters were reset without a reboot'
        return None
    return None if kept is None else (
        f'its boot time changed, but the counters of volume-{kept} '
        'were not reset')


def _late_s(before: Reading, after: Reading) -> float:
    """Elapsed time less the growth of the uptime, s."""
    return (after.at - before.at) - (_uptime_s(after) - _uptime_s(before))


def _uptime_s(reading: Reading) -> float:
    assert reading.uptime_s is not None
    return reading.uptime_s
