# SPDX-License-Identifier: Apache-2.0
"""Why a volume is where it is, as text for a terminal."""

from __future__ import annotations

import collections
from collections.abc import Iterator
from collections.abc import Mapping

from serifos.facts.reason import Cause
from serifos.plan.outlook.explaining import Goal
from serifos.plan.outlook.explaining import Part
from serifos.plan.outlook.outlook import Outlook
from serifos.plan.outlook import reasons
from serifos.report.plan import headline
from serifos.report.plan import wording
from serifos.report import table

_GOALS, _KINDS = 10, 4


def text(seen: Outlook, part: Part) -> str:
    """A volume: what its pool shows without it, and where it could go.

    :param seen: the plan of now
    """
    return wording.lines(_volume(seen, part))


def _volume(seen: Outlook, part: Part) -> Iterator[str]:
    short = wording.pools(each.pool.name for each in seen.pools)
    home = short.get(part.volume.pool, wording.pool(part.volume.pool))
    yield from wording.wrapped(' '.join(_owned(part, home)))
    yield from wording.wrapped(' '.join(_doing(part, home)))
    yield from wording.wrapped(' '.join(_staying(part, seen, short, home)))
    yield from wording.wrapped(headline.basis(seen))
    shown = part.goals[:_GOALS]
    if not shown:
        return
    yield ''
    yield table.as_text(table.Table(
        ('pool', 'now, ms', 'with it', 'what stops it', 'what changes that'),
        [(short[goal.pool], wording.ms(goal.was_us), wording.ms(goal.then_us),
          *_stops(goal)) for goal in shown],
        'Where it could go by itself: pools that may take it first, of these '
        'the fastest.'))
    more = part.goals[len(shown):]
    if more:
        kinds = collections.Counter(
            'nothing stops it' if goal.why is None
            else reasons.kind(goal.why).text for goal in more)
        yield from wording.wrapped(
            f'and {wording.count(len(more), "other pool")}: ' + '; '.join(
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
                  f'; it sees {wording.ms(doing.latency_us)} ms, as measured')
               + '.')
    slo_us = part.volume.max_latency_us
    if slo_us is not None:
        yield (f'The SLO of its type is {wording.ms(slo_us)} ms, which is '
               f'{"not " * part.late}kept, as predicted.')


def _staying(part: Part, seen: Outlook, short: Mapping[str, str],
             home: str) -> Iterator[str]:
    its = next((each for each in seen.pools
                if each.pool.name == part.volume.pool), None)
    if its is not None and its.planned and part.without_us is not None:
        yield (
            f'Without it {home} would show {wording.ms(part.without_us)} ms '
            f'instead of {wording.ms(its.before.latency_us)}.')
    move = next((move for move in seen.plan.moves
                 if move.volume == part.volume.id), None)
    if move is not None:
        yield (f'A plan now moves it to {short[move.target]}'
               + (f', with others off {home} that count as one move'
                  if move.cause == Cause.HOT_WITH_OTHERS else '') + '.')
    elif part.why == '':
        yield 'It is idle, so no move of it would make a pool faster.'
    elif part.why:
        kind = reasons.kind(part.why)
        yield (f'It may not be moved: {wording.plain(part.why, 300)}'
               + (f' (to change this: {kind.mend})' if kind.mend else '')
               + '.')
    elif part.goals and part.goals[0].why is None:
        yield 'A plan now leaves it where it is, since other moves do more.'
    else:
        yield 'A plan now leaves it where it is.'


def _stops(goal: Goal) -> tuple[str, str]:
    if goal.why is None:
        return 'nothing', '–'
    return wording.plain(goal.why, 200), reasons.kind(goal.why).mend or '–'
