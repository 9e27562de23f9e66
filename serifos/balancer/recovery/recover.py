# SPDX-License-Identifier: Apache-2.0
"""The recovery of a volume whose migration Cinder has forgotten.

The volume's status is reset, and the copy removed: with its logical volume
where that is its own, else only its record. The volume keeps the logical
volume that its record names, and nothing is removed unless that exists.

Cinder deletes a copy only after its migration status was reset, which says
whose copy it is. A recovery that stops between the two leaves a record that
looks like any volume and may name the logical volume of somebody's data: the
journal's entry of the recovery identifies it. That is written once nothing
refuses, and before the first request: a later recovery takes the copy of one
that was begun for its own.

Of a volume in use Nova made an attachment of the copy, which goes first. A
copy that may have writes which the volume lacks is not deleted but becomes a
volume of its own; one that its server uses for certain becomes the volume,
by Cinder (:func:`.swap.confirm_copy`).

In mode ``auto`` the leader does what ``serifos-balancer recover VOLUME
--yes`` does, of a migration that this journal asked for, if Cinder's API is
enough to end it and two rounds in succession have found the same. What the
first finds is an entry ``recover`` with the result ``due``; ``put off``
follows where the next one does not find it.
"""

from __future__ import annotations

from collections.abc import Callable
from collections.abc import Iterable
from collections.abc import Sequence
import dataclasses
import math

from oslo_log import log

from serifos.balancer.leader import Requests
from serifos.balancer.recovery import copies
from serifos.balancer.recovery.diagnosis import CALL_S
from serifos.balancer.recovery.diagnosis import Diagnosis
from serifos.balancer.recovery.diagnosis import STILL_S
from serifos.balancer.recovery.diagnosis import Swap
from serifos.balancer.recovery.swap import AT_WORK
from serifos import errors
from serifos.facts import activity
from serifos.facts.inventory import Cloud
from serifos.facts.inventory import Inventory
from serifos.facts.inventory import Record
from serifos.facts.journal import Entry
from serifos.facts.journal import Journal
from serifos.facts.journal import open_recoveries
from serifos.facts import times
from serifos.plan import eligibility

LOG = log.getLogger(__name__)

APART_S = CALL_S
"""Between the two rounds that find the same, at least."""

TRIES = 3
"""Recoveries of one volume, after which it is left to a person."""


def recover(diagnosis: Diagnosis, requests: Requests,
            journal: Journal, pause: Callable[[float], bool],
            poll_s: float, timeout_s: float) -> None:
    """Resets the volume's status and removes its hidden records.

    Or has Cinder complete the migration.

    :raises InputError: where the migration may still run, or something has
        changed since the diagnosis
    :raises CloudError: where Cinder refuses, or does not delete the copy
    """
    record, cinder, copy = diagnosis.record, requests.cinder, diagnosis.kept
    data = diagnosis.data
    if not diagnosis.forgotten:
        raise errors.InputError(diagnosis.sentence())
    swap, removals = diagnosis.swap, tuple(
        removal for removal in diagnosis.removals
        if removal.record is not copy)
    going = [removal.record.id for removal in removals]
    _still_there(record, diagnosis, cinder)
    if swap is None:
        _all_idle(copy, removals, record, cinder)
    journal.write('recover', volume=record.id, result='begun',
                  reason=diagnosis.why, kept=[copy.id] if copy else [],
                  halves=going)
    if diagnosis.complete:
        if diagnosis.undone:
            journal.write('changed', volume=record.id,
                          changes=diagnosis.undone)
        requests.complete(record.id, data.id)
        going = [data.id]
    else:
        _take_back(diagnosis, removals, requests)
    waited = 0.0
    while left := [half for half in going if cinder.volume(half) is not None]:
        if waited > timeout_s or pause(poll_s):
            journal.write('recover', volume=record.id, result='unfinished',
                          reason=f'{left} not deleted')
            raise errors.CloudError(
                f'Volume {record.id} is at rest, but Cinder has not deleted '
                f'its copy {left[0]} yet; look at it with: '
                f'openstack volume show {left[0]}')
        waited += poll_s
    if swap:
        _as_before(diagnosis, cinder)
    journal.write('recover', volume=record.id, result='success', reason='')
    LOG.info('Volume %s is at rest on %s, and %s.', record.id, data.pool,
             f'its copy {copy.id} is kept' if copy
             else 'Cinder knows of no copy of it')
    for orphan in diagnosis.orphans:
        LOG.warning('%s', orphan.after())


def _take_back(diagnosis: Diagnosis,
               removals: Iterable[copies.Removal],
               requests: Requests) -> None:
    """Removes what the migration has made, and clears its status."""
    record, swap, copy = diagnosis.record, diagnosis.swap, diagnosis.kept
    for each in swap.of_copy if swap else ():
        requests.delete_attachment(each.id)
    for removal in removals:
        _remove(removal, record, requests)
    if eligibility.migrating(record):
        requests.reset(record.id, _status_at_rest(record, requests.cinder))
    if copy is not None:
        requests.reset(copy.id, 'available')


