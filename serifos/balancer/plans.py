# SPDX-License-Identifier: Apache-2.0
"""Stored plans: their states, who approved them, what became of them."""

from __future__ import annotations

from collections.abc import Callable
from collections.abc import Collection
from collections.abc import Iterable
from collections.abc import Mapping
from collections.abc import Sequence
import dataclasses
import math
import os
from typing import Any
from typing import Generic
from typing import NamedTuple
from typing import Protocol
from typing import TypeVar

from serifos.balancer import changes
from serifos.facts import journal
from serifos.facts import times
from serifos.files import documents
from serifos.plan.plan import Listed
from serifos.plan.plan import Plan
from serifos.plan import undo


P = TypeVar('P', Plan, Listed)

VALID, SUPERSEDED, EXPIRED = 'valid', 'superseded', 'expired'
UNDER_WAY, CARRIED_OUT = 'under way', 'carried out'

_MOVED = (*journal.MOVED, 'timeout')
"""Results after which a volume may be elsewhere, as last_moves has it."""


class Plans(Protocol):
    """The port of what stores plans.

    What ``say`` is called with is a sentence for each plan that cannot be
    read. All raise SerifosError where the plans cannot be reached.
    """

    def keep(self, plan: Plan, now: float,
             say: Callable[[str], None]) -> Plan:
        """Stores a plan, whole or not at all, and deletes old ones.

        Where the last valid plan has the same moves, it is kept instead.

        :param now: seconds of the epoch
        :returns: the plan that is kept
        """

    def every(self, say: Callable[[str], None],
              expires_after: float = -math.inf,
              ids: Collection[str] | None = None) -> list[Plan]:
        """The plans that are there, expired ones too; changes nothing.

        :param expires_after: only those that expire later, seconds of the
            epoch
        :param ids: only of those that are wanted; None for all
        """

    def stored(self, plan_id: str) -> Plan:
        """The plan with this id.

        :raises InputError: where there is none, or it cannot be read
        """


def find(stored: Plans, named: str) -> Plan:
    """The plan in this file, or with this id among those that are stored.

    :raises InputError: where there is none, or it cannot be read
    """
    if os.path.isfile(named):
        return documents.read_plan(named)
    return stored.stored(named)


class Became(NamedTuple):
    """The outcome of a move.

    :param result: empty while it is in flight
    :param restore: the commands that make changes again that Cinder undid
    """

    result: str
    reason: str
    restore: tuple[str, ...] = ()


@dataclasses.dataclass(frozen=True)
class Standing(Generic[P]):
    """A plan, and what became of it.

    :param state: :data:`VALID`, :data:`SUPERSEDED` by a newer one that is
        valid, :data:`EXPIRED`, :data:`UNDER_WAY` or :data:`CARRIED_OUT`
    :param outcomes: volume → what became of its move, where it was requested
    :param approved_by: None where nobody did, or it was cancelled
    """

    plan: P
    state: str
    outcomes: Mapping[str, Became]
    approved_by: str | None = None

    @property
    def made(self) -> int:
        """How many of its moves succeeded."""
        return sum(each.result in journal.MOVED
                   for each in self.outcomes.values())


def standings(plans: Iterable[P], entries: Sequence[journal.Entry],
              now: float) -> list[Standing[P]]:
    """What became of plans, the newest first."""
    of_plan, approved = _outcomes(entries), journal.approvals(entries)
    newest_first = sorted(plans, key=lambda plan: (
        plan.created_at, plan.id), reverse=True)
    found: list[Standing[P]] = []
    for plan in newest_first:
        outcomes = of_plan.get(plan.id, {})
        results = [each.result for each in outcomes.values()]
        if '' in results:
            state = UNDER_WAY
        elif plan.move_count and sum(
                result in journal.MOVED
                for result in results) >= plan.move_count:
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


@dataclasses.dataclass(frozen=True)
class Carried:
    """What was carried out of a plan.

    :param moves: those that ended or are under way, in that order
    :param ended_at: when the last of them ended, seconds of the epoch; 0
        for none
    """

    moves: tuple[undo.Made, ...]
    ended_at: float


def carried(entries: Iterable[journal.Entry], plan_id: str) -> Carried:
    """What was carried out of a plan."""
    asked: dict[str, Mapping[str, Any]] = {}
    ended: dict[str, tuple[str, float]] = {}
    under_way: set[str] = set()
    for entry in entries:
        volume = entry.facts.get('volume', '')
        if entry.kind == 'request':
            under_way.discard(volume)
            if entry.facts['plan'] == plan_id:
                asked[volume] = entry.facts
                ended.pop(volume, None)
                under_way.add(volume)
        elif entry.kind == 'outcome' and volume in under_way:
            under_way.remove(volume)
            ended[volume] = entry.facts['result'], times.parse(entry.at)
    moved = {volume: at for volume, (result, at) in ended.items()
             if result in _MOVED}
    order = [*moved, *(each for each in asked if each in under_way)]
    return Carried(tuple(
        undo.Made(volume, asked[volume]['source'], asked[volume]['target'],
                  volume in moved) for volume in order),
        max(moved.values(), default=0.0))
