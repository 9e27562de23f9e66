# SPDX-License-Identifier: Apache-2.0
"""The state of a balancer, from its journal and settings."""

from __future__ import annotations

from collections.abc import Iterable
from collections.abc import Mapping
from collections.abc import Sequence
import dataclasses
from types import MappingProxyType

from serifos.balancer.settings import BalancerSettings
from serifos.facts import fields
from serifos.facts import journal
from serifos.facts import times

ROUND_S = 60.0
"""What a round may take besides its interval before it counts as overdue."""

_DAY_S = 86400.0


@dataclasses.dataclass(frozen=True, slots=True)
class InFlight:
    """A migration that was requested and has no outcome yet.

    :param since_s: ago it was requested
    :param left_s: until its copy is made; below 0 where it takes longer,
        None where nothing is known
    :param gib_per_s: at which it is copied
    :param measured: whether by the copy's own counters, else as estimated
    """

    volume: str
    source: str
    target: str
    size_gib: float
    since_s: float
    left_s: float | None
    gib_per_s: float | None
    measured: bool = False


@dataclasses.dataclass(frozen=True)
class Status:
    """What a balancer does.

    :param mode: advise, approve or auto
    :param observed_s: seconds since the last observation; None for none
    :param next_s: until the next round; below 0 where it is overdue
    :param paused: why and when, None where it goes on
    :param waits: why no migration begins now, a clause each
    :param done: result → the migrations of the last day
    :param moved_gib: of the last day
    :param backing_off: volumes that are not moved for a while after a failure
    """

    mode: str
    observed_s: float | None
    next_s: float | None
    paused: tuple[str, str] | None
    failures: int
    waits: tuple[str, ...]
    in_flight: tuple[InFlight, ...]
    done: Mapping[str, int]
    moved_gib: float
    backing_off: int

    @property
    def overdue(self) -> bool:
        """Whether the last round should have been over by now."""
        return self.next_s is not None and self.next_s < -ROUND_S

    @classmethod
    def of(cls, settings: BalancerSettings, entries: Sequence[journal.Entry],
           observed_at: float | None, now: float,
           gib_per_s: Mapping[str, float] = MappingProxyType({})) -> Status:
        """The status of a balancer of these settings.

        :param entries: none of them in the future
        :param observed_at: seconds of the epoch; None for never
        :param gib_per_s: volume → at which its copy was seen to be written
        """
        observed_s = None if observed_at is None else now - observed_at
        outcomes = [entry for entry in entries if entry.kind == 'outcome'
                    and times.parse(entry.at) > now - _DAY_S]
        done: dict[str, int] = {}
        for entry in outcomes:
            done[entry.facts['result']] = done.get(
                entry.facts['result'], 0) + 1
        return cls(
            settings.mode, observed_s,
            None if observed_s is None else settings.interval_s - observed_s,
            _paused(entries), journal.failures_in_a_row(entries),
            tuple(_waits(settings, entries, now)),
            tuple(_in_flight(entry, now, gib_per_s.get(
                entry.facts['volume']))
                for entry in journal.open_moves(entries)),
            done, _moved_gib(entries, now - _DAY_S),
            len(journal.back_offs(entries, now)))


def _paused(entries: Sequence[journal.Entry]) -> tuple[str, str] | None:
    found = journal.pause(entries)
    return None if found is None else (found.facts['reason'], found.at)


def _waits(settings: BalancerSettings, entries: Sequence[journal.Entry],
           now: float) -> Iterable[str]:
    closed = settings.pace.closed(now)
    if closed is not None:
        yield closed
    full = settings.pace.exceeded(0.0, entries, now)
    if full is not None:
        yield full
    ended_s = now - journal.last_outcome(entries)
    if ended_s < settings.settle_s:
        yield (f'the last migration ended {ended_s:.0f} s ago, and '
               f'{settings.settle_s:.0f} s are waited for')


def _in_flight(asked: journal.Entry, now: float,
               gib_per_s: float | None) -> InFlight:
    facts = asked.facts
    since_s = now - times.parse(asked.at)
    estimated_s = fields.finite(facts.get('estimated_s'))
    if gib_per_s:
        estimated_s = facts['size_gib'] / gib_per_s
    return InFlight(
        facts['volume'], facts['source'], facts['target'],
        facts['size_gib'], since_s,
        None if estimated_s is None else estimated_s - since_s,
        facts['size_gib'] / estimated_s if estimated_s else None,
        bool(gib_per_s))


def _moved_gib(entries: Sequence[journal.Entry], since: float) -> float:
    asked: dict[str, float] = {}
    found = 0.0
    for entry in entries:
        volume = entry.facts.get('volume')
        if entry.kind == 'request':
            asked[volume] = entry.facts['size_gib']
        elif entry.kind == 'outcome' and entry.facts['result'] in (
                journal.MOVED) and times.parse(entry.at) > since:
            found += asked.pop(volume, 0.0)
    return found
