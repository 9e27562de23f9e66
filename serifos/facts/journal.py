# SPDX-License-Identifier: Apache-2.0
"""Entries of the journal of migrations, and queries over them.

The kinds, and the facts beside ``volume``: ``request`` (source, target,
plan, size_gib), ``accepted``, ``changed`` (changes, what its tenant has
changed since the request), ``refused`` and ``unknown`` (reason),
``outcome`` (result, reason, source, target, seconds), ``back-off`` (until),
``pause`` and ``resume`` (reason), ``recover`` (result, reason), ``clock``
(reason), before which entries lie in the future, ``compute`` (host), whose
nova-compute is down while a copy waits for it, ``achieved`` (source, target,
hours), what both pools showed after a migration, ``approve`` and ``cancel``
(plan, by), which let a plan be carried out in mode ``approve``, or not. An
entry may have further facts; where one of these is missing or wrong the entry
is refused. A ``pause`` with ``doubt`` says that the journal itself cannot be
relied on; ``lost`` are the marks of what it lacks.
"""

from __future__ import annotations

from collections.abc import Callable
from collections.abc import Collection
from collections.abc import Iterable
from collections.abc import Iterator
from collections.abc import Mapping
from collections.abc import Sequence
import contextlib
import dataclasses
import itertools
from typing import Any
from typing import NamedTuple
from typing import Protocol

from serifos.facts import fields
from serifos.facts import times

FAILED = ('error', 'denied', 'timeout', 'recovered')
"""Results of an outcome that count as failures of the cloud."""

UNDONE = 'changes lost'
"""The result of an outcome after which a volume is on its target, and Cinder
has undone what its tenant changed meanwhile: the fact ``lost``."""

MOVED = ('success', UNDONE)
"""Results of an outcome after which the volume is on its target."""

NOTHING_DONE = ('not started', 'refused', 'denied', 'busy')
"""Results of an outcome before which Cinder did nothing."""

AHEAD_S = 60.0
"""How far a clock may be ahead, as one that is being slewed."""


@dataclasses.dataclass(frozen=True)
class Entry:
    """One entry.

    :param at: ISO 8601 with a time zone
    """

    at: str
    kind: str
    facts: Mapping[str, Any]

    @staticmethod
    def names() -> list[str]:
        """Of the values of :meth:`to_json`, those that every release has."""
        return [*dict.fromkeys(itertools.chain(('at', 'kind'),
                                               *_FACTS.values()))]

    def to_json(self) -> dict[str, Any]:
        return {'at': self.at, 'kind': self.kind, **self.facts}

    @classmethod
    def from_json(cls, doc: object) -> Entry:
        """:raises ValueError: with a clause that says what is wrong"""
        facts = {**fields.Field(doc).object()}
        return cls.checked(facts.pop('at', None), facts.pop('kind', None),
                           facts)

    @classmethod
    def checked(cls, at: object, kind: object,
                facts: Mapping[str, Any]) -> Entry:
        """:raises ValueError: as :meth:`from_json`"""
        found = fields.Field({**facts, 'at': at, 'kind': kind})
        _moment(found['at'])
        for name, read in _FACTS[found['kind'].one_of(_FACTS)].items():
            read(found[name])
        return cls(str(at), str(kind), facts)


_APPROVED = 10
"""Plans approved last of which a long journal forgets nothing."""


@dataclasses.dataclass(frozen=True)
class Mark:
    """The identity of a journal, and how far it goes.

    :param journal: the identity that it was made with
    :param entry: the number of its last entry, which never falls
    """

    journal: str
    entry: int

    def continues(self, earlier: Mark) -> bool:
        """Whether this is the journal of an earlier mark, and as long."""
        return (self.journal == earlier.journal
                and self.entry >= earlier.entry)

    def to_json(self) -> dict[str, Any]:
        return {'id': self.journal, 'entry': self.entry}

    @classmethod
    def from_json(cls, doc: fields.Field) -> Mark:
        """:raises ValueError: with a clause that says what is wrong"""
        return cls(doc['id'].name(), doc['entry'].whole())


class Leader(NamedTuple):
    """The balancer that took the lead last.

    :param name: its host and process
    :param since: ISO 8601
    :param mode: of the daemon, or the verb that leads
    """

    name: str
    since: str
    mode: str


