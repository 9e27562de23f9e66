# SPDX-License-Identifier: Apache-2.0
"""A plan as text for a terminal: sentences, and tables of its parts."""

from __future__ import annotations

from collections.abc import Container
from collections.abc import Iterator
from collections.abc import Mapping
from collections.abc import Sequence

from serifos.facts.cluster import Volume
from serifos.facts.hot_by import BUSY
from serifos.facts.hot_by import READ_P99
from serifos.facts.hot_by import WRITE_P99
from serifos.facts import phrases
from serifos.plan import outlook
from serifos.plan.outlook import Staying
from serifos.plan.plan import Cause
from serifos.plan.plan import Move
from serifos.plan import sentences
from serifos.report import table
from serifos.report import wording

ALL, SLOWEST, MOST = 40, 10, 30
"""Clouds of so many pools are shown whole; of larger ones the slowest pools
and those that the plan touches, so many in all."""

_MOVES, _KINDS, _HELD = 20, 12, 5

_HOT = 'hot pool'

_FIGURES = {
    BUSY: ('busy, %', 'busy: the part of its time for which its device '
           'works. hot: busy '),
    READ_P99: ('read p99', 'read p99: the 99th percentile of reads, '
               'predicted. hot: read p99 '),
    WRITE_P99: ('write p99', 'write p99: the 99th percentile of writes, '
                'predicted. hot: write p99 ')}
"""What pools are hot by, where it has a column of its own: its name, and
what stands below the table."""

_LONG = 'interval', 'immovable', 'free after'
"""Columns of pools that 80 columns have no room for."""

_ALWAYS = 7  # columns


def text(seen: outlook.Outlook, age_s: float | None, stale_s: float) -> str:
    """Headline, shortcomings, warnings, pools, moves, and what stays.

    :param age_s: of the observation; None where it does not say
    :param stale_s: from which on it is old
    """
    return wording.lines(_lines(seen, age_s, stale_s))


def _lines(seen: outlook.Outlook, age_s: float | None,
           stale_s: float) -> Iterator[str]:
    short = wording.pools(each.pool.name for each in seen.pools)
    unexplained = sentences.unexplained(each.pool for each in seen.pools)
    if unexplained is not None:
        yield from wording.wrapped(unexplained)
    yield from wording.wrapped(sentences.headline(seen, short))
    yield from wording.wrapped(sentences.basis(seen))
    for title, several in (
            ('Trade-off', sentences.shortcomings(seen, short)),
            ('Warning', sentences.warnings(seen, short, age_s, stale_s))):
        for sentence in several:
            yield from wording.wrapped(sentence, f'{title}: ')
    for part in (pools(seen, short), moves(seen, short),
                 stays(seen, short)):
        lines = [*part]
        if lines:
            yield from ('', *lines)
    held = immovable(seen)
    if held is not None:
        yield ''
        yield from wording.wrapped(held)


def pools(seen: outlook.Outlook, short: Mapping[str, str]
          ) -> Iterator[str]:
    """The pools before and after, the slowest first."""
    shown = chosen(seen)
    yield table.as_text(of_pools(seen, shown, short))
    more = len(seen.pools) - len(shown)
    if more:
        names = {each.pool.name for each in shown}
        others = [each for each in seen.pools if each.pool.name not in names]
        touched = sum(each.pool.name in seen.touched for each in others)
        yield (f'and {phrases.count(more, "other pool")}, {touched:,} of them '
               'touched by the plan; at most '
               f'{phrases.ms(max(each.latencies_us[0] for each in others))} '
               'ms now, '
               f'{phrases.ms(max(each.latencies_us[1] for each in others))} '
               'after.')


