# SPDX-License-Identifier: Apache-2.0
"""What volumes did over days, from Ceilometer's metrics in Gnocchi.

Of a volume that is attached now, since it was. Where the time of requests is
not polled, only latency and outstanding requests are unknown. Their time is
QEMU's: what throttled ones wait there is left out.
"""

from __future__ import annotations

from collections.abc import Iterable
from collections.abc import Sequence
from typing import Protocol

from serifos import errors
from serifos.facts import activity
from serifos.facts.history import Series
from serifos.telemetry.counters import Counters
from serifos.telemetry.counters import Reading
from serifos.telemetry import gnocchi_disks as disks
from serifos.telemetry.history import amounts
from serifos.telemetry.history import waiting

_MOST_APART = 2.5
"""Granularities between two measures; more is a gap."""


class Source(Protocol):
    """What is read of Gnocchi."""

    granularity_s: float

    def counters(self, places: Sequence[activity.MeasuredVolume],
                 begin: float, joined: disks.Joined) -> Iterable[tuple[
                     activity.MeasuredVolume,
                     list[tuple[float, Counters]] | str]]:
        """Places, and their counters since then, or why they are unknown."""


def read(source: Source, places: Sequence[activity.MeasuredVolume],
         begin: float, end: float, step_s: int) -> Series:
    """As :meth:`.facts.history.History.read`, one volume after another."""
    if step_s <= 0 or step_s % source.granularity_s:
        raise errors.InputError(
            f'Gnocchi has no slots of {step_s} s; give a multiple of '
            '[telemetry] gnocchi_granularity, '
            f'{source.granularity_s:g} s.')
    longest_s = _MOST_APART * source.granularity_s
    found = Series.empty([place.volume for place in places], begin, end,
                         step_s)
    for column, (place, known) in enumerate(source.counters(
            places, found.begin - longest_s, disks.any_counters)):
        if isinstance(known, str):
            continue
        here = activity.MeasuredVolume(
            place.volume, place.volume, place.pool, place.since)
        found.sums[:, :, column] = amounts.series(
            [here], {here.host: [
                Reading(at, {here.lv_id: counters})
                for at, counters in waiting.without_waiting(
                    [(at, its) for at, its in known if at >= here.since],
                    place.caps)]},
            found.begin, found.end, step_s, longest_s=longest_s
        ).sums[:, :, 0]
    return found
