# SPDX-License-Identifier: Apache-2.0
"""Diagnose the migrations under way, and copies left behind.

If the source's cinder-volume dies during the copy, the volume stays
``migrating`` and a hidden ``target:`` record holds the unfinished copy. Cinder
refuses to migrate or delete either. If it dies while it completes the
migration, the volume stays ``completing``; if after that, before it deletes
the old copy, that stays ``deleting``. The recovery (:mod:`.recover`) resets
the volume and removes the copy; it would ruin a copy that is still being
written, so it is offered only where none can be. Of volumes in use, which
Nova copies, Cinder and Nova are asked, and :mod:`.swap` decides.
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
import functools

from serifos.balancer import join
from serifos.balancer.outcome import Timeouts
from serifos.balancer.recovery import copies
from serifos.balancer.recovery.diagnosis import CALL_S
from serifos.balancer.recovery.diagnosis import Diagnosis
from serifos.balancer.recovery.diagnosis import QUIET_S
from serifos.balancer.recovery.diagnosis import SKEW_S
from serifos.balancer.recovery.diagnosis import STILL_S
from serifos.balancer.recovery.diagnosis import Swap
from serifos.balancer.recovery.diagnosis import SWAP
from serifos.balancer.recovery import recover
from serifos.balancer.recovery.swap import AT_WORK
from serifos.balancer.recovery.swap import confirm_copy
from serifos.balancer.recovery.swap import diagnose_swap
from serifos.balancer.recovery.swap import LOOK_S
from serifos.balancer.recovery.swap import names_old_copy
from serifos.balancer.recovery.swap import prove
from serifos import errors
from serifos.facts import activity
from serifos.facts.activity import Telemetry
from serifos.facts.inventory import Cloud
from serifos.facts.inventory import Inventory
from serifos.facts.inventory import Record
from serifos.facts import journal
from serifos.facts.journal import Entry
from serifos.facts.journal import Journal
from serifos.facts import phrases
from serifos.facts.servers import Compute
from serifos.facts import times
from serifos.plan import eligibility

_MOST_ASKED = 50
"""Backends whose logical volumes are listed for one volume, at most."""

_OURS_S = 300.0
"""By which the clocks of Nova and ours may differ."""

_NOTE_S = 240.0
"""Between two entries of one nova-compute that is down, at least."""

WATCH_S = 1.5 * QUIET_S
"""The window of activity that is needed to know what is quiet."""

AHEAD_S, BEHIND_S = 60.0, 300.0
"""By which the last heartbeat of a service that is up may differ from now."""

Suspects = Mapping[str, tuple[Record, ...]]
"""Volume → the hidden records of its migration, possibly none."""


@dataclasses.dataclass(frozen=True)
class Diagnoser:
    """Diagnoses by Cinder, Nova, the journal and activity.

    :param window_s: the window of an observation
    """

    cinder: Cloud
    telemetry: Telemetry
    journal: Journal
    nova: Compute
    window_s: float
    timeouts: Timeouts

    def diagnoses(self, inventory: Inventory,
                  watched: activity.Observed,
                  now: float) -> Iterator[Diagnosis]:
        """The diagnosis of each migration under way, and copy left behind."""
        entries = journal.corrected(self.journal.entries(), now)
        swaps = swaps_of(self.cinder, self.nova, inventory, entries)
        note(swaps.values(), self.journal, now)
        for diagnosis in unconfirmed(
                inventory, watched, now, swaps,
                unasked(self.nova, inventory, entries),
                self.timeouts.limit_s):
            yield self._confirmed(diagnosis, inventory, watched)

    def _confirmed(self, diagnosis: Diagnosis, inventory: Inventory,
                   watched: activity.Observed) -> Diagnosis:
        """One that counts as forgotten, by the logical volumes there are."""
        if not diagnosis.forgotten:
            return diagnosis
        groups = copies.volume_groups(inventory)
        pools = self._pools(diagnosis, groups) & {*groups}
        try:
            names = {pool: self.cinder.logical_volumes(pool)
                     for pool in sorted(pools)}
        except errors.CloudError as exc:
            return dataclasses.replace(diagnosis, forgotten=False, why=(
                'Cinder does not list the logical volumes of '
                f'{" and ".join(sorted(pools))}: {exc}'.rstrip('.')))
        return recover.remembered(
            confirm(diagnosis, names, groups, watched),
            self.journal.entries())

    def _pools(self, diagnosis: Diagnosis,
               groups: Collection[str]) -> set[str]:
        """The pools that may have its logical volumes.

        Where it is on its target already its old one may be on any other,
        unless the journal has the request.
        """
        asked = [entry.facts['source'] for entry in self.journal.entries()
                 if entry.kind == 'request'
                 and entry.facts['volume'] == diagnosis.record.id]
        if not asked and len(groups) <= _MOST_ASKED and any(
                half.target_of and half.pool == diagnosis.record.pool
                for half in diagnosis.halves):
            return {*groups}
        return {*asked[-1:], *(end.pool for end in diagnosis.ends if end.pool)}

    def watch(self, inventory: Inventory,
              observed: activity.Observed) -> activity.Observed:
        """Activity over a window long enough for the diagnoses."""
        found = suspects(inventory)
        if not found:
            return observed
        ends = {*found, *(half.id for halves in found.values()
                          for half in halves)}
        return self.telemetry.observe(
            [place for place in join.places(inventory)
             if place.volume in ends],
            max(self.window_s, WATCH_S))

    def proven(self, found: Diagnosis, inventory: Inventory,
               disk: str | None, keep: bool) -> Diagnosis:
        """One that is stuck, by what was found on the compute host."""
        ends = {end.id for end in found.ends}
        recent = self.telemetry.observe(
            [place for place in join.places(inventory)
             if place.volume in ends], LOOK_S)
        return self._confirmed(prove(found, recent, disk, keep),
                               inventory, recent)


def swaps_of(cinder: Cloud, nova: Compute, inventory: Inventory,
             entries: Sequence[Entry]) -> dict[str, Swap]:
    """Of each volume with a copy that Nova works on, by the volume's id.

    :param entries: the journal's, which name the recoveries that were begun
    """
    found = {}
    for volume, halves in suspects(inventory).items():
        copy = next((half for half in halves if half.target_of == volume
                     and half.status in AT_WORK), None)
        if copy is None:
            continue
        try:
            swap = _ask(cinder, nova, inventory.record_by_id[volume], copy)
        except errors.CloudError as exc:
            swap = Swap(copy, problem=str(exc).rstrip('.'))
        found[volume] = dataclasses.replace(
            recover.resumed(swap, volume, entries),
            down_at=_down_at(swap, entries))
    return found


def unasked(nova: Compute, inventory: Inventory,
            entries: Sequence[Entry]) -> frozenset[str]:
    """Volumes in use whose copy is made, and which Nova was not asked for.

    By what their servers' actions in Nova are since this balancer asked for
    the migration; of what others asked for that is not known.
    """
    asked = {entry.facts['volume']: times.parse(entry.at)
             for entry in entries if entry.kind == 'request'}
    return frozenset(
        volume for volume, halves in suspects(inventory).items()
        if volume in asked and any(
            half.target_of == volume and half.status == 'available'
            for half in halves)
        and _was_not_asked(nova, inventory.record_by_id[volume],
                           asked[volume]))


def note(swaps: Iterable[Swap], journal: Journal, now: float) -> None:
    """Writes down which nova-compute is down, at most every few minutes."""
    for each in swaps:
        if each.waits and now - each.down_at > _NOTE_S:
            assert each.service is not None
            with contextlib.suppress(errors.SerifosError):
                journal.write('compute', host=each.service.host)


def _down_at(swap: Swap, entries: Iterable[Entry]) -> float:
    return max((times.parse(entry.at) for entry in entries
                if entry.kind == 'compute' and swap.service is not None
                and entry.facts['host'] == swap.service.host), default=0.0)


def _ask(cinder: Cloud, nova: Compute, record: Record,
         copy: Record) -> Swap:
    swap = Swap(copy, cinder.attachments_of(record.id),
                cinder.attachments_of(copy.id))
    server_id = swap.server_id
    if server_id is None:
        return swap
    servers = nova.server(server_id)
    if servers.absent is not None:
        return dataclasses.replace(swap, problem=(
            f'there is no Nova to ask: {servers.absent}'))
    # The volume is changed when its migration begins, and by its tenant at
    # any time; the created_at of a copy is that of its volume.
    doings = nova.doings(server_id, record.id, min(
        each.updated_at or 0.0 for each in (record, copy)) - SKEW_S)
    server = servers.by_id.get(server_id)
    return dataclasses.replace(
        swap, server=server, doings=doings, problem=servers.problem,
        service=servers.services.get((server.host if server else None) or ''))


def _was_not_asked(nova: Compute, record: Record,
                   since: float) -> bool:
    """Whether no server of it had such an action, and all have it still."""
    doings = [nova.doings(server, record.id, since - _OURS_S)
              for server in record.attachments]
    return bool(doings) and all(
        each.problem is None and each.attachment_id is not None
        and not any(action.name == SWAP for action in each.actions)
        for each in doings)


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


def unconfirmed(inventory: Inventory, observed: activity.Observed,
                now: float, swaps: Mapping[str, Swap],
                unasked: Collection[str],
                limit_s: Callable[[float], float]) -> list[Diagnosis]:
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
             now: float, swap: Swap | None, unasked: bool,
             limit_s: Callable[[float], float]) -> Diagnosis:
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
    answer = functools.partial(Diagnosis, record, halves=halves,
                               swap=swap)
    ends = (record, *halves) if eligibility.migrating(record) else halves
    # A tenant may rename a volume, or change its metadata, as Nova copies it.
    changed = _changed(swap.copy) if swap is not None and (
        record.migration_status != 'completing') else max(map(_changed, ends))
    why = _unread(inventory) or (_in_use(halves) if swap is None else None)
    if why is not None:
        names = names_old_copy(record, halves, now - max(map(
            _changed, (record, *halves))))
        return answer(False, names or why, broken=names is not None)
    down = _down(ends, inventory)
    if down is not None:
        overdue = now - changed >= limit_s(record.size_gib)
        return answer(False, f'the cinder-volume of {down} is not up; ' + (
            'start it: nothing can be recovered before' if overdue else
            'wait until it is'), stuck=overdue)
    why = _clocks(ends, inventory, _changed(record), now)
    if why is not None:
        return answer(False, why)
    in_use = bool(record.attachments) or record.status == 'in-use'
    age_s = min((now, *_heartbeats(ends, inventory))) - changed
    if swap is not None:
        return diagnose_swap(
            answer(False, ''), observed, age_s, limit_s(record.size_gib))
    started = observed.started.get(record.pool or '')
    if started is not None and changed < started <= now and not in_use and (
            not any(map(eligibility.leftover_of, halves))):
        calls_s = CALL_S * (record.migration_status == 'completing')
        if age_s >= calls_s and not _busy(halves, observed):
            return answer(True, f'its source {record.pool} was restarted '
                          f'since, at {times.text(started)}')
    doubt = observed.doubts.get(record.pool or '')
    unsure = '' if doubt is None or in_use else (
        f'; it is not known whether the host of {record.pool} was rebooted '
        f'since: {doubt}')
    if age_s < QUIET_S:
        return answer(
            False, f'it last changed {max(0.0, age_s):.0f} s ago{unsure}')
    if record.migration_status == 'completing' and not in_use:
        return answer(True, 'Cinder was completing it, and has not gone on '
                      f'for {QUIET_S / 60:.0f} min')
    watched = halves if in_use and halves else ends
    why = _not_quiet(watched, observed)
    if why is not None:
        return answer(False, f'{why}{unsure}')
    return answer(
        True, 'no request to its logical volumes for '
        f'{QUIET_S / 60:.0f} min', unseen=tuple(
            end for end in watched if end.id not in observed.volumes),
        # Nova may have had it, and have failed in the end.
        keep=bool(record.attachments) and not unasked and any(
            half.target_of and half.status == 'available' for half in halves))


def confirm(found: Diagnosis, held: copies.LogicalVolumes,
            groups: Mapping[str, str], observed: activity.Observed
            ) -> Diagnosis:
    """The diagnosis, confirmed by the logical volumes that exist.

    :param held: those of the pools of its records
    """
    if not found.forgotten:
        return found
    if found.complete:
        return confirm_copy(found, held)
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
        if half.attachments or half.status in AT_WORK:
            attached = phrases.count(len(half.attachments), 'attachment')
            return (f'its copy {half.id} on {half.pool} is {half.status} '
                    f'with {attached}: Nova copies to it, or a server uses '
                    'it')
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
    """The difference of clocks that makes ages here wrong, or None.

    A heartbeat has the time of the service's own host, whose clock also
    dates the records: clocks that differ make every age here wrong.
    """
    for end in ends:
        service = inventory.service_of(end.pool or '')
        if service is None or service.updated_at is None:
            continue
        ahead_s = service.updated_at - now
        if ahead_s > AHEAD_S or ahead_s < -BEHIND_S:
            return (f'by its last heartbeat the clock of {service.host} is '
                    f'{abs(ahead_s):.0f} s '
                    f'{"ahead of" if ahead_s > 0 else "behind"} the clock '
                    'here; synchronize the clocks, and wait')
    if changed > now + AHEAD_S:
        return (f'by the clock here it was changed {changed - now:.0f} s in '
                'the future; synchronize the clocks, and wait')
    return None


def _heartbeats(ends: Sequence[Record],
                inventory: Inventory) -> list[float]:
    """The last heartbeats of these records' services, by their clocks."""
    services = [inventory.service_of(end.pool or '') for end in ends]
    return [service.updated_at for service in services
            if service is not None and service.updated_at is not None]


def _busy(halves: Sequence[Record], observed: activity.Observed) -> bool:
    """Whether a copy had requests within :data:`.diagnosis.STILL_S`."""
    return any(seen.quiet_s < min(STILL_S, seen.seconds)
               for half in halves
               if (seen := observed.volumes.get(half.id)) is not None)


def _not_quiet(ends: Sequence[Record],
               observed: activity.Observed) -> str | None:
    for end in ends:
        seen = observed.volumes.get(end.id)
        if seen is not None and seen.quiet_s < QUIET_S:
            return (f'its logical volume on {end.pool} is known to be quiet '
                    f'for {seen.quiet_s:.0f} s; {QUIET_S:.0f} s are needed')
    return None


def _risk(record: Record, held: copies.LogicalVolumes,
          observed: activity.Observed) -> str | None:
    """The reason a recovery could cost the volume its data, or None."""
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
