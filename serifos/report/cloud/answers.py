# SPDX-License-Identifier: Apache-2.0
"""What an operator asks first, and the answers, in the words of plan."""

from __future__ import annotations

from collections.abc import Iterator
from collections.abc import Mapping
from collections.abc import Sequence

from serifos.plan.outlook.explaining import Part
from serifos.plan.outlook.outlook import Outlook
from serifos.report.plan import explanation
from serifos.report.plan import headline
from serifos.report.plan import plan_tables
from serifos.report.plan import wording

_NAMED = 3

Answers = Iterator[tuple[str, str]]


def answers(seen: Outlook, short: Mapping[str, str],
            why: Mapping[str, Sequence[Part]], mode: str,
            last: str, beware: Sequence[str]) -> Answers:
    """(question, answer) each.

    :param why: the active volumes of the slowest pools
    :param mode: what is done about a plan
    :param last: what became of the last plan
    :param beware: what the figures are to be distrusted for
    """
    if seen.unexplained is not None:
        yield 'Do the pools fit their models?', seen.unexplained
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
    if beware:
        yield 'Which warnings are there?', ' '.join(beware)


def _slow(seen: Outlook, short: Mapping[str, str]) -> str:
    planned = [each for each in seen.pools if each.planned]
    if not planned:
        return 'Nothing is known of it: no pool has a model.'
    said = headline.trouble(seen)
    hot = [each for each in planned if each.before.hot] or planned[:1]
    shows = wording.several([f'{short[each.pool.name]} shows '
                             f'{wording.ms(each.before.latency_us)} ms'
                             for each in hot], _NAMED)
    return (f'Yes, {said}: {shows}.' if said else
            'No: no pool is hot and no SLO is violated. Of all pools the '
            f'slowest, {shows}.')


def _who(parts: Sequence[Part], seen: Outlook) -> str:
    first = parts[0].volume
    return (f'{wording.volume(first, seen.shared_names)} has '
            f'{wording.facts(first)}.')


def _moved(seen: Outlook, short: Mapping[str, str], mode: str) -> str:
    if not seen.plan.moves:
        return 'Nothing. ' + mode
    said = [(wording.name(move.volume) if one is None
             else wording.volume(one, seen.shared_names))
            + f' from {short.get(move.source, wording.pool(move.source))} to '
            + short.get(move.target, wording.pool(move.target))
            for move, one in zip(seen.plan.moves, seen.volumes)]
    return (f'{wording.count(len(said), "volume")}: '
            f'{wording.several(said, _NAMED)}. {mode}')


def _cost(seen: Outlook, short: Mapping[str, str]) -> str:
    if not seen.plan.moves:
        return 'Nothing.'
    return ' '.join([headline.price(seen),
                     *headline.shortcomings(seen, short)])


def _stays(seen: Outlook, short: Mapping[str, str]) -> str:
    said = [plan_tables.immovable(seen) or 'All load may be moved.']
    for each in seen.staying[:1]:
        said.append(
            f'On {short.get(each.pools[0], wording.pool(each.pools[0]))}, '
            f'such as {wording.volume(each.example, seen.shared_names)}: '
            f'{each.kind.text}'
            + (f' (to change this: {each.kind.mend})' if each.kind.mend
               else '') + '.')
    return ' '.join(said)
