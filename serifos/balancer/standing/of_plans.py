# SPDX-License-Identifier: Apache-2.0
"""What became of plans, by the journal."""

from __future__ import annotations

from collections.abc import Iterable
from collections.abc import Mapping
from collections.abc import Sequence
import dataclasses

from serifos.facts import journal as jn
from serifos.plan import plan as pl

VALID, SUPERSEDED, EXPIRED = 'valid', 'superseded', 'expired'
UNDER_WAY, CARRIED_OUT = 'under way', 'carried out'


@dataclasses.dataclass(frozen=True)
class Standing:
    """A plan, and what became of it.

    :param state: :data:`VALID`, :data:`SUPERSEDED` by a newer one that is
        valid, :data:`EXPIRED`, :data:`UNDER_WAY` or :data:`CARRIED_OUT`
    :param outcomes: volume → the result of its move and the reason; one that
        was requested and has none yet has an empty result
    :param approved_by: None where nobody did, or it was cancelled
    """

    plan: pl.Plan
    state: str
    outcomes: Mapping[str, tuple[str, str]]
    approved_by: str | None = None

    @property
    def made(self) -> int:
        """How many of its moves succeeded."""
        return sum(result == 'success'
                   for result, _ in self.outcomes.values())


def standings(plans: Iterable[pl.Plan], entries: Sequence[jn.Entry],
              now: float) -> list[Standing]:
    """What became of plans, the newest first."""
    of_plan, approved = _outcomes(entries), jn.approvals(entries)
    newest_first = sorted(plans, key=lambda plan: (
        plan.created_at, plan.id), reverse=True)
    found: list[Standing] = []
    for plan in newest_first:
        outcomes = of_plan.get(plan.id, {})
        results = [result for result, _ in outcomes.values()]
        if '' in results:
            state = UNDER_WAY
        elif plan.moves and results.count('success') >= len(plan.moves):
            state = CARRIED_OUT
        elif plan.expires_at <= now:
            state = EXPIRED
        elif any(newer.plan.expires_at > now for newer in found):
            state = SUPERSEDED
        else:
            state = VALID
        found.append(Standing(plan, state, outcomes, approved.get(plan.id)))
    return found


def _outcomes(entries: Iterable[jn.Entry]
              ) -> dict[str, dict[str, tuple[str, str]]]:
    """Plan → volume → result and reason of its last request."""
    asked: dict[str, str] = {}
    found: dict[str, dict[str, tuple[str, str]]] = {}
    for entry in entries:
        volume = entry.facts.get('volume', '')
        if entry.kind == 'request':
            asked[volume] = entry.facts['plan']
            found.setdefault(entry.facts['plan'], {})[volume] = '', ''
        elif entry.kind == 'outcome' and volume in asked:
            found[asked.pop(volume)][volume] = (
                entry.facts['result'], entry.facts['reason'])
    return found
