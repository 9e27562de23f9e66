# SPDX-License-Identifier: Apache-2.0
"""Migrations of volumes in use, which Nova copies (its ``swap_volume``).

nova-compute has libvirt mirror the volume to the copy, and when both are
equal makes the server use only the copy. If it dies before that, nobody ends
the mirror: every write goes to both for ever. What Nova says tells whether it
may still go on; whether the server uses the copy already, where deleting it
would lose data, only the compute host and the requests to both tell.
"""

from __future__ import annotations

import dataclasses
import functools

from serifos.balancer.recovery import completion
from serifos.balancer.recovery import cure
from serifos.balancer.recovery import diagnosis
from serifos.balancer.recovery import evidence
from serifos import errors
from serifos.facts import activity

AT_WORK = ('in-use', 'attaching', 'detaching', 'reserved')
"""Statuses of a copy that Nova is working on."""

LOOK_S = 60.0
"""The window in which requests tell which logical volume the server uses."""


def diagnose(found: diagnosis.Diagnosis, observed: activity.Observed,
             age_s: float,
             limit_s: float) -> diagnosis.Diagnosis:
    """Whether Nova may still go on with the copy, and what ends it.

    :param found: with what Cinder and Nova say, and nothing decided
    :param age_s: since Cinder last changed the copy, or completes the
        migration; it does not while Nova copies
    :param limit_s: what a migration of this volume may take
    """
    swap = found.swap
    assert swap is not None
    running = functools.partial(dataclasses.replace, found, forgotten=False)
    listed = (swap.own or not found.record.attachments) and (
        swap.of_copy or not swap.copy.attachments)
    unknown = swap.problem and (
        f'Nova copies it, and whether it goes on is not known: {swap.problem}')
    if unknown and not (
            listed and (swap.own or swap.of_copy) and age_s >= limit_s):
        return running(why=unknown)
    if not listed:
        return running(why='Nova copies it, and Cinder shows no attachments '
                       'of it; the account needs to list those of all '
                       'projects')
    copy, where = swap.copy, _where(swap)
    if swap.service is not None and not swap.service.up:
        why = (f'Nova copies it to {copy.id} on {copy.pool}, and {where} is '
               'down')
        if age_s < limit_s:
            return running(why=f'{why}; start it. It then begins the copy if '
                           'it had not yet')
        newer = evidence.moved(found) or evidence.newer(found, observed)
        return dataclasses.replace(found, stuck=True, why=(
            f'{why}; start it, or evacuate the server' if newer is None else
            f'{why}; start it, and do not evacuate the server: {newer}'))
    if age_s < diagnosis.CALL_S:
        return running(why=f'it last changed {max(0.0, age_s):.0f} s ago')
    moved = evidence.moved(found)
    if moved is None and not unknown and all(
            each.status == 'reserved' for each in swap.of_copy):
        return _not_begun(found, observed, age_s, where)
    over = evidence.over(found, observed)
    newer = evidence.newer(found, observed)
    if moved is None and over is not None:
        return _may_use_copy(found, over, newer) if newer else _kept(
            found, f'{over}, which has ended the copy', observed)
    why = moved or newer
    if why is not None and age_s < diagnosis.QUIET_S:
        return running(why=f'{why}; Nova may still complete it')
    if moved is not None:
        return (completion.diagnose if completion.possible(found)
                else _uses_copy)(found, moved)
    if newer is not None:
        return _may_use_copy(found, over, newer)
    action = evidence.copying(swap)
    if action is not None and action.failed:
        return _stuck(found, 'Nova failed to copy it and did not clean up')
    if age_s < limit_s:
        return running(why=(
            f'Nova has copied it to {copy.id} on {copy.pool} for '
            f'{age_s:.0f} s; it may take {limit_s:.0f} s'))
    return _stuck(found, unknown or (
        f'Nova has not ended its copy to {copy.id} on {copy.pool} in '
        f'{age_s:.0f} s, though {where} is up: it was restarted '
        'meanwhile, or is very slow' + (
            f' ({swap.doings.problem})' if swap.doings.problem else '')))


