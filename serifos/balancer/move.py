# SPDX-License-Identifier: Apache-2.0
"""One move carried out: its request, looks at it, and its outcome.

A move is over when the volume is at rest, and succeeded if the volume is then
on the target and its old copy is gone. Each request to Cinder is written to
the journal before it is sent, and its answer after.
"""

from __future__ import annotations

from collections.abc import Callable
from collections.abc import Mapping
import contextlib
import dataclasses
from typing import Any

from oslo_log import log

from serifos.balancer import achieved_moves
from serifos.balancer import changes
from serifos.balancer.leader import Requests
from serifos.balancer import outcome
from serifos.balancer.outcome import Outcome
from serifos.balancer.outcome import Timeouts
from serifos.balancer import pace
from serifos.balancer import planning
from serifos.balancer.recovery import diagnosis
from serifos import errors
from serifos.facts import cinder_errors
from serifos.facts.inventory import Cloud
from serifos.facts.inventory import Record
from serifos.facts.journal import Entry
from serifos.facts.journal import failures_of
from serifos.facts.journal import Journal
from serifos.facts.servers import Compute
from serifos.facts import settings
from serifos.facts import times
from serifos.plan import eligibility
from serifos.plan.plan import Move

LOG = log.getLogger(__name__)

_TRIES = 3


@dataclasses.dataclass
class Request:
    """A migration that was requested, now or before a restart.

    :param sure: whether Cinder is known to have taken it up
    :param seen_before: whether it was seen elsewhere than on its target
    :param copied_s: from the request until it was on its target
    :param before: what its tenant had set then; None where that is not known
    :param changed: what its tenant has changed since
    """

    asked: Entry
    sure: bool = False
    seen_before: bool = False
    copied_s: float | None = None
    before: Mapping[str, Any] | None = None
    changed: changes.Changes = dataclasses.field(default_factory=dict)

    @property
    def volume(self) -> str:
        return self.asked.facts['volume']


