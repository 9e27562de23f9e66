# SPDX-License-Identifier: Apache-2.0
"""Ceilometer's metrics of one disk of an instance, as Gnocchi has them.

Pure. Its resource is ``<instance>-<vdX>``; a measure is a row of a time, a
granularity and a value. While a volume is at the cap of its QoS its requests
wait in QEMU, which is not the time of the device:
:func:`without_waiting` takes that out of its latencies.
"""

from __future__ import annotations

import collections
from collections.abc import Callable
from collections.abc import Iterator
from collections.abc import Mapping
from collections.abc import Sequence
import dataclasses
import itertools
import math
from typing import Any

from serifos.facts.caps import Caps
from serifos.facts import fields
from serifos.facts import times
from serifos.facts.workload import Workload
from serifos.telemetry.counters import Counters
from serifos.telemetry.counters import is_figure
from serifos.telemetry.counters import is_time

COUNTED = ('disk.device.read.requests', 'disk.device.write.requests',
           'disk.device.read.bytes', 'disk.device.write.bytes')
TIMED = ('disk.device.read.latency', 'disk.device.write.latency')
"""Together in the order of the fields of :class:`.counters.Counters`; the
latencies are nanoseconds, summed over all requests."""

METHOD = 'mean'
"""How Gnocchi aggregates what was measured within a granularity."""

_NS = 1e9

Series = Mapping[float, float]
"""Seconds of the epoch → value."""

Joined = Callable[[Sequence[Series], Sequence[Series]],
                  list[tuple[float, Counters]]]
"""Counters of what was counted and timed."""

_NO_LATENCY = (
    'it is not idle, and how long its requests take is not measured; let '
    'Ceilometer poll disk.device.read.latency and disk.device.write.latency')

Told = Sequence[tuple[float, Counters]]
"""Times, and counters since whenever."""


class Unknown(Exception):
    """Why a volume is not known."""


def name(instance: str, device: str) -> str:
    """How Ceilometer names a disk."""
    return f'{instance}-{device.removeprefix("/dev/")}'


def metrics(disk: str, resource: fields.Field) -> Mapping[str, str]:
    """Name → id of the metrics of a disk, by one resource of it.

    :raises Unknown: where they are not all there
    """
    try:
        known = resource['metrics'].texts()
    except ValueError as exc:
        raise Unknown(f'the resource {disk} in Gnocchi cannot be read: '
                      f'{exc}') from None
    for wanted in COUNTED:
        if wanted not in known:
            raise Unknown(f'Gnocchi has no {wanted} of {disk}')
    return {name: known[name] for name in COUNTED + TIMED if name in known}


def series(metric: str, told: Sequence[Any]) -> Series:
    """The measures of a metric; none where nothing is told of it.

    A disk has a resource for each account that Ceilometer ever had. Where one
    follows another both have the granularity of the change, each a part.

    :param told: of each resource, method → rows
    :raises Unknown: where they cannot be read, or resources go on together
    """
    try:
        several = [dict(map(measure, [] if its is None else its.get(
            METHOD, []))) for its in told]
    except (AttributeError, TypeError, ValueError) as exc:
        raise Unknown(f'the measures of its {metric} in Gnocchi cannot be '
                      f'read: {exc}') from None
    times = collections.Counter(itertools.chain(*several))
    twice = {at for at, many in times.items() if many > 1}
    if len(twice) > 1:
        raise Unknown(f'Gnocchi has the {metric} of {len(several)} resources '
                      'of its disk at the same times; let one Ceilometer '
                      'measure it')
    return {at: value for its in several for at, value in its.items()
            if at not in twice}


def measure(row: Any) -> tuple[float, float]:
    """The time and the value of a row.

    :raises ValueError: where it is not time, granularity and number
    """
    try:
        at, _, value = row
        seconds = times.parse(at)
    except (TypeError, ValueError):
        raise ValueError('a measure has no time') from None
    if not (is_time(seconds) and is_figure(value)):
        raise ValueError('a measure is out of range')
    return seconds, value