def recalled(inventory: Inventory,
             entries: Iterable[Entry]) -> Inventory:
    """The inventory with the copies of unfinished recoveries marked."""
    opened = open_recoveries(entries)
    kept = _kept(opened)
    volumes = {half: begun.facts['volume'] for begun in opened
               for half in _names(begun.facts.get('halves'))
               if half not in kept}
    if not volumes:
        return inventory
    return dataclasses.replace(inventory, records=tuple(
        dataclasses.replace(
            record, migration_status=f'target:{volumes[record.id]}')
        if record.id in volumes and _was_reset(record) else record
        for record in inventory.records))


def resumed(swap: Swap, volume: str,
            entries: Iterable[Entry]) -> Swap:
    """What is known of a copy, with a recovery of it that did not end."""
    copies_of = {name for begun in open_recoveries(entries)
                 if begun.facts['volume'] == volume
                 for fact in ('halves', 'kept')
                 for name in _names(begun.facts.get(fact))}
    return dataclasses.replace(swap, resumed=swap.copy.id in copies_of)


def remembered(diagnosis: Diagnosis,
               entries: Iterable[Entry]) -> Diagnosis:
    """The diagnosis, keeping the copy where a begun recovery keeps it."""
    kept = _kept(open_recoveries(entries))
    return dataclasses.replace(diagnosis, keep=diagnosis.keep or any(
        half.id in kept for half in diagnosis.halves))


def _kept(opened: Iterable[Entry]) -> set[str]:
    return {name for begun in opened
            for name in _names(begun.facts.get('kept'))}


def _names(value: object) -> list[str]:
    return [name for name in value if isinstance(name, str)] if isinstance(
        value, list) else []


def _was_reset(record: Record) -> bool:
    """Whether it looks like a copy between its reset and its removal."""
    return (record.status == 'error' and record.migration_status is None
            and not record.attachments)


def _still_there(record: Record, diagnosis: Diagnosis,
                 cinder: Cloud) -> None:
    """:raises InputError: where it has changed since the diagnosis"""
    now = cinder.volume(record.id)
    if now is None or (now.pool, now.lv_id, now.status) != (
            record.pool, record.lv_id, record.status) or (
            now.migration_status != record.migration_status):
        raise errors.InputError(
            f'Volume {record.id} has changed since it was diagnosed; nothing '
            'was done. Run recover again.')
    swap = diagnosis.swap
    if swap and (cinder.attachments_of(record.id) != swap.own
                 or cinder.attachments_of(swap.copy.id) != swap.of_copy):
        raise errors.InputError(
            f'The attachments of volume {record.id} have changed since it '
            'was diagnosed; nothing was done. Run recover again.')
    if not diagnosis.listed:
        return
    data = diagnosis.data
    names = cinder.logical_volumes(data.pool or '')
    if copies.lv_name(data) not in (names or ()):
        raise errors.InputError(
            f'{copies.lv_name(data)} is no longer on {data.pool}; '
            'nothing was done. Run recover again.')


def _remove(removal: copies.Removal, record: Record,
            requests: Requests) -> None:
    half = removal.record
    if requests.cinder.volume(half.id) is None:
        return
    _must_be_idle(half, record, requests.cinder)
    requests.reset(half.id, 'error')
    if removal.with_data:
        requests.delete(half.id)
    else:
        requests.unmanage(half.id)


def _all_idle(copy: Record | None, removals: Iterable[copies.Removal],
              record: Record, cinder: Cloud) -> None:
    """:raises InputError: where a copy that there is, is not idle"""
    if copy is not None:
        _must_be_idle(copy, record, cinder)
    for removal in removals:
        if cinder.volume(removal.record.id) is not None:
            _must_be_idle(removal.record, record, cinder)


def _must_be_idle(half: Record, record: Record,
                  cinder: Cloud) -> None:
    """:raises InputError: where it is no idle copy of the volume any more"""
    now = cinder.volume(half.id)
    of_volume = now is not None and (_was_reset(now) or record.id in (
        now.target_of, eligibility.leftover_of(now)))
    used = now is not None and (
        now.attachments or now.status == 'in-use' or (
            now.status in AT_WORK and cinder.attachments_of(half.id)))
    same = now is not None and (now.pool, now.lv_id) == (
        half.pool, half.lv_id) and not copies.shares_key(record, now)
    if used or not of_volume or not same:
        raise errors.InputError(
            f'{half.id} is no longer an idle copy of {record.id}; nothing '
            'was done to it. Look at both with openstack volume show, and '
            'run recover again.')