@dataclasses.dataclass(frozen=True)
class Executor:
    """Requests migrations and looks at them.

    :param rules: for the last look before a request
    :param clock: seconds of the epoch
    :param pause: waits for so many seconds; True where it is to stop
    """

    requests: Requests
    nova: Compute
    journal: Journal
    timeouts: Timeouts
    rules: eligibility.Rules
    clock: Callable[[], float]
    pause: Callable[[float], bool]

    @property
    def cinder(self) -> Cloud:
        """For reading; what changes something goes through requests."""
        return self.requests.cinder

    @property
    def closer(self) -> Closer:
        return Closer(self.cinder, self.journal, self.timeouts, self.clock)

    def begin(self, move: Move, plan_id: str) -> Request | Outcome:
        """Requests one migration; its outcome where it did not begin.

        Where Cinder limits the rate of requests, it is requested again.

        :raises CloudError: where Cinder cannot be reached; nothing was
            requested then
        """
        wait_s = 0.0
        for _ in range(_TRIES):
            if self.pause(wait_s):
                return Outcome(
                    'stopped', 'interrupted before it was requested')
            found = self._request(move, plan_id)
            if isinstance(found, Request) or found.result != 'busy':
                break
            wait_s = found.retry_s
        return found

    def _request(self, move: Move, plan_id: str) -> Request | Outcome:
        record = self._record(move.volume)
        why = planning.outdated(move, record) or eligibility.why_not(
            record, self._rules_now(record), self.clock())
        if why is not None:
            LOG.info('Volume %s stays on %s: %s.',
                     move.volume, move.source, why)
            return Outcome('not started', why)
        asked = self.journal.write(
            'request', volume=move.volume, source=move.source,
            target=move.target, plan=plan_id, size_gib=move.size_gib,
            seen=outcome.seen(record), estimated_s=move.copy_s,
            **achieved_moves.predicted(move))
        LOG.info('Migrating volume %s, %g GiB, from %s to %s: %s.',
                 move.volume, move.size_gib, move.source, move.target,
                 move.reason)
        try:
            self.requests.migrate(move.volume, move.target)
        except cinder_errors.Refused as exc:
            self.journal.write('refused', volume=move.volume, reason=str(exc))
            return self.closer.close(asked, _refusal(exc))
        except errors.NotLeading:
            # Another balancer that leads closes the request itself.
            with contextlib.suppress(errors.SerifosError):
                self.closer.close(asked, Outcome('not started', (
                    'this balancer could not prove that it leads')))
            raise
        except errors.CloudError as exc:
            LOG.warning('Whether Cinder took up the migration of volume %s '
                        'is not known: %s', move.volume, exc)
            self.journal.write('unknown', volume=move.volume, reason=str(exc))
            return Request(asked, before=changes.held(record))
        self.journal.write('accepted', volume=move.volume)
        return Request(asked, sure=True, before=changes.held(record))

    def _record(self, volume: str) -> Record | None:
        """The volume as it is now, with its snapshots."""
        found = self.cinder.volume(volume)
        return found and dataclasses.replace(
            found, snapshots=self.cinder.snapshots_of(volume))

    def look(self, request: Request) -> Outcome | None:
        """The outcome of a request, None while it is open."""
        asked, volume = request.asked, request.volume
        waited_s = self.clock() - times.parse(asked.at)
        limit_s = self.timeouts.limit_s(asked.facts['size_gib'])
        outcome = None
        try:
            record = self.cinder.volume(volume)
            if record and record.pool != asked.facts['target']:
                request.seen_before = True
            elif record and request.seen_before and request.copied_s is None:
                request.copied_s = waited_s
            if record and eligibility.migrating(record) and not request.sure:
                request.sure = True
                self.journal.write('accepted', volume=volume)
            outcome = self._look(request, record)
        except errors.CloudError as exc:
            LOG.warning('Cinder cannot be asked about the migration of '
                        'volume %s: %s', volume, exc)
        if outcome is None and self.clock() - times.parse(asked.at) > max(
                limit_s, self.timeouts.unanswered_s * (not request.sure)):
            outcome = Outcome('timeout', (
                f'not over after {waited_s:.0f} s; '
                'Cinder may still end it, and nothing else is moved until '
                'it has, or until the migration counts as stuck or forgotten'
                + ('; Cinder would undo what was changed meanwhile: '
                   f'{changes.words(request.changed)}'
                   if request.changed else '')))
        return outcome and self.closer.close(asked, outcome, request.copied_s)

    def begun_late(self, asked: Entry) -> Request | None:
        """A request that was given up, where it has begun since."""
        volume = asked.facts['volume']
        record = self.cinder.volume(volume)
        if record is None or not outcome.began_late(
                asked, record, self.cinder.halves(volume)):
            return None
        LOG.warning('The migration of volume %s, requested at %s without an '
                    'answer, has begun since.', volume, asked.at)
        again = self.journal.write('request', **{**asked.facts, 'late': True})
        self.journal.write('accepted', volume=volume)
        return Request(again, sure=True)

    def recovered(self, asked: Entry) -> None:
        """Closes a request whose volume had to be recovered."""
        volume, target = asked.facts['volume'], asked.facts['target']
        record = self.cinder.volume(volume)
        self.closer.close(asked, outcome.moved(
            f'it is on {target}; its old copy had been forgotten', record,
            changes.of_last(self.journal.entries(), volume))
            if record is not None and record.pool == target else
            Outcome('recovered', 'Cinder had forgotten it'))

    def _look(self, request: Request,
              record: Record | None) -> Outcome | None:
        asked = request.asked
        if record is None:
            return Outcome('gone', 'the volume was deleted')
        if record.migration_status in changes.COPIED:
            self._compare(request, record)
        found = outcome.over(asked, record, request.sure,
                             self.clock() - times.parse(asked.at),
                             self.timeouts)
        if found is None or found.result != 'success':
            return found and self._blamed(found, asked, record)
        return self._succeeded(found, request, record)

    def _compare(self, request: Request, record: Record) -> None:
        """Remembers what is changed as it is copied."""
        if request.before is None:  # after a restart: its copy still has it
            request.before = next((changes.held(dataclasses.replace(
                half, attachments=record.attachments))
                for half in self.cinder.halves(record.id)
                if half.target_of == record.id), None)
        if request.before is not None:
            self._remember(request, changes.since(
                request.before, changes.held(record)))

    def _remember(self, request: Request, found: changes.Changes) -> None:
        """Writes down what was changed, where it is not written yet."""
        if found == request.changed:
            return
        request.changed = found
        self.journal.write('changed', volume=request.volume, changes=found)
        if found:
            LOG.warning('Volume %s was changed since its migration was '
                        'requested, and Cinder will undo that at the end: '
                        '%s.', request.volume, changes.words(found))

    def _rules(self, record: Record) -> eligibility.Rules:
        """The rules, with what Nova says of the volume's server now."""
        only = record.attachments[:1]
        return self.rules if not only or not only[0] else dataclasses.replace(
            self.rules, servers=self.nova.server(only[0]))

    def _rules_now(self, record: Record) -> eligibility.Rules:
        """The same, with what the volume's type says now."""
        kind = record.volume_type and self.cinder.volume_type(
            record.volume_type)
        return dataclasses.replace(
            self._rules(record), kind=settings.TypeSettings.of(kind) if kind
            else settings.TypeSettings())

    def _blamed(self, found: Outcome, asked: Entry,
                record: Record) -> Outcome:
        """An error as Nova's refusal, where it was one."""
        servers = self._rules(record).servers
        if found.result != 'error' or not record.attachments or (
                servers.absent or servers.problem):
            return found
        return outcome.blamed(
            found, eligibility.not_copied(record.attachments, servers),
            self.nova.doings(record.attachments[0], record.id,
                             times.parse(asked.at) - diagnosis.SKEW_S))

    def _succeeded(self, found: Outcome, request: Request,
                   record: Record) -> Outcome | None:
        """None while Cinder swaps the records, or deletes the old copy."""
        left = self.cinder.halves(record.id)
        for half in left:
            if request.before is not None and (
                    eligibility.leftover_of(half) == record.id):
                self._remember(request, changes.with_old_copy(
                    request.changed, request.before, half))
        if any(half.status != 'error_deleting' for half in left):
            return None
        return outcome.moved(found.reason + ''.join(
            f'; its old copy {half.id} on {half.pool} is {half.status}'
            for half in left), record, request.changed)


