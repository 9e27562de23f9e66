# SPDX-License-Identifier: Apache-2.0
"""Has Cinder forgotten a migration?

Where the source's cinder-volume dies in the copy, the volume says
``migrating`` for ever and a hidden ``target:`` record holds the half-made
copy. Both refuse to be migrated or deleted. Where it dies while it completes
the migration, the volume says ``completing``; where it dies after that,
before it takes up the deletion of the old copy, that says ``deleting``. The
recovery (:mod:`.mend`) resets what hangs and removes the copy; it would ruin a
copy that still runs, so it is offered only where none can.
"""

from __future__ import annotations

from collections.abc import Mapping
from collections.abc import Sequence
import dataclasses

from serifos.balancer import verdict as vd
from serifos.balancer import whereabouts
from serifos.facts import activity as act
from serifos.facts import inventory as inv
from serifos.facts import times
from serifos.plan import eligibility

QUIET_S = 900.0
"""Without a request for so long, no copy runs."""

WATCH_S = 1.5 * QUIET_S
"""What has to be looked at to know that, rather than a window's activity."""

CALL_S = 120.0
"""After which no call from service to service is under way: 60 s is Cinder's
rpc_response_timeout, and what a call finds in the queue lives no longer."""

STILL_S = 30.0
"""For which a copy is quiet at least where its source has started anew."""

AHEAD_S, BEHIND_S = 60.0, 300.0
"""By which a heartbeat may differ: a service that is up had one lately."""

AT_WORK = ('in-use', 'attaching', 'detaching', 'reserved')
"""Statuses of a copy that Nova has in its hands."""


Suspects = Mapping[str, tuple[inv.Record, ...]]
"""Volume → the hidden records of its migration, none perhaps."""


def suspects(inventory: inv.Inventory) -> Suspects:
    """The migrations under way, and those of which a copy was left."""
    halves: dict[str, tuple[inv.Record, ...]] = {}
    for record in inventory.records:
        source = record.target_of or eligibility.leftover_of(record)
        if source is not None:
            halves[source] = (*halves.get(source, ()), record)
    return {record.id: halves.get(record.id, ())
            for record in inventory.records
            if not eligibility.hidden(record) and (
                eligibility.migrating(record) or record.id in halves)}


def verdicts(inventory: inv.Inventory, observed: act.Observed,
             now: float) -> list[vd.Verdict]:
    """One of each suspect; where the data is, is still to be seen.

    :param observed: of :data:`WATCH_S`, of them at least
    :param now: when the inventory was taken, seconds of the epoch
    """
    return [judge(inventory.record_by_id[volume], halves, inventory, observed,
                  now) for volume, halves in suspects(inventory).items()]


def judge(record: inv.Record, halves: tuple[inv.Record, ...],
          inventory: inv.Inventory, observed: act.Observed,
          now: float) -> vd.Verdict:
    """Whether a copy of this volume can still be running.

    It cannot where the services of both ends are up and either the source's
    has started since the migration last changed, or neither logical volume
    has had a request for :data:`QUIET_S`. Where the volume's tenant may use
    it, the copy alone has to be quiet: it is what would be written. A start
    of the source tells nothing of an attached volume, which Nova copies,
    nor of an old copy, which a source that starts goes on to delete. What
    is ``completing`` is copied already: that neither record changes is
    enough.
    """
    why = (_unread(inventory) or _in_hand(halves)
           or _service(record, halves, inventory, now))
    if why is not None:
        return vd.Verdict(record, False, why, halves)
    in_use = bool(record.attachments) or record.status == 'in-use'
    ends = (record, *halves) if eligibility.migrating(record) else halves
    changed = max(map(_changed, ends))
    age_s = min((now, *_heartbeats(ends, inventory))) - changed
    started = observed.started.get(record.pool or '')
    if started is not None and changed < started <= now and not in_use and (
            not any(map(eligibility.leftover_of, halves))):
        calls_s = CALL_S * (record.migration_status == 'completing')
        if age_s >= calls_s and not _busy(halves, observed):
            return vd.Verdict(record, True, (
                f'its source {record.pool} has started anew since, at '
                f'{times.text(started)}'), halves)
    if age_s < QUIET_S:
        return vd.Verdict(record, False, (
            f'it last changed {max(0.0, age_s):.0f} s ago'), halves)
    if record.migration_status == 'completing' and not in_use:
        return vd.Verdict(record, True, (
            f'Cinder was completing it, and has not gone on for '
            f'{QUIET_S / 60:.0f} min'), halves)
    hands = halves if in_use and halves else ends
    why = _not_quiet(hands, observed)
    if why is not None:
        return vd.Verdict(record, False, why, halves)
    return vd.Verdict(record, True, (
        f'no request to its logical volumes for {QUIET_S / 60:.0f} min'),
        halves, unseen=tuple(end for end in hands
                             if end.id not in observed.volumes))


