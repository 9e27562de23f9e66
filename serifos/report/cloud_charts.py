# SPDX-License-Identifier: Apache-2.0
"""Drawings of a cloud: its pools, their hours, and achievements."""

from __future__ import annotations

from collections.abc import Iterable
from collections.abc import Iterator
from collections.abc import Mapping

import numpy as np

from serifos.facts import fields
from serifos.facts.history import Series
from serifos.facts.journal import Entry
from serifos.facts import phrases
from serifos.facts import pool_errors
from serifos.plan.outlook import Outlook
from serifos.plan.outlook import PoolOutlook
from serifos.report import charts
from serifos.report import page
from serifos.report import wording

_SLOWEST, _CHANGED = 12, 4
"""Pools that are drawn: the slowest, and of the others those that the plan
makes faster by most, and as many that it makes slower."""

_LINES = 5
"""Volumes of a pool whose hours are on the page, the busiest ones."""


def measured_us(each: PoolOutlook) -> float:
    """Latency by which pools are sorted: measured, else predicted."""
    return each.latencies_us[0] if each.seen_us is None else each.seen_us


def latencies(seen: Outlook, short: Mapping[str, str]) -> str:
    """The slowest pools, and those that the plan touches."""
    slowest = sorted((each for each in seen.pools if each.planned),
                     key=lambda each: -measured_us(each))
    others = sorted(slowest[_SLOWEST:], key=lambda each: (
        each.latencies_us[1] - each.latencies_us[0]))
    if len(others) > 2 * _CHANGED:
        others = [*others[:_CHANGED], *others[-_CHANGED:]]
    shown = sorted([*slowest[:_SLOWEST], *others],
                   key=lambda each: -measured_us(each))
    if not shown:
        return ''
    scale = charts.Scale(charts.Scale.to(
        us for each in shown
        for us in (each.seen_us, *each.latencies_us,
                   each.before.expected and each.before.expected.high_us)
    ).most / 1e3)
    how = 'measured' if all(each.seen_us is not None for each in shown) else (
        'measured, else predicted')
    return charts.captioned(
        charts.legend([
            (charts.dot(50, 8, 'blue'), how),
            (charts.dot(50, 8, 'red'), 'the same, hot or SLO violated'),
            (charts.bar(0, 4, 100, 8, 'band'),
             'its model expects now, 90 %'),
            (charts.diamond(50, 8, 'green'), 'after the plan')]),
        *(_pool(each, short[each.pool.name], scale) for each in shown),
        charts.element('div', '<span></span>', charts.element(
            'svg', scale.axis('ms'), width='100%', height=20,
            aria_hidden='true'), '<span></span>', class_='row axis'))


def _pool(each: PoolOutlook, name: str, scale: charts.Scale) -> str:
    was_us, then_us = each.latencies_us
    expected, at_us = each.before.expected, measured_us(each)
    said = [f'{name}: {phrases.ms(each.seen_us)} ms measured'
            if each.seen_us is not None else f'{name}: not measured',
            f'{phrases.ms(was_us)} ms predicted now']
    drawn = [scale.grid(0, 26)]
    if expected is not None:
        said.append(f'90 % interval {phrases.ms(expected.low_us)} to '
                    f'{phrases.ms(expected.high_us)} ms')
        low = scale(expected.low_us / 1e3)
        drawn.append(charts.bar(low, 7, scale(expected.high_us / 1e3) - low,
                                12, 'band'))
    changes = phrases.ms(was_us) != phrases.ms(then_us)
    if changes:
        said.append(f'{phrases.ms(then_us)} ms after the plan')
        to = scale(then_us / 1e3)
        drawn += [charts.line(scale(at_us / 1e3), 13, to, 13, 'green', 2.0),
                  charts.diamond(to, 13, 'green')]
    if each.before.hot:
        said.append('it is hot')
    for number, noun in ((each.before.violated, 'violated SLO'),
                         (each.before.forecast, 'forecast SLO violation')):
        if number:
            said.append(phrases.count(number, noun))
    drawn.append(charts.dot(
        scale(at_us / 1e3), 13,
        'red' if each.before.hot or each.before.violated else 'blue'))
    whole = '; '.join(said)
    return charts.row(
        name, charts.picture(
            whole, 26, charts.element('title', charts.escaped(whole)),
            # So that a pointer finds the title between the marks, too.
            charts.element('rect', width='100%', height='100%',
                           fill='transparent'), *drawn),
        (phrases.change(at_us, then_us) if changes else phrases.ms(at_us))
        + ' ms')