def _refusal(exc: cinder_errors.Refused) -> Outcome:
    why = str(exc).rstrip('.')
    if exc.for_now:
        return Outcome('busy', why, exc.retry_s)
    return Outcome('refused' if exc.of_the_volume else 'denied', why)


_DAY_S = 86400.0


@dataclasses.dataclass(frozen=True)
class Closer:
    """Writes outcomes, and for how long volumes are not moved after them.

    :param clock: seconds of the epoch
    """

    cinder: Cloud
    journal: Journal
    timeouts: Timeouts
    clock: Callable[[], float]

    def close(self, asked: Entry, outcome: Outcome,
              copied_s: float | None = None) -> Outcome:
        """Writes the outcome of a request.

        :param copied_s: from the request until it was on its target
        """
        volume = asked.facts['volume']
        took = self.clock() - times.parse(asked.at)
        if outcome.failed:
            LOG.error('The migration of volume %s failed after %.0f s (%s): '
                      '%s.', volume, took, outcome.result, outcome.reason)
        elif outcome.lost:
            LOG.warning(
                'The migration of volume %s ended after %.0f s (%s): %s%s.',
                volume, took, outcome.result, outcome.reason, ''.join(
                    f'; {line}' for line in changes.commands(
                        volume, outcome.lost, outcome.project)))
        else:
            LOG.info('The migration of volume %s ended after %.0f s (%s): '
                     '%s.', volume, took, outcome.result, outcome.reason)
        self.journal.write('outcome', volume=volume, result=outcome.result,
                           reason=outcome.reason,
                           source=asked.facts['source'],
                           target=asked.facts['target'],
                           seconds=round(took, 1),
                           **_lost(outcome),
                           **self._copies(volume, outcome),
                           **pace.copy_rate(asked, outcome.result, copied_s))
        if outcome.backs_off:
            self._back_off(volume)
        return outcome

    def _copies(self, volume: str, outcome: Outcome) -> dict[str, Any]:
        """The copies of a migration that is given up, where these are known.

        A later recovery finds out by them whether it is this one's.
        """
        if outcome.result == 'timeout':
            with contextlib.suppress(errors.CloudError):
                return {'copies': [half.id for half
                                   in self.cinder.halves(volume)]}
        return {}

    def _back_off(self, volume: str) -> None:
        failures = failures_of(self.journal.entries(), volume)
        seconds = min(_DAY_S, self.timeouts.back_off_s
                      * 2 ** max(0, failures - 1))
        until = times.text(self.clock() + seconds)
        self.journal.write('back-off', volume=volume, until=until)


def _lost(outcome: Outcome) -> dict[str, Any]:
    return {'lost': outcome.lost, 'project': outcome.project} if (
        outcome.lost) else {}
