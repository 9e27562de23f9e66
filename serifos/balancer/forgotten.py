# SPDX-License-Identifier: Apache-2.0
"""Has Cinder forgotten a migration, and how is it mended?

Where the source's cinder-volume dies in the copy, the volume says
``migrating`` for ever and a hidden ``target:`` record holds the half-made
copy. Both refuse to be migrated or deleted. Where it dies after the copy,
before it takes up the deletion of the old one, that says ``deleting`` for
ever. The cure resets what hangs and deletes the copy; it would ruin a copy
that still runs, so it is offered only where none can.
"""

from __future__ import annotations

from collections.abc import Callable
from collections.abc import Mapping
from collections.abc import Sequence
import dataclasses

from oslo_log import log

from serifos import activity as act
from serifos.balancer import requests
from serifos import errors
from serifos import inventory as inv
from serifos import journal as jn
from serifos.plan import movable

LOG = log.getLogger(__name__)

QUIET_S = 900.0
"""Without a request for so long, no copy runs."""

WATCH_S = 1.5 * QUIET_S
"""What has to be looked at to know that, rather than a window's activity."""

_AT_WORK = ('in-use', 'attaching', 'detaching', 'reserved')
"""Statuses of a copy that Nova has in its hands."""


@dataclasses.dataclass(frozen=True)
class Verdict:
    """Whether a migration has been forgotten, and why.

    :param halves: its hidden records; where the volume itself is at rest
        they are all that is left of it
    :param broken: Cinder has forgotten it in a state that no cure of ours
        is safe in; ``why`` says what to look at
    """

    record: inv.Record
    forgotten: bool
    why: str
    halves: tuple[inv.Record, ...] = ()
    broken: bool = False

    @property
    def over(self) -> bool:
        """Whether Cinder does nothing for it any more."""
        return self.forgotten or self.broken

    @property
    def cure(self) -> str:
        return f'serifos-balancer recover {self.record.id}'

    def sentence(self) -> str:
        if self.broken:
            return (f'The migration of volume {self.record.id} broke off '
                    f'while Cinder completed it: {self.why}.')
        if not self.forgotten:
            return (f'The migration of volume {self.record.id} may still '
                    'run, or Cinder still clean up after it: '
                    f'{self.why}.')
        if movable.migrating(self.record):
            return (f'Cinder has forgotten the migration of volume '
                    f'{self.record.id}: {self.why}. Mend it by: {self.cure}')
        half = self.halves[0]
        return (f'{_words(half)} of volume {self.record.id} was left on '
                f'{half.pool}: {self.why}. Mend it by: {self.cure}')

    def plan(self) -> list[str]:
        """What the cure does, a sentence each."""
        return [*(f'{_words(half)}, {half.id} on {half.pool}, will be '
                  'deleted.' for half in self.halves),
                f'The volume stays on {self.record.pool}, with its data.']


Suspects = Mapping[str, tuple[inv.Record, ...]]
"""Volume → the hidden records of its migration, none perhaps."""


def suspects(inventory: inv.Inventory) -> Suspects:
    """The migrations under way, and those of which a copy was left."""
    halves: dict[str, tuple[inv.Record, ...]] = {}
    for record in inventory.records:
        source = record.target_of or movable.leftover_of(record)
        if source is not None:
            halves[source] = (*halves.get(source, ()), record)
    return {record.id: halves.get(record.id, ())
            for record in inventory.records
            if not movable.hidden(record) and (
                movable.migrating(record) or record.id in halves)}


def verdicts(inventory: inv.Inventory,
             observed: act.Observed) -> list[Verdict]:
    """One of each suspect.

    :param observed: of :data:`WATCH_S`, of them at least
    """
    return [judge(inventory.record_by_id[volume], halves, inventory, observed)
            for volume, halves in suspects(inventory).items()]


def judge(record: inv.Record, halves: tuple[inv.Record, ...],
          inventory: inv.Inventory, observed: act.Observed) -> Verdict:
    """Whether a migration is forgotten, and may be mended."""
    found = _judge(record, halves, inventory, observed)
    risk = _risk(record, halves, observed) if found.forgotten else None
    return found if risk is None else Verdict(
        record, False, risk, halves, broken=True)


