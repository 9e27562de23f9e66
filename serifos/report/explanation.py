# SPDX-License-Identifier: Apache-2.0
"""Explain a pool or a volume: as text, as a table, as a document."""

from __future__ import annotations

import collections
from collections.abc import Container
from collections.abc import Iterator
from collections.abc import Mapping
from collections.abc import Sequence
import dataclasses
import itertools
from typing import Any

from serifos.facts import hot_by
from serifos.facts import phrases
from serifos.facts import refusals
from serifos.plan.explain import Goal
from serifos.plan.explain import Heat
from serifos.plan.explain import Part
from serifos.plan.outlook import Outlook
from serifos.plan.outlook import PoolOutlook
from serifos.plan.plan import Cause
from serifos.plan import sentences
from serifos.report import table
from serifos.report import wording

SCHEMA = 'serifos-explanation/1'

GOALS = 'pool', 'was_us', 'then_us', 'barred', 'why', 'code'
"""Of a document of a pool that a volume could go to."""

VOLUMES = ('volume', 'name', 'outstanding', 'share', 'busy_us', 'without_us',
           'late', 'why', 'code', 'goes_to', 'best')
"""Of a document of an active volume of a pool."""

_VOLUMES, _GOALS, _KINDS = 20, 10, 4

_FEW, _HALF = 3, 0.5
"""A pool is slow because of so many volumes with that part of its load."""

_HEAT = {hot_by.BUSY: ('its device is busy for', '%',
                       ' of its time, which is'),
         hot_by.LATENCY: ('its planning figure,', 'ms', ', is'),
         hot_by.READ_P99: ('the 99th percentile of its reads,', 'ms', ', is'),
         hot_by.WRITE_P99: ('the 99th percentile of its writes,', 'ms',
                            ', is')}
"""Before a figure that tells whether a pool is hot, its unit, and after."""


def pool(seen: Outlook, name: str, heat: Heat | None,
         parts: Sequence[Part]) -> str:
    """A pool: its latency, because of which volumes, and what can be done.

    :param seen: the plan of now
    :param parts: its active volumes, the heaviest first
    """
    return wording.lines(_pool(seen, name, heat, parts))


def paragraphs(seen: Outlook, name: str, heat: Heat | None,
               parts: Sequence[Part]) -> Iterator[str]:
    """Latency of a pool, what is planned, and because of which volumes.

    The parameters are those of :func:`pool`.
    """
    short = wording.pools(each.pool.name for each in seen.pools)
    its = next(each for each in seen.pools if each.pool.name == name)
    yield ' '.join(_shown(its, short[name], heat, seen))
    yield ' '.join(_planned(its, seen))
    yield sentences.basis(seen)
    blamed = blame(parts, seen)
    if blamed is not None:
        yield blamed


def blame(parts: Sequence[Part], seen: Outlook) -> str | None:
    """The volumes that explain the latency of a pool, if any do.

    A few volumes with half of its load do. Where it takes more, each has so
    little that the pool would be as slow without it.

    :param parts: as of :func:`pool`
    """
    if not parts or parts[0].without_us is None:
        return None
    named = [f'{wording.volume(part.volume, seen.shared_names)} '
             f'({100 * part.share:.0f} % of its load; without it '
             f'{phrases.ms(part.without_us)} ms)' for part in causes(parts)]
    if named:
        return f'Because of {" and ".join(named)}.'
    most = max(parts, key=lambda part: part.share)
    return ('Because of no few volumes: it takes more than '
            f'{_FEW} to have half of its load; the heaviest, '
            f'{wording.volume(most.volume, seen.shared_names)}, has '
            f'{100 * most.share:.0f} %.')


def causes(parts: Sequence[Part]) -> Sequence[Part]:
    """The fewest volumes with half of the load of a pool, if they are few."""
    heaviest = sorted(parts, key=lambda part: -part.share)[:_FEW]
    had = itertools.accumulate(part.share for part in heaviest)
    return next((heaviest[:number] for number, share in enumerate(had, 1)
                 if share >= _HALF), ())


