# SPDX-License-Identifier: Apache-2.0
"""Why a pool is slow, as text for a terminal, and as a table."""

from __future__ import annotations

from collections.abc import Container
from collections.abc import Iterator
from collections.abc import Mapping
from collections.abc import Sequence
import textwrap

from serifos.facts import hot_by
from serifos.plan.outlook import explaining
from serifos.plan.outlook.outlook import Outlook
from serifos.plan.outlook.outlook import PoolOutlook
from serifos.plan.outlook import reasons
from serifos.report.plan import headline
from serifos.report.plan import wording
from serifos.report import table

_VOLUMES = 20

_HEAT = {hot_by.BUSY: ('its device is busy for', '%',
                       ' of its time, which is'),
         hot_by.LATENCY: ('its planning figure,', 'ms', ', is'),
         hot_by.READ_P99: ('the 99th percentile of its reads,', 'ms', ', is'),
         hot_by.WRITE_P99: ('the 99th percentile of its writes,', 'ms',
                            ', is')}
"""Before a figure that tells whether a pool is hot, its unit, and after."""


def pool(seen: Outlook, name: str, heat: explaining.Heat | None,
         parts: Sequence[explaining.Part]) -> str:
    """A pool: what it shows, because of whom, and what can be done.

    :param seen: the plan of now
    :param parts: its active volumes, the heaviest first
    """
    return wording.lines(_pool(seen, name, heat, parts))


def paragraphs(seen: Outlook, name: str, heat: explaining.Heat | None,
               parts: Sequence[explaining.Part]) -> Iterator[str]:
    """What a pool shows, what is planned, and because of whom.

    The parameters are those of :func:`pool`.
    """
    short = wording.pools(each.pool.name for each in seen.pools)
    its = next(each for each in seen.pools if each.pool.name == name)
    yield ' '.join(_shown(its, short[name], heat, seen))
    yield ' '.join(_planned(its, seen))
    yield headline.basis(seen)
    blamed = blame(parts, seen)
    if blamed is not None:
        yield blamed


def blame(parts: Sequence[explaining.Part], seen: Outlook) -> str | None:
    """Which volume makes most of what a pool shows.

    :param parts: as of :func:`pool`
    """
    if not parts or parts[0].without_us is None:
        return None
    return (f'Without {wording.volume(parts[0].volume, seen.shared_names)} it '
            f'would show {wording.ms(parts[0].without_us)} ms; no other '
            'volume makes more of it.')


def volumes(seen: Outlook, name: str, parts: Sequence[explaining.Part],
            most: int = _VOLUMES) -> table.Table:
    """The volumes that have most to do with what a pool shows."""
    short = wording.pools(each.pool.name for each in seen.pools)
    its = next(each for each in seen.pools if each.pool.name == name)
    goes = {move.volume: move.target for move in seen.plan.moves}
    shown = parts[:most]
    return table.Table(
        ('volume', 'load', *('busy, %',) * (seen.hot_by == hot_by.BUSY),
         'outstanding', 'IOPS', 'KiB', 'write', 'sees, ms',
         'without it, ms', 'could go to, ms', 'what is done'),
        [_row(part, its, short, goes, seen.shared_names)
         for part in shown], textwrap.fill(
            'Its active volumes, those first without which it would be '
            'fastest. load: their share of its outstanding I/Os; could go '
            'to: the best pool, now and with the volume'
            + '; !: would exceed the SLO of its type, as predicted'
            * any(part.late for part in shown) + '.', wording.WIDTH))


def _pool(seen: Outlook, name: str, heat: explaining.Heat | None,
          parts: Sequence[explaining.Part]) -> Iterator[str]:
    for paragraph in paragraphs(seen, name, heat, parts):
        yield from wording.wrapped(paragraph)
    if not parts:
        return
    yield ''
    yield table.as_text(volumes(seen, name, parts))
    if len(parts) > _VOLUMES:
        yield f'and {wording.count(len(parts) - _VOLUMES, "other volume")}'
    yield ''
    yield ('serifos-balancer explain VOLUME says more of one, and of every '
           'pool.')


