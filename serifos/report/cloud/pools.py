# SPDX-License-Identifier: Apache-2.0
"""Pools by latency, now and after a plan, as a drawing."""

from __future__ import annotations

from collections.abc import Mapping
from collections.abc import Sequence

from serifos.plan.outlook import outlook as ol
from serifos.report import drawing as dw
from serifos.report import page
from serifos.report.plan import tables
from serifos.report.plan import wording as wd
from serifos.report import table

_OPEN = 15
"""Pools that are drawn at once; the others of those chosen are folded."""

_ROWS = 2000
"""Of the table of all pools."""


def section(seen: ol.Outlook, short: Mapping[str, str]) -> page.Section:
    """The pools, the slowest first: a drawing, and a table of all."""
    shown = [each for each in tables.chosen(seen) if each.planned]
    scale = dw.Scale.to(
        us for each in shown for side in (each.before, each.after)
        for us in (side.latency_us, each.seen_us,
                   side.expected and side.expected.high_us))
    scale = dw.Scale(scale.most / 1e3)
    charts = [_figure(shown[:_OPEN], short, scale)] if shown else []
    if len(shown) > _OPEN:
        charts.append(dw.element(
            'details', dw.element('summary', wd.count(
                len(shown) - _OPEN, 'more pool') + ', drawn'),
            _figure(shown[_OPEN:], short, scale)))
    every = tables.of_pools(seen, seen.pools[:_ROWS])
    more = len(seen.pools) - len(shown)
    return page.Section(
        'Pools by latency', f'{wd.count(len(seen.pools), "pool")}, the '
        'slowest first' + (
            f'; {len(shown):,} of them are drawn, all are in the table.'
            if more else '.'), charts,
        folded=[table.Table(
            every.header, every.rows, every.caption,
            'Every pool as a table' if len(seen.pools) <= _ROWS else
            f'The slowest {_ROWS:,} pools as a table')])


def _figure(shown: Sequence[ol.PoolOutlook], short: Mapping[str, str],
            scale: dw.Scale) -> str:
    caption = dw.legend([
        (dw.element('circle', cx=8, cy=8, r=5,
                    style='fill: var(--red)'), 'now, hot'),
        (dw.element('circle', cx=8, cy=8, r=5,
                    style='fill: var(--blue)'), 'now'),
        (dw.element('path', d='M8 2 14 8 8 14 2 8z', stroke_width=2,
                    style='fill: var(--ground); stroke: var(--green)'),
         'after the plan'),
        (dw.element('rect', y=4, width=16, height=8,
                    style='fill: var(--band)'),
         'interval of its model now, 90 %'),
        (dw.element('path', d='M8 2V14', stroke_width=2,
                    style='stroke: var(--ink)'), 'seen by tenants')])
    return dw.figure(
        caption, *(_row(each, short[each.pool.name], scale)
                   for each in shown),
        dw.element('div', '<span></span>', dw.element(
            'svg', scale.axis('ms'), width='100%', height=20,
            aria_hidden='true'), '<span></span>', class_='row axis'))


def _row(each: ol.PoolOutlook, name: str, scale: dw.Scale) -> str:
    was_us, then_us = each.latencies_us
    said = [f'{name}: {wd.ms(was_us)} ms now, as predicted']
    expected = each.before.expected
    drawn = [scale.grid(0, 26)]
    if expected is not None:
        said.append(f'90 % interval {wd.ms(expected.low_us)} to '
                    f'{wd.ms(expected.high_us)} ms')
        low = scale(expected.low_us / 1e3)
        drawn.append(dw.bar(low, 7, scale(expected.high_us / 1e3) - low, 12,
                            'band', said[-1]))
    if each.seen_us is not None:
        said.append(f'seen by tenants {wd.ms(each.seen_us)} ms')
        drawn.append(dw.line(scale(each.seen_us / 1e3), 5,
                             scale(each.seen_us / 1e3), 21, 'ink', 2.0))
    at, to = scale(was_us / 1e3), scale(then_us / 1e3)
    changes = wd.ms(was_us) != wd.ms(then_us)
    if changes:
        said.append(f'{wd.ms(then_us)} ms after the plan')
        drawn += [dw.line(at, 13, to, 13, 'green', 2.0),
                  dw.diamond(to, 13, 'green', said[-1])]
    hot = each.before.hot
    if hot:
        said.append('it is hot')
    if each.before.violated:
        said.append(wd.count(each.before.violated, 'violated SLO'))
    if each.before.forecast:
        said.append(wd.count(each.before.forecast, 'forecast SLO violation'))
    drawn.append(dw.dot(at, 13, 'red' if hot else 'blue', said[0]))
    return dw.row(
        name, dw.picture('; '.join(said), 26, *drawn),
        (wd.change(was_us, then_us) if changes else wd.ms(was_us)) + ' ms')
