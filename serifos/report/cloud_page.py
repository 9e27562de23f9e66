# SPDX-License-Identifier: Apache-2.0
"""The page of a cloud: verdict, pools, a plan, answers, tables."""

from __future__ import annotations

from collections.abc import Iterable
from collections.abc import Iterator
from collections.abc import Mapping
from collections.abc import Sequence
import dataclasses
from importlib import resources
import statistics

from serifos.facts.cluster import Cluster
from serifos.facts.cluster import Volume
from serifos.facts.history import Series
from serifos.facts import hot_by
from serifos.facts.journal import Entry
from serifos.facts import phrases
from serifos.facts.pool_errors import Hours
from serifos.facts import refusals
from serifos.plan.explain import Heat
from serifos.plan.explain import Part
from serifos.plan import outlook
from serifos.plan.outlook import Outlook
from serifos.plan.outlook import PoolOutlook
from serifos.plan.outlook import Side
from serifos.plan.plan import Cause
from serifos.plan.plan import Move
from serifos.plan import sentences
from serifos.report import cloud_charts
from serifos.report import explanation
from serifos.report import page
from serifos.report import plan_text
from serifos.report import table
from serifos.report import wording

SCRIPT = resources.files('serifos.report').joinpath(
    'cloud.js').read_text('utf-8')

_VOLUMES = 8
_NAMED = 3
_POOLS, _LISTED = 2000, 10_000
"""Rows of the tables of pools and of volumes."""


@dataclasses.dataclass(frozen=True)
class Explained:
    """A pool that is explained, with its active volumes."""

    heat: Heat | None
    parts: Sequence[Part]


@dataclasses.dataclass(frozen=True)
class Facts:
    """What is on the page.

    :param seen: the plan that is shown
    :param explained: pool → why it is slow, for the slowest ones
    :param hours: of pools
    :param volumes: the same hours of volumes
    :param entries: of the journal
    :param mode: what is done about a plan, a sentence
    :param command: that carries the plan out
    :param last: what became of the last plan, sentences
    :param age_s: of the observation; None where it does not say
    :param stale_s: from which on it is old
    :param doing: what the balancer does, after the other sections
    """

    cluster: Cluster
    seen: Outlook
    explained: Mapping[str, Explained]
    slos: Sequence[outlook.TypeSlo]
    hours: Hours
    volumes: Series
    entries: Sequence[Entry]
    mode: str
    command: str
    last: str
    age_s: float | None
    stale_s: float
    doing: Sequence[page.Section] = ()


def render(facts: Facts) -> str:
    """The whole page.

    :raises ToolError: where Jinja2 is not installed
    """
    seen, cluster = facts.seen, facts.cluster
    short = wording.pools(each.pool.name for each in seen.pools)
    names = wording.volumes(cluster)
    unexplained = sentences.unexplained(each.pool for each in seen.pools)
    return page.render(
        verdict(seen, short),
        f'{phrases.count(len(cluster.pools), "pool")}, '
        f'{phrases.count(len(cluster.volumes), "volume")}, observed at '
        f'{cluster.observed_at or "an unknown time"}. '
        f'{sentences.basis(seen)} {facts.mode}',
        [page.Section('Pools, the slowest first', '', [
            cloud_charts.latencies(seen, short),
            cloud_charts.hours(
                facts.hours, facts.volumes, {
                    each.id: each.pool for each in cluster.volumes},
                names, short)]),
         *_moves(seen, short, names),
         page.Section('Questions', answers=[*_answers(seen, short, facts)]),
         _pools(seen, short),
         _volumes(seen, cluster, short),
         *_staying(seen, short),
         *_slos(facts.slos),
         *_why(facts, short),
         *cloud_charts.achieved(facts.entries, short, names),
         *facts.doing],
        warnings=[*filter(None, [unexplained]), *sentences.warnings(
            seen, short, facts.age_s, facts.stale_s)],
        tiles=_tiles(seen, short),
        command=('To carry the plan out:', facts.command)
        if seen.plan.moves else None, script=SCRIPT)


def verdict(seen: Outlook, short: Mapping[str, str]) -> str:
    """The verdict in a line: slow pools, SLOs, and the plan's effect."""
    if not seen.plan.moves:
        return sentences.headline(seen, short).split('. ')[0].rstrip(
            '.') + '.'
    why = sentences.trouble(seen)
    took = '' if seen.copy_s is None else (
        f' in {phrases.duration(seen.copy_s)}')
    restored = ' and '.join(
        f'{verb} {was - then:,} of {phrases.count(was, noun)}'
        for verb, noun, (was, then) in (
            ('restores', 'SLO', sentences.violated(seen)),
            ('prevents', 'forecast violation', sentences.forecast(seen)))
        if was > then)
    relieved = '' if not seen.relieved else (
        f'brings {short[seen.relieved[0].pool.name]} from '
        f'{phrases.ms(seen.relieved[0].latencies_us[0])} to '
        f'{phrases.ms(seen.relieved[0].latencies_us[1])} ms')
    return ((f'{why[0].upper()}{why[1:]}. ' if why else '')
            + f'The plan {restored or relieved or "moves volumes"}{took}.')


