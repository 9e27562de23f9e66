# SPDX-License-Identifier: Apache-2.0
"""Why a pool is slow, or a volume is where it is, as text for a terminal."""

from __future__ import annotations

import collections
from collections.abc import Iterator
from collections.abc import Mapping
from collections.abc import Sequence
import textwrap

from serifos.plan.outlook import explaining as ex
from serifos.plan.outlook import outlook as ol
from serifos.plan.outlook import reasons
from serifos.report.plan import wording as wd
from serifos.report import table

_VOLUMES, _GOALS, _KINDS = 20, 10, 4


def pool(seen: ol.Outlook, name: str, heat: ex.Heat | None,
         parts: Sequence[ex.Part]) -> str:
    """A pool: what it shows, because of whom, and what can be done.

    :param seen: the plan of now
    :param parts: its active volumes, the heaviest first
    """
    return wd.lines(_pool(seen, name, heat, parts))


def volume(seen: ol.Outlook, part: ex.Part) -> str:
    """A volume: what its pool shows without it, and where it could go.

    :param seen: the plan of now
    """
    return wd.lines(_volume(seen, part))


def _pool(seen: ol.Outlook, name: str, heat: ex.Heat | None,
          parts: Sequence[ex.Part]) -> Iterator[str]:
    short = wd.pools(each.pool.name for each in seen.pools)
    its = next(each for each in seen.pools if each.pool.name == name)
    yield from wd.wrapped(' '.join(_shown(its, short[name], heat, seen)))
    yield from wd.wrapped(' '.join(_planned(its, seen)))
    if not parts:
        return
    if parts[0].without_us is not None:
        yield from wd.wrapped(
            f'Without {wd.volume(parts[0].volume)} it would show '
            f'{wd.ms(parts[0].without_us)} ms; no other volume makes more of '
            'it.')
    goes = {move.volume: move.target for move in seen.plan.moves}
    shown = parts[:_VOLUMES]
    yield ''
    yield table.as_text(table.Table(
        ('volume', 'load', 'outstanding', 'IOPS', 'KiB', 'write', 'sees, ms',
         'without it, ms', 'could go to, ms', 'what is done'),
        [_row(part, its, short, goes) for part in shown], textwrap.fill(
            'Its active volumes, those first without which it would be '
            'fastest. load: their share of its outstanding I/Os; could go '
            'to: the best pool, now and with the volume'
            + '; !: sees more than its type promises' * any(
                part.late for part in shown) + '.', wd.WIDTH)))
    if len(parts) > len(shown):
        yield f'and {wd.count(len(parts) - len(shown), "other volume")}'
    yield ''
    yield ('serifos-balancer explain VOLUME says more of one, and of every '
           'pool.')


def _shown(its: ol.PoolOutlook, name: str, heat: ex.Heat | None,
           seen: ol.Outlook) -> Iterator[str]:
    """What the pool shows, by its model and as measured."""
    measured = '' if its.seen_us is None else (
        f'its tenants see {wd.ms(its.seen_us)} ms, as measured')
    if not its.planned:
        yield (f'{name} has no usable model: nothing is predicted of it, and '
               f'no volume leaves it or comes to it{"; " * bool(measured)}'
               f'{measured}.')
    else:
        yield (f'{name} shows {wd.ms(its.before.latency_us)} ms, as '
               f'predicted{_interval(its)}{"; " * bool(measured)}'
               f'{measured}.')
    if its.pool.state != 'up':
        yield f'It is {its.pool.state}.'
    if its.pool.drifting is not None:
        yield its.pool.drift_sentence
    if heat is not None:
        hot = 1 + seen.limits.hot_ratio
        yield (f'It is {"" if its.before.hot else "not "}hot: its planning '
               f'figure, {wd.ms(heat.figure_us)} ms, is '
               f'{heat.figure_us / heat.level_us:.3g} times the mean of the '
               f'pools where its volumes may live, '
               f'{wd.ms(heat.level_us)} ms; hot is over {hot:.3g} times.')


def _interval(its: ol.PoolOutlook) -> str:
    expected = its.before.expected
    if expected is None:
        return ''
    return (f' ({wd.ms(expected.low_us)} to {wd.ms(expected.high_us)}'
            + (', beyond what its model was trained on' if expected.outside
               else '') + ')')


def _planned(its: ol.PoolOutlook, seen: ol.Outlook) -> Iterator[str]:
    """Its promises, what may not move, and what the plan does."""
    yield (f'{its.active:,} of its {wd.count(its.volumes, "volume")} are '
           f'active; {100 * its.frozen:.0f} % of its load may not be moved '
           'at all.')
    if its.before.broken:
        yield (f'{wd.count(its.before.broken, "promise")} of its volumes '
               f'{"is" if its.before.broken == 1 else "are"} not kept.')
    off, to = (sum(getattr(move, end) == its.pool.name
                   for move in seen.plan.moves)
               for end in ('source', 'target'))
    if off or to:
        yield (f'A plan now has {wd.count(off, "move")} off it and {to} to '
               f'it, and brings it to {wd.ms(its.after.latency_us)} ms.')
    else:
        yield 'A plan now leaves it as it is.'


