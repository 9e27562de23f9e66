# SPDX-License-Identifier: Apache-2.0
"""The page of a backtest: its tables, and the time drawn."""

from __future__ import annotations

from collections.abc import Mapping
from collections.abc import Sequence
import dataclasses
from typing import Any

from serifos.facts import phrases
from serifos.facts import times
from serifos.lab.backtest.tally import Score
from serifos.report import charts
from serifos.report import page
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


_COLOURS = charts.SERIES
_MS = 1e3


def page_of(scores: Sequence[Score], command: str) -> str:
    """The whole page.

    :param command: that made it
    """
    begin = scores[0].hours[0][0]
    return page.render(
        'What balancing would have done',
        f'{scores[0].volumes:,} volumes over {scores[0].days:g} days from '
        f'{times.text(begin)}, replayed on simulated devices under each '
        f'policy.\n{command}', [
            page.Section(
                'Policies', 'The worst pool is the one of greatest latency, '
                'the mean over its volumes, at each time. An SLO counts as '
                'violated for the minutes in which a volume has more '
                'latency. "Busiest pool by best" divides the busiest pool of '
                'each day after the first, by its mean, by that of a packing '
                'for which the day is known.', [],
                [of_scores(scores), of_days(scores)]),
            page.Section('The time', '', [
                _lines(scores, 1, 'Latency of the worst pool, ms', _MS,
                       yscale='log'),
                _lines(scores, 2, 'Volumes whose SLO is violated', 1),
                _lines(scores, 3, 'GiB moved so far', 1)]),
            page.Section('The busiest pool of each day', '', [_days(scores)])
        ], verdict=verdict(scores))


def verdict(scores: Sequence[Score]) -> str:
    """Gain and cost of the best policy against the first one.

    The best is the one whose worst pool is fastest.
    """
    first = scores[0]
    best = min(scores[1:], key=lambda score: score.worst_us, default=None)
    if best is None:
        return (f'Under {first.policy} the worst pool has '
                f'{phrases.ms(first.worst_us)} ms in the mean, and SLOs are '
                f'violated for {first.slo_minutes:,.0f} volume minutes. '
                'There is no other policy to compare with.')
    better = best.worst_us < first.worst_us and (
        best.slo_minutes <= first.slo_minutes)
    return (f'{"Worth it" if better else "Not worth it"}: under '
            f'{best.policy} the worst pool has '
            f'{phrases.ms(best.worst_us)} ms in the mean, '
            f'{phrases.ms(first.worst_us)} under {first.policy}; '
            f'SLOs are violated for {best.slo_minutes:,.0f} volume '
            f'minutes, {first.slo_minutes:,.0f} under {first.policy}; '
            f'{phrases.count(best.moves, "move")} of '
            f'{best.moved_gib:,.0f} GiB.')


def _lines(scores: Sequence[Score], column: int, title: str, unit: float,
           **settings: object) -> str:
    """A line for each policy, over days."""
    begin = scores[0].hours[0][0]
    return charts.points(
        [charts.Series(
            [(hour[0] - begin) / 86400 for hour in score.hours],
            [hour[column] / unit for hour in score.hours], '-', score.policy,
            look={'color': _COLOURS[i % len(_COLOURS)], 'lw': 1})
         for i, score in enumerate(scores)],
        size_in=(10, 3.2), title=title, xlabel='days', **settings)


def _days(scores: Sequence[Score]) -> str:
    rows = {score.policy: score.day_worst for score in scores}
    rows.update((name, days) for name, days,
                _ in packings(scores[0]))
    return charts.points(
        [charts.Series(range(1, len(busy) + 1), [100 * each for each in busy],
                       'o-', name, look={
                           'color': _COLOURS[i % len(_COLOURS)]})
         for i, (name, busy) in enumerate(rows.items())],
        size_in=(10, 3.2), title='Busy in the mean of the day, % of its time',
        xlabel='day')
