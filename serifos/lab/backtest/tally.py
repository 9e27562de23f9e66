# SPDX-License-Identifier: Apache-2.0
"""Score a replay: worst pool, SLOs, spread, moves.

The latency of a pool is the mean over its volumes with requests; what a
volume sees is the mean of its own requests in a slot.
"""

from __future__ import annotations

from collections.abc import Sequence
import dataclasses
import math

import numpy as np

from serifos.lab.backtest.rates import Floats
from serifos.lab.backtest import world

_HOUR_S, _DAY_S = 3600.0, 86400.0


@dataclasses.dataclass(frozen=True)
class Score:
    """The result of one policy.

    :param worst_us: the latency of the worst pool, the mean over time
    :param worst_p99_us: the same, what it is under for 99 % of the time
    :param slo_minutes: of volumes that exceeded their SLO
    :param variance_us2: over the pools, the mean over time
    :param served: the share of all requests that were served
    :param moves: migrations that ended well
    :param moves_later: of those, requested after the first day
    :param day_worst: of each day the busiest device by its mean, as a
        fraction of its time; copies do not count
    :param day_packed: the same, packed with that day known
    :param day_before: the same, packed anew with the day before known
    :param day_first: the same, packed once with the first day known
    :param hours: begin, worst pool of the hour in the mean, µs, volumes with
        a violated SLO in the mean, GiB moved so far
    """

    policy: str
    pools: int
    volumes: int
    days: float
    worst_us: float
    worst_p99_us: float
    slo_minutes: float
    variance_us2: float
    served: float
    moves: int
    moved_gib: float
    moves_later: int
    day_worst: tuple[float, ...]
    day_packed: tuple[float, ...]
    day_before: tuple[float, ...]
    day_first: tuple[float, ...]
    hours: tuple[tuple[float, float, float, float], ...]
    seconds: float = 0.0

    @property
    def moves_a_day(self) -> float:
        return self.moves / self.days

    @property
    def moves_per_ten_a_week(self) -> float | None:
        """Moves per ten volumes and week, after the first day."""
        later = self.days - 1
        return None if later <= 0 else (
            self.moves_later / self.volumes * 10 / later * 7)

    @property
    def next_day(self) -> float | None:
        """The busiest device after the first day, by the best packing.

        The mean over days; None for a single day.
        """
        return self._by_best(self.day_worst)

    @property
    def packed_before(self) -> float | None:
        """As :attr:`next_day`, packed anew with the day before known."""
        return self._by_best(self.day_before)

    @property
    def packed_first(self) -> float | None:
        """As :attr:`next_day`, packed once with the first day known."""
        return self._by_best(self.day_first)

    def _by_best(self, days: Sequence[float]) -> float | None:
        ratios = [worst / best for worst, best in zip(
            days[1:], self.day_packed[1:]) if best > 0]
        return sum(ratios) / len(ratios) if ratios else None


class Tally:
    """Sums over the stretches of a replay.

    :param slo_us: of all volumes
    :param days: at most so many are kept apart
    """

    def __init__(self, begin: float, end: float, slo_us: float,
                 pools: int, volumes: int) -> None:
        self._begin, self._slo_us, self._pools = begin, slo_us, pools
        self._days = max(1, math.ceil((end - begin) / _DAY_S - 1e-6))
        self._hours = max(1, math.ceil((end - begin) / _HOUR_S - 1e-6))
        self._worst: list[tuple[float, float]] = []
        self._variance = self._violated_s = self._asked = self._served = 0.0
        self._of_hour = np.zeros((self._hours, 3))
        self._of_day = np.zeros((self._days, pools, 3))
        self.demand = np.zeros((self._days, volumes, 4))
        """Requests that read and that write, KiB and random requests of each
        day and volume."""

    def take(self, done: world.Stretch) -> None:
        """Counts a stretch of time, which lies within an hour."""
        there = np.flatnonzero(done.home != world.ABSENT)
        home, latency = done.home[there], done.latency_us[there]
        active = latency > 0
        number = np.bincount(home[active], minlength=self._pools)
        sums = np.bincount(home[active], latency[active], self._pools)
        some = number > 0
        means = sums[some] / number[some]
        worst = float(means.max()) if some.any() else 0.0
        spread = float(means.var()) if some.any() else 0.0
        violated = int((latency > self._slo_us).sum())
        seconds = done.seconds
        self._worst.append((worst, seconds))
        self._variance += spread * seconds
        self._violated_s += violated * seconds
        self._asked += float(done.asked.sum()) * seconds
        self._served += float(done.rates[:, :2].sum()) * seconds
        since = done.begin - self._begin
        hour = min(int(since / _HOUR_S + 1e-9), self._hours - 1)
        self._of_hour[hour] += seconds, worst * seconds, violated * seconds
        day = min(int(since / _DAY_S + 1e-9), self._days - 1)
        for part in range(3):
            self._of_day[day, :, part] += np.bincount(
                home, done.parts[there, part], self._pools) * seconds
        share = np.maximum(done.answer.served[home], 1e-9)[:, None]
        self.demand[day, there] += done.rates[there, :4] / share * seconds

    def score(self, policy: str, moved: Sequence[tuple[float, float]],
              packed: Sequence[tuple[float, ...]], seconds: float) -> Score:
        """The result.

        :param moved: when each migration was requested, and its GiB
        :param packed: of each day, as of :func:`.packing.over_days`
        :param seconds: that the replay took
        """
        worst, lasts = np.array(self._worst).T
        total = float(lasts.sum())
        later = [at for at, _ in moved if at >= self._begin + _DAY_S]
        so_far = np.cumsum(np.bincount(
            [min(int((at - self._begin) / _HOUR_S), self._hours - 1)
             for at, _ in moved], [gib for _, gib in moved], self._hours))
        lasted = np.maximum(self._of_hour[:, :1], 1e-9)
        means = self._of_hour[:, 1:] / lasted
        day_s = np.minimum(_DAY_S, total - np.arange(self._days) * _DAY_S)
        busy = self._of_day.max(axis=(1, 2)) / day_s
        return Score(
            policy, self._pools, self.demand.shape[1], total / _DAY_S,
            float(worst @ lasts / total), _percentile(worst, lasts, 0.99),
            self._violated_s / 60, self._variance / total,
            self._served / max(self._asked, 1e-9), len(moved),
            float(sum(gib for _, gib in moved)), len(later),
            tuple(busy.tolist()), *packed, tuple(
                (self._begin + i * _HOUR_S, *means[i].tolist(),
                 float(so_far[i])) for i in range(self._hours)), seconds)

    def day_s(self, day: int, end: float) -> float:
        """How long a day of the replay is."""
        return min(_DAY_S, end - self._begin - day * _DAY_S)

    @property
    def days(self) -> int:
        return self._days


def _percentile(values: Floats, weights: Floats, share: float) -> float:
    """What the values are at or under for a share of the weights."""
    order = np.argsort(values)
    sums = np.cumsum(weights[order])
    at = np.searchsorted(sums, share * sums[-1] * (1 - 1e-12))
    return float(values[order][min(at, len(values) - 1)])
