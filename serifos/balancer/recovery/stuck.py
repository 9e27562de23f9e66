# SPDX-License-Identifier: Apache-2.0
"""Find migrations that are stuck or that Cinder has forgotten.

If the source's cinder-volume dies during the copy, the volume stays
``migrating`` and a hidden ``target:`` record holds the unfinished copy. Cinder
refuses to migrate or delete either. If it dies while it completes the
migration, the volume stays ``completing``; if after that, before it deletes
the old copy, that stays ``deleting``. The recovery (:mod:`.recover`) resets
the volume and removes the copy; it would ruin a copy that is still being
written, so it is offered only where none can be. Volumes in use, which Nova
copies, are decided on in :mod:`.swap`.
"""

from __future__ import annotations

from collections.abc import Callable
from collections.abc import Collection
from collections.abc import Mapping
from collections.abc import Sequence
import dataclasses
import functools

from serifos.balancer.recovery import completion
from serifos.balancer.recovery import copies
from serifos.balancer.recovery import diagnosis
from serifos.balancer.recovery import swap as swaps
from serifos.facts import activity
from serifos.facts.inventory import Inventory
from serifos.facts.inventory import Record
from serifos.facts import times
from serifos.plan import eligibility

WATCH_S = 1.5 * diagnosis.QUIET_S
"""The window of activity that is needed to know what is quiet."""

AHEAD_S, BEHIND_S = 60.0, 300.0
"""By which the last heartbeat of a service that is up may differ from now."""

Suspects = Mapping[str, tuple[Record, ...]]
"""Volume → the hidden records of its migration, possibly none."""


def suspects(inventory: Inventory) -> Suspects:
    """The migrations under way, and those that left a copy."""
    halves: dict[str, tuple[Record, ...]] = {}
    for record in inventory.records:
        source = record.target_of or eligibility.leftover_of(record)
        if source is not None:
            halves[source] = (*halves.get(source, ()), record)
    return {record.id: halves.get(record.id, ())
            for record in inventory.records
            if not eligibility.hidden(record) and (
                eligibility.migrating(record) or record.id in halves)}


def diagnoses(inventory: Inventory, observed: activity.Observed,
              now: float, swaps: Mapping[str, diagnosis.Swap],
              unasked: Collection[str],
              limit_s: Callable[[float], float]) -> list[diagnosis.Diagnosis]:
    """One for each suspect, still to be confirmed by :func:`confirm`.

    :param observed: over at least :data:`WATCH_S`
    :param now: when the inventory was taken, seconds of the epoch
    :param swaps: volume → what is known of its copy by Nova
    :param unasked: volumes in use of which Nova has not begun a copy
    :param limit_s: what a migration of so many GiB may take
    """
    return [diagnose(inventory.record_by_id[volume], halves, inventory,
                     observed, now, swaps.get(volume), volume in unasked,
                     limit_s)
            for volume, halves in suspects(inventory).items()]


def diagnose(record: Record, halves: tuple[Record, ...],
             inventory: Inventory, observed: activity.Observed,
             now: float, swap: diagnosis.Swap | None, unasked: bool,
             limit_s: Callable[[float], float]) -> diagnosis.Diagnosis:
    """Whether this migration can still be running.

    It cannot where the services of both ends are up and either the source's
    was restarted since the migration last changed, or neither logical volume
    has had a request for :data:`.diagnosis.QUIET_S`. Where the volume is in
    use only the copy has to be quiet, since it would be written. A restart of
    the source proves nothing for an attached volume, which Nova copies, nor
    for an old copy, which a source that starts goes on deleting. A volume
    that is ``completing`` is copied already: it is enough that neither record
    changes.
    """
    answer = functools.partial(diagnosis.Diagnosis, record, halves=halves,
                               swap=swap)
    ends = (record, *halves) if eligibility.migrating(record) else halves
    # A tenant may rename a volume, or change its metadata, as Nova copies it.
    changed = _changed(swap.copy) if swap is not None and (
        record.migration_status != 'completing') else max(map(_changed, ends))
    why = _unread(inventory) or (_in_use(halves) if swap is None else None)
    if why is not None:
        names = completion.names_old_copy(record, halves, now - max(map(
            _changed, (record, *halves))))
        return answer(False, names or why, broken=names is not None)
    down = _down(ends, inventory)
    if down is not None:
        overdue = now - changed >= limit_s(record.size_gib)
        return answer(False, f'the service of {down} is not up, ' + (
            'start it: nothing can be recovered before' if overdue else
            'wait for it'), stuck=overdue)
    why = _clocks(ends, inventory, _changed(record), now)
    if why is not None:
        return answer(False, why)
    in_use = bool(record.attachments) or record.status == 'in-use'
    age_s = min((now, *_heartbeats(ends, inventory))) - changed
    if swap is not None:
        return swaps.diagnose(
            answer(False, ''), observed, age_s, limit_s(record.size_gib))
    started = observed.started.get(record.pool or '')
    if started is not None and changed < started <= now and not in_use and (
            not any(map(eligibility.leftover_of, halves))):
        calls_s = diagnosis.CALL_S * (record.migration_status == 'completing')
        if age_s >= calls_s and not _busy(halves, observed):
            return answer(True, f'its source {record.pool} was restarted '
                          f'since, at {times.text(started)}')
    if age_s < diagnosis.QUIET_S:
        return answer(False, f'it last changed {max(0.0, age_s):.0f} s ago')
    if record.migration_status == 'completing' and not in_use:
        return answer(True, 'Cinder was completing it, and has not gone on '
                      f'for {diagnosis.QUIET_S / 60:.0f} min')
    watched = halves if in_use and halves else ends
    why = _not_quiet(watched, observed)
    if why is not None:
        return answer(False, why)
    return answer(
        True, 'no request to its logical volumes for '
        f'{diagnosis.QUIET_S / 60:.0f} min', unseen=tuple(
            end for end in watched if end.id not in observed.volumes),
        # Nova may have had it, and have failed in the end.
        keep=bool(record.attachments) and not unasked and any(
            half.target_of and half.status == 'available' for half in halves))


