# SPDX-License-Identifier: Apache-2.0
"""The recovery of a volume whose migration Cinder has forgotten.

What hangs is reset, and the copy removed: with its logical volume where that
is its own, else its record alone. The volume keeps the logical volume that
its record names, and nothing is removed unless that is there.

Cinder deletes a copy only after its migration status was reset, which says
whose copy it is. A recovery that ends between the two leaves a volume that
looks like any other and may name the logical volume of somebody's data: what
the journal knows of a recovery that was begun tells it again.
"""

from __future__ import annotations

from collections.abc import Callable
from collections.abc import Iterable
import dataclasses

from oslo_log import log

from serifos.balancer import requests
from serifos.balancer import stuck
from serifos.balancer import verdict as vd
from serifos.balancer import whereabouts
from serifos import errors
from serifos.facts import inventory as inv
from serifos.facts import journal as jn
from serifos.plan import eligibility

LOG = log.getLogger(__name__)


def recover(verdict: vd.Verdict, asks: requests.Requests,
            journal: jn.Journal, pause: Callable[[float], bool],
            poll_s: float, timeout_s: float) -> None:
    """Resets the volume where it hangs, and removes what is left of it.

    :raises InputError: where the migration may still run, or what was seen
        has changed
    :raises CloudError: where Cinder says no, or does not delete the copy
    """
    record, cinder = verdict.record, asks.cinder
    if not verdict.forgotten:
        raise errors.InputError(verdict.sentence())
    journal.write('recover', volume=record.id, result='begun',
                  reason=verdict.why, halves=[h.id for h in verdict.halves])
    _still_there(record, verdict, cinder)
    for removal in verdict.removals:
        _remove(removal, record, asks)
    if eligibility.migrating(record):
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
    LOG.info('Volume %s is at rest on %s, and Cinder knows of no copy of '
             'it.', record.id, record.pool)
    for orphan in verdict.orphans:
        LOG.warning('%s', orphan.after())


def recalled(inventory: inv.Inventory,
             entries: Iterable[jn.Entry]) -> inv.Inventory:
    """The inventory, its copies known again after an unfinished recovery."""
    volumes = {half: begun.facts['volume']
               for begun in jn.open_cures(entries)
               for half in _names(begun.facts.get('halves'))}
    if not volumes:
        return inventory
    return dataclasses.replace(inventory, records=tuple(
        dataclasses.replace(
            record, migration_status=f'target:{volumes[record.id]}')
        if record.id in volumes and _was_reset(record) else record
        for record in inventory.records))


def _names(value: object) -> list[str]:
    return [name for name in value if isinstance(name, str)] if isinstance(
        value, list) else []


def _was_reset(record: inv.Record) -> bool:
    """Whether it is as a copy between its reset and its removal."""
    return (record.status == 'error' and record.migration_status is None
            and not record.attachments)


def _still_there(record: inv.Record, verdict: vd.Verdict,
                 cinder: inv.Cloud) -> None:
    """:raises InputError: where the volume is another than it was judged"""
    now = cinder.volume(record.id)
    if now is None or (now.pool, now.lv_id, now.status) != (
            record.pool, record.lv_id, record.status) or (
            now.migration_status != record.migration_status):
        raise errors.InputError(
            f'Volume {record.id} has changed since it was looked at; nothing '
            'was done. Look again.')
    if not verdict.listed:
        return
    names = cinder.logical_volumes(record.pool or '')
    if whereabouts.lv(record) not in (names or ()):
        raise errors.InputError(
            f'{whereabouts.lv(record)} is no longer on {record.pool}; '
            'nothing was done. Look again.')


def _remove(removal: whereabouts.Removal, record: inv.Record,
            asks: requests.Requests) -> None:
    half = removal.record
    now = asks.cinder.volume(half.id)
    if now is None:
        return
    if not _was_reset(now) and record.id not in (
            now.target_of, eligibility.leftover_of(now)) or (
            now.attachments or now.status in stuck.AT_WORK) or (
            (now.pool, now.lv_id) != (half.pool, half.lv_id)):
        raise errors.InputError(
            f'{half.id} is no longer an idle copy of {record.id}; it was '
            'not deleted. Look at both, and begin anew.')
    asks.reset(half.id, 'error')
    if removal.with_data:
        asks.delete(half.id)
    else:
        asks.unmanage(half.id)


def _status_at_rest(record: inv.Record) -> str | None:
    """What to set the status to, None where it is right."""
    if record.status not in ('maintenance', 'retyping'):
        return None
    return 'in-use' if record.attachments else 'available'