def _judge(record: inv.Record, halves: tuple[inv.Record, ...],
           inventory: inv.Inventory, observed: act.Observed) -> Verdict:
    """Whether a copy of this volume can still be running.

    It cannot where the services of both ends are up and either the source's
    has started since the migration last changed, or neither logical volume
    has had a request for :data:`QUIET_S`. Where the volume's tenant may use
    it, the copy alone has to be quiet: it is what would be written. A start
    of the source tells nothing of an attached volume, which Nova copies,
    nor of an old copy, which a source that starts goes on to delete.
    """
    for unread in inventory.unread:
        if unread.what == 'volume':
            return Verdict(record, False, (
                f'the volume {unread.name} may be its copy, and cannot be '
                f'read: {unread.why}'), halves)
    for half in halves:
        if half.attachments or half.status in _AT_WORK:
            return Verdict(record, False, (
                f'its copy {half.id} on {half.pool} is {half.status} with '
                f'{half.attachments} attachments, so that Nova copies to it '
                'or an instance uses it'), halves)
    in_use = bool(record.attachments) or record.status == 'in-use'
    ends = (record, *halves) if movable.migrating(record) else halves
    for end in ends:
        service = inventory.service_of(end.pool) if end.pool else None
        if service is None or not service.up or service.backend_up is False:
            return Verdict(record, False, (
                f'the service of {end.pool} is not up, wait for it'), halves)
    changed = max(map(_changed, ends))
    started = observed.started.get(record.pool or '')
    if started is not None and started > changed and not in_use and (
            not any(map(movable.leftover_of, halves))):
        return Verdict(record, True, (
            f'its source {record.pool} has started anew since, at '
            f'{movable.stamp(started)}'), halves)
    if observed.at - changed < QUIET_S:
        ago = max(0.0, observed.at - changed)
        return Verdict(record, False, f'it last changed {ago:.0f} s ago',
                       halves)
    for end in halves if in_use and halves else ends:
        seen = observed.volumes.get(end.id)
        if seen is None:
            return Verdict(record, False, (
                f'telemetry does not see its logical volume on {end.pool}'),
                halves)
        if seen.quiet_s < QUIET_S:
            return Verdict(record, False, (
                f'its logical volume on {end.pool} is known to be quiet for '
                f'{seen.quiet_s:.0f} s only, {QUIET_S:.0f} s are needed'),
                halves)
    return Verdict(record, True, (
        f'no request to its logical volumes for {QUIET_S / 60:.0f} min'),
        halves)


def _risk(record: inv.Record, halves: Sequence[inv.Record],
          observed: act.Observed) -> str | None:
    """Why the cure could cost the volume its data, None where it cannot.

    While Cinder completes a migration it renames logical volumes and swaps
    records in several steps; where it dies between two of them, a copy may
    bear the name of the volume's own data, or the volume no name that is
    there.
    """
    for half in halves:
        if half.lv_id == record.lv_id and (
                half.target_of or half.pool == record.pool):
            return (f'its copy {half.id} on {half.pool} and the volume name '
                    f'the same logical volume, volume-{half.lv_id}, so that '
                    'deleting the copy could delete the data; nothing here '
                    'mends that, look for the data on both hosts')
    if record.migration_status != 'completing':
        return None
    if record.attachments or record.status != 'maintenance':
        return (f'it is {record.status} and may have been in use on either '
                'host; nothing here mends that, look for the data on both')
    if record.id not in observed.volumes:
        return (f'telemetry does not see volume-{record.lv_id} on '
                f'{record.pool}, and Cinder was renaming it; nothing here '
                'mends that, look for the data on both hosts')
    return None


def _status_at_rest(record: inv.Record) -> str | None:
    """What to set the status to, None where it is right."""
    if record.status not in ('maintenance', 'retyping'):
        return None
    return 'in-use' if record.attachments else 'available'


def _words(half: inv.Record) -> str:
    return 'The half-made copy' if half.target_of else 'The old copy'


def _changed(record: inv.Record) -> float:
    """When Cinder last wrote a record, seconds of the epoch; 0 for never."""
    return record.updated_at or record.created_at or 0.0


def mend(verdict: Verdict, asks: requests.Requests, journal: jn.Journal,
         pause: Callable[[float], bool], poll_s: float,
         timeout_s: float) -> None:
    """Resets the volume where it hangs, and its copy to delete that.

    :raises InputError: where the migration may still run
    :raises CloudError: where Cinder says no, or does not delete the copy
    """
    record, cinder = verdict.record, asks.cinder
    if not verdict.forgotten:
        raise errors.InputError(verdict.sentence())
    journal.write('recover', volume=record.id, result='begun',
                  reason=verdict.why, halves=[h.id for h in verdict.halves])
    for half in verdict.halves:
        now = cinder.volume(half.id)
        if now is None:
            continue
        if record.id not in (now.target_of, movable.leftover_of(now)) or (
                now.attachments or now.status in _AT_WORK):
            raise errors.InputError(
                f'{half.id} is no longer an idle copy of {record.id}; it was '
                'not deleted. Look at both, and begin anew.')
        asks.reset(half.id, 'error')
        asks.delete(half.id)
    if movable.migrating(record):
        asks.reset(record.id, _status_at_rest(record))
    waited = 0.0
    while left := [half.id for half in verdict.halves
                   if cinder.volume(half.id) is not None]:
        if waited > timeout_s or pause(poll_s):
            journal.write('recover', volume=record.id, result='unfinished',
                          reason=f'{left} not deleted')
            raise errors.CloudError(
                f'Volume {record.id} is at rest, but Cinder has not deleted '
                f'its copy {left[0]} yet; look at it with: '
                f'openstack volume show {left[0]}')
        waited += poll_s
    journal.write('recover', volume=record.id, result='success', reason='')
    LOG.info('Volume %s is at rest on %s, and no copy of it is left.',
             record.id, record.pool)
