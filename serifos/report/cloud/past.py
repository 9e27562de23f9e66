# SPDX-License-Identifier: Apache-2.0
"""The last day of pools, and what moves achieved, as drawings."""

from __future__ import annotations

from collections.abc import Iterable
from collections.abc import Mapping
from collections.abc import Sequence

from serifos.facts import fields
from serifos.facts.journal import Entry
from serifos.facts import pool_errors
from serifos.facts import times
from serifos.report import drawing
from serifos.report import page
from serifos.report.plan import wording

DAY_S = 24 * pool_errors.HOUR_S
_PANELS = 12
_DEEP = 110.0


def section(hours: pool_errors.Hours, order: Sequence[str],
            short: Mapping[str, str],
            now: float) -> page.Section:
    """What the tenants of pools saw, hour by hour, and what was predicted.

    :param hours: of the last day
    :param order: the pools, those that matter most first
    :param now: seconds of the epoch
    """
    begin = (now // pool_errors.HOUR_S + 1) * pool_errors.HOUR_S - DAY_S
    shown = {name: its for name in order if (its := [
        hour for hour in hours.get(name, ()) if hour.begin >= begin])}
    if not shown:
        return page.Section(
            'The last day', 'Nothing is known of it; serifos-balancer run '
            'keeps what pools show beside what their models predict.')
    scale = drawing.Scale.to(
        us / 1e3 for name in [*shown][:_PANELS] for hour in shown[name]
        for us in (hour.mean_seen_us, hour.mean_predicted_us))
    more = len(shown) - _PANELS
    return page.Section(
        'The last day', 'Means of hours, ms, those of the slowest pools'
        + (f'; {wording.count(more, "other pool")} in serifos-balancer '
           'history --pools.' if more > 0 else '.'), [
            drawing.element('p', drawing.legend([
                (drawing.element('path', d='M0 8H16', stroke_width=3,
                                 style='stroke: var(--ink)'),
                 'seen by tenants'),
                (drawing.element('path', d='M0 8H16', stroke_width=2,
                                 stroke_dasharray='5 3',
                                 style='stroke: var(--blue)'),
                 'predicted by the model')])),
            drawing.element('div', *(
                _panel(short.get(name, wording.pool(name)), its, scale, begin)
                for name, its in [*shown.items()][:_PANELS]),
                class_='panels')])


def _panel(name: str, hours: Sequence[pool_errors.Hour], scale: drawing.Scale,
           begin: float) -> str:
    def across(hour: pool_errors.Hour) -> float:
        return 100.0 * (hour.begin + pool_errors.HOUR_S / 2 - begin) / DAY_S

    def up(us: float) -> float:
        return 100.0 - scale(us / 1e3)

    ticks = scale.ticks(3)
    inside = [drawing.line(0, _DEEP * up(1e3 * tick) / 100, 100,
                           _DEEP * up(1e3 * tick) / 100) for tick in ticks]
    for title, figure, colour, dash in (
            ('predicted', lambda hour: hour.mean_predicted_us, 'blue', '5 3'),
            ('seen', lambda hour: hour.mean_seen_us, 'ink', 'none')):
        for run in _runs(hours):
            inside.append(drawing.curve(
                [(across(hour), up(figure(hour))) for hour in run], colour,
                dash))
        inside += [drawing.dot(
            across(hour), _DEEP * up(figure(hour)) / 100, colour,
            f'{times.text(hour.begin)}: {wording.ms(figure(hour))} ms {title}',
            2.5) for hour in hours]
    plot = drawing.element('svg', *inside, x='3rem', y=6,
                           width='calc(100% - 3rem)', height=_DEEP,
                           overflow='visible',
                           style='width: calc(100% - 3rem)')
    marks = [drawing.element(
        'text', f'{tick:g}' + ' ms' * (tick == ticks[-1]), x='2.6rem',
        y=10 + _DEEP * up(1e3 * tick) / 100, text_anchor='end')
        for tick in ticks]
    first, last = times.text(begin)[11:16], times.text(
        begin + DAY_S)[11:16]
    marks += [drawing.element('text', first + ' UTC', x='3rem', y=_DEEP + 22),
              drawing.text(last, 100, _DEEP + 22, 'end')]
    last_hour = hours[-1]
    said = (
        f'{name}, hour by hour: {wording.ms(last_hour.mean_seen_us)} ms seen '
        f'in the last hour that is known, '
        f'{wording.ms(last_hour.mean_predicted_us)} ms predicted')
    return drawing.figure(drawing.escaped(name), drawing.picture(
        said, _DEEP + 28, plot, *marks))


def _runs(hours: Sequence[pool_errors.Hour]) -> list[list[pool_errors.Hour]]:
    """Hours that follow one another."""
    found: list[list[pool_errors.Hour]] = []
    for hour in hours:
        if found and hour.begin - found[-1][-1].begin <= pool_errors.HOUR_S:
            found[-1].append(hour)
        else:
            found.append([hour])
    return found


def achieved(entries: Iterable[Entry], short: Mapping[str, str],
             names: Mapping[str, str]) -> page.Section:
    """What pools were predicted to show after moves, and what they showed.

    :param names: volume → what it is called
    """
    heading = 'Predicted against achieved'
    found = [point for entry in entries if entry.kind == 'achieved'
             for point in _points(entry, short, names)]
    if not found:
        return page.Section(
            heading, 'Nothing is known yet: three hours after a move it is '
            'told what its pools show.')
    scale = drawing.Scale.to(us / 1e3 for was, is_, _ in found
                             for us in (was, is_))
    off = sorted(abs(seen / foretold - 1) for foretold, seen, _ in found)
    deep = 260.0
    grid = ''.join(
        drawing.line(scale(tick), 0, scale(tick), deep)
        + drawing.line(0, deep - deep * scale(tick) / 100, 100,
                       deep - deep * scale(tick) / 100)
        + drawing.text(f'{tick:g}', 0.5, deep - 3 - deep * scale(tick) / 100,
                       'start', 'soft') * (tick > 0)
        for tick in scale.ticks())
    drawn = [grid, drawing.line(0, deep, 100, 0, 'grey', 1.5, '5 3'), *(
        drawing.dot(scale(foretold / 1e3),
                    deep - deep * scale(seen / 1e3) / 100,
                    'blue', title) for foretold, seen, title in found)]
    axis = drawing.element('svg', scale.axis('ms'), y=deep, width='100%',
                           height=20)
    return page.Section(
        heading,
        f'Of {wording.count(len(found), "pool")} after moves, the middle '
        f'one was {100 * off[len(off) // 2]:.0f} % off what was predicted.',
        [drawing.figure(
            'Across: predicted of a pool after a move, ms; up: what its '
            'tenants saw in the hours after it. On the dashed line both are '
            'equal.', drawing.picture(
                f'{len(found)} pools after moves: predicted across, achieved '
                'up', deep + 22, *drawn, axis))])


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
                f'{pool} after the move of {name}: {wording.ms(foretold)} ms '
                f'predicted, {wording.ms(seen)} ms seen')