class Journal(Protocol):
    """The port of a journal."""

    def write(self, kind: str, **facts: Any) -> Entry:
        """One entry, on disk before this returns.

        :raises SerifosError: where it is not
        """

    def entries(self) -> tuple[Entry, ...]:
        """All of them, the oldest first."""

    def mark(self) -> Mark | None:
        """How far it goes, to be remembered elsewhere.

        What it lacks of what is remembered is noted first, by a pause.

        :returns: None for one that ends with its process
        """


def _moment(field: fields.Field) -> float:
    return field.moment(zone_needed=True)


def _seconds(field: fields.Field) -> float:
    return field.number(-_MOST_S, _MOST_S)  # below 0: a clock was set back


_MOST_S = 1e12
_name, _text = fields.Field.name, fields.Field.text

_FACTS: Mapping[str, Mapping[str, Callable[[fields.Field], object]]] = {
    'request': {'volume': _name, 'source': _name, 'target': _name,
                'plan': _name, 'size_gib': fields.Field.number},
    'accepted': {'volume': _name},
    'changed': {'volume': _name, 'changes': fields.Field.object},
    'clock': {'reason': _text},
    'compute': {'host': _name},
    'refused': {'volume': _name, 'reason': _text},
    'unknown': {'volume': _name, 'reason': _text},
    'outcome': {'volume': _name, 'result': _name, 'reason': _text,
                'source': _name, 'target': _name, 'seconds': _seconds},
    'achieved': {'volume': _name, 'source': _name, 'target': _name,
                 'hours': fields.Field.number},
    'back-off': {'volume': _name, 'until': _moment},
    'approve': {'plan': _name, 'by': _name},
    'cancel': {'plan': _name, 'by': _name},
    'pause': {'reason': _text},
    'resume': {'reason': _text},
    'recover': {'volume': _name, 'result': _name, 'reason': _text},
}
"""Kind → the facts that its entries must have, and their readers."""

KINDS = frozenset(_FACTS)


def still_matter(entries: Sequence[Entry],
                 newest: int) -> tuple[Entry, ...]:
    """The newest entries, and the older ones that any query here needs.

    These are the requests without an outcome, unfinished recoveries, each
    volume's last success and failures since, its last back-off, the last
    pause and the last resume; and of the plans that were approved last, the
    approval, the requests and their outcomes.
    """
    begin = max(0, len(entries) - newest)
    older = entries[:begin]
    asked = {id(entry) for entry in (*open_moves(entries),
                                     *open_recoveries(entries),
                                     *_of_approved(entries))}
    since: dict[tuple[str, Any], list[Entry]] = {}
    for entry in older:
        volume = entry.facts.get('volume')
        if entry.kind in ('pause', 'resume'):
            since[entry.kind, None] = [entry]
        elif entry.kind == 'back-off':
            since['back-off', volume] = [entry]
        elif entry.kind == 'outcome':
            result, key = entry.facts['result'], ('outcome', volume)
            if result in MOVED:
                since[key] = [entry]
            elif result not in ('not started', 'busy'):
                since.setdefault(key, []).append(entry)
    wanted = asked.union(*(map(id, kept) for kept in since.values()))
    return (*(entry for entry in older if id(entry) in wanted),
            *entries[begin:])


def _of_approved(entries: Sequence[Entry]) -> Iterator[Entry]:
    """By what is known which moves of approved plans are left."""
    plans = {*[*approvals(entries)][-_APPROVED:]}
    said = {entry.facts['plan']: entry for entry in entries
            if entry.kind == 'approve' and entry.facts['plan'] in plans}
    yield from said.values()
    asked: set[str] = set()
    for entry in entries:
        volume = entry.facts.get('volume', '')
        if entry.kind == 'request' and (
                volume in asked or entry.facts['plan'] in plans):
            asked.add(volume)
            yield entry
        elif entry.kind == 'outcome' and volume in asked:
            asked.discard(volume)
            yield entry


def open_moves(entries: Iterable[Entry]) -> tuple[Entry, ...]:
    """The requests that have no outcome yet, the oldest first."""
    asked: dict[str, Entry] = {}
    for entry in entries:
        if entry.kind in ('request', 'outcome'):
            asked.pop(entry.facts['volume'], None)
        if entry.kind == 'request':
            asked[entry.facts['volume']] = entry
    return tuple(asked.values())


def open_recoveries(entries: Iterable[Entry]) -> tuple[Entry, ...]:
    """The recoveries that were begun and did not succeed."""
    begun: dict[str, list[Entry]] = {}
    for entry in entries:
        if entry.kind == 'recover' and entry.facts['result'] == 'begun':
            begun.setdefault(entry.facts['volume'], []).append(entry)
        elif entry.kind == 'recover' and entry.facts['result'] == 'success':
            begun.pop(entry.facts['volume'], None)
    return tuple(entry for found in begun.values() for entry in found)