def proven(found: diagnosis.Diagnosis, observed: activity.Observed,
           disk: str | None, keep: bool) -> diagnosis.Diagnosis:
    """What a stuck migration is by a look at its requests and its disk.

    :param observed: over :data:`LOOK_S`
    :param disk: the iSCSI target that the server's disk uses, as the last
        command of the cure printed it
    :param keep: whether the copy is kept in any case
    :raises InputError: where that is neither the volume's nor the copy's
    """
    swap = found.swap
    if swap is None or not (found.complete or found.cure and not (
            found.renamed)):
        return found
    record, copy = found.record, swap.copy
    if found.complete:
        if disk is not None and copy.lv_id not in disk:
            raise errors.InputError(
                f'--disk {disk} does not name volume-{copy.lv_id}, the copy, '
                'which by Cinder and Nova the server uses; nothing can be '
                'recovered before it is known which of both it uses.')
        return found
    if disk is not None and copy.lv_id in disk:
        return _uses_copy(found, f'its server uses {disk.strip()}, which is '
                          f'its copy {copy.id} on {copy.pool}')
    if disk is not None and record.lv_id not in disk:
        raise errors.InputError(
            f'--disk {disk} names neither the volume\'s logical volume, '
            f'volume-{record.lv_id}, nor that of its copy; give what the '
            'last command printed.')
    own, other = (observed.volumes.get(each.id) for each in (record, copy))
    if own is None or other is None:
        return dataclasses.replace(found, why=(
            f'{found.why}; telemetry does not see the logical volumes'))
    if other.quiet_s < diagnosis.STILL_S:
        if found.moved and disk is None and not keep:
            return found
        return dataclasses.replace(found, why=(
            f'{found.why}; the copy had a request {other.quiet_s:.0f} s ago '
            f'and has to be without one for {diagnosis.STILL_S:.0f} s'))
    over = evidence.over(found, observed) if found.moved and keep else None
    if over is not None:
        return _kept(found, found.why, observed)
    if disk is not None:
        why = f'its mirror has ended; its server uses volume-{record.lv_id}'
        return (_kept if found.moved or keep else _deleted)(found, why)
    writes = own.mean.iops * own.mean.write_pct
    if not found.moved and other.mean.iops == 0 < writes:
        return _kept(found, f'in the last {own.seconds:.0f} s its server '
                     'wrote to the volume and not to the copy, so that its '
                     'mirror has ended', observed)
    return found


def _where(swap: diagnosis.Swap) -> str:
    server = swap.server
    return 'its nova-compute' if server is None else (
        f'the nova-compute on {server.host} of its server {server.id}')


def _not_begun(found: diagnosis.Diagnosis, observed: activity.Observed,
               age_s: float, where: str) -> diagnosis.Diagnosis:
    """Of a copy that no compute host was allowed to connect."""
    swap = found.swap
    assert swap is not None
    if swap.resumed:
        return _deleted(found, 'its recovery was begun')
    if not swap.of_copy:
        if age_s < diagnosis.QUIET_S:
            return dataclasses.replace(found, why=(
                'Nova ended its attachment to the copy '
                f'{age_s:.0f} s ago and may still tell Cinder'))
        over = evidence.over(found, observed)
        newer = evidence.newer(found, observed)
        return _may_use_copy(found, over, newer) if newer else _kept(
            found, 'Nova ended its attachment to the copy and did not tell '
            'Cinder', observed)
    waited_s = age_s - max(
        0.0, swap.down_at - (swap.copy.updated_at or 0.0))
    if swap.server is not None and waited_s < diagnosis.QUIET_S:
        return dataclasses.replace(found, why=(
            f'Nova was asked to copy it {age_s:.0f} s ago, and {where}, '
            f'which may be up for {waited_s:.0f} s, has not begun yet'))
    return _deleted(found, 'Nova was asked to copy it and has not begun, for '
                    f'{age_s / 60:.0f} min')


def _stuck(found: diagnosis.Diagnosis, why: str) -> diagnosis.Diagnosis:
    return dataclasses.replace(found, stuck=True, why=why,
                               cure=cure.end_mirror(found))


def _uses_copy(found: diagnosis.Diagnosis, why: str) -> diagnosis.Diagnosis:
    return dataclasses.replace(found, stuck=True, moved=True, why=why,
                               cure=cure.copy_back(found))


def _may_use_copy(found: diagnosis.Diagnosis, over: str | None,
                  newer: str) -> diagnosis.Diagnosis:
    """Stuck, and only requests tell that the server used the copy."""
    return dataclasses.replace(found, stuck=True, moved=True, why=(
        f'{over}, which has ended the copy, but {newer}' if over else
        f'its server uses its copy already, it seems: {newer}'), cure=(
            cure.compare(found, False) if over else cure.look_first(found)))


def _deleted(found: diagnosis.Diagnosis, why: str) -> diagnosis.Diagnosis:
    """Forgotten, and the server never used the copy."""
    return dataclasses.replace(found, forgotten=True, stuck=False, why=why,
                               cure=())


def _kept(found: diagnosis.Diagnosis, why: str,
          observed: activity.Observed | None = None) -> diagnosis.Diagnosis:
    """Forgotten, and the server may have used the copy for a moment."""
    swap = found.swap
    assert swap is not None
    other = observed and observed.volumes.get(swap.copy.id)
    if other and other.quiet_s < diagnosis.STILL_S:
        return dataclasses.replace(found, forgotten=False, why=(
            f'{why}, but the copy had a request {other.quiet_s:.0f} s ago'))
    return dataclasses.replace(found, forgotten=True, stuck=False, why=why,
                               cure=(), keep=True)
