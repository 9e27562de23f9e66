# SPDX-License-Identifier: Apache-2.0
"""Drawings of a cloud: its pools, moves, last day and achievements."""

from __future__ import annotations

from collections.abc import Iterable
from collections.abc import Mapping
from collections.abc import Sequence
import dataclasses
import textwrap

from serifos.facts import fields
from serifos.facts.journal import Entry
from serifos.facts import phrases
from serifos.facts import pool_errors
from serifos.facts import times
from serifos.plan.outlook import Outlook
from serifos.plan.outlook import PoolOutlook
from serifos.plan.plan import Move
from serifos.report import charts
from serifos.report import page
from serifos.report import plan_text
from serifos.report import table
from serifos.report import wording

DAY_S = 24 * pool_errors.HOUR_S

_OPEN = 15
"""Pools that are drawn at once; the others of those chosen are folded."""

_ROWS = 2000
"""Of the table of all pools."""

_FLOWS = 20
_HIGH, _LEFT, _RIGHT = 44, 34.0, 66.0
_NAME, _LINE = 18, 15
"""Characters of a line of a name, and its height."""

_PANELS = 12
_DEEP = 110.0


def latencies(seen: Outlook, short: Mapping[str, str]) -> page.Section:
    """The pools, the slowest first: a drawing, and a table of all."""
    shown = [each for each in plan_text.chosen(seen) if each.planned]
    scale = charts.Scale.to(
        us for each in shown for side in (each.before, each.after)
        for us in (side.latency_us, each.seen_us,
                   side.expected and side.expected.high_us))
    scale = charts.Scale(scale.most / 1e3)
    drawn = [_pools(shown[:_OPEN], short, scale)] if shown else []
    if len(shown) > _OPEN:
        drawn.append(charts.element(
            'details', charts.element('summary', phrases.count(
                len(shown) - _OPEN, 'more pool') + ', drawn'),
            _pools(shown[_OPEN:], short, scale)))
    every = plan_text.of_pools(seen, seen.pools[:_ROWS])
    more = len(seen.pools) - len(shown)
    return page.Section(
        'Pools by latency', f'{phrases.count(len(seen.pools), "pool")}, the '
        'slowest first' + (
            f'; {len(shown):,} of them are drawn, all are in the table.'
            if more else '.'), drawn,
        folded=[table.Table(
            every.header, every.rows, every.caption,
            'Every pool as a table' if len(seen.pools) <= _ROWS else
            f'The slowest {_ROWS:,} pools as a table')])


def _pools(shown: Sequence[PoolOutlook], short: Mapping[str, str],
           scale: charts.Scale) -> str:
    caption = charts.legend([
        (charts.dot(50, 8, 'red'), 'now, hot'),
        (charts.dot(50, 8, 'blue'), 'now'),
        (charts.diamond(50, 8, 'green'), 'after the plan'),
        (charts.bar(0, 4, 100, 8, 'band'),
         'interval of its model now, 90 %'),
        (charts.line(50, 2, 50, 14, 'ink', 2), 'measured')])
    return charts.captioned(
        caption, *(_pool(each, short[each.pool.name], scale)
                   for each in shown),
        charts.element('div', '<span></span>', charts.element(
            'svg', scale.axis('ms'), width='100%', height=20,
            aria_hidden='true'), '<span></span>', class_='row axis'))


def _pool(each: PoolOutlook, name: str, scale: charts.Scale) -> str:
    was_us, then_us = each.latencies_us
    said = [f'{name}: {phrases.ms(was_us)} ms predicted now']
    expected = each.before.expected
    drawn = [scale.grid(0, 26)]
    if expected is not None:
        said.append(f'90 % interval {phrases.ms(expected.low_us)} to '
                    f'{phrases.ms(expected.high_us)} ms')
        low = scale(expected.low_us / 1e3)
        drawn.append(charts.bar(low, 7, scale(expected.high_us / 1e3) - low,
                                12,
                                'band', said[-1]))
    if each.seen_us is not None:
        said.append(f'{phrases.ms(each.seen_us)} ms measured')
        drawn.append(charts.line(scale(each.seen_us / 1e3), 5,
                                 scale(each.seen_us / 1e3), 21, 'ink', 2.0))
    at, to = scale(was_us / 1e3), scale(then_us / 1e3)
    changes = phrases.ms(was_us) != phrases.ms(then_us)
    if changes:
        said.append(f'{phrases.ms(then_us)} ms after the plan')
        drawn += [charts.line(at, 13, to, 13, 'green', 2.0),
                  charts.diamond(to, 13, 'green', said[-1])]
    hot = each.before.hot
    if hot:
        said.append('it is hot')
    if each.before.violated:
        said.append(phrases.count(each.before.violated, 'violated SLO'))
    if each.before.forecast:
        said.append(phrases.count(each.before.forecast,
                                  'forecast SLO violation'))
    drawn.append(charts.dot(at, 13, 'red' if hot else 'blue', said[0]))
    return charts.row(
        name, charts.picture('; '.join(said), 26, *drawn),
        (phrases.change(was_us, then_us) if changes else phrases.ms(was_us))
        + ' ms')