def _tiles(seen: Outlook,
           short: Mapping[str, str]) -> Iterator[tuple[str, str, str]]:
    """(name, figure, words) each."""
    known = [each for each in seen.pools if each.seen_us is not None] or [
        each for each in seen.pools if each.planned]
    how = 'measured' if any(each.seen_us is not None for each in known) else (
        'predicted: none is measured')
    if known:
        slowest = max(known, key=cloud_charts.measured_us)
        yield 'Slowest pool', (
            f'{phrases.ms(cloud_charts.measured_us(slowest))} ms'), (
            f'{short[slowest.pool.name]}, {how}; the middle pool has '
            + phrases.ms(statistics.median(
                map(cloud_charts.measured_us, known))) + ' ms')
    (was, then), forecast = sentences.violated(seen), sentences.forecast(seen)
    yield 'SLO violations', f'{was:,} → {then:,}', (
        f'measured now, after the plan; forecast {forecast[0]:,} → '
        f'{forecast[1]:,}')
    if not seen.plan.moves:
        yield 'The plan', 'no moves', 'nothing to carry out'
        return
    took = '' if seen.copy_s is None else (
        f', {phrases.duration(seen.copy_s)} one at a time')
    yield 'The plan', phrases.count(len(seen.plan.moves), 'move'), (
        f'{seen.gib:,.6g} GiB{took}'
        + ''.join(f'; {short[each.pool.name]} '
                  f'{phrases.change(*each.latencies_us)} ms'
                  for each in seen.relieved[:1]))
    yield _meanwhile(seen.plan.moves, short)


def _meanwhile(moves: Iterable[Move],
               short: Mapping[str, str]) -> tuple[str, str, str]:
    """The most by which copies make a pool slower."""
    found = [(during - before, pool, move) for move in moves
             for pool, before, during in (
                 (move.source, move.source_before_us, move.source_during_us),
                 (move.target, move.target_before_us, move.target_during_us))
             if before is not None and during is not None]
    if not found:
        return 'Meanwhile', 'unknown', 'what the copies cost pools'
    most_us, pool, move = max(found, key=lambda each: each[0])
    return 'Meanwhile', f'+{phrases.ms(max(0.0, most_us))} ms', (
        f'predicted on {short.get(pool, wording.pool(pool))} while it copies'
        + ('' if move.copy_s is None
           else f', about {phrases.duration(move.copy_s)}'))


def _pools(seen: Outlook, short: Mapping[str, str]) -> page.Section:
    """A row for each pool."""
    shown = sorted(seen.pools, key=lambda each: (
        -cloud_charts.measured_us(each)))[:_POOLS]
    figure = () if seen.hot_by == hot_by.LATENCY else (
        hot_by.UNITS[seen.hot_by],)
    return page.Section(_all(len(seen.pools), len(shown), 'pool'), tables=[
        _known(
            ('pool', 'measured, ms', 'predicted', 'from', 'to', 'after',
             *figure, 'hot', 'SLOs violated', 'forecast', 'volumes', 'active',
             'immovable, %', 'GiB free', 'after'),
            [_pool(each, short, seen.hot_by if figure else None)
             for each in shown],
            'Latencies in ms; from, to: the 90 % interval of its model; '
            'after: the plan; *: its load is beyond what its model was '
            'trained on. immovable: part of its load that may not be moved.',
            [each.pool.name + (f', model {each.pool.model}'
                               if each.pool.model else ', without a model')
             + f', {each.pool.state}' for each in shown])], folded=True)


def _pool(each: PoolOutlook, short: Mapping[str, str],
          figure: str | None) -> tuple[object, ...]:
    was, then = each.before, each.after
    interval = (None, None) if was.expected is None else (
        was.expected.low_us, was.expected.high_us)
    return (
        short[each.pool.name], phrases.ms(each.seen_us), _marked(was),
        *map(phrases.ms, interval), _marked(then),
        *([] if figure is None else [phrases.figure(was.figure_us, figure)]),
        _turn('yes' if was.hot else 'no', 'yes' if then.hot else 'no'),
        _turn(was.violated, then.violated),
        _turn(was.forecast, then.forecast), each.volumes, each.active,
        round(100 * each.immovable), round(was.free_gib), round(then.free_gib))


