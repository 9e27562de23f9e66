# SPDX-License-Identifier: Apache-2.0
"""Telemetry of a simulated world, behind the port of the real ones."""

from __future__ import annotations

import collections
from collections.abc import Collection
from collections.abc import Sequence

import numpy as np

from serifos.facts import activity
from serifos.facts import workload as wl
from serifos.lab.backtest.truth import Floats
from serifos.lab.backtest import world as wd

_COPY = wl.Workload(100.0, 128.0, 8.0, 0.0, iops=800.0, latency_us=1000.0)
_IDLE = wl.Workload(0.0, 4.0, 0.0, iops=0.0, latency_us=0.0)


class SimulatedTelemetry:
    """What volumes did, as counters on their hosts would tell.

    A window begins at the end of a slot. What a volume did on a pool that it
    has left does not count, as with the counters of logical volumes.

    :param keep_s: the longest window
    """

    def __init__(self, keep_s: float) -> None:
        self._keep_s = keep_s
        self._sums: Floats | None = None
        self._kept: collections.deque[tuple[float, Floats]] = (
            collections.deque())
        self._since: dict[str, tuple[float, Floats]] = {}
        self._home: Floats | None = None
        self.world: wd.World | None = None

    def take(self, done: wd.Stretch) -> None:
        """Counts a stretch of time."""
        if self._sums is None:
            self._sums = np.zeros_like(done.rates)
            self._kept.append((done.begin, self._sums.copy()))
            self._home = done.home
        for volume in np.flatnonzero(done.home != self._home).tolist():
            self._since[volume] = done.begin, self._sums[volume].copy()
        self._home = done.home
        self._sums += done.rates * done.seconds
        step = self.world.demand.step_s
        if done.end - self._kept[-1][0] >= step - 1e-3:
            self._kept.append((done.end, self._sums.copy()))
            while (len(self._kept) > 2
                   and done.end - self._kept[1][0] >= self._keep_s):
                self._kept.popleft()

    def observe(self, places: Sequence[activity.MeasuredVolume],
                window_s: float, pools: Collection[str] = ()
                ) -> activity.Observed:
        world = self.world
        now = world.so_far()
        begin, before = next(
            ((at, sums) for at, sums in reversed(self._kept)
             if at <= world.now - window_s + 1e-3),
            self._kept[0] if self._kept else (now.begin, None))
        sums = now.rates * now.seconds
        if self._sums is not None:
            sums = sums + self._sums
        does = {}
        number = {volume: i for i, volume in enumerate(world.demand.volumes)}
        moved = np.zeros(len(sums), bool)
        if self._home is not None:
            moved = now.home != self._home
        left = sums if before is None else sums - before
        seconds = np.full(len(sums), world.now - begin)
        for volume, (at_, had) in self._since.items():
            if at_ > begin:
                left[volume] = sums[volume] - had
                seconds[volume] = world.now - at_
        if moved.any():
            left[moved] = now.rates[moved] * now.seconds
            seconds[moved] = now.seconds
        means = left / np.maximum(seconds, 1e-9)[:, None]
        lists = means.tolist()
        missing = {}
        for place in places:
            which = number.get(place.volume)
            if which is None:
                does[place.volume] = _activity(_COPY, window_s)
            elif seconds[which] < 1:
                missing[place.volume] = 'It has only just been there.'
            else:
                does[place.volume] = _activity(
                    _workload(lists[which]), float(seconds[which]))
        return activity.Observed(world.now, does, {}, missing, {})


def _activity(mean: wl.Workload, seconds: float) -> activity.Activity:
    return activity.Activity(mean, seconds, 10, 0.0, 0.0)


def _workload(rates: Sequence[float]) -> wl.Workload:
    """As of :func:`.series.workloads`, but for rounding below 0."""
    reads, writes, kib, random, q = (max(0.0, each) for each in rates)
    iops = reads + writes
    if iops < 1e-9:
        return _IDLE
    return wl.Workload(
        100 * writes / iops, kib / iops,
        random_pct=min(100.0, 100 * random / iops), iops=iops,
        latency_us=1e6 * q / iops)