@dataclasses.dataclass(frozen=True)
class _Flow:
    """All moves of one pair of pools.

    :param copy_s: None where that is not known of one
    """

    source: str
    target: str
    moves: int
    gib: float
    copy_s: float | None

    def words(self) -> str:
        return f'{self.gib:,.4g} GiB' + (
            '' if self.copy_s is None
            else f', {phrases.duration(self.copy_s)}')


def moves(seen: Outlook, short: Mapping[str, str]
          ) -> Iterable[page.Section]:
    """The moves as a drawing and a table; nothing where there are none."""
    every = seen.plan.moves
    if not every:
        return
    flows = sorted(_flows(every), key=lambda flow: -flow.gib)
    shown = flows[:_FLOWS]
    more = sum(flow.moves for flow in flows[_FLOWS:])
    notes = [f'{phrases.count(len(every), "move")}, {seen.gib:,.6g} GiB'
             + ('' if seen.copy_s is None
                else f', about {phrases.duration(seen.copy_s)}') + '.']
    if more:
        notes.append(f'{phrases.count(more, "move")} between other pools '
                     f'{"is" if more == 1 else "are"} not drawn.')
    listed = plan_text.of_moves(seen, short)
    if len(listed.rows) < len(every):
        notes.append(f'The table has the first {len(listed.rows)}; '
                     'all are in serifos-balancer plan -f json.')
    if seen.plan.truncated:
        notes.append('More moves are acceptable: plan again when these are '
                     'carried out.')
    yield page.Section('What is moved', ' '.join(notes),
                       [_arrows(shown, short)], [listed])


def _flows(moves: Iterable[Move]) -> list[_Flow]:
    pairs: dict[tuple[str, str], list[Move]] = {}
    for move in moves:
        pairs.setdefault((move.source, move.target), []).append(move)
    found = []
    for (source, target), its in pairs.items():
        times = [move.copy_s for move in its]
        found.append(_Flow(
            source, target, len(its), sum(move.size_gib for move in its),
            None if None in times else sum(
                each for each in times if each is not None)))
    return found


def _arrows(flows: list[_Flow], short: Mapping[str, str]) -> str:
    sources = list(dict.fromkeys(flow.source for flow in flows))
    targets = list(dict.fromkeys(flow.target for flow in flows))
    called = {name: textwrap.wrap(
        short.get(name, wording.pool(name)), _NAME, break_on_hyphens=False)
        for name in (*sources, *targets)}
    high = (_HIGH + _LINE * (max(map(len, called.values())) - 1)) * max(
        len(sources), len(targets))
    at, to = (_places(names, high) for names in (sources, targets))
    widest = max(flow.gib for flow in flows) or 1.0
    said = '; '.join(
        f'{short.get(flow.source, flow.source)} to '
        f'{short.get(flow.target, flow.target)}: {flow.words()}'
        for flow in flows)
    drawn = []
    for flow in flows:
        y, z = (100.0 * each / high for each in (
            at[flow.source], to[flow.target]))
        width = 2.0 + 14.0 * flow.gib / widest
        middle = (_LEFT + _RIGHT) / 2
        title = (f'{short.get(flow.source, flow.source)} → '
                 f'{short.get(flow.target, flow.target)}: '
                 f'{phrases.count(flow.moves, "volume")}, {flow.words()}')
        drawn.append(charts.element(
            'path', charts.element('title', charts.escaped(title)),
            d=f'M{_LEFT} {y:.2f}C{middle} {y:.2f} {middle} {z:.2f} '
              f'{_RIGHT} {z:.2f}', fill='none', stroke_width=width,
            stroke_opacity=0.55, vector_effect='non-scaling-stroke',
            style='stroke: var(--blue)'))
    curves = charts.element(
        'svg', *drawn, viewBox='0 0 100 100', preserveAspectRatio='none',
        width='100%', height='100%')
    names = [
        *(_end(called[name], [
            flow for flow in flows if flow.source == name], at[name],
            _LEFT - 1, 'end') for name in sources),
        *(_end(called[name], [
            flow for flow in flows if flow.target == name], to[name],
            _RIGHT + 1, 'start') for name in targets)]
    return charts.captioned(
        'From the pool on the left to that on the right; the wider, the more '
        'GiB. Minutes are those of the copies, one after another.',
        charts.picture(f'Moves: {said}', high, curves, *names))