def _turn(was: object, then: object) -> object:
    """Now and after the plan."""
    return was if was == then else f'{was} → {then}'


def _marked(side: Side) -> str:
    outside = side.expected is not None and side.expected.outside
    return phrases.ms(side.latency_us) + ' *' * outside


def _all(number: int, shown: int, noun: str) -> str:
    """Title of a table: All 30 pools; 2,000 of 2,400 pools."""
    return f'All {phrases.count(number, noun)}' if shown == number else (
        f'{shown:,} of {phrases.count(number, noun)}')


def _known(header: Sequence[str], rows: Sequence[Sequence[object]],
           caption: str, hints: Sequence[str]) -> table.Table:
    """A table without the columns of which nothing is known."""
    kept = [i for i, column in enumerate(zip(*rows))
            if any(cell not in (None, '–', '') for cell in column)]
    return table.Table([header[i] for i in kept],
                       [[row[i] for i in kept] for row in rows],
                       caption, hints)


def _volumes(seen: Outlook, cluster: Cluster,
             short: Mapping[str, str]) -> page.Section:
    """A row for each volume, the busiest first, and what is done with it."""
    shown = sorted(cluster.volumes, key=lambda each: (
        0.0 if each.workload is None else -each.workload.outstanding))
    shown = shown[:_LISTED]
    done = {refusal.volume: f'stays: {refusals.kind(refusal.reason)}'
            for refusal in seen.plan.refused} | {
        move.volume: f'moves to {short.get(move.target, "another pool")}'
        for move in seen.plan.moves}
    return page.Section(
        _all(len(cluster.volumes), len(shown), 'volume'), tables=[
            _known(
                ('volume', 'pool', 'server', 'project', 'type', 'GiB',
                 'writes, %', 'KiB', 'IOPS', 'outstanding', 'measured, ms',
                 'SLO, ms', 'in this plan'),
                [_volume(each, short, seen.shared_names, done)
                 for each in shown],
                'Its mean over the window of the observation; outstanding: '
                'I/Os, which add up to the load of the pool.',
                [each.id for each in shown])] if shown else [], folded=True)


def _volume(each: Volume, short: Mapping[str, str], shared: frozenset[str],
            done: Mapping[str, str]) -> tuple[object, ...]:
    does = each.workload
    load = (None,) * 5 if does is None else (
        round(does.write_pct), float(does.block_kib),
        does.iops and float(does.iops), float(does.outstanding),
        phrases.ms(does.latency_us))
    stays = f'stays: {refusals.kind(each.movable)}' if isinstance(
        each.movable, str) else ''
    return (
        wording.volume(each, shared),
        short.get(each.pool, wording.pool(each.pool)),
        wording.name(each.server or '–'), wording.name(each.project_id or '–'),
        wording.name(each.volume_type or '–'), float(each.size_gib), *load,
        phrases.ms(each.max_latency_us),
        wording.plain(done.get(each.id, stays), 200))


def _moves(seen: Outlook, short: Mapping[str, str],
           names: Mapping[str, str]) -> Iterator[page.Section]:
    """A row for each move; nothing where there are none."""
    if not seen.plan.moves:
        return
    yield page.Section('Moves', (
        'More moves are acceptable: plan again when these are carried out.'
        if seen.plan.truncated else ''), tables=[_known(
            ('volume', 'server', 'project', 'type', 'GiB', 'min', 'from',
             'now, ms', 'after, ms', 'to', 'now, ms', 'after, ms',
             'meanwhile, ms', 'why'),
            [_move(move, volume, short, names) for move, volume
             in zip(seen.plan.moves, seen.volumes)],
            'In their order. Predicted latencies of both pools; meanwhile: '
            'of the slower one while it copies.',
            [move.volume for move in seen.plan.moves])])


def _move(move: Move, volume: Volume | None, short: Mapping[str, str],
          names: Mapping[str, str]) -> tuple[object, ...]:
    known = volume or Volume(move.volume, move.source, move.size_gib)
    during = [us for us in (move.source_during_us, move.target_during_us)
              if us is not None]
    return (
        names.get(move.volume, wording.name(move.volume)),
        wording.name(known.server or '–'),
        wording.name(known.project_id or '–'),
        wording.name(known.volume_type or '–'), float(move.size_gib),
        None if move.copy_s is None else move.copy_s / 60,
        short.get(move.source, wording.pool(move.source)),
        *map(phrases.ms, (move.source_before_us, move.source_after_us)),
        short.get(move.target, wording.pool(move.target)),
        *map(phrases.ms, (move.target_before_us, move.target_after_us,
                          max(during, default=None))),
        'hot pool' if move.cause in (Cause.HOT, Cause.HOT_WITH_OTHERS)
        else wording.plain(move.reason, 200))


