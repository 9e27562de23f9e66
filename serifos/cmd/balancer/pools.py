# SPDX-License-Identifier: Apache-2.0
"""What pools showed beside what their models predict, for people."""

from __future__ import annotations

from collections.abc import Sequence
import dataclasses
from typing import Any

from serifos.facts import pool_errors
from serifos.facts import times
from serifos.report import table

NAMES = 'pool', 'drifting', 'hours'
"""Of the values of a pool's document."""

_OUTSIDE = {1: 'above', -1: 'below', 0: None}


@dataclasses.dataclass(frozen=True)
class Pool:
    """One pool.

    :param hours: that are shown, the oldest first
    :param drifting: a clause, None where it does not
    """

    name: str
    hours: Sequence[pool_errors.Hour]
    drifting: str | None

    def document(self) -> dict[str, Any]:
        return {'pool': self.name,
                'drifting': self.drifting, 'hours': [
                    {'at': times.text(hour.begin), 'rounds': hour.rounds,
                     'latency_us': round(hour.mean_seen_us, 1),
                     'predicted_us': round(hour.mean_predicted_us, 1),
                     'error': round(_error(hour), 4),
                     'outside': _OUTSIDE[hour.far]} for hour in self.hours]}

    def row(self) -> tuple[object, ...]:
        return (self.name, len(self.hours),
                *_figures(pool_errors.together(self.hours)),
                sum(hour.far != 0 for hour in self.hours), self.drifting)


def read(kept: pool_errors.PoolErrors, now: float, begin: float,
         name: str | None) -> list[Pool]:
    """The pools that were seen.

    :param now: seconds of the epoch
    :param begin: of what is shown
    :param name: of the only pool that is wanted, None for all
    :raises SerifosError: where they cannot be read
    """
    found = kept.hours(min(begin, now - pool_errors.PROVES_S), now)
    proving = {pool: [hour for hour in hours
                      if hour.begin >= now - pool_errors.PROVES_S]
               for pool, hours in found.items()}
    return [Pool(pool, shown, pool_errors.drifting(proving[pool], now))
            for pool, hours in sorted(found.items())
            if name in (None, pool) and (shown := [
                hour for hour in hours
                if hour.begin + pool_errors.HOUR_S > begin])]


def text(pools: Sequence[Pool], name: str | None) -> str:
    """A table with a line a pool, or a line an hour of the only one.

    :param name: as of :func:`read`
    """
    if name is None:
        return table.as_text(table.Table(
            ('pool', 'hours', 'shows, ms', 'predicted, ms', 'error',
             'outside', 'drifts'),
            [pool.row() for pool in pools],
            'What pools show beside what their models predict; hours outside '
            'of the interval.'))
    pool, = pools
    return table.as_text(table.Table(
        ('hour', 'rounds', 'shows, ms', 'predicted, ms', 'error', 'interval'),
        [(times.text(hour.begin), hour.rounds, *_figures(hour),
          _OUTSIDE[hour.far] or 'within') for hour in pool.hours],
        f'{pool.name}: {pool.drifting or "it does not drift"}.'))


def _figures(hour: pool_errors.Hour) -> tuple[object, ...]:
    return (hour.mean_seen_us / 1e3, hour.mean_predicted_us / 1e3,
            table.percent(_error(hour), '+.1f'))


def _error(hour: pool_errors.Hour) -> float:
    """How far the mean of what was seen is above that of predictions."""
    return hour.mean_seen_us / hour.mean_predicted_us - 1
