# SPDX-License-Identifier: Apache-2.0
"""Activity of volumes and pools over a window of readings.

Pure. What is not known has a reason and is never guessed: a host that is
silent or stale, an LV that is missing, counters that were reset.
"""

from __future__ import annotations

import bisect
from collections.abc import Callable
from collections.abc import Collection
from collections.abc import Mapping
from collections.abc import Sequence
import itertools
import operator

from serifos.facts import activity
from serifos.facts import names
from serifos.telemetry import counters

STALE_INTERVALS = 3
"""Readings are stale after this many intervals without a new one."""

Readings = Mapping[str, Sequence[counters.Reading]]
"""A host, or whatever else places share, → its readings, oldest first."""

_HOST = operator.attrgetter('host')


def hosts(places: Sequence[activity.MeasuredVolume],
          pools: Collection[str]) -> set[str]:
    """The hosts of these places and pools."""
    return {*(place.host for place in places), *map(names.host, pools)}


def reach_s(window_s: float, interval_s: float) -> float:
    """How old a reading of a window can be whose newest is not stale, s."""
    return window_s + (STALE_INTERVALS + 1) * interval_s


def observed(places: Sequence[activity.MeasuredVolume], readings: Readings, *,
             now: float, window_s: float, interval_s: float,
             of: Callable[[activity.MeasuredVolume], str] = _HOST,
             empty: Collection[str] = ()) -> activity.Observed:
    """The activity of these places, and why that of others is unknown.

    :param now: seconds of the epoch
    :param window_s: counted back from the newest reading of each host
    :param interval_s: how often readings are taken
    :param of: the key of the readings of a place
    :param empty: pools to report by their hosts even without a place there
    """
    pools = _by_pool(places)
    volumes: dict[str, activity.Activity] = {}
    sums: dict[str, activity.Activity] = {}
    missing: dict[str, str] = {}
    problems: dict[str, str] = {}
    started: dict[str, float] = {}
    doubts: dict[str, str] = {}
    views: dict[str, _View] = {}
    latest = 0.0
    for pool in sorted({*pools, *empty}):  # those of a host in a row
        here = pools.get(pool, [])
        views = {key: views.get(key) or _View(
            key, readings.get(key, ()), now, window_s, interval_s)
            for key in {*map(of, here)} or {names.host(pool)}}
        latest = max(latest, *(view.until for view in views.values()))
        for place in here:
            its = views[of(place)].measured(place.lv_id, place.since)
            if isinstance(its, str):
                missing[place.volume] = its
            else:
                volumes[place.volume] = its
        total = _pool([(views[of(place)], place.lv_id) for place in here
                       if place.volume in volumes])
        first = views[of(here[0]) if here else names.host(pool)]
        problem = _problem(here, missing) if here else first.trouble
        for its, value in ((sums, total), (problems, problem),
                           (started, first.boot.at),
                           (doubts, first.boot.doubt)):
            if value is not None:
                its[pool] = value
    return activity.Observed(latest, volumes, sums, missing, problems,
                             started, doubts)


def covered(readings: Sequence[counters.Reading], now: float, window_s: float,
            interval_s: float) -> float:
    """Seconds of a window that readings cover; 0 where they are stale."""
    view = _View('', readings, now, window_s, interval_s)
    return view.until - view.readings[0].at if view.readings else 0.0


