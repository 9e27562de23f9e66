# SPDX-License-Identifier: Apache-2.0
"""Takes the waiting of throttled volumes out of latencies that QEMU sees.

Pure. While a volume is at the cap of its QoS its requests wait in QEMU, which
is none of the device's. In that time they are taken to need what its requests
need when it is not, so that what is outstanding follows from its rate; where
it always is, how long they take is unknown.
"""

from __future__ import annotations

from collections.abc import Iterator
from collections.abc import Sequence
import dataclasses
import itertools
import math

from serifos.facts.caps import Caps
from serifos.facts.workload import Workload
from serifos.telemetry.counters import Counters

Told = Sequence[tuple[float, Counters]]
"""Times, and counters since whenever."""


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
            new - old for old, new in zip(then.values, now.values))
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
    lost, left = [0.0, 0.0], told[0][1].values[4:]
    yield told[0]
    for (_, then), (at, now), each in zip(told, told[1:], seen):
        if each is None:
            lost, left = [0.0, 0.0], (0.0, 0.0)
        elif each.at_cap and each.busy_s > each.requests * each_s:
            share = 1 - each.requests * each_s / each.busy_s
            lost = [gone + share * (new - old) for gone, old, new in zip(
                lost, then.values[4:], now.values[4:])]
        # They may not fall by rounding, which would be a reset.
        left = [max(value - gone, before) for value, gone, before in zip(
            now.values[4:], lost, left)]
        yield at, Counters(*now.values[:4], *left)


def _taking(counters: Counters, seconds: float) -> Counters:
    return Counters(*counters.values[:4], seconds, seconds)
