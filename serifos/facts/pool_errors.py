# SPDX-License-Identifier: Apache-2.0
"""Measured latency of pools against the predicted, hour by hour.

The error of a round is the logarithm of the ratio of two latencies: of what
the tenants of a pool see in the mean, and of what its model predicts for them
under the load that they make. It is far where the ratio is outside of the
model's 90 % interval for that load.
"""

from __future__ import annotations

from collections.abc import Mapping
from collections.abc import Sequence
import dataclasses
import math
import statistics
from typing import Protocol

HOUR_S = 3600

FEW_ROUNDS = 3
"""In an hour of fewer rounds a pool was not seen."""

LAST_HOURS = 6
"""By whose errors it is judged how sure what is measured is."""

SPREAD = 0.1
"""How sure it is where they are not known: the standard deviation of the
logarithm of a mean over a window of minutes."""

_P90 = 1.645
"""Half of a 90 % interval, in standard deviations."""

PROVES_S = 24 * HOUR_S
"""For how long an hour counts."""

DRIFT_HOURS = 3
"""In a row in which most errors of a pool that drifts are far."""

KEPT_S = 8 * 24 * HOUR_S


@dataclasses.dataclass(frozen=True, slots=True)
class Check:
    """One pool in one round.

    :param seen_us: by its tenants, in the mean
    :param predicted_us: for the same, by the model without a correction
    :param far: 1 where the ratio of both is above the model's interval, -1
        where it is below, else 0
    :param log_std: how sure the model is, a standard deviation
    :param outstanding: requests on its device
    """

    seen_us: float
    predicted_us: float
    far: int = 0
    log_std: float = 0.0
    outstanding: float = 0.0

    @property
    def error(self) -> float:
        """The logarithm of the ratio."""
        return math.log(self.seen_us / self.predicted_us)

    @property
    def clause(self) -> str:
        """Measured and predicted latencies of a pool."""
        return (f'its tenants see {self.seen_us / 1e3:.3g} ms, its model '
                f'predicts {self.predicted_us / 1e3:.3g} ms')

    @classmethod
    def of(cls, seen_us: float, predicted_us: float,
           interval: Sequence[float], outstanding: float = 0.0) -> Check:
        """:param interval: the ends of the model's, as fractions"""
        low, high = interval
        ratio = seen_us / predicted_us - 1
        half = (math.log1p(high) - math.log1p(max(low, -0.99))) / 2
        return cls(seen_us, predicted_us, (ratio > high) - (ratio < low),
                   half / _P90, outstanding)

    def correction(self, spread: float) -> float:
        """The factor by which predictions of the pool are multiplied.

        So that they are what is measured, as far as this is surer than the
        model; all of it where the model is refuted.

        :param spread: how sure what is measured is, a standard deviation
        """
        model, seen = self.log_std ** 2, max(spread, 1e-3) ** 2
        return math.exp(self.error * (
            1.0 if self.far else model / (model + seen)))


@dataclasses.dataclass(frozen=True, slots=True)
class Hour:
    """The rounds of an hour in which a pool was seen: sums.

    :param begin: seconds of the epoch
    :param above: rounds with an error above the model's interval
    """

    begin: int
    rounds: int = 0
    seen_us: float = 0.0
    predicted_us: float = 0.0
    error: float = 0.0
    above: int = 0
    below: int = 0

    def with_one(self, check: Check) -> Hour:
        return Hour(
            self.begin, self.rounds + 1, self.seen_us + check.seen_us,
            self.predicted_us + check.predicted_us, self.error + check.error,
            self.above + (check.far > 0), self.below + (check.far < 0))

    @property
    def mean_error(self) -> float:
        return self.error / self.rounds

    @property
    def mean_seen_us(self) -> float:
        return self.seen_us / self.rounds

    @property
    def mean_predicted_us(self) -> float:
        return self.predicted_us / self.rounds

    @property
    def far(self) -> int:
        """1 where most rounds were above the interval, -1 for below."""
        return (2 * self.above > self.rounds) - (2 * self.below > self.rounds)


def together(hours: Sequence[Hour]) -> Hour:
    """The sum of at least one."""
    first, *others = map(dataclasses.astuple, hours)
    return Hour(first[0], *map(sum, zip(*(
        each[1:] for each in (first, *others)))))


Hours = Mapping[str, Sequence[Hour]]
"""Pool → its hours, the oldest first."""


class PoolErrors(Protocol):
    """The port of what keeps the errors of pools."""

    def note(self, checks: Mapping[str, Check], at: float) -> None:
        """Adds a round to its hour.

        :raises SerifosError: where it cannot be written
        """

    def hours(self, begin: float, end: float) -> Hours:
        """The hours that begin in a time.

        :raises SerifosError: where they cannot be read
        """


def spread(hours: Sequence[Hour]) -> float:
    """The standard deviation of the errors of the last hours.

    :param hours: of one pool, the oldest first; :data:`SPREAD` where they are
        too few
    """
    errors = [hour.mean_error for hour in hours if hour.rounds >= FEW_ROUNDS]
    return statistics.stdev(errors[-LAST_HOURS:]) if (
        len(errors) >= LAST_HOURS) else SPREAD


def drifting(hours: Sequence[Hour], now: float) -> str | None:
    """A clause that says since when a pool is far from its model, or None.

    :param now: seconds of the epoch
    """
    row: list[Hour] = []
    for hour in reversed([h for h in hours if h.rounds >= FEW_ROUNDS]):
        newer = row[-1].begin if row else now
        if not hour.far or (row and hour.far != row[0].far) or (
                newer - hour.begin > 2 * HOUR_S):
            break
        row.append(hour)
    if len(row) < DRIFT_HOURS:
        return None
    ratio = math.exp(statistics.fmean(hour.mean_error for hour in row))
    return (f'its tenants see {ratio:.2g} times what its model predicts, '
            f'for {len(row)} hours now')