class _View:
    """The usable readings of one host within the window."""

    def __init__(self, key: str, readings: Sequence[counters.Reading],
                 now: float,
                 window_s: float, interval_s: float) -> None:
        self.key = key
        limit = STALE_INTERVALS * interval_s
        past = [r for r in readings if r.at <= now + limit]
        good = [r for r in past if r.fault is None]
        self.trouble = _trouble(key, past, good, now, limit)
        self.readings = [] if self.trouble else _within(
            good, window_s + interval_s / 2, interval_s / 3)
        self.until = self.readings[-1].at if self.readings else 0.0
        self.boot = counters.boot(self.readings)
        self._intervals = [
            (before.at, after.at, before.volumes, after.volumes,
             counters.went_on(before, after))
            for before, after in itertools.pairwise(self.readings)]
        self._steps: dict[str, list[tuple[float, counters.Delta | None]]] = {}

    def steps(self,
              lv_id: str) -> list[tuple[float, counters.Delta | None]]:
        """Start and I/O of each interval at whose ends the LV existed."""
        if lv_id not in self._steps:
            self._steps[lv_id] = [
                (start, counters.between(start, before[lv_id], end,
                                         after[lv_id]) if went_on else None)
                for start, end, before, after, went_on in self._intervals
                if lv_id in before and lv_id in after]
        return self._steps[lv_id]

    def measured(self, lv_id: str,
                 since: float = 0.0) -> activity.Activity | str:
        """The activity of an LV since then, or why it is unknown."""
        if self.trouble:
            return self.trouble
        newest = self.readings[-1]
        if lv_id not in newest.volumes and lv_id not in newest.faults:
            return f'there is no LV volume-{lv_id} on {self.key}'
        found = counters.mean_activity(
            [delta for start, delta in self.steps(lv_id)
             if delta and start >= since], self.until)
        if fault := (newest.faults.get(lv_id)
                     or found and counters.absurd(found)):
            return f'of volume-{lv_id} on {self.key}: {fault}'
        return found or (f'the counters of volume-{lv_id} were reset, or read '
                         'only once so far')


def _trouble(key: str, past: Sequence[counters.Reading],
             good: Sequence[counters.Reading], now: float,
             limit: float) -> str | None:
    """Why the readings of a host cannot be used, or are stale."""
    if not past:
        return f'there is no reading of {key}'
    latest = f': {past[-1].fault}' if past[-1].fault else ''
    if not good:
        return f'there is no usable reading of {key}{latest}'
    age = now - good[-1].at
    if age > limit:
        return (f'the newest reading of {key} is {age:.0f} s old, more than '
                f'{limit:.0f} s{latest}')
    return None


def _within(good: Sequence[counters.Reading], window_s: float,
            apart_s: float) -> list[counters.Reading]:
    """Those of the window, without any that follow hard upon another."""
    kept = [good[-1]]
    for reading in reversed(good[:-1]):
        if (good[-1].at - reading.at <= window_s
                and kept[-1].at - reading.at >= apart_s):
            kept.append(reading)
    return kept[::-1]


def _pool(members: Sequence[tuple[_View, str]]) -> activity.Activity | None:
    """The sum of volumes over the intervals that all of them cover."""
    if not members:
        return None
    times = sorted(set.intersection(*(
        {reading.at for reading in view.readings}
        for view in {view.key: view for view, _ in members}.values())))
    found: dict[int, list[counters.Delta]] = {}
    broken = {-1, len(times) - 1}
    for view, lv_id in members:
        for start, delta in view.steps(lv_id):
            nth = bisect.bisect_right(times, start) - 1
            if delta is None:
                broken.add(nth)
            else:
                found.setdefault(nth, []).append(delta)
    return counters.mean_activity(
        [counters.together(times[nth], times[nth + 1], found[nth])
         for nth in sorted(found.keys() - broken)],
        max(view.until for view, _ in members))


def _by_pool(places: Sequence[activity.MeasuredVolume]
             ) -> dict[str, list[activity.MeasuredVolume]]:
    pools: dict[str, list[activity.MeasuredVolume]] = {}
    for place in places:
        pools.setdefault(place.pool, []).append(place)
    return pools


def _problem(here: Sequence[activity.MeasuredVolume],
             missing: Mapping[str, str]) -> str | None:
    """Why some volumes of a pool are not observed, or None."""
    reasons = [missing[p.volume] for p in here if p.volume in missing]
    if not reasons:
        return None
    if len(reasons) == len(here) and len(set(reasons)) == 1:
        return reasons[0]
    return (f'{len(reasons)} of {len(here)} volumes are not seen; '
            f'{reasons[0]}')