def _as_before(diagnosis: Diagnosis, cinder: Cloud) -> None:
    """:raises CloudError: where its server does not use the same data"""
    record, data, swap = diagnosis.record, diagnosis.data, diagnosis.swap
    assert swap is not None
    now, its = cinder.volume(record.id), swap.own
    if diagnosis.complete:
        its = tuple(dataclasses.replace(each, volume=record.id)
                    for each in swap.of_copy)
    if now is None or (now.pool, now.lv_id) != (data.pool, data.lv_id) or (
            cinder.attachments_of(record.id) != its):
        raise errors.CloudError(
            f'Volume {record.id} or its attachments have changed during the '
            'recovery; look at: openstack volume show '
            f'{record.id}; openstack --os-volume-api-version 3.44 volume '
            f'attachment list --volume-id {record.id}')


def _status_at_rest(record: Record, cinder: Cloud) -> str | None:
    """The status to set, None where it is right already."""
    if record.status == 'in-use' and not (
            record.attachments or cinder.attachments_of(record.id)):
        return 'available'  # Nova detached it meanwhile, from a server gone
    if record.status not in ('maintenance', 'retyping'):
        return None
    return 'in-use' if record.attachments else 'available'


def ready(diagnoses: Iterable[Diagnosis], watched: activity.Observed,
          journal: Journal, entries: Sequence[Entry], now: float,
          most_s: float) -> list[Diagnosis]:
    """Those to be recovered now; writes those that are due from now on.

    :param watched: what the diagnoses are made of
    :param entries: the journal's, none of them in the future
    :param now: seconds of the epoch
    :param most_s: between the two rounds
    """
    due = {volume: entry for volume, entry in _last(entries).items()
           if entry.facts['result'] == 'due'}
    found = []
    for each in diagnoses:
        if not each.forgotten:
            continue
        volume = each.record.id
        why = why_not(each, entries, watched)
        if why is not None:
            LOG.info('Volume %s is not recovered without a person: %s. To '
                     'recover it, run: %s', volume, why, each.command)
            continue
        what = {'halves': [half.id for half in each.halves],
                'keep': each.keep}
        before = due.pop(volume, None)
        age_s = now - times.parse(before.at) if before else math.inf
        if before is None or age_s > most_s or any(
                before.facts.get(name) != fact
                for name, fact in what.items()):
            journal.write('recover', volume=volume, result='due',
                          reason=each.why, **what)
        elif age_s >= APART_S:
            found.append(each)
    for volume in due:
        journal.write('recover', volume=volume, result='put off',
                      reason='the next round did not find it so')
    return found


def why_not(found: Diagnosis, entries: Sequence[Entry],
            watched: activity.Observed) -> str | None:
    """The reason to leave a recovery to a person, or None."""
    tries, ours = _tries(found.record.id, entries)
    if not _asked_here(found, entries):
        return 'this balancer did not request the migration'
    if not found.listed:
        return 'Cinder does not list the logical volumes of its pool'
    if found.orphans:
        return 'a copy that no record names would be left'
    if tries >= TRIES:
        return f'{tries} recoveries of it have failed'
    if tries and not ours:
        return 'a person has begun to recover it'
    if not tries and not _certain(found, watched):
        return ('telemetry does not show that the volume was written as late '
                'as its copy')
    return None


def _last(entries: Iterable[Entry]) -> dict[str, Entry]:
    """Volume → the last entry of its recovery."""
    return {entry.facts['volume']: entry for entry in entries
            if entry.kind == 'recover'}


def _asked_here(found: Diagnosis, entries: Iterable[Entry]) -> bool:
    """Whether its copies are those of the last request for the volume."""
    copies: object = None
    for entry in entries:
        if entry.facts.get('volume') == found.record.id:
            if entry.kind == 'request':
                copies = None
            elif entry.kind == 'outcome':
                copies = entry.facts.get('copies')
    return isinstance(copies, list) and bool(found.halves) and all(
        half.id in copies for half in found.halves)


def _tries(volume: str, entries: Iterable[Entry]) -> tuple[int, bool]:
    """The recoveries that were begun in vain; whether all were automatic."""
    tries, ours, last = 0, True, None
    for entry in entries:
        if entry.kind == 'recover' and entry.facts['volume'] == volume:
            result = entry.facts['result']
            if result == 'begun':
                tries, ours = tries + 1, ours and last == 'due'
            elif result == 'success':
                tries, ours = 0, True
            last = result
    return tries, ours


def _certain(found: Diagnosis, watched: activity.Observed) -> bool:
    """Whether the volume has all that its server wrote, beyond doubt.

    While libvirt mirrors it, both are written; a server that has got the copy
    writes only that.
    """
    record, swap = found.record, found.swap
    if found.complete:
        return True
    if swap is None:  # copied by Cinder, not by Nova yet, or completed
        return not found.keep and (
            record.status != 'in-use' or bool(record.attachments))
    if not found.keep:  # no compute host was allowed to connect the copy
        return swap.service is not None and bool(swap.of_copy) and all(
            each.status == 'reserved' for each in swap.of_copy)
    own, other = (watched.volumes.get(each.id)
                  for each in (record, swap.copy))
    return own is not None and other is not None and (
        own.unwritten_s < own.seconds
        and own.unwritten_s <= other.unwritten_s + STILL_S)
