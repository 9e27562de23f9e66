# SPDX-License-Identifier: Apache-2.0
"""Has Cinder forgotten a migration, and how is it mended?

Where the source's cinder-volume dies in the copy, the volume says
``migrating`` for ever and a hidden ``target:`` record holds the half-made
copy. Both refuse to be migrated or deleted. The cure resets both and
deletes the copy; it would ruin a copy that still runs, so it is offered
only where none can.
"""

from __future__ import annotations

from collections.abc import Callable
import dataclasses
import datetime

from oslo_log import log

from serifos import activity as act
from serifos import errors
from serifos import inventory as inv
from serifos import journal as jn
from serifos.plan import movable

LOG = log.getLogger(__name__)

QUIET_S = 900.0
"""Without a request for so long, no copy runs."""


@dataclasses.dataclass(frozen=True)
class Verdict:
    """Whether a migration has been forgotten, and why.

    :param halves: its hidden records; where the volume itself is at rest
        they are all that is left of it
    """

    record: inv.Record
    forgotten: bool
    why: str
    halves: tuple[inv.Record, ...] = ()

    @property
    def cure(self) -> str:
        return f'serifos-balancer recover {self.record.id}'

    def sentence(self) -> str:
        if self.forgotten and not movable.migrating(self.record):
            return (f'A half-made copy of volume {self.record.id} was left '
                    f'on {self.halves[0].pool}: {self.why}. Mend it by: '
                    f'{self.cure}')
        if self.forgotten:
            return (f'Cinder has forgotten the migration of volume '
                    f'{self.record.id}: {self.why}. Mend it by: {self.cure}')
        return (f'The migration of volume {self.record.id} may still run, or '
                f'Cinder still clean up after it: {self.why}.')


def verdicts(inventory: inv.Inventory,
             observed: act.Observed) -> list[Verdict]:
    """One of each migration under way, and of each half-made copy left."""
    copied = {record.target_of for record in inventory.records}
    return [judge(record, inventory, observed)
            for record in inventory.records
            if not movable.hidden(record) and (
                movable.migrating(record) or record.id in copied)]


def judge(record: inv.Record, inventory: inv.Inventory,
          observed: act.Observed) -> Verdict:
    """Whether a copy of this volume can still be running.

    It cannot where the services of both ends are up and either the source's
    has started since the migration last changed, or neither logical volume
    has had a request for :data:`QUIET_S`. Of a volume at rest, whose tenant
    may use it, the copy alone has to be quiet: it is what would be written.
    """
    halves = tuple(other for other in inventory.records
                   if other.target_of == record.id)
    both = (record, *halves)
    ends = both if movable.migrating(record) else halves
    for end in both:
        service = inventory.service_of(end.pool) if end.pool else None
        if service is None or not service.up or service.backend_up is False:
            return Verdict(record, False, (
                f'the service of {end.pool} is not up, wait for it'), halves)
    changed = max(map(_changed, ends))
    started = observed.started.get(record.pool or '')
    if started is not None and started > changed:
        return Verdict(record, True, (
            f'its source {record.pool} has started anew since, at '
            f'{movable.stamp(started)}'), halves)
    if observed.at - changed < QUIET_S:
        ago = max(0.0, observed.at - changed)
        return Verdict(record, False, f'it last changed {ago:.0f} s ago',
                       halves)
    for end in ends:
        seen = observed.volumes.get(end.id)
        if seen is None:
            return Verdict(record, False, (
                f'telemetry does not see its logical volume on {end.pool}'),
                halves)
        if seen.quiet_s < QUIET_S:
            return Verdict(record, False, (
                f'its logical volume on {end.pool} is known to be quiet for '
                f'{seen.quiet_s:.0f} s only'), halves)
    return Verdict(record, True, (
        f'no request to its logical volumes for {QUIET_S / 60:.0f} min'),
        halves)


def _changed(record: inv.Record) -> float:
    """When Cinder last wrote a record, seconds of the epoch; 0 for never."""
    said = record.updated_at or record.created_at
    if said is None:
        return 0.0
    at = datetime.datetime.fromisoformat(said)
    return (at if at.tzinfo else at.replace(
        tzinfo=datetime.UTC)).timestamp()


def mend(verdict: Verdict, cinder: inv.Cloud, journal: jn.Journal,
         pause: Callable[[float], bool], poll_s: float,
         timeout_s: float) -> None:
    """Resets the volume, and its half-made copy to delete that.

    :raises InputError: where the migration may still run
    :raises CloudError: where Cinder says no, or does not delete the copy
    """
    record = verdict.record
    if not verdict.forgotten:
        raise errors.InputError(verdict.sentence())
    journal.write('recover', volume=record.id, result='begun',
                  reason=verdict.why, halves=[h.id for h in verdict.halves])
    for half in verdict.halves:
        now = cinder.volume(half.id)
        if now is None:
            continue
        if now.target_of != record.id:
            raise errors.InputError(
                f'{half.id} is no longer the half-made copy of {record.id}; '
                'nothing was deleted. Look at both, and begin anew.')
        cinder.reset(half.id, 'error')
        cinder.delete(half.id)
    cinder.reset(record.id,
                 'available' if record.status == 'maintenance' else None)
    waited = 0.0
    while left := [half.id for half in verdict.halves
                   if cinder.volume(half.id) is not None]:
        if waited > timeout_s or pause(poll_s):
            journal.write('recover', volume=record.id, result='unfinished',
                          reason=f'{left} not deleted')
            raise errors.CloudError(
                f'Volume {record.id} is reset, but Cinder has not deleted '
                f'its half-made copy {left[0]} yet; look at it with: '
                f'openstack volume show {left[0]}')
        waited += poll_s
    journal.write('recover', volume=record.id, result='success', reason='')
    LOG.info('Volume %s is as it was before its migration.', record.id)
