# SPDX-License-Identifier: Apache-2.0
"""How is one move carried out, and what became of it?

Cinder's 202 proves little. A move is over when the volume is at rest, and
it succeeded if it then lives where it was to go and its old copy is gone.
Every step is in the journal before and after the call that makes it.
"""

from __future__ import annotations

from collections.abc import Callable
import dataclasses

from oslo_log import log

from serifos import errors
from serifos import inventory as inv
from serifos import journal as jn
from serifos.plan import movable
from serifos.plan import plan as pl
from serifos import volumes

LOG = log.getLogger(__name__)

_DAY_S = 86400.0


@dataclasses.dataclass(frozen=True)
class Patience:
    """How long a migration may take, and what follows where it fails.

    :param timeout_s: beside the copying
    :param timeout_per_gib_s: for each GiB
    :param grace_s: for which Cinder may leave a request untouched whose
        answer was lost
    :param back_off_s: after a first failure; doubled with each in a row
    """

    poll_s: float = 5.0
    timeout_s: float = 600.0
    timeout_per_gib_s: float = 120.0
    grace_s: float = 60.0
    back_off_s: float = 3600.0


@dataclasses.dataclass(frozen=True)
class Outcome:
    """What became of a move.

    :param result: ``success``, ``error``, ``refused``, ``timeout``,
        ``gone``, ``not started``, ``hindered`` where another migration is
        under way, or, where we were told to stop, ``stopped`` before it was
        asked for and ``waiting`` before it was over
    """

    result: str
    reason: str

    @property
    def failed(self) -> bool:
        return self.result in jn.FAILED

    @property
    def ends_a_batch(self) -> bool:
        """Whether the next move must not be asked for."""
        return self.failed or self.result in (
            'hindered', 'waiting', 'stopped')


@dataclasses.dataclass(frozen=True)
class Hands:
    """What acting takes.

    :param clock: seconds of the epoch
    :param pause: waits for so many seconds; True where we shall stop
    """

    cinder: inv.Cloud
    journal: jn.Journal
    patience: Patience
    rules: movable.Rules
    clock: Callable[[], float]
    pause: Callable[[float], bool]

    def carry_out(self, move: pl.Move, plan_id: str) -> Outcome:
        """Requests one migration and waits for what becomes of it.

        :raises CloudError: where Cinder cannot be asked at all; nothing was
            requested then
        """
        if self.pause(0):
            return Outcome('stopped', 'told to stop before it was asked for')
        record = self.cinder.volume(move.volume)
        why = _no_longer(record, move) or movable.why_not(
            record, self.rules, self.clock())
        if why is not None:
            LOG.info('Volume %s stays on %s: %s.',
                     move.volume, move.source, why)
            return Outcome('not started', why)
        asked = self.journal.write(
            'request', volume=move.volume, source=move.source,
            target=move.target, plan=plan_id, size_gib=move.size_gib)
        LOG.info('Migrating volume %s, %g GiB, from %s to %s: %s.',
                 move.volume, move.size_gib, move.source, move.target,
                 move.reason)
        try:
            self.cinder.migrate(move.volume, move.target)
        except volumes.Refused as exc:
            self.journal.write('refused', volume=move.volume, reason=str(exc))
            return self._over(asked, Outcome('refused', str(exc)))
        except errors.CloudError as exc:
            LOG.warning('Whether Cinder took up the migration of volume %s '
                        'is not known: %s', move.volume, exc)
            self.journal.write('unknown', volume=move.volume, reason=str(exc))
            return self.wait_for(asked)
        self.journal.write('accepted', volume=move.volume)
        return self.wait_for(asked, sure=True)

    def wait_for(self, asked: jn.Entry, sure: bool = False) -> Outcome:
        """What becomes of a move that was requested, by us or before us.

        :param sure: whether Cinder is known to have taken it up
        """
        began = jn.seconds(asked.at)
        volume = asked.facts['volume']
        limit = began + self.patience.timeout_s + (
            asked.facts['size_gib'] * self.patience.timeout_per_gib_s)
        while True:
            try:
                outcome = self._look(asked, began, sure)
            except errors.CloudError as exc:
                LOG.warning('Cinder cannot be asked about the migration of '
                            'volume %s: %s', volume, exc)
                outcome = None
            if outcome is None and self.clock() > limit:
                outcome = Outcome('timeout', (
                    f'after {self.clock() - began:.0f} s it is not over; '
                    'Cinder may still end it, nothing else is moved before '
                    'that'))
            if outcome is not None:
                return self._over(asked, outcome)
            if self.pause(self.patience.poll_s):
                return Outcome('waiting', 'told to stop before it was over')

    def _look(self, asked: jn.Entry, began: float,
              sure: bool) -> Outcome | None:
        volume, source, target = (
            asked.facts[name] for name in ('volume', 'source', 'target'))
        record = self.cinder.volume(volume)
        if record is None:
            return Outcome('gone', 'the volume was deleted')
        if movable.migrating(record):
            return None
        if record.pool == target:
            return self._succeeded(volume, target)
        error = record.migration_status == 'error'
        if not (error and sure) and (
                self.clock() < began + self.patience.grace_s):
            return None
        if record.pool != source:
            return Outcome('error', f'it lives on {record.pool}')
        if error:
            return Outcome('error', f'Cinder reports an error; the volume '
                           f'is on {source}, {record.status}, as before')
        return Outcome('not started', f'it is still on {source}')

    def _succeeded(self, volume: str, target: str) -> Outcome | None:
        """None while Cinder is still deleting the old copy."""
        left = [half for half in self.cinder.halves(volume)
                if movable.leftover_of(half)]
        if any(half.status != 'error_deleting' for half in left):
            return None
        return Outcome('success', f'it lives on {target}' + ''.join(
            f'; its old copy {half.id} on {half.pool} is {half.status}'
            for half in left))

    def _over(self, asked: jn.Entry, outcome: Outcome) -> Outcome:
        volume = asked.facts['volume']
        took = self.clock() - jn.seconds(asked.at)
        if outcome.failed:
            LOG.error('The migration of volume %s failed after %.0f s (%s): '
                      '%s.', volume, took, outcome.result, outcome.reason)
        else:
            LOG.info('The migration of volume %s ended after %.0f s (%s): '
                     '%s.', volume, took, outcome.result, outcome.reason)
        self.journal.write('outcome', volume=volume, result=outcome.result,
                           reason=outcome.reason,
                           source=asked.facts['source'],
                           target=asked.facts['target'],
                           seconds=round(took, 1))
        if outcome.failed:
            self._back_off(volume)
        return outcome

    def _back_off(self, volume: str) -> None:
        failures = jn.failures_of(self.journal.entries(), volume)
        seconds = min(_DAY_S, self.patience.back_off_s
                      * 2 ** max(0, failures - 1))
        until = movable.stamp(self.clock() + seconds)
        self.journal.write('back-off', volume=volume, until=until)


def _no_longer(record: inv.Record | None, move: pl.Move) -> str | None:
    """Why what was planned is no longer so, or None where it is."""
    if record is None:
        return 'it is no longer there'
    if record.pool != move.source:
        return f'it is on {record.pool} now'
    return None
