# SPDX-License-Identifier: Apache-2.0
"""Pools by latency, now and after a plan, as a drawing."""

from __future__ import annotations

from collections.abc import Mapping
from collections.abc import Sequence

from serifos.plan.outlook.outlook import Outlook
from serifos.plan.outlook.outlook import PoolOutlook
from serifos.report import drawing
from serifos.report import page
from serifos.report.plan import plan_tables
from serifos.report.plan import wording
from serifos.report import table

_OPEN = 15
"""Pools that are drawn at once; the others of those chosen are folded."""

_ROWS = 2000
"""Of the table of all pools."""


def section(seen: Outlook, short: Mapping[str, str]) -> page.Section:
    """The pools, the slowest first: a drawing, and a table of all."""
    shown = [each for each in plan_tables.chosen(seen) if each.planned]
    scale = drawing.Scale.to(
        us for each in shown for side in (each.before, each.after)
        for us in (side.latency_us, each.seen_us,
                   side.expected and side.expected.high_us))
    scale = drawing.Scale(scale.most / 1e3)
    charts = [_figure(shown[:_OPEN], short, scale)] if shown else []
    if len(shown) > _OPEN:
        charts.append(drawing.element(
            'details', drawing.element('summary', wording.count(
                len(shown) - _OPEN, 'more pool') + ', drawn'),
            _figure(shown[_OPEN:], short, scale)))
    every = plan_tables.of_pools(seen, seen.pools[:_ROWS])
    more = len(seen.pools) - len(shown)
    return page.Section(
        'Pools by latency', f'{wording.count(len(seen.pools), "pool")}, the '
        'slowest first' + (
            f'; {len(shown):,} of them are drawn, all are in the table.'
            if more else '.'), charts,
        folded=[table.Table(
            every.header, every.rows, every.caption,
            'Every pool as a table' if len(seen.pools) <= _ROWS else
            f'The slowest {_ROWS:,} pools as a table')])


def _figure(shown: Sequence[PoolOutlook], short: Mapping[str, str],
            scale: drawing.Scale) -> str:
    caption = drawing.legend([
        (drawing.element('circle', cx=8, cy=8, r=5,
                         style='fill: var(--red)'), 'now, hot'),
        (drawing.element('circle', cx=8, cy=8, r=5,
                         style='fill: var(--blue)'), 'now'),
        (drawing.element('path', d='M8 2 14 8 8 14 2 8z', stroke_width=2,
                         style='fill: var(--ground); stroke: var(--green)'),
         'after the plan'),
        (drawing.element('rect', y=4, width=16, height=8,
                         style='fill: var(--band)'),
         'interval of its model now, 90 %'),
        (drawing.element('path', d='M8 2V14', stroke_width=2,
                         style='stroke: var(--ink)'), 'seen by tenants')])
    return drawing.figure(
        caption, *(_row(each, short[each.pool.name], scale)
                   for each in shown),
        drawing.element('div', '<span></span>', drawing.element(
            'svg', scale.axis('ms'), width='100%', height=20,
            aria_hidden='true'), '<span></span>', class_='row axis'))


def _row(each: PoolOutlook, name: str, scale: drawing.Scale) -> str:
    was_us, then_us = each.latencies_us
    said = [f'{name}: {wording.ms(was_us)} ms now, as predicted']
    expected = each.before.expected
    drawn = [scale.grid(0, 26)]
    if expected is not None:
        said.append(f'90 % interval {wording.ms(expected.low_us)} to '
                    f'{wording.ms(expected.high_us)} ms')
        low = scale(expected.low_us / 1e3)
        drawn.append(drawing.bar(low, 7, scale(expected.high_us / 1e3) - low,
                                 12,
                                 'band', said[-1]))
    if each.seen_us is not None:
        said.append(f'seen by tenants {wording.ms(each.seen_us)} ms')
        drawn.append(drawing.line(scale(each.seen_us / 1e3), 5,
                                  scale(each.seen_us / 1e3), 21, 'ink', 2.0))
    at, to = scale(was_us / 1e3), scale(then_us / 1e3)
    changes = wording.ms(was_us) != wording.ms(then_us)
    if changes:
        said.append(f'{wording.ms(then_us)} ms after the plan')
        drawn += [drawing.line(at, 13, to, 13, 'green', 2.0),
                  drawing.diamond(to, 13, 'green', said[-1])]
    hot = each.before.hot
    if hot:
        said.append('it is hot')
    if each.before.violated:
        said.append(wording.count(each.before.violated, 'violated SLO'))
    if each.before.forecast:
        said.append(wording.count(each.before.forecast,
                                  'forecast SLO violation'))
    drawn.append(drawing.dot(at, 13, 'red' if hot else 'blue', said[0]))
    return drawing.row(
        name, drawing.picture('; '.join(said), 26, *drawn),
        (wording.change(was_us, then_us) if changes else wording.ms(was_us))
        + ' ms')