def volumes(seen: Outlook, name: str, parts: Sequence[Part],
            most: int = _VOLUMES) -> table.Table:
    """Volumes that add most to the latency of a pool."""
    short = wording.pools(each.pool.name for each in seen.pools)
    its = next(each for each in seen.pools if each.pool.name == name)
    goes = {move.volume: move.target for move in seen.plan.moves}
    shown = parts[:most]
    return table.Table(
        ('volume', 'load', *('busy, %',) * (seen.hot_by == hot_by.BUSY),
         'outstanding', 'IOPS', 'KiB', 'write', 'ms',
         'without it, ms', 'could go to, ms', 'what is done'),
        [_row(part, its, short, goes, seen.shared_names)
         for part in shown], (
            'Its active volumes, those first without which it would be '
            'fastest. load: their share of its outstanding I/Os; ms: '
            'measured; could go to: the best pool, now and with the volume'
            + '; !: would exceed the SLO of its type, as predicted'
            * any(part.late for part in shown) + '.'))


def _pool(seen: Outlook, name: str, heat: Heat | None,
          parts: Sequence[Part]) -> Iterator[str]:
    for paragraph in paragraphs(seen, name, heat, parts):
        yield from wording.wrapped(paragraph)
    if not parts:
        return
    yield ''
    yield table.as_text(volumes(seen, name, parts))
    if len(parts) > _VOLUMES:
        yield f'and {phrases.count(len(parts) - _VOLUMES, "other volume")}'
    yield ''
    yield 'For one volume and every pool: serifos-balancer explain VOLUME.'


def _shown(its: PoolOutlook, name: str, heat: Heat | None,
           seen: Outlook) -> Iterator[str]:
    """Measured and predicted latency of the pool."""
    measured = '' if its.seen_us is None else (
        f'measured latency {phrases.ms(its.seen_us)} ms')
    if not its.planned:
        yield (f'{name} has no usable model: nothing is predicted of it, and '
               f'no volume leaves it or comes to it{"; " * bool(measured)}'
               f'{measured}.')
    else:
        yield (f'{name}: {measured}{"; " * bool(measured)}predicted latency '
               f'{phrases.ms(its.before.latency_us)} ms{_interval(its)}.')
    if its.pool.state != 'up':
        yield f'It is {its.pool.state}.'
    if its.pool.drifting is not None:
        yield its.pool.drift_sentence
    if heat is not None:
        before, unit, after = _HEAT[seen.hot_by]
        figure, level = (phrases.figure(each, seen.hot_by)
                         for each in (heat.figure_us, heat.level_us))
        yield (f'It is {"" if its.before.hot else "not "}hot: '
               f'{before} {figure} {unit}{after} '
               f'{heat.figure_us / heat.level_us:.3g} times the mean of '
               f'the pools where its volumes may live, {level} {unit}; '
               f'hot: more than {100 * heat.hot_ratio:.3g} % above it.')


def _interval(its: PoolOutlook) -> str:
    expected = its.before.expected
    if expected is None:
        return ''
    return (
        f' ({phrases.ms(expected.low_us)} to {phrases.ms(expected.high_us)}'
        + (', beyond what its model was trained on' if expected.outside
           else '') + ')')


def _active(its: PoolOutlook) -> str:
    """Such as: 1 of its 2 volumes is active."""
    if its.volumes == 1:
        return 'Its one volume is ' + ('active' if its.active else 'idle')
    return (f'{its.active:,} of its {phrases.count(its.volumes, "volume")} '
            f'{"is" if its.active == 1 else "are"} active')


