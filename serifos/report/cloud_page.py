# SPDX-License-Identifier: Apache-2.0
"""The page of a cloud: answers, pools, a plan, what stays, achievements."""

from __future__ import annotations

from collections.abc import Iterable
from collections.abc import Iterator
from collections.abc import Mapping
from collections.abc import Sequence
import dataclasses

from serifos.facts.cluster import Cluster
from serifos.facts.journal import Entry
from serifos.facts import phrases
from serifos.facts.pool_errors import Hours
from serifos.plan.explain import Heat
from serifos.plan.explain import Part
from serifos.plan import outlook
from serifos.plan.outlook import Outlook
from serifos.plan.outlook import Staying
from serifos.plan import sentences
from serifos.report import charts
from serifos.report import cloud_charts
from serifos.report import explanation
from serifos.report import page
from serifos.report import plan_text
from serifos.report import table
from serifos.report import wording

_VOLUMES = 8
_NAMED = 3
_KINDS, _TYPES = 12, 20


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
    :param hours: of the last day
    :param entries: of the journal
    :param mode: what is done about a plan, a sentence
    :param last: what became of the last plan, sentences
    :param age_s: of the observation; None where it does not say
    :param stale_s: from which on it is old
    :param at: seconds of the epoch
    :param doing: what the balancer does, after the other sections
    """

    cluster: Cluster
    seen: Outlook
    explained: Mapping[str, Explained]
    slos: Sequence[outlook.TypeSlo]
    hours: Hours
    entries: Sequence[Entry]
    mode: str
    last: str
    age_s: float | None
    stale_s: float
    at: float
    doing: Sequence[page.Section] = ()


def render(facts: Facts) -> str:
    """The whole page.

    :raises ToolError: where Jinja2 is not installed
    """
    seen = facts.seen
    short = wording.pools(each.pool.name for each in seen.pools)
    names = wording.volumes(facts.cluster)
    order = [each.pool.name for each in sorted(
        seen.pools, key=lambda each: each.pool.name not in seen.touched)]
    slowest = [each.pool.name for each in seen.pools]
    return page.render(
        'The cloud and its plan',
        f'{phrases.count(len(facts.cluster.pools), "pool")}, '
        f'{phrases.count(len(facts.cluster.volumes), "volume")}, observed at '
        f'{facts.cluster.observed_at or "an unknown time"}. '
        f'{sentences.basis(seen)}',
        [cloud_charts.latencies(seen, short),
         *_why(facts, short),
         *cloud_charts.moves(seen, short),
         *_staying(seen, short),
         _slos(facts.slos),
         cloud_charts.last_day(facts.hours, list(dict.fromkeys(
             [*facts.explained, *order, *slowest])), short, facts.at),
         cloud_charts.achieved(facts.entries, short, names),
         *facts.doing],
        verdict=sentences.headline(seen, short),
        answers=[*_answers(
            seen, short, {name: its.parts
                          for name, its in facts.explained.items()},
            facts.mode, facts.last, [*sentences.warnings(
                seen, short, facts.age_s, facts.stale_s)])])


def _why(facts: Facts, short: Mapping[str, str]) -> list[page.Section]:
    return [page.Section(
        f'Latency of {short[name]}, explained', ' '.join(
            explanation.paragraphs(facts.seen, name, its.heat, its.parts)),
        tables=[explanation.volumes(facts.seen, name, its.parts, _VOLUMES)]
        if its.parts else [])
        for name, its in facts.explained.items()]


def _answers(seen: Outlook, short: Mapping[str, str],
             why: Mapping[str, Sequence[Part]], mode: str,
             last: str, warnings: Sequence[str]) -> Iterator[tuple[str, str]]:
    """(question, answer) each.

    :param why: the active volumes of the slowest pools
    :param mode: what is done about a plan
    :param last: what became of the last plan
    :param warnings: why the figures may mislead, sentences
    """
    unexplained = sentences.unexplained(each.pool for each in seen.pools)
    if unexplained is not None:
        yield 'Do the pools fit their models?', unexplained
    yield 'Is anything slow?', _slow(seen, short)
    blamed = [f'{short[name]}: {said} {_who(parts, seen)}'
              for name, parts in why.items()
              if (said := explanation.blame(parts, seen)) is not None]
    yield 'Because of whom?', '\n'.join(blamed) or (
        'Nothing is known of the volumes of the slowest pool.')
    yield 'What will be moved?', _moved(seen, short, mode)
    yield 'What does it cost?', _cost(seen, short)
    yield 'What cannot move, and why?', _stays(seen, short)
    yield 'Did the last plan work?', last
    if warnings:
        yield 'Which warnings are there?', ' '.join(warnings)


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
             short: Mapping[str, str]) -> Iterable[page.Section]:
    """Immovable load by reason, and the refusals of the plan."""
    if not seen.staying and not seen.immovable:
        return
    drawn = []
    if seen.immovable:
        drawn.append(_immovable(seen.immovable))
    more = len(seen.staying) - _KINDS
    yield page.Section(
        'What stays, and why', ' '.join(filter(None, [
            plan_text.immovable(seen),
            f'{phrases.count(more, "rarer reason")} of volumes on slow pools '
            f'{"is" if more == 1 else "are"} left out of the table.'
            if more > 0 else ''])), drawn,
        [plan_text.of_staying(seen.staying[:_KINDS], short,
                              seen.shared_names)]
        if seen.staying else [])


def _immovable(held: Sequence[Staying]) -> str:
    most = sorted(held, key=lambda each: -each.share)
    scale = charts.Scale(100.0)

    def row(name: str, share: float, volumes: int) -> str:
        value = f'{table.percent(share, ".0f")}, ' + phrases.count(
            volumes, 'volume')
        return charts.row(name, charts.picture(
            f'{name}: {value}', 22, scale.grid(0, 22), charts.bar(
                0, 4, scale(100 * share), 14, 'purple', f'{name}: {value}')),
            value, 'reasons')

    rest = most[_KINDS:]
    return charts.captioned(
        'Load that may not be moved at all, by reason: percent of the '
        'outstanding I/Os of all volumes.',
        *(row(each.kind, each.share, each.volumes)
          for each in most[:_KINDS]),
        row('other reasons', sum(each.share for each in rest),
            sum(each.volumes for each in rest)) if rest else '')


def _slos(every: Sequence[outlook.TypeSlo]) -> page.Section:
    """The SLOs by type: violated ones and forecasts, now and after."""
    if not every:
        return page.Section(
            'SLOs', 'No volume type has an SLO '
            '(serifos:max_latency_us).')
    number, violated, forecast = (sum(each) for each in zip(*(
        (each.volumes, each.violated[0], each.forecast[0])
        for each in every)))
    return page.Section(
        'SLOs', f'{violated:,} of {phrases.count(number, "SLO")} '
        f'{"is" if violated == 1 else "are"} violated, as measured; '
        f'{forecast:,} more {"is" if forecast == 1 else "are"} forecast to '
        'be.', tables=[table.Table(
            ('type', 'SLO, ms', 'volumes', 'violated now', 'after the plan',
             'forecast now', 'after the plan'),
            [(wording.name(each.volume_type or 'without a type'),
              each.most_us / 1e3, each.volumes, *each.violated,
              *each.forecast) for each in every[:_TYPES]],
            'SLOs by the type of the volume' + (
                f', those of {_TYPES} types' if len(every) > _TYPES else '')
            + '.')])
