# SPDX-License-Identifier: Apache-2.0
"""Results of moves: predicted latencies, and those of the hours after.

Of both pools the mean latency that their tenants saw in the three whole hours
after the migration, or as many as there were until another migration touched
the same pool. Without such an hour of the target, nothing is reported.
"""

from __future__ import annotations

from collections.abc import Iterator
from collections.abc import Mapping
from collections.abc import Sequence
import dataclasses
import statistics
from typing import Any

from serifos.facts import fields
from serifos.facts import journal
from serifos.facts import pool_errors
from serifos.facts import times
from serifos.plan.plan import Move

HOURS = 3


def predicted(move: Move) -> dict[str, float | None]:
    """The facts of a request: the latencies that its plan predicted."""
    return {f'predicted_{end}_us': us and round(us, 1) for end, us in (
        ('source', move.source_after_us), ('target', move.target_after_us))}


@dataclasses.dataclass(frozen=True)
class _Ended:
    """A migration that ended.

    :param until: when another one touched one of its pools; ``end`` of the
        hours at the latest
    """

    request: journal.Entry
    at: float
    until: float

    @property
    def end(self) -> float:
        """When the hours that are looked at are over."""
        begin = -(-self.at // pool_errors.HOUR_S) * pool_errors.HOUR_S
        return begin + HOURS * pool_errors.HOUR_S


def due(entries: Sequence[journal.Entry], now: float) -> list[_Ended]:
    """The moves whose results are due and not in the journal yet.

    :param entries: of the journal
    :param now: seconds of the epoch
    """
    asked: dict[str, journal.Entry] = {}
    ended: dict[str, _Ended] = {}
    for entry in entries:
        facts = entry.facts
        volume, at = facts.get('volume', ''), times.parse(entry.at)
        if entry.kind == 'request':
            asked[volume] = entry
            ends = {facts['source'], facts['target']}
            for other, found in ended.items():
                if ends & {found.request.facts[end]
                           for end in ('source', 'target')}:
                    ended[other] = dataclasses.replace(
                        found, until=min(found.until, at))
        elif entry.kind == 'outcome' and facts['result'] in journal.MOVED and (
                volume in asked):
            found = _Ended(asked.pop(volume), at, at)
            ended[volume] = dataclasses.replace(found, until=found.end)
        elif entry.kind == 'achieved':
            ended.pop(volume, None)
    return [found for found in ended.values()
            if found.until <= now < found.at + pool_errors.PROVES_S]


def results(ended: Sequence[_Ended],
            hours: pool_errors.Hours) -> Iterator[dict[str, Any]]:
    """The facts of what moves achieved, of those of which it is known."""
    for found in ended:
        facts = found.request.facts
        seen = {end: [
            hour for hour in hours.get(facts[end], ())
            if found.at <= hour.begin
            and hour.begin + pool_errors.HOUR_S <= found.until]
            for end in ('source', 'target')}
        if seen['target']:
            yield {
                'volume': facts['volume'], 'source': facts['source'],
                'target': facts['target'], 'hours': len(seen['target']),
                **{name: value for name, value in facts.items()
                   if name.startswith('predicted_')},
                **{f'{end}_us': round(statistics.fmean(
                    hour.mean_seen_us for hour in its), 1) if its else None
                   for end, its in seen.items()}}


def clause(facts: Mapping[str, Any]) -> str:
    """The result of a move, as a clause."""
    parts = []
    for end in ('target', 'source'):
        seen, foretold = (fields.finite(facts.get(name)) for name in (
            f'{end}_us', f'predicted_{end}_us'))
        if seen is not None:
            parts.append(f'{facts[end]} had {seen / 1e3:.3g} ms' + (
                '' if foretold is None else
                f' ({foretold / 1e3:.3g} predicted)'))
    return f'in {facts["hours"]:g} h after it {", ".join(parts)}'