def _places(names: list[str], high: float) -> dict[str, float]:
    step = high / len(names)
    return {name: step * (i + 0.5) for i, name in enumerate(names)}


def _end(name: list[str], its: list[_Flow], y: float, x: float,
         anchor: str) -> str:
    """A pool in lines, and below it what leaves it or comes to it."""
    times = [flow.copy_s for flow in its]
    whole = dataclasses.replace(
        its[0], gib=sum(flow.gib for flow in its),
        copy_s=None if None in times else sum(
            each for each in times if each is not None))
    first = y - 2 - _LINE * (len(name) - 1) / 2
    return ''.join([
        *(charts.text(line, x, first + _LINE * i, anchor)
          for i, line in enumerate(name)),
        charts.text(whole.words(), x, first + _LINE * len(name), anchor,
                    'soft')])


def last_day(hours: pool_errors.Hours, order: Sequence[str],
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
            'records measured and predicted latencies of pools.')
    scale = charts.Scale.to(
        us / 1e3 for name in [*shown][:_PANELS] for hour in shown[name]
        for us in (hour.mean_seen_us, hour.mean_predicted_us))
    more = len(shown) - _PANELS
    return page.Section(
        'The last day', 'Means of hours, ms, those of the slowest pools'
        + (f'; {phrases.count(more, "other pool")} in serifos-balancer '
           'history --pools.' if more > 0 else '.'), [
            charts.element('p', charts.legend([
                (charts.line(0, 8, 100, 8, 'ink', 3), 'measured'),
                (charts.line(0, 8, 100, 8, 'blue', 2, '5 3'),
                 'predicted by the model')])),
            charts.element('div', *(
                _panel(short.get(name, wording.pool(name)), its, scale, begin)
                for name, its in [*shown.items()][:_PANELS]),
                class_='panels')])


def _panel(name: str, hours: Sequence[pool_errors.Hour], scale: charts.Scale,
           begin: float) -> str:
    def across(hour: pool_errors.Hour) -> float:
        return 100.0 * (hour.begin + pool_errors.HOUR_S / 2 - begin) / DAY_S

    def up(us: float) -> float:
        return 100.0 - scale(us / 1e3)

    ticks = scale.ticks(3)
    inside = [charts.line(0, _DEEP * up(1e3 * tick) / 100, 100,
                          _DEEP * up(1e3 * tick) / 100) for tick in ticks]
    for title, figure, colour, dash in (
            ('predicted', lambda hour: hour.mean_predicted_us, 'blue', '5 3'),
            ('measured', lambda hour: hour.mean_seen_us, 'ink', 'none')):
        for run in _runs(hours):
            inside.append(charts.curve(
                [(across(hour), up(figure(hour))) for hour in run], colour,
                dash))
        inside += [charts.dot(
            across(hour), _DEEP * up(figure(hour)) / 100, colour,
            f'{times.text(hour.begin)}: {phrases.ms(figure(hour))} ms {title}',
            2.5) for hour in hours]
    plot = charts.element('svg', *inside, x='3rem', y=6,
                          width='calc(100% - 3rem)', height=_DEEP,
                          overflow='visible',
                          style='width: calc(100% - 3rem)')
    marks = [charts.element(
        'text', f'{tick:g}' + ' ms' * (tick == ticks[-1]), x='2.6rem',
        y=10 + _DEEP * up(1e3 * tick) / 100, text_anchor='end')
        for tick in ticks]
    first, last = times.text(begin)[11:16], times.text(
        begin + DAY_S)[11:16]
    marks += [charts.element('text', first + ' UTC', x='3rem', y=_DEEP + 22),
              charts.text(last, 100, _DEEP + 22, 'end')]
    last_hour = hours[-1]
    said = (
        f'{name}, hour by hour: {phrases.ms(last_hour.mean_seen_us)} ms '
        f'measured in the last hour that is known, '
        f'{phrases.ms(last_hour.mean_predicted_us)} ms predicted')
    return charts.captioned(charts.escaped(name), charts.picture(
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
            heading, 'Nothing is known yet: what a move achieved is '
            'reported three hours after it.')
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
    return page.Section(
        heading,
        f'Of {phrases.count(len(found), "pool")} after moves, the middle '
        f'one was {100 * off[len(off) // 2]:.0f} % off what was predicted.',
        [charts.captioned(
            'Across: latency predicted of a pool after a move, ms; up: '
            'measured in the hours after it. On the dashed line both are '
            'equal.', charts.picture(
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
                f'{pool} after the move of {name}: {phrases.ms(foretold)} ms '
                f'predicted, {phrases.ms(seen)} ms measured')