def last_moves(entries: Iterable[Entry]) -> dict[str, float]:
    """Volume → when it was last moved, seconds of the epoch.

    A migration that timed out counts: it may have succeeded since.
    """
    return {entry.facts['volume']: times.parse(entry.at) for entry in entries
            if entry.kind == 'outcome'
            and entry.facts['result'] in (*MOVED, 'timeout')}


def last_outcome(entries: Iterable[Entry]) -> float:
    """When a migration that began last ended; 0 for never."""
    return max((times.parse(entry.at) for entry in entries
                if entry.kind == 'outcome'
                and entry.facts['result'] not in NOTHING_DONE), default=0.0)


def back_offs(entries: Iterable[Entry], now: float) -> dict[str, float]:
    """Volume → the end of its back-off, for those still in force."""
    until = {entry.facts['volume']: times.parse(entry.facts['until'])
             for entry in entries if entry.kind == 'back-off'}
    return {volume: at for volume, at in until.items() if now < at}


def failures_of(entries: Iterable[Entry], volume: str) -> int:
    """Outcomes of one volume, failed or refused, since its last success."""
    return _in_a_row((entry for entry in entries
                      if entry.facts.get('volume') == volume),
                     (*FAILED, 'refused'))


def failures_in_a_row(entries: Iterable[Entry]) -> int:
    """Outcomes that failed, since the last success or resume."""
    return _in_a_row(entries)


def _in_a_row(entries: Iterable[Entry],
              results: Collection[str] = FAILED) -> int:
    count = 0
    for entry in entries:
        result = entry.facts.get('result')
        if entry.kind == 'resume' or (
                entry.kind == 'outcome' and result in MOVED):
            count = 0
        elif entry.kind == 'outcome' and result in results:
            count += 1
    return count


def pause(entries: Iterable[Entry]) -> Entry | None:
    """The last pause; None where the balancer was resumed since."""
    last = None
    for entry in entries:
        if entry.kind in ('pause', 'resume'):
            last = entry
    return last if last is not None and last.kind == 'pause' else None


def paused(entries: Iterable[Entry]) -> bool:
    """Whether the balancer paused and was not resumed since."""
    return pause(entries) is not None


def doubt(entries: Iterable[Entry]) -> str | None:
    """A clause: why the journal cannot be relied on; None where it can."""
    found = pause(entries)
    return found.facts['reason'] if found and found.facts.get(
        'doubt') is True else None


def known_lost(entries: Iterable[Entry]) -> Iterator[Mark]:
    """The marks of what the journal lacks, as far as that was noted."""
    for entry in entries:
        if entry.kind == 'pause':
            with contextlib.suppress(ValueError):
                yield from map(Mark.from_json, fields.Field(
                    entry.facts.get('lost', [])).items())


def approvals(entries: Iterable[Entry]) -> dict[str, str]:
    """Plan → who approved it, for those that were not cancelled since."""
    found: dict[str, str] = {}
    for entry in entries:
        if entry.kind == 'approve':
            found[entry.facts['plan']] = entry.facts['by']
        elif entry.kind == 'cancel':
            found.pop(entry.facts['plan'], None)
    return found


def corrected(entries: Sequence[Entry], now: float) -> tuple[Entry, ...]:
    """The entries, none of them in the future.

    An entry that a clock ahead of ours wrote lies there. It counts as of the
    next entry that does not, or as of now, so that no cool-down, back-off or
    time limit lasts longer than its own length from then.

    :param now: seconds of the epoch
    """
    latest, found = now, []
    for entry in reversed(entries):
        at = times.parse(entry.at)
        if at > now + AHEAD_S:
            found.append(_moved(entry, at, latest))
        else:
            latest = at
            found.append(entry)
    return tuple(reversed(found))


def uncorrected(entries: Iterable[Entry], now: float) -> int:
    """The number of entries in the future that no later entry corrects."""
    count = 0
    for entry in entries:
        count = count + 1 if times.parse(entry.at) > now + AHEAD_S else 0
    return count


def _moved(entry: Entry, at: float, to: float) -> Entry:
    facts = dict(entry.facts)
    if entry.kind == 'back-off':
        facts['until'] = times.text(
            to + times.parse(facts['until']) - at, 'milliseconds')
    return dataclasses.replace(
        entry, at=times.text(to, 'milliseconds'), facts=facts)