def decide(found: vd.Verdict, held: whereabouts.Held,
           groups: Mapping[str, str], observed: act.Observed) -> vd.Verdict:
    """The verdict on what is forgotten, by where its data is.

    :param held: the logical volumes of the pools of its ends
    """
    if not found.forgotten:
        return found
    for end in found.unseen:
        listed = held.get(end.pool or '')
        if listed is None or whereabouts.lv(end) in listed:
            return dataclasses.replace(found, forgotten=False, why=(
                f'telemetry does not see its logical volume on {end.pool}'))
    where = whereabouts.find(found.record, found.halves, held, groups)
    risk = where.risk or _risk(found.record, held, observed)
    if risk is not None:
        return dataclasses.replace(found, forgotten=False, broken=True,
                                   why=risk)
    return dataclasses.replace(
        found, removals=where.removals, orphans=where.orphans,
        listed=held.get(found.record.pool or '') is not None)


def _unread(inventory: inv.Inventory) -> str | None:
    return next((f'the volume {unread.name} may be its copy, and cannot be '
                 f'read: {unread.why}' for unread in inventory.unread
                 if unread.what == 'volume'), None)


def _in_hand(halves: Sequence[inv.Record]) -> str | None:
    for half in halves:
        if half.attachments or half.status in AT_WORK:
            return (f'its copy {half.id} on {half.pool} is {half.status} '
                    f'with {half.attachments} attachments, so that Nova '
                    'copies to it or an instance uses it')
    return None


def _service(record: inv.Record, halves: Sequence[inv.Record],
             inventory: inv.Inventory, now: float) -> str | None:
    """What keeps the services of its ends from telling us anything.

    A heartbeat bears the time of the service's own host, by which it writes
    the records too: clocks that differ make every age here wrong.
    """
    for end in (record, *halves) if eligibility.migrating(record) else halves:
        service = inventory.service_of(end.pool) if end.pool else None
        if service is None or not service.up or service.backend_up is False:
            return f'the service of {end.pool} is not up, wait for it'
        if service.updated_at is None:
            continue
        ahead_s = service.updated_at - now
        if ahead_s > AHEAD_S or ahead_s < -BEHIND_S:
            return (f'the last heartbeat of {service.host} is of '
                    f'{abs(ahead_s):.0f} s '
                    f'{"after" if ahead_s > 0 else "before"} now by the '
                    'clock here; set the clocks right and wait')
    if _changed(record) > now + AHEAD_S:
        return (f'it was changed {_changed(record) - now:.0f} s after now by '
                'the clock here; set the clocks right and wait')
    return None


def _heartbeats(ends: Sequence[inv.Record],
                inventory: inv.Inventory) -> list[float]:
    """The time by the clocks of the services, as late as is known."""
    services = [inventory.service_of(end.pool or '') for end in ends]
    return [service.updated_at for service in services
            if service is not None and service.updated_at is not None]


def _busy(halves: Sequence[inv.Record], observed: act.Observed) -> bool:
    """Whether a copy had requests a moment ago, whatever a clock says."""
    return any(seen.quiet_s < min(STILL_S, seen.seconds)
               for half in halves
               if (seen := observed.volumes.get(half.id)) is not None)


def _not_quiet(ends: Sequence[inv.Record],
               observed: act.Observed) -> str | None:
    for end in ends:
        seen = observed.volumes.get(end.id)
        if seen is not None and seen.quiet_s < QUIET_S:
            return (f'its logical volume on {end.pool} is known to be quiet '
                    f'for {seen.quiet_s:.0f} s only, {QUIET_S:.0f} s are '
                    'needed')
    return None


def _risk(record: inv.Record, held: whereabouts.Held,
          observed: act.Observed) -> str | None:
    """Why a recovery could cost the volume its data, or None."""
    if record.migration_status != 'completing':
        return None
    if record.attachments or record.status != 'maintenance':
        return (f'it is {record.status} and may have been in use on either '
                'host; nothing here mends that, look for the data on both')
    if held.get(record.pool or '') is None and (
            record.id not in observed.volumes):
        return (f'telemetry does not see {whereabouts.lv(record)} on '
                f'{record.pool}, and Cinder, which was renaming it, does not '
                'list what is there; look for the data on both hosts')
    return None


def _changed(record: inv.Record) -> float:
    """When Cinder last wrote a record, seconds of the epoch; 0 for never."""
    return record.updated_at or record.created_at or 0.0
