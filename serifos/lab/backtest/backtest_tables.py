# SPDX-License-Identifier: Apache-2.0
"""The scores of policies as tables and as a document."""

from __future__ import annotations

from collections.abc import Mapping
from collections.abc import Sequence
import dataclasses
from typing import Any

from serifos.lab.backtest.tally import Score
from serifos.report import table

SCHEMA = 'serifos-backtest/1'


def document(settings: Mapping[str, Any],
             scores: Sequence[Score]) -> dict[str, Any]:
    """All that is known of the scores."""
    return {'schema': SCHEMA, 'settings': dict(settings), 'policies': [
        {**dataclasses.asdict(score), 'moves_a_day': score.moves_a_day,
         'moves_per_ten_a_week': score.moves_per_ten_a_week,
         'next_day': score.next_day, 'packed_before': score.packed_before,
         'packed_first': score.packed_first} for score in scores]}


def of_scores(scores: Sequence[Score]) -> table.Table:
    """A row for each policy."""
    return table.Table(
        ('policy', 'pools', 'worst pool, ms', 'p99 of it, ms',
         'SLO violated, volume minutes', 'sd over pools, ms', 'served',
         'moves', 'GiB moved', 'moves a day',
         'moves per 10 volumes, week', 'busiest pool by best'),
        [(score.policy, score.pools, score.worst_us / 1e3,
          score.worst_p99_us / 1e3, round(score.slo_minutes),
          score.variance_us2 ** 0.5 / 1e3, table.percent(score.served, '.2f'),
          score.moves, round(score.moved_gib),
          score.moves_a_day, score.moves_per_ten_a_week, score.next_day)
         for score in scores],
        f'{scores[0].volumes:,} volumes, {scores[0].days:g} days')


def of_days(scores: Sequence[Score]) -> table.Table:
    """The busiest pool of each day, as a share of its time."""
    return table.Table(
        ('busiest pool, mean of the day', *(
            f'day {day}' for day in range(1, len(scores[0].day_worst) + 1)),
         'later days by best'),
        [(name, *(table.percent(busy, '.0f') for busy in days), by_best)
         for name, days, by_best in [
             *((score.policy, score.day_worst, score.next_day)
               for score in scores), *packings(scores[0])]])


def packings(score: Score) -> tuple[tuple[
        str, tuple[float, ...], float | None], ...]:
    """Name, busiest pool of each day and its mean by best, of each."""
    return (('packed, the first day known', score.day_first,
             score.packed_first),
            ('packed, the day before known', score.day_before,
             score.packed_before),
            ('packed, the day known', score.day_packed, 1.0))