def counters(counted: Sequence[Series], timed: Sequence[Series],
             window_s: float) -> list[tuple[float, Counters]]:
    """The counters at times that all series have.

    :param timed: fewer where the time of requests is not polled, which may
        be so of a disk that is idle
    :param window_s: in which it has to be
    :raises Unknown: where it is not
    """
    if len(timed) == len(TIMED):
        return _joined(counted, timed)
    if not _is_still(counted, window_s):
        raise Unknown(_NO_LATENCY)
    return _joined(counted, [dict.fromkeys(counted[0], 0.0)] * len(TIMED))


def any_counters(counted: Sequence[Series], timed: Sequence[Series]
                 ) -> list[tuple[float, Counters]]:
    """The same; the time of requests that is not polled is NaN."""
    return _joined(counted, timed if len(timed) == len(TIMED) else [
        dict.fromkeys(counted[0], math.nan)] * len(TIMED))


def _is_still(counted: Sequence[Series], window_s: float) -> bool:
    """Whether no request was completed in the window."""
    return all(len({value for at, value in series.items()
                    if at >= max(series) - window_s}) == 1
               for series in counted[:2])


def _joined(counted: Sequence[Series], timed: Sequence[Series]) -> list[
        tuple[float, Counters]]:
    """The counters at times that all series have; ns become s."""
    common = set.intersection(*(set(s) for s in (*counted, *timed)))
    found = ((at, Counters(*(s[at] for s in counted),
                           *(s[at] / _NS for s in timed)))
             for at in sorted(common))
    return [(at, one) for at, one in found if all(
        is_figure(value) or math.isnan(value) for value in one)]


@dataclasses.dataclass(frozen=True, slots=True)
class _Interval:
    """What happened between two readings.

    :param busy_s: that its requests took together
    :param at_cap: whether the volume was throttled
    """

    requests: float
    busy_s: float
    at_cap: bool


def without_waiting(told: Told, caps: Caps | None) -> Told:
    """The counters of one disk, at the latency of the device.

    Requests are taken to need, while the volume is throttled, what they
    need when it is not; where it always is, their time is unknown.

    :param caps: of the volume, None for none
    """
    if caps is None or len(told) < 2:
        return told
    seen = list(_intervals(told, caps))
    if not any(each is not None and each.at_cap for each in seen):
        return told
    free = [each for each in seen if each is not None and not each.at_cap]
    requests = sum(each.requests for each in free)
    if not requests:
        return [(at, _taking(each, math.nan)) for at, each in told]
    each_s = sum(each.busy_s for each in free) / requests
    return list(_shortened(told, seen, each_s))


def _intervals(told: Told, caps: Caps) -> Iterator[_Interval | None]:
    """What happened between readings; None where counters fell."""
    for (before, then), (after, now) in itertools.pairwise(told):
        reads, writes, read, written, *times = (
            new - old for old, new in zip(then, now))
        seconds, requests = after - before, reads + writes
        if min(reads, writes, read, written, *times) < 0 or seconds <= 0:
            yield None
            continue
        busy_s = sum(times)
        yield _Interval(requests, busy_s, bool(requests) and caps.throttles(
            Workload(100 * writes / requests,
                     (read + written) / 1024 / requests,
                     iops=requests / seconds)))


def _shortened(told: Told, seen: Sequence[_Interval | None],
               each_s: float) -> Iterator[tuple[float, Counters]]:
    """The counters, without what throttled requests took beyond that."""
    lost, left = [0.0, 0.0], told[0][1][4:]
    yield told[0]
    for (_, then), (at, now), each in zip(told, told[1:], seen):
        if each is None:
            lost, left = [0.0, 0.0], (0.0, 0.0)
        elif each.at_cap and each.busy_s > each.requests * each_s:
            share = 1 - each.requests * each_s / each.busy_s
            lost = [gone + share * (new - old) for gone, old, new in zip(
                lost, then[4:], now[4:])]
        # They may not fall by rounding, which would be a reset.
        left = [max(value - gone, before) for value, gone, before in zip(
            now[4:], lost, left)]
        yield at, Counters(*now[:4], *left)


def _taking(counters: Counters, seconds: float) -> Counters:
    return Counters(*counters[:4], seconds, seconds)