def _row(part: ex.Part, its: ol.PoolOutlook, short: Mapping[str, str],
         goes: Mapping[str, str]) -> tuple[object, ...]:
    one, doing = part.volume, part.volume.workload
    goal = part.goals[0] if part.goals else None
    name = wd.volume(one) + ' !' * part.late
    if one.pool != its.pool.name:
        name += f' on {short.get(one.pool, wd.pool(one.pool))}'
    known = (None,) * 4 if doing is None else (
        doing.iops, float(doing.block_kib),
        table.percent(doing.write_pct / 100, '.0f'), wd.ms(doing.latency_us))
    return (name, table.percent(part.share, '.0f'), part.outstanding, *known,
            wd.ms(part.without_us), '–' if goal is None else (
                f'{short[goal.pool]} {wd.change(goal.was_us, goal.then_us)}'),
            _what(part, goal, goes.get(one.id), short))


def _what(part: ex.Part, goal: ex.Goal | None, to: str | None,
          short: Mapping[str, str]) -> str:
    """What is done about a volume, or what keeps it where it is."""
    if to is not None:
        return f'a plan moves it to {short[to]}'
    if part.why:
        return f'stays: {wd.plain(reasons.kind(part.why).text, 70)}'
    if goal is None:
        return 'stays: no pool that it may go to has space'
    return 'could move' if goal.why is None else (
        f'stays: {wd.plain(goal.why, 70)}')


def _volume(seen: ol.Outlook, part: ex.Part) -> Iterator[str]:
    short = wd.pools(each.pool.name for each in seen.pools)
    home = short.get(part.volume.pool, wd.pool(part.volume.pool))
    yield from wd.wrapped(' '.join(_owned(part, home)))
    yield from wd.wrapped(' '.join(_doing(part, home)))
    yield from wd.wrapped(' '.join(_staying(part, seen, short, home)))
    shown = part.goals[:_GOALS]
    if not shown:
        return
    yield ''
    yield table.as_text(table.Table(
        ('pool', 'now, ms', 'with it', 'what stops it', 'what changes that'),
        [(short[goal.pool], wd.ms(goal.was_us), wd.ms(goal.then_us),
          *_stops(goal)) for goal in shown],
        'Where it could go by itself: pools that may take it first, of these '
        'the fastest.'))
    more = part.goals[len(shown):]
    if more:
        kinds = collections.Counter(
            'nothing stops it' if goal.why is None
            else reasons.kind(goal.why).text for goal in more)
        yield from wd.wrapped(
            f'and {wd.count(len(more), "other pool")}: ' + '; '.join(
                f'{number:,} × {wd.plain(kind, 70)}'
                for kind, number in kinds.most_common(_KINDS)).replace(
                    'the best pool for it', 'the pool') + '.')


def _owned(part: ex.Part, home: str) -> Iterator[str]:
    one = part.volume
    said = [f'{one.size_gib:,.6g} GiB']
    if one.volume_type:
        said.append(f'type {wd.plain(one.volume_type)}')
    if one.project_id:
        said.append(f'project {wd.plain(one.project_id, 36)}')
    if one.server:
        said.append(f'used by {wd.plain(one.server, 60)}')
    name = f'{wd.plain(one.name)} ({wd.plain(one.id, 36)})' if one.name else (
        wd.plain(one.id, 36))
    yield f'{name} is on {home}: {", ".join(said)}.'


def _doing(part: ex.Part, home: str) -> Iterator[str]:
    doing = part.volume.workload
    if doing is None:
        yield 'Nothing is known of its activity.'
    else:
        yield (f'It keeps {part.outstanding:.3g} I/Os outstanding, '
               f'{100 * part.share:.0f} % of those on {home}: '
               f'{doing.write_pct:.3g} % writes, {doing.block_kib:.4g} KiB'
               + ('' if doing.iops is None else f', {doing.iops:,.4g} IOPS')
               + ('' if doing.latency_us is None else
                  f'; it sees {wd.ms(doing.latency_us)} ms, as measured')
               + '.')
    promised = part.volume.max_latency_us
    if promised is not None:
        yield (f'Its type promises {wd.ms(promised)} ms, which is '
               f'{"not " * part.late}kept, as predicted.')


def _staying(part: ex.Part, seen: ol.Outlook, short: Mapping[str, str],
             home: str) -> Iterator[str]:
    its = next((each for each in seen.pools
                if each.pool.name == part.volume.pool), None)
    if its is not None and its.planned and part.without_us is not None:
        yield (f'Without it {home} would show {wd.ms(part.without_us)} ms '
               f'instead of {wd.ms(its.before.latency_us)}.')
    move = next((move for move in seen.plan.moves
                 if move.volume == part.volume.id), None)
    if move is not None:
        yield (f'A plan now moves it to {short[move.target]}'
               + (f', with others off {home} that count as one move'
                  if move.reason.endswith(', of several') else '') + '.')
    elif part.why == '':
        yield 'It is idle, so no move of it would make a pool faster.'
    elif part.why:
        kind = reasons.kind(part.why)
        yield (f'It may not be moved: {wd.plain(part.why, 300)}'
               + (f' (what changes it: {kind.mend})' if kind.mend else '')
               + '.')
    elif part.goals and part.goals[0].why is None:
        yield 'A plan now leaves it where it is, since other moves do more.'
    else:
        yield 'A plan now leaves it where it is.'


def _stops(goal: ex.Goal) -> tuple[str, str]:
    if goal.why is None:
        return 'nothing', '–'
    return wd.plain(goal.why, 90), reasons.kind(goal.why).mend or '–'