def _planned(its: PoolOutlook, seen: Outlook) -> Iterator[str]:
    """Its SLOs, what may not move, and what the plan does."""
    yield (f'{_active(its)}; {100 * its.immovable:.0f} % of its load may not '
           'be moved at all.')
    for number, how in ((its.before.violated, 'violated'),
                        (its.before.forecast, 'forecast to be violated')):
        if number:
            yield (f'{phrases.count(number, "SLO")} of its volumes '
                   f'{"is" if number == 1 else "are"} {how}.')
    off, to = (sum(getattr(move, end) == its.pool.name
                   for move in seen.plan.moves)
               for end in ('source', 'target'))
    if off or to:
        yield (
            f'A plan now has {phrases.count(off, "move")} off it and {to} to '
            f'it, and brings it to {phrases.ms(its.after.latency_us)} ms.')
    else:
        yield 'A plan now leaves it as it is.'


def _row(part: Part, its: PoolOutlook, short: Mapping[str, str],
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
        phrases.ms(doing.latency_us))
    busy = () if part.figure_us is None else (phrases.busy(part.figure_us),)
    return (name, table.percent(part.share, '.0f'), *busy, part.outstanding,
            *known,
            phrases.ms(part.without_us), '–' if goal is None else (
                f'{short[goal.pool]} '
                f'{phrases.change(goal.was_us, goal.then_us)}'),
            _what(part, goal, goes.get(one.id), short))


def _what(part: Part, goal: Goal | None, to: str | None,
          short: Mapping[str, str]) -> str:
    """What is done about a volume, or what keeps it where it is."""
    if to is not None:
        return f'a plan moves it to {short[to]}'
    if part.why:
        return f'stays: {wording.plain(refusals.kind(part.why), 200)}'
    if goal is None:
        return 'stays: no pool that it may go to has space'
    return 'could move' if goal.why is None else (
        f'stays: {wording.plain(goal.why, 200)}')


def volume(seen: Outlook, part: Part) -> str:
    """A volume: latency of its pool without it, and where it could go.

    :param seen: the plan of now
    """
    return wording.lines(_volume(seen, part))


def _volume(seen: Outlook, part: Part) -> Iterator[str]:
    short = wording.pools(each.pool.name for each in seen.pools)
    home = short.get(part.volume.pool, wording.pool(part.volume.pool))
    yield from wording.wrapped(' '.join(_owned(part, home)))
    yield from wording.wrapped(' '.join(_doing(part, home)))
    yield from wording.wrapped(' '.join(_staying(part, seen, short, home)))
    yield from wording.wrapped(sentences.basis(seen))
    shown = part.goals[:_GOALS]
    if not shown:
        return
    yield ''
    yield table.as_text(table.Table(
        ('pool', 'now, ms', 'with it', 'what stops it', 'to change this'),
        [(short[goal.pool], phrases.ms(goal.was_us), phrases.ms(goal.then_us),
          *_stops(goal)) for goal in shown],
        'Where it could go by itself: pools that may take it first, of these '
        'the fastest.'))
    more = part.goals[len(shown):]
    if more:
        kinds = collections.Counter(
            'nothing stops it' if goal.why is None
            else refusals.kind(goal.why) for goal in more)
        yield from wording.wrapped(
            f'and {phrases.count(len(more), "other pool")}: ' + '; '.join(
                f'{number:,} × {wording.plain(kind, 200)}'
                for kind, number in kinds.most_common(_KINDS)).replace(
                    'the best pool for it', 'the pool') + '.')


def _owned(part: Part, home: str) -> Iterator[str]:
    one = part.volume
    name = wording.name(one.id)
    if one.name:
        name = f'{wording.name(one.name)} ({name})'
    yield f'{name} is on {home}: {wording.facts(one)}.'


def _doing(part: Part, home: str) -> Iterator[str]:
    doing = part.volume.workload
    if doing is None:
        yield 'Nothing is known of its activity.'
    else:
        keeps = (f'It keeps {part.outstanding:.3g} I/Os outstanding, '
                 f'{100 * part.share:.0f} % of those on {home}'
                 if part.outstanding else 'It counts as idle; at present it '
                 f'keeps {doing.outstanding:.3g} I/Os outstanding')
        yield (f'{keeps}: {doing.write_pct:.3g} % writes, '
               f'{doing.block_kib:.4g} KiB'
               + ('' if doing.iops is None else f', {doing.iops:,.4g} IOPS')
               + ('' if doing.latency_us is None else
                  f'; measured latency {phrases.ms(doing.latency_us)} ms')
               + '.')
    slo_us = part.volume.max_latency_us
    if slo_us is not None:
        yield (f'The SLO of its type is {phrases.ms(slo_us)} ms, '
               f'predicted to be {"violated" if part.late else "met"}.')