def confirm(found: diagnosis.Diagnosis, held: copies.LogicalVolumes,
            groups: Mapping[str, str], observed: activity.Observed
            ) -> diagnosis.Diagnosis:
    """The diagnosis, confirmed by the logical volumes that exist.

    :param held: those of the pools of its records
    """
    if not found.forgotten:
        return found
    if found.complete:
        return completion.confirm(found, held)
    for end in found.unseen:
        listed = held.get(end.pool or '')
        if listed is None or copies.lv_name(end) in listed:
            return dataclasses.replace(found, forgotten=False, why=(
                f'telemetry does not see its logical volume on {end.pool}'))
    left = copies.find(found.record, found.halves, held, groups)
    risk = left.risk or _risk(found.record, held, observed)
    if risk is not None:
        return dataclasses.replace(found, forgotten=False, broken=True,
                                   why=risk)
    return dataclasses.replace(
        found, removals=left.removals, orphans=left.orphans,
        listed=held.get(found.record.pool or '') is not None)


def _unread(inventory: Inventory) -> str | None:
    return next((f'the volume {unread.name} may be its copy, and cannot be '
                 f'read: {unread.why}' for unread in inventory.unread
                 if unread.what == 'volume'), None)


def _in_use(halves: Sequence[Record]) -> str | None:
    for half in halves:
        if half.attachments or half.status in swaps.AT_WORK:
            return (f'its copy {half.id} on {half.pool} is {half.status} '
                    f'with {len(half.attachments)} attachments, so that Nova '
                    'copies to it or an instance uses it')
    return None


def _down(ends: Sequence[Record], inventory: Inventory) -> str | None:
    """A pool of these records whose service is not up, or None."""
    for end in ends:
        service = inventory.service_of(end.pool) if end.pool else None
        if service is None or not service.up or service.backend_up is False:
            return str(end.pool)
    return None


def _clocks(ends: Sequence[Record], inventory: Inventory,
            changed: float, now: float) -> str | None:
    """Why the clocks of these records' services prove nothing, or None.

    A heartbeat has the time of the service's own host, whose clock also
    dates the records: clocks that differ make every age here wrong.
    """
    for end in ends:
        service = inventory.service_of(end.pool or '')
        if service is None or service.updated_at is None:
            continue
        ahead_s = service.updated_at - now
        if ahead_s > AHEAD_S or ahead_s < -BEHIND_S:
            return (f'the last heartbeat of {service.host} is of '
                    f'{abs(ahead_s):.0f} s '
                    f'{"after" if ahead_s > 0 else "before"} now by the '
                    'clock here; set the clocks right and wait')
    if changed > now + AHEAD_S:
        return (f'it was changed {changed - now:.0f} s after now by '
                'the clock here; set the clocks right and wait')
    return None


def _heartbeats(ends: Sequence[Record],
                inventory: Inventory) -> list[float]:
    """The last heartbeats of these records' services, by their clocks."""
    services = [inventory.service_of(end.pool or '') for end in ends]
    return [service.updated_at for service in services
            if service is not None and service.updated_at is not None]


def _busy(halves: Sequence[Record], observed: activity.Observed) -> bool:
    """Whether a copy had requests within :data:`.diagnosis.STILL_S`."""
    return any(seen.quiet_s < min(diagnosis.STILL_S, seen.seconds)
               for half in halves
               if (seen := observed.volumes.get(half.id)) is not None)


def _not_quiet(ends: Sequence[Record],
               observed: activity.Observed) -> str | None:
    for end in ends:
        seen = observed.volumes.get(end.id)
        if seen is not None and seen.quiet_s < diagnosis.QUIET_S:
            return (f'its logical volume on {end.pool} is known to be quiet '
                    f'for {seen.quiet_s:.0f} s only, '
                    f'{diagnosis.QUIET_S:.0f} s are needed')
    return None


def _risk(record: Record, held: copies.LogicalVolumes,
          observed: activity.Observed) -> str | None:
    """Why a recovery could cost the volume its data, or None."""
    if record.migration_status != 'completing':
        return None
    if record.attachments or record.status != 'maintenance':
        return (f'it is {record.status} and may have been in use on either '
                'host; it cannot be recovered here, look for the data on both')
    if held.get(record.pool or '') is None and (
            record.id not in observed.volumes):
        return (f'telemetry does not see {copies.lv_name(record)} on '
                f'{record.pool}, and Cinder, which was renaming it, does not '
                'list what is there; look for the data on both hosts')
    return None


def _changed(record: Record) -> float:
    """When Cinder last wrote a record, seconds of the epoch; 0 for never."""
    return record.updated_at or record.created_at or 0.0
