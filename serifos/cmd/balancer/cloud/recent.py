# SPDX-License-Identifier: Apache-2.0
"""What the balancer does and did, as sections of the page of a cloud."""

from __future__ import annotations

from collections.abc import Iterator
from collections.abc import Mapping
from collections.abc import Sequence

from serifos.balancer.achieved import moves as followed
from serifos.balancer.standing import of_plans
from serifos.balancer.standing.status import Status
from serifos.cmd.balancer.cloud import standing
from serifos.facts.cluster import Cluster
from serifos.facts.journal import Entry
from serifos.facts.journal import Leader
from serifos.report import page
from serifos.report import table
from serifos.report import wording

_MOVES, _PLANS, _SAID = 20, 10, 3


def sections(seen: Status, lead: Leader | None,
             plans: Sequence[of_plans.Standing],
             entries: Sequence[Entry],
             cluster: Cluster) -> Iterator[page.Section]:
    """Its status, the migrations, and the plans that are kept."""
    yield page.Section('What the balancer does', '', [], [
        table.Table(('what', 'how it is'),
                    list(standing.facts(seen, lead)), 'Its status.'),
        *([standing.in_flight(seen, cluster)] if seen.in_flight else [])])
    rows = _rows(entries, wording.volumes(cluster))
    yield page.Section(
        'Recent moves and failures', '' if rows else
        'No migration has ended yet.', tables=[table.Table(
            ('ended at', 'volume', 'from', 'to', 'min', 'what became of it',
             'achieved'), rows[:_MOVES], 'The last migrations, the newest '
            'first.')] if rows else [])
    if plans:
        yield page.Section('Plans', tables=[standing.plans(plans[:_PLANS])])


def last_plan(plans: Sequence[of_plans.Standing],
              entries: Sequence[Entry]) -> str:
    """What became of the newest plan of which something was requested."""
    last = next((each for each in plans if each.outcomes), None)
    if last is None:
        return 'No plan was carried out yet.'
    made, asked = last.made, len(last.plan.moves)
    found = {entry.facts['volume']: followed.said(entry.facts)
             for entry in entries if entry.kind == 'achieved'
             and entry.facts['volume'] in last.outcomes}
    return ' '.join([
        'It goes on.' if last.state == of_plans.UNDER_WAY else
        'Yes.' if made >= asked else 'No.' if not made else 'In part.',
        standing.became(last),
        f'What was achieved: {"; ".join([*found.values()][:_SAID])}.'
        if found else 'What it achieved is told three hours after a move.'
        if made else ''])


def _rows(entries: Sequence[Entry],
          names: Mapping[str, str]) -> list[tuple[object, ...]]:
    achieved: dict[str, str] = {}
    rows: list[tuple[object, ...]] = []
    for entry in reversed(entries):
        facts = entry.facts
        if entry.kind == 'achieved':
            achieved[facts['volume']] = followed.said(facts)
        elif entry.kind == 'outcome':
            rows.append((
                entry.at, names.get(facts['volume'],
                                    wording.name(facts['volume'])),
                wording.pool(facts['source']), wording.pool(facts['target']),
                facts['seconds'] / 60,
                f'{facts["result"]}: {wording.plain(facts["reason"], 200)}',
                wording.plain(achieved.pop(facts['volume'], '–'), 200)))
    return rows