def _shown(its: PoolOutlook, name: str, heat: explaining.Heat | None,
           seen: Outlook) -> Iterator[str]:
    """What the pool shows, by its model and as measured."""
    measured = '' if its.seen_us is None else (
        f'its tenants see {wording.ms(its.seen_us)} ms, as measured')
    if not its.planned:
        yield (f'{name} has no usable model: nothing is predicted of it, and '
               f'no volume leaves it or comes to it{"; " * bool(measured)}'
               f'{measured}.')
    else:
        yield (f'{name} shows {wording.ms(its.before.latency_us)} ms, as '
               f'predicted{_interval(its)}{"; " * bool(measured)}'
               f'{measured}.')
    if its.pool.state != 'up':
        yield f'It is {its.pool.state}.'
    if its.pool.drifting is not None:
        yield its.pool.drift_sentence
    if heat is not None:
        hot = 1 + heat.hot_ratio
        before, unit, after = _HEAT[seen.hot_by]
        figure, level = (wording.figure(each, seen.hot_by)
                         for each in (heat.figure_us, heat.level_us))
        yield (f'It is {"" if its.before.hot else "not "}hot: '
               f'{before} {figure} {unit}{after} '
               f'{heat.figure_us / heat.level_us:.3g} times the mean of '
               f'the pools where its volumes may live, {level} {unit}; hot '
               f'is over {hot:.3g} times.')


def _interval(its: PoolOutlook) -> str:
    expected = its.before.expected
    if expected is None:
        return ''
    return (
        f' ({wording.ms(expected.low_us)} to {wording.ms(expected.high_us)}'
        + (', beyond what its model was trained on' if expected.outside
           else '') + ')')


def _active(its: PoolOutlook) -> str:
    """Such as: 1 of its 2 volumes is active."""
    if its.volumes == 1:
        return 'Its one volume is ' + ('active' if its.active else 'idle')
    return (f'{its.active:,} of its {wording.count(its.volumes, "volume")} '
            f'{"is" if its.active == 1 else "are"} active')


def _planned(its: PoolOutlook, seen: Outlook) -> Iterator[str]:
    """Its SLOs, what may not move, and what the plan does."""
    yield (f'{_active(its)}; {100 * its.immovable:.0f} % of its load may not '
           'be moved at all.')
    for number, how in ((its.before.violated, 'violated'),
                        (its.before.forecast, 'forecast to be violated')):
        if number:
            yield (f'{wording.count(number, "SLO")} of its volumes '
                   f'{"is" if number == 1 else "are"} {how}.')
    off, to = (sum(getattr(move, end) == its.pool.name
                   for move in seen.plan.moves)
               for end in ('source', 'target'))
    if off or to:
        yield (
            f'A plan now has {wording.count(off, "move")} off it and {to} to '
            f'it, and brings it to {wording.ms(its.after.latency_us)} ms.')
    else:
        yield 'A plan now leaves it as it is.'


def _row(part: explaining.Part, its: PoolOutlook, short: Mapping[str, str],
         goes: Mapping[str, str], shared: Container[str]
         ) -> tuple[object, ...]:
    one, doing = part.volume, part.volume.workload
    goal = part.goals[0] if part.goals else None
    name = wording.volume(one, shared) + ' !' * part.late
    if one.pool != its.pool.name:
        name += f' on {short.get(one.pool, wording.pool(one.pool))}'
    known = (None,) * 4 if doing is None else (
        doing.iops, float(doing.block_kib),
        table.percent(doing.write_pct / 100, '.0f'),
        wording.ms(doing.latency_us))
    busy = () if part.figure_us is None else (wording.busy(part.figure_us),)
    return (name, table.percent(part.share, '.0f'), *busy, part.outstanding,
            *known,
            wording.ms(part.without_us), '–' if goal is None else (
                f'{short[goal.pool]} '
                f'{wording.change(goal.was_us, goal.then_us)}'),
            _what(part, goal, goes.get(one.id), short))


def _what(part: explaining.Part, goal: explaining.Goal | None, to: str | None,
          short: Mapping[str, str]) -> str:
    """What is done about a volume, or what keeps it where it is."""
    if to is not None:
        return f'a plan moves it to {short[to]}'
    if part.why:
        return f'stays: {wording.plain(reasons.kind(part.why).text, 200)}'
    if goal is None:
        return 'stays: no pool that it may go to has space'
    return 'could move' if goal.why is None else (
        f'stays: {wording.plain(goal.why, 200)}')