def _why(facts: Facts, short: Mapping[str, str]) -> list[page.Section]:
    return [page.Section(
        f'Latency of {short[name]}, explained', ' '.join(
            explanation.paragraphs(facts.seen, name, its.heat, its.parts)),
        tables=[explanation.volumes(facts.seen, name, its.parts, _VOLUMES)]
        if its.parts else [], folded=True)
        for name, its in facts.explained.items()]


def _answers(seen: Outlook, short: Mapping[str, str],
             facts: Facts) -> Iterator[tuple[str, str]]:
    """(question, answer) each."""
    yield 'Is anything slow?', _slow(seen, short)
    blamed: list[str] = []
    for name, its in facts.explained.items():
        said = explanation.blame(its.parts, seen)
        if said is not None:
            who = '' if blamed else _who(its.parts, seen)
            blamed.append(f'{short[name]}: {said} {who}'.rstrip())
    yield 'Because of whom?', '\n'.join(blamed) or (
        'Nothing is known of the volumes of the slowest pool.')
    yield 'What will be moved?', _moved(seen, short, facts.mode)
    yield 'What does it cost?', _cost(seen, short)
    yield 'What cannot move, and why?', _stays(seen, short)
    yield 'Did the last plan work?', facts.last


def _slow(seen: Outlook, short: Mapping[str, str]) -> str:
    planned = [each for each in seen.pools if each.planned]
    if not planned:
        return 'Nothing is known of it: no pool has a model.'
    said = sentences.trouble(seen)
    hot = [each for each in planned if each.before.hot] or planned[:1]
    shows = phrases.several([f'{short[each.pool.name]} with '
                             f'{phrases.ms(each.before.latency_us)} ms'
                             for each in hot], _NAMED)
    return (f'Yes, {said}: {shows}.' if said else
            'No: no pool is hot and no SLO is violated. Of all pools the '
            f'slowest, {shows}.')


def _who(parts: Sequence[Part], seen: Outlook) -> str:
    return ' '.join(
        f'{wording.volume(part.volume, seen.shared_names)} has '
        f'{wording.facts(part.volume)}.' for part in explanation.causes(parts))


def _moved(seen: Outlook, short: Mapping[str, str], mode: str) -> str:
    if not seen.plan.moves:
        return 'Nothing. ' + mode
    said = [(wording.name(move.volume) if one is None
             else wording.volume(one, seen.shared_names))
            + f' from {short.get(move.source, wording.pool(move.source))} to '
            + short.get(move.target, wording.pool(move.target))
            for move, one in zip(seen.plan.moves, seen.volumes)]
    return (f'{phrases.count(len(said), "volume")}: '
            f'{phrases.several(said, _NAMED)}. {mode}')


def _cost(seen: Outlook, short: Mapping[str, str]) -> str:
    if not seen.plan.moves:
        return 'Nothing.'
    return ' '.join([sentences.price(seen),
                     *sentences.shortcomings(seen, short)])


def _stays(seen: Outlook, short: Mapping[str, str]) -> str:
    said = [plan_text.immovable(seen) or 'All load may be moved.']
    for each in seen.staying[:1]:
        said.append(
            f'On {short.get(each.pools[0], wording.pool(each.pools[0]))}, '
            f'such as {wording.volume(each.example, seen.shared_names)}: '
            f'{each.kind}'
            + (f' (to change this: {each.remedy})' if each.remedy
               else '') + '.')
    return ' '.join(said)


def _staying(seen: Outlook,
             short: Mapping[str, str]) -> Iterator[page.Section]:
    """The refusals of the plan, by their reasons."""
    if seen.staying:
        yield page.Section('What stays, and why', tables=[
            plan_text.of_staying(seen.staying, short, seen.shared_names)],
            folded=True)


def _slos(every: Sequence[outlook.TypeSlo]) -> Iterator[page.Section]:
    """The SLOs by type: violated ones and forecasts, now and after."""
    if every:
        yield page.Section('SLOs by type', tables=[table.Table(
            ('type', 'SLO, ms', 'volumes', 'violated now', 'after the plan',
             'forecast now', 'after the plan'),
            [(wording.name(each.volume_type or 'without a type'),
              each.most_us / 1e3, each.volumes, *each.violated,
              *each.forecast) for each in every],
            'violated: by measured latency.')], folded=True)
