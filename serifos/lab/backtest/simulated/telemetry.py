# SPDX-License-Identifier: Apache-2.0
"""Telemetry of a simulated world, behind the port of the real ones."""

from __future__ import annotations

import collections
from collections.abc import Collection
from collections.abc import Sequence

import numpy as np

from serifos.facts import activity
from serifos.facts.history import Series
from serifos.facts.telemetry import Telemetry
from serifos.facts.workload import Workload
from serifos.lab.backtest.rates import COLUMNS
from serifos.lab.backtest.simulated.demand import Floats
from serifos.lab.backtest.simulated.demand import Ints
from serifos.lab.backtest.simulated import stretch
from serifos.lab.backtest.simulated.world import World

_COPY = Workload(100.0, 128.0, 8.0, 0.0, iops=800.0, latency_us=1000.0)
_IDLE = Workload(0.0, 4.0, 0.0, iops=0.0, latency_us=0.0)
_SECONDS = len(COLUMNS)


class SimulatedTelemetry(Telemetry):
    """What volumes did, as counters on their hosts would tell.

    A window begins at the end of a slot. What a volume did on a pool that it
    has left does not count in a window, as with the counters of logical
    volumes; its history goes with it.

    :param keep_s: the longest window, and the longest history
    """

    def __init__(self, keep_s: float) -> None:
        self._keep_s = keep_s
        self._sums: Floats | None = None
        self._kept: collections.deque[tuple[float, Floats]] = (
            collections.deque())
        self._since: dict[int, Floats] = {}
        self._home: Ints | None = None
        self.world: World | None = None

    def take(self, done: stretch.Stretch) -> None:
        """Counts a stretch of time."""
        if self._sums is None:
            self._sums = np.zeros((len(done.home), _SECONDS + 1))
            self._kept.append((done.begin, self._sums.copy()))
            self._home = done.home
        for volume in np.flatnonzero(done.home != self._home).tolist():
            self._since[volume] = self._sums[volume].copy()
        self._home = done.home
        self._sums += _amounts(done)
        if done.end - self._kept[-1][0] >= self.world.demand.step_s - 1e-3:
            self._kept.append((done.end, self._sums.copy()))
            while (len(self._kept) > 2
                   and done.end - self._kept[1][0] >= self._keep_s):
                self._kept.popleft()

    def observe(self, places: Sequence[activity.MeasuredVolume],
                window_s: float, pools: Collection[str] = ()
                ) -> activity.Observed:
        now = self.world.so_far()
        own = _amounts(now)
        sums = own if self._sums is None else self._sums + own
        begin = self.world.now - window_s + 1e-3
        left = sums - next((had for at, had in reversed(self._kept)
                            if at <= begin),
                           self._kept[0][1] if self._kept else 0.0)
        for volume, had in self._since.items():
            came = sums[volume] - had
            if came[_SECONDS] < left[volume, _SECONDS]:
                left[volume] = came
        if self._home is not None:
            moved = now.home != self._home
            left[moved] = own[moved]
        seconds = left[:, _SECONDS]
        means = (left / np.maximum(seconds, 1e-9)[:, None]).tolist()
        does, missing = {}, {}
        number = {volume: i for i, volume
                  in enumerate(self.world.demand.volumes)}
        for place in places:
            which = number.get(place.volume)
            if which is None:
                does[place.volume] = _activity(_COPY, window_s)
            elif seconds[which] < 1:
                missing[place.volume] = 'It has only just been there.'
            else:
                does[place.volume] = _activity(
                    _workload(means[which]), float(seconds[which]))
        return activity.Observed(self.world.now, does, {}, missing, {})

    def read(self, places: Sequence[activity.MeasuredVolume], begin: float,
             end: float, step_s: int) -> Series:
        """As :meth:`.facts.history.History.read`, up to the last slot's end.

        What a volume did in a slot is spread evenly over it.
        """
        found = Series.empty([place.volume for place in places], begin,
                             end, step_s)
        if len(self._kept) < 2:
            return found
        edges = np.clip([*found.begins, found.end],
                        self._kept[0][0], self._kept[-1][0])
        number = {volume: i for i, volume
                  in enumerate(self.world.demand.volumes)}
        column, row = np.array(
            [(i, number[volume]) for i, volume in enumerate(found.volumes)
             if volume in number], np.intp).reshape(-1, 2).T
        sums = self._at(edges)[:, row]
        found.sums[:, :, column] = np.moveaxis(_sums(
            np.maximum(0.0, np.diff(sums, axis=0))), -1, 0)
        return found

    def _at(self, times: Floats) -> Floats:
        """float[times, volumes, columns and seconds]: the sums until then."""
        ends = np.array([at for at, _ in self._kept])
        after = np.clip(np.searchsorted(ends, times), 1, len(ends) - 1)
        share = (times - ends[after - 1]) / (ends[after] - ends[after - 1])
        return np.array([
            (1 - part) * self._kept[i - 1][1] + part * self._kept[i][1]
            for i, part in zip(after.tolist(), share)])


def _sums(amounts: Floats) -> Floats:
    """float[..., figures], of :data:`.facts.history.FIGURES`.

    Bytes and seconds of reads and writes are their shares of all requests.
    """
    reads, writes, kib, _, outstanding, seconds = np.moveaxis(amounts, -1, 0)
    write = writes / np.maximum(reads + writes, 1e-12)
    return np.stack([
        seconds, reads, writes, 1024 * kib * (1 - write), 1024 * kib * write,
        outstanding * (1 - write), outstanding * write], axis=-1)


def _amounts(done: stretch.Stretch) -> Floats:
    """float[volumes, columns and seconds] of a stretch."""
    return done.seconds * np.column_stack([
        done.rates, done.home != stretch.ABSENT])


def _activity(mean: Workload, seconds: float) -> activity.Activity:
    return activity.Activity(mean, seconds, 10, 0.0, 0.0)


def _workload(rates: Sequence[float]) -> Workload:
    """As of :func:`.series.workloads`, but for rounding below 0."""
    reads, writes, kib, random, q, _ = (max(0.0, each) for each in rates)
    iops = reads + writes
    if iops < 1e-9:
        return _IDLE
    return Workload(
        100 * writes / iops, kib / iops,
        random_pct=min(100.0, 100 * random / iops), iops=iops,
        latency_us=1e6 * q / iops)
