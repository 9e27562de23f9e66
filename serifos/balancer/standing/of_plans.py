# SPDX-License-Identifier: Apache-2.0
"""What became of plans, by the journal."""

from __future__ import annotations

from collections.abc import Iterable
from collections.abc import Mapping
from collections.abc import Sequence
import dataclasses
from typing import NamedTuple

from serifos.balancer.moving import changes
from serifos.facts import journal
from serifos.plan.plan import Plan

VALID, SUPERSEDED, EXPIRED = 'valid', 'superseded', 'expired'
UNDER_WAY, CARRIED_OUT = 'under way', 'carried out'


class Became(NamedTuple):
    """The outcome of a move.

    :param result: empty while it is in flight
    :param restore: the commands that make changes again that Cinder undid
    """

    result: str
    reason: str
    restore: tuple[str, ...] = ()


@dataclasses.dataclass(frozen=True)
class Standing:
    """A plan, and what became of it.

    :param state: :data:`VALID`, :data:`SUPERSEDED` by a newer one that is
        valid, :data:`EXPIRED`, :data:`UNDER_WAY` or :data:`CARRIED_OUT`
    :param outcomes: volume → what became of its move, where it was requested
    :param approved_by: None where nobody did, or it was cancelled
    """

    plan: Plan
    state: str
    outcomes: Mapping[str, Became]
    approved_by: str | None = None

    @property
    def made(self) -> int:
        """How many of its moves succeeded."""
        return sum(each.result in journal.MOVED
                   for each in self.outcomes.values())


def standings(plans: Iterable[Plan], entries: Sequence[journal.Entry],
              now: float) -> list[Standing]:
    """What became of plans, the newest first."""
    of_plan, approved = _outcomes(entries), journal.approvals(entries)
    newest_first = sorted(plans, key=lambda plan: (
        plan.created_at, plan.id), reverse=True)
    found: list[Standing] = []
    for plan in newest_first:
        outcomes = of_plan.get(plan.id, {})
        results = [each.result for each in outcomes.values()]
        if '' in results:
            state = UNDER_WAY
        elif plan.moves and sum(
                result in journal.MOVED
                for result in results) >= len(plan.moves):
            state = CARRIED_OUT
        elif plan.expires_at <= now:
            state = EXPIRED
        elif any(newer.plan.expires_at > now for newer in found):
            state = SUPERSEDED
        else:
            state = VALID
        found.append(Standing(plan, state, outcomes, approved.get(plan.id)))
    return found


def _outcomes(entries: Iterable[journal.Entry]
              ) -> dict[str, dict[str, Became]]:
    """Plan → volume → what became of its last request."""
    asked: dict[str, str] = {}
    found: dict[str, dict[str, Became]] = {}
    for entry in entries:
        volume = entry.facts.get('volume', '')
        if entry.kind == 'request':
            asked[volume] = entry.facts['plan']
            found.setdefault(
                entry.facts['plan'], {})[volume] = Became('', '')
        elif entry.kind == 'outcome' and volume in asked:
            found[asked.pop(volume)][volume] = Became(
                entry.facts['result'], entry.facts['reason'], restore(entry))
    return found


def restore(outcome: journal.Entry) -> tuple[str, ...]:
    """The commands that make changes again that Cinder undid."""
    facts = outcome.facts
    return (*changes.commands(
        facts['volume'], changes.read(facts.get('lost')),
        facts.get('project')),)