def of_pools(seen: outlook.Outlook, shown: Sequence[outlook.PoolOutlook],
             short: Mapping[str, str]) -> table.Table:
    """A row for each of these pools, which 80 columns hold, or all of it."""
    rows = [_pool(each, seen.hot_by, short) for each in shown]
    left_out = () if wording.are_whole() else _LONG
    columns = [name for name in rows[0] if name not in left_out]
    return table.Table(
        columns, [[row[name] for name in columns] for row in rows],
        'Pools, the slowest first; active: of its volumes. Latencies, ms: '
        'measured; predicted now; after: predicted after the plan. '
        + f'{_FIGURES.get(seen.hot_by, ("", "hot: "))[1]}over '
        + f'{100 * seen.limits.hot_ratio:g} % above the '
        'mean of the pools where its volumes may live'
        + ', or as its serifos_hot_ratio sets' * any(
            each.pool.hot_ratio is not None for each in shown)
        + '; SLOs: violated, by measured latency, + others that are '
        'predicted to be' + ('; interval: of what is predicted now, 90 %; '
                             'immovable: part of its load that may not be '
                             'moved at all; free: GiB, now and after'
                             if wording.are_whole() else '; free: GiB')
        + '.')


def chosen(seen: outlook.Outlook) -> list[outlook.PoolOutlook]:
    """The pools that are shown, the slowest first."""
    if len(seen.pools) <= ALL:
        return [*seen.pools]
    shown = {each.pool.name for each in seen.pools[:SLOWEST]}
    touched = sorted(
        (each for each in seen.pools if each.pool.name in seen.touched),
        key=lambda each: -abs(each.latencies_us[1] - each.latencies_us[0]))
    for each in touched:
        if len(shown) == MOST:
            break
        shown.add(each.pool.name)
    return [each for each in seen.pools if each.pool.name in shown]


def _pool(each: outlook.PoolOutlook, hot_by: str,
          short: Mapping[str, str]) -> dict[str, object]:
    was, then = each.before, each.after
    interval = '–' if was.expected is None else (
        f'{phrases.ms(was.expected.low_us)} to '
        f'{phrases.ms(was.expected.high_us)}')
    figure = {_FIGURES[hot_by][0]: _turn(*(
        phrases.figure(side.figure_us, hot_by) for side in (was, then)))
    } if hot_by in _FIGURES else {}
    return {
        'pool': short[each.pool.name],
        'active': f'{each.active}/{each.volumes}',
        'measured': phrases.ms(each.seen_us), 'predicted': _marked(was),
        'interval': interval, 'after': _marked(then), **figure,
        'hot': _turn('yes' if was.hot else 'no',
                     'yes' if then.hot else 'no'),
        'SLOs': _turn(_late(was), _late(then)),
        'immovable': table.percent(each.immovable, '.0f'),
        'free': round(was.free_gib), 'free after': round(then.free_gib)}


def _late(side: outlook.Side) -> str:
    return f'{side.violated}' + f'+{side.forecast}' * bool(side.forecast)


def _marked(side: outlook.Side) -> str:
    outside = side.expected is not None and side.expected.outside
    return phrases.ms(side.latency_us) + '*' * outside


def _turn(was: str, then: str) -> str:
    return was if was == then else f'{was} → {then}'


def moves(seen: outlook.Outlook, short: Mapping[str, str]) -> Iterator[str]:
    """The moves in the order in which they run, of many the first."""
    plan = seen.plan
    if not plan.moves:
        return
    yield table.as_text(of_moves(seen, short))
    if len(plan.moves) > _MOVES:
        yield f'and {len(plan.moves) - _MOVES:,} more, all of them in -f json'
    if plan.truncated:
        yield ('More moves are acceptable: plan again when these are '
               'carried out.')


def of_moves(seen: outlook.Outlook, short: Mapping[str, str]) -> table.Table:
    """A row for each of at least one move, of many for the first."""
    rows = [_move(move, volume, short, seen.shared_names)
            for move, volume in zip(seen.plan.moves[:_MOVES], seen.volumes)]
    columns = [*rows[0]][:_ALWAYS] + [
        name for name in [*rows[0]][_ALWAYS:]
        if {row[name] for row in rows} - {'–', _HOT}]
    return table.Table(
        columns, [[row[name] for name in columns] for row in rows],
        'Moves, in the order in which they run. copying: latencies of both '
        'pools meanwhile, ms; gain: of the source.')