def _staying(part: Part, seen: Outlook, short: Mapping[str, str],
             home: str) -> Iterator[str]:
    its = next((each for each in seen.pools
                if each.pool.name == part.volume.pool), None)
    if its is not None and its.planned and part.without_us is not None:
        yield (
            f'Without it {home} would have {phrases.ms(part.without_us)} ms '
            f'instead of {phrases.ms(its.before.latency_us)}.')
    move = next((move for move in seen.plan.moves
                 if move.volume == part.volume.id), None)
    if move is not None:
        yield (f'A plan now moves it to {short[move.target]}'
               + (f', with others off {home} that count as one move'
                  if move.cause == Cause.HOT_WITH_OTHERS else '') + '.')
    elif part.why == '':
        yield 'It is idle, so no move of it would make a pool faster.'
    elif part.why:
        remedy = refusals.remedy(part.why)
        yield (f'It may not be moved: {wording.plain(part.why, 300)}'
               + (f' (to change this: {remedy})' if remedy else '')
               + '.')
    elif part.goals and part.goals[0].why is None:
        yield 'A plan now leaves it where it is, since other moves do more.'
    else:
        yield 'A plan now leaves it where it is.'


def _stops(goal: Goal) -> tuple[str, str]:
    if goal.why is None:
        return 'nothing', '–'
    return wording.plain(goal.why, 200), refusals.remedy(goal.why) or '–'


def pool_document(seen: Outlook, name: str, heat: Heat | None,
                  parts: Sequence[Part]) -> dict[str, Any]:
    """A ``serifos-explanation/1`` document of a pool.

    The parameters are those of :func:`.explanation.pool`.
    """
    its = next(each for each in seen.pools if each.pool.name == name)
    goes = _goes(seen)
    return {
        'schema': SCHEMA, 'explains': 'pool', 'pool': name,
        'window_s': seen.plan.window_s, 'hot_by': seen.hot_by,
        'busy': seen.hot_by == hot_by.BUSY,
        'volumes': its.volumes, 'active': its.active, 'seen_us': its.seen_us,
        'immovable': its.immovable, **{
            when: {**dataclasses.asdict(side), 'broken': side.broken}
            for when, side in (('before', its.before), ('after', its.after))},
        'heat': None if heat is None else dataclasses.asdict(heat),
        'active_volumes': [_part(part, goes) for part in parts]}


def volume_document(seen: Outlook, part: Part) -> dict[str, Any]:
    """The same of a volume.

    :param seen: the plan of now
    """
    its = _part(part, _goes(seen))
    del its['best']
    return {
        'schema': SCHEMA, 'explains': 'volume', **its,
        'pool': part.volume.pool, 'window_s': seen.plan.window_s,
        'goals': [*map(_goal, part.goals)]}


def _goes(seen: Outlook) -> dict[str, str]:
    return {move.volume: move.target for move in seen.plan.moves}


def _part(part: Part, goes: Mapping[str, str]) -> dict[str, Any]:
    return {
        'volume': part.volume.id, 'name': part.volume.name,
        'outstanding': part.outstanding, 'share': part.share,
        'busy_us': part.figure_us, 'without_us': part.without_us,
        'late': part.late, 'why': part.why, 'code': _code(part.why),
        'goes_to': goes.get(part.volume.id),
        'best': _goal(part.goals[0]) if part.goals else None}


def _goal(goal: Goal) -> dict[str, Any]:
    return {**dataclasses.asdict(goal), 'code': _code(goal.why)}


def _code(why: str | None) -> str | None:
    """Of which kind a reason is; None where nothing speaks against it."""
    return refusals.code(why) if why else None
