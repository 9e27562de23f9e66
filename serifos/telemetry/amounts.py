# SPDX-License-Identifier: Apache-2.0
"""Turn readings of hosts into activity by slots of time.

Pure. What happened between two readings is shared among the slots that they
touch, by seconds. It is left out where it is not known for certain: where
counters fell or come to what no device does, where a host was restarted or a
clock was set in between, and where no reading was taken for long, so that
nobody knows when in that time it happened.

The history of a volume goes with it: whatever host has its logical volume.
"""

from __future__ import annotations

from collections.abc import Iterator
from collections.abc import Sequence
import dataclasses
import itertools
import math
import operator

import numpy as np
import numpy.typing as npt

from serifos.facts import activity
from serifos.facts import history
from serifos.telemetry import counters
from serifos.telemetry import window

_NONE = (math.nan,) * 6
"""The counters of a logical volume that a reading does not have."""


@dataclasses.dataclass(frozen=True, slots=True)
class _Claim:
    """A logical volume that was a volume's, for some time.

    :param column: of the volume in the series
    :param host: where the volume is now
    :param not_in: times at which it was there, and elsewhere its remains
    """

    lv_id: str
    column: int
    host: str
    since: float
    until: float
    not_in: Sequence[tuple[float, float]] = ()

    def is_of(self, start: float, end: float) -> bool:
        """Whether this time, between two readings, was the volume's."""
        return self.since <= start and end <= self.until and not any(
            since < end and start < until for since, until in self.not_in)

    def on(self, host: str, readings: window.Readings) -> _Claim:
        """The same of a host's logical volume of that name.

        While the host that has the volume now had it, what others have of
        it is being deleted.
        """
        if host == self.host:
            return self
        return dataclasses.replace(self, not_in=_times(
            self.lv_id, readings.get(self.host, ())))


def series(places: Sequence[activity.MeasuredVolume],
           readings: window.Readings,
           begin: float, end: float, step_s: int, *,
           longest_s: float) -> history.Series:
    """Activity of volumes, by the readings of all hosts.

    :param readings: those between begin and end are looked at
    :param longest_s: between two readings; more is a gap
    """
    found = history.Series.empty([place.volume for place in places], begin,
                                 end,
                                 step_s)
    claims = _claims(places)
    for host, taken in readings.items():
        seen = set(itertools.chain.from_iterable(r.volumes for r in taken))
        here = [claim.on(host, readings) for lv_id in seen
                for claim in claims.get(lv_id, ())]
        if here:
            np.add.at(found.sums, np.s_[:, :, [c.column for c in here]],
                      _amounts(found, here, taken, longest_s))
    return found


def longest_s(interval_s: float) -> float:
    """How far apart readings may be that are taken so often, s."""
    return (window.STALE_INTERVALS + 0.5) * interval_s


def _claims(places: Sequence[activity.MeasuredVolume]
            ) -> dict[str, list[_Claim]]:
    """The name of a logical volume → whose it was, and when.

    One that is named otherwise than the volume came with a migration; until
    then the volume was in the one of its own name.
    """
    claims: dict[str, list[_Claim]] = {}
    for column, place in enumerate(places):
        one = _Claim(place.lv_id, column, place.host, place.since, math.inf)
        claims.setdefault(place.lv_id, []).append(one)
        if place.lv_id != place.volume and place.since:
            claims.setdefault(place.volume, []).append(dataclasses.replace(
                one, lv_id=place.volume, host='', since=0.0,
                until=place.since))
    return claims


def _amounts(grid: history.Series, claims: Sequence[_Claim],
             readings: Sequence[counters.Reading],
             longest_s: float) -> npt.NDArray[np.float64]:
    """(7, slots, claims) of one host."""
    sums = np.zeros((len(history.FIGURES), grid.count, len(claims)))
    lv_ids = [claim.lv_id for claim in claims]
    for (before, then), (after, now) in itertools.pairwise(
            (r, _values(r, lv_ids)) for r in readings if r.fault is None):
        seconds = after.at - before.at
        if (0 < seconds <= longest_s and counters.went_on(before, after)
                and before.at < grid.end and after.at > grid.begin):
            grown = now - then
            known = _plausible(grown, seconds) & [
                claim.is_of(before.at, after.at) for claim in claims]
            figures = np.where(known, [np.full(len(claims), seconds),
                                       *grown], 0.0)
            for slot, share in _shares(grid, before.at, after.at):
                sums[:, slot] += share * figures
    return sums


def _values(reading: counters.Reading,
            lv_ids: Sequence[str]) -> npt.NDArray[np.float64]:
    """(6, logical volumes), NaN where one is not in the reading."""
    of = reading.volumes.get
    return np.array([of(lv_id, _NONE) for lv_id in lv_ids]).T


def _plausible(grown: npt.NDArray[np.float64],
               seconds: float) -> npt.NDArray[np.bool_]:
    """Which volumes' counters grew as a device's may.

    Counters of time may be NaN, where they are not measured; of no request
    they are none.
    """
    requests, size = grown[0] + grown[1], grown[2] + grown[3]
    grown[4:, (requests == 0) & np.isnan(grown[4:]).all(axis=0)] = 0
    busy_s = grown[4] + grown[5]
    most = counters.ABSURD
    return ((grown[:4] >= 0).all(axis=0) & ~(grown[4:] < 0).any(axis=0)
            & (requests <= most['iops'] * seconds)
            & ~(busy_s > most['iodepth'] * seconds)
            & ~(1e6 * busy_s > most['latency_us'] * requests)
            & (size <= 1024 * most['block_kib'] * requests))


def _shares(grid: history.Series, start: float,
            end: float) -> Iterator[tuple[int, float]]:
    """The slots that an interval touches, and its share in each."""
    first = math.floor((start - grid.begin) / grid.step_s)
    last = math.floor((end - grid.begin) / grid.step_s)
    for slot in range(max(first, 0), min(last, grid.count - 1) + 1):
        begins = grid.begin + slot * grid.step_s
        both = min(end, begins + grid.step_s) - max(start, begins)
        if both > 0:
            yield slot, both / (end - start)


def _times(lv_id: str, readings: Sequence[counters.Reading]
           ) -> list[tuple[float, float]]:
    """From when until when readings have a logical volume, each time."""
    seen = [(reading.at, lv_id in reading.volumes) for reading in readings
            if reading.fault is None]
    return [(run[0][0], run[-1][0]) for there, run in (
        (there, list(run)) for there, run in itertools.groupby(
            seen, key=operator.itemgetter(1))) if there]
