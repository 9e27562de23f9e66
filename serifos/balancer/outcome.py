# SPDX-License-Identifier: Apache-2.0
"""The outcome of a requested migration.

Decided from the volume's record before the request and now. Cinder's 202
proves little, and a lost answer proves nothing: a request may begin long
after it was sent.
"""

from __future__ import annotations

from collections.abc import Iterable
import dataclasses
from typing import Any

from serifos.balancer import changes
from serifos.balancer.recovery import diagnosis
from serifos.facts.inventory import Record
from serifos.facts import journal
from serifos.facts.servers import Doings
from serifos.plan import eligibility


PATIENCE = 4
"""Times as long as at its volume_copy_bps_limit a migration may take: reads
and writes take turns, and the source is wiped within it, too."""


@dataclasses.dataclass(frozen=True)
class Timeouts:
    """Time limits of a migration, and the back-off after a failure.

    :param poll_s: between requests to Cinder
    :param timeout_s: beside the copying
    :param timeout_per_gib_s: for each GiB
    :param back_off_s: after a first failure; doubled with each in a row
    :param grace_s: within which Cinder changes the record after its 202,
        or a migration may look over that is not
    :param unanswered_s: within which Cinder starts a migration whose answer
        was lost
    """

    poll_s: float
    timeout_s: float
    timeout_per_gib_s: float
    back_off_s: float
    grace_s: float = 60.0
    unanswered_s: float = 900.0

    def limit_s(self, size_gib: float) -> float:
        """What the migration of a volume may take."""
        return self.timeout_s + size_gib * self.timeout_per_gib_s


@dataclasses.dataclass(frozen=True)
class Outcome:
    """The outcome of a move.

    :param result: ``success``; ``changes lost``, where it is on its target
        and Cinder has undone what its tenant changed; ``error``,
        ``timeout``, ``denied`` where our account or URL is wrong, and
        ``recovered`` where it had to be recovered: these failed;
        ``refused`` because of the volume's state,
        ``busy`` over a rate limit, ``gone``, ``not started``,
        ``hindered`` where another migration is under way; on a signal,
        ``stopped`` before it was requested and ``waiting`` before it was
        over
    :param retry_s: when to request again where it is ``busy``
    :param lost: what Cinder has undone
    :param project: of the volume, where something is lost
    """

    result: str
    reason: str
    retry_s: float = 0.0
    lost: changes.Changes = dataclasses.field(default_factory=dict)
    project: str | None = None

    @property
    def failed(self) -> bool:
        return self.result in journal.FAILED

    @property
    def left(self) -> bool:
        """Whether the volume is on its source no longer."""
        return self.result in (*journal.MOVED, 'gone')

    @property
    def backs_off(self) -> bool:
        """Whether the volume is not moved for a while."""
        return self.result in ('error', 'timeout', 'recovered', 'refused')

    @property
    def ends_a_batch(self) -> bool:
        """Whether no other volume's move may be requested either."""
        return self.result in (
            'denied', 'timeout', 'hindered', 'busy', 'waiting', 'stopped')


def moved(why: str, record: Record, found: changes.Changes) -> Outcome:
    """The outcome of a move that was made.

    :param why: a clause
    :param found: what the volume's tenant changed meanwhile
    """
    lost = changes.undone(found, changes.held(record))
    if not lost:
        return Outcome('success', why)
    return Outcome(
        journal.UNDONE,
        f'{why}; Cinder has undone what was changed meanwhile: '
        f'{changes.words(lost)}; serifos-balancer reapply {record.id} makes '
        'it again, or says how', lost=lost, project=record.project_id)


def seen(record: Record) -> dict[str, Any]:
    """The fields of a record that the journal keeps before a request."""
    return {'updated_at': record.updated_at, 'status': record.status,
            'migration_status': record.migration_status}


def over(asked: journal.Entry, record: Record, sure: bool, waited_s: float,
         timeouts: Timeouts) -> Outcome | None:
    """The outcome of a request; None while it is open.

    An error belongs to this request where the record has changed since and
    either Cinder is known to have taken the request up or the record had no
    error before.

    :param sure: whether Cinder is known to have taken it up
    :param waited_s: since the request
    """
    if eligibility.migrating(record) or (
            record.status == 'in-use' and not record.attachments):
        return None  # for a second the old copy has the attachments
    source, target = asked.facts['source'], asked.facts['target']
    if record.pool == target:
        return Outcome('success', f'it is on {target}')
    before = asked.facts.get('seen')
    if not isinstance(before, dict):
        before = None
    changed = before is None or seen(record) != before
    error = record.migration_status == 'error' and changed
    known = error and before is not None and (
        sure or before.get('migration_status') != 'error')
    grace_s = timeouts.grace_s if sure else timeouts.unanswered_s
    if not known and waited_s < grace_s:
        return None
    if record.pool != source:
        return Outcome('error', f'it is on {record.pool}')
    if error:
        return Outcome('error', f'Cinder reports an error; the volume is on '
                       f'{source}, {record.status}, as before')
    if sure:
        return Outcome('error', f'Cinder had begun it and it was reset; the '
                       f'volume is on {source}, {record.status}')
    return Outcome('not started', f'it is still on {source}')


def blamed(found: Outcome, state: str | None, doings: Doings) -> Outcome:
    """An error as a refusal of the volume, where Nova refused to copy it.

    Cinder says only ``error`` where Nova refused it after Cinder's 202. Nova
    records ``swap_volume`` of a copy that it does not refuse, and another
    action for which it refused one, which may have ended since.

    :param state: why Nova would refuse it now, a clause, or None
    :param doings: since the request
    """
    if doings.problem is not None:
        why = state and f'{state} (now; then: {doings.problem})'
    elif any(action.name == diagnosis.SWAP for action in doings.actions):
        return found
    else:
        why = state or next(
            (f'{action.name} was under way with its server'
             for action in doings.actions), None)
    return Outcome('refused', f'Nova refused to copy it: {why}') if (
        why) else found


def was_taken_up(entries: Iterable[journal.Entry],
                 asked: journal.Entry) -> bool:
    """Whether Cinder is known to have taken up a volume's last request."""
    known = False
    for entry in entries:
        if entry.facts.get('volume') == asked.facts['volume']:
            known = entry.kind == 'accepted' or (
                known and entry.kind != 'request')
    return known


def doubtful(entries: Iterable[journal.Entry]) -> tuple[journal.Entry, ...]:
    """Unanswered requests that were given up and may still begin.

    Cinder neither took them up nor refused them.
    """
    asked: dict[str, journal.Entry] = {}
    given_up: dict[str, journal.Entry] = {}
    for entry in entries:
        volume = entry.facts.get('volume')
        if entry.kind == 'request':
            given_up.pop(volume, None)
            asked[volume] = entry
        elif entry.kind in ('accepted', 'refused'):
            asked.pop(volume, None)
        elif entry.kind == 'outcome' and volume in asked:
            found = asked.pop(volume)
            if entry.facts['result'] == 'not started':
                given_up[volume] = found
    return tuple(given_up.values())


def began_late(asked: journal.Entry, record: Record,
               halves: Iterable[Record]) -> bool:
    """Whether a doubtful request has begun after all, or is over.

    :param halves: the hidden records of the volume's migration
    """
    target = asked.facts['target']
    if not eligibility.migrating(record):
        return record.pool == target
    return any(half.target_of == record.id and half.pool == target
               for half in halves)