def hours(found: pool_errors.Hours, volumes: Series,
          homes: Mapping[str, str], names: Mapping[str, str],
          short: Mapping[str, str]) -> str:
    """The latencies of each pool by hours, and the load of its volumes.

    The script of the page draws them: ms that were measured and predicted,
    and the I/Os that the busiest volumes keep outstanding.

    :param volumes: their hours, whose time is that of the drawing
    :param homes: volume → its pool
    :param names: volume → what it is called
    """
    queued = volumes.outstanding
    busy = np.nansum(queued, axis=0)
    lines: dict[str, list[int]] = {}
    for column in np.argsort(-busy, kind='stable').tolist():
        its = lines.setdefault(homes[volumes.volumes[column]], [])
        if busy[column] > 0 and len(its) < _LINES:
            its.append(column)
    pools = {}
    for name, called in short.items():
        known = {hour.begin: hour for hour in found.get(name, ())}
        its_hours = [known.get(begin) for begin in volumes.begins]
        pools[called] = [
            _line(hour and hour.mean_seen_us / 1e3 for hour in its_hours),
            _line(hour and hour.mean_predicted_us / 1e3
                  for hour in its_hours),
            {names[volumes.volumes[column]]: _line(queued[:, column])
             for column in lines.get(name, ())}]
    return ''.join([
        '<figure id="hours" hidden><figcaption></figcaption>'
        '<div></div></figure>',
        page.data('data', {'end': volumes.end, 'hours': volumes.count,
                           'pools': pools})])


def _line(figures: Iterable[float | None]) -> list[float | None]:
    """Figures of hours, the last one last, from the first that is known."""
    found = [None if each is None or not each > 0 else float(f'{each:.3g}')
             for each in figures]
    begin = next((i for i, each in enumerate(found) if each), len(found))
    return found[begin:]


def achieved(entries: Iterable[Entry], short: Mapping[str, str],
             names: Mapping[str, str]) -> Iterator[page.Section]:
    """What pools were predicted to show after moves, and what they showed.

    Nothing where nothing is known yet.

    :param names: volume → what it is called
    """
    found = [point for entry in entries if entry.kind == 'achieved'
             for point in _points(entry, short, names)]
    if not found:
        return
    scale = charts.Scale.to(us / 1e3 for was, is_, _ in found
                            for us in (was, is_))
    off = sorted(abs(seen / foretold - 1) for foretold, seen, _ in found)
    deep = 260.0
    grid = ''.join(
        charts.line(scale(tick), 0, scale(tick), deep)
        + charts.line(0, deep - deep * scale(tick) / 100, 100,
                      deep - deep * scale(tick) / 100)
        + charts.text(f'{tick:g}', 0.5, deep - 3 - deep * scale(tick) / 100,
                      'start', 'soft') * (tick > 0)
        for tick in scale.ticks())
    drawn = [grid, charts.line(0, deep, 100, 0, 'grey', 1.5, '5 3'), *(
        charts.dot(scale(foretold / 1e3),
                   deep - deep * scale(seen / 1e3) / 100,
                   'blue', title) for foretold, seen, title in found)]
    axis = charts.element('svg', scale.axis('ms'), y=deep, width='100%',
                          height=20)
    yield page.Section(
        'Predicted against achieved',
        f'Of {phrases.count(len(found), "pool")} after moves, the middle '
        f'one was {100 * off[len(off) // 2]:.0f} % off what was predicted.',
        [charts.captioned(
            'Across: latency predicted of a pool after a move, ms; up: '
            'measured in the hours after it. On the dashed line both are '
            'equal.', charts.picture(
                f'{len(found)} pools after moves: predicted across, achieved '
                'up', deep + 22, *drawn, axis))], folded=True)


def _points(entry: Entry, short: Mapping[str, str],
            names: Mapping[str, str]
            ) -> Iterable[tuple[float, float, str]]:
    facts = entry.facts
    for end in 'source', 'target':
        foretold, seen = (fields.finite(facts.get(name)) for name in (
            f'predicted_{end}_us', f'{end}_us'))
        if foretold and seen:
            pool = short.get(facts[end], wording.pool(facts[end]))
            name = names.get(facts['volume'], wording.name(facts['volume']))
            yield foretold, seen, (
                f'{pool} after the move of {name}: {phrases.ms(foretold)} ms '
                f'predicted, {phrases.ms(seen)} ms measured')