def _move(move: Move, volume: Volume | None,
          short: Mapping[str, str], shared: Container[str]
          ) -> dict[str, object]:
    """Its row; what is known of none of the moves is left out then."""
    gain = None if not move.source_before_us else (
        (move.source_after_us or 0.0) / move.source_before_us - 1)
    known = volume or Volume(move.volume, move.source, move.size_gib)
    return {
        'volume': wording.volume(known, shared), 'GiB': float(move.size_gib),
        'min': None if move.copy_s is None else move.copy_s / 60,
        'from, ms': f'{short.get(move.source, wording.pool(move.source))} '
        + phrases.change(move.source_before_us, move.source_after_us),
        'to, ms': f'{short.get(move.target, wording.pool(move.target))} '
        + phrases.change(move.target_before_us, move.target_after_us),
        'copying': f'{phrases.ms(move.source_during_us)}, '
                   f'{phrases.ms(move.target_during_us)}',
        'gain': table.percent(gain, '+.0f'),
        'type': wording.name(known.volume_type or '–'),
        'server': wording.name(known.server or '–'),
        'project': wording.name(known.project_id or '–'),
        'now, QEMU, ms': '–' if move.qemu_us is None else (
            f'{phrases.ms(move.volume_us)}, {phrases.ms(move.qemu_us)}'),
        'why': _why(move), 'id': move.volume if known.name else '–'}


def _why(move: Move) -> str:
    """Its reason; that of a hot pool has figures that stand beside it."""
    if move.cause in (Cause.HOT, Cause.HOT_WITH_OTHERS):
        return _HOT
    return wording.plain(move.reason, 200)


def stays(seen: outlook.Outlook, short: Mapping[str, str]) -> Iterator[str]:
    """Refusals, a line for each reason."""
    if seen.staying:
        yield table.as_text(of_staying(seen.staying[:_KINDS], short,
                                       seen.shared_names))
        if len(seen.staying) > _KINDS:
            yield f'and {len(seen.staying) - _KINDS} other reasons'


def of_staying(shown: Sequence[Staying], short: Mapping[str, str],
               shared: Container[str]) -> table.Table:
    """A row for each reason.

    :param shared: the names that several volumes have
    """
    return table.Table(
        ('volumes', 'load', 'reason', 'pools', 'such as', 'to change this'),
        [(each.volumes, table.percent(each.share, '.0f'),
          wording.plain(each.kind, 200),
          phrases.several([short.get(name, wording.pool(name))
                           for name in each.pools], 2),
          wording.volume(each.example, shared), each.remedy or '–')
         for each in shown],
        'Why volumes stay, those of the slowest pools first.\n'
        'load: their share of the outstanding I/Os of all volumes.')


def immovable(seen: outlook.Outlook) -> str | None:
    """How much of the load may not be moved at all, and why."""
    if not seen.immovable:
        return None
    share = sum(each.share for each in seen.immovable)
    most = sorted(seen.immovable, key=lambda each: -each.share)
    return (f'{100 * share:.0f} % of all load may not be moved at all: '
            + '; '.join(f'{100 * each.share:.0f} % '
                        f'({phrases.count(each.volumes, "volume")}): '
                        + each.kind for each in most[:_HELD])
            + ('; and more' if len(most) > _HELD else '') + '.')


def of_steps(steps: Sequence[Move], short: Mapping[str, str]) -> str:
    """Moves only."""
    qemu = any(move.qemu_us is not None for move in steps)
    return table.as_text(table.Table(
        ('volume', 'from', 'to', 'GiB', 'min', *['now, QEMU, ms'] * qemu,
         'source, ms', 'target, ms', 'why'),
        [(move.volume, short.get(move.source, wording.pool(move.source)),
          short.get(move.target, wording.pool(move.target)),
          float(move.size_gib),
          None if move.copy_s is None else move.copy_s / 60,
          *[f'{phrases.ms(move.volume_us)}, {phrases.ms(move.qemu_us)}']
          * qemu,
          _step(move.source_before_us, move.source_during_us,
                move.source_after_us),
          _step(move.target_before_us, move.target_during_us,
                move.target_after_us), move.reason)
         for move in steps],
        'Moves; ms: before, (while it is copied), after.'))


def _step(before_us: float | None, during_us: float | None,
          after_us: float | None) -> str:
    """Before, while the volume is copied where that is known, and after."""
    during = '' if during_us is None else f' → ({phrases.ms(during_us)})'
    return f'{phrases.ms(before_us)}{during} → {phrases.ms(after_us)}'
