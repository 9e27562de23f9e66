# SPDX-License-Identifier: Apache-2.0
"""Migrations of volumes in use, which Nova copies (its ``swap_volume``).

nova-compute has libvirt mirror the volume to the copy, and when both are
equal makes the server use only the copy. If it dies before that, nobody ends
the mirror: every write goes to both for ever. Nova shows whether it
may still go on; whether the server uses the copy already, where deleting it
would lose data, only the compute host and the requests to both show. The
commands for that host are here, too; a line that begins with blanks is one.

Once the server has the copy, Nova ends the volume's own attachment and asks
Cinder to complete the migration: the copy becomes the volume. If nova-compute
or a cinder-volume dies before that is done, or the database is away, nobody
asks again. Cinder completes it if it is asked once more.
"""

from __future__ import annotations

from collections.abc import Iterable
from collections.abc import Iterator
from collections.abc import Sequence
import dataclasses
import functools

from serifos.balancer.recovery import copies
from serifos.balancer.recovery import diagnosis
from serifos.balancer.recovery.diagnosis import Diagnosis
from serifos.balancer.recovery.diagnosis import Swap
from serifos import errors
from serifos.facts import activity
from serifos.facts.inventory import Record
from serifos.facts.servers import Attachment
from serifos.plan import eligibility


AT_WORK = ('in-use', 'attaching', 'detaching', 'reserved')
"""Statuses of a copy that Nova is working on."""

LOOK_S = 60.0
"""The window in which requests show which logical volume the server uses."""


def diagnose_swap(found: Diagnosis, observed: activity.Observed,
                  age_s: float, limit_s: float) -> Diagnosis:
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
        newer = diagnosis.uses_copy(found) or diagnosis.newer_copy(
            found, observed)
        return dataclasses.replace(found, stuck=True, why=(
            f'{why}; start it, or evacuate the server' if newer is None else
            f'{why}; start it, and do not evacuate the server: {newer}'))
    if age_s < diagnosis.CALL_S:
        return running(why=f'it last changed {max(0.0, age_s):.0f} s ago')
    moved = diagnosis.uses_copy(found)
    if moved is None and not unknown and all(
            each.status == 'reserved' for each in swap.of_copy):
        return _not_begun(found, observed, age_s, where)
    over = diagnosis.mirror_ended(found, observed)
    newer = diagnosis.newer_copy(found, observed)
    if moved is None and over is not None:
        return _may_use_copy(found, over, newer) if newer else _kept(
            found, f'{over}, which has ended the copy', observed)
    why = moved or newer
    if why is not None and age_s < diagnosis.QUIET_S:
        return running(why=f'{why}; Nova may still complete it')
    if moved is not None:
        return (_to_complete if _can_complete(found)
                else _uses_copy)(found, moved)
    if newer is not None:
        return _may_use_copy(found, over, newer)
    action = diagnosis.copying(swap)
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


def prove(found: Diagnosis, observed: activity.Observed,
          disk: str | None, keep: bool) -> Diagnosis:
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
    over = diagnosis.mirror_ended(found, observed) if (
        found.moved and keep) else None
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


def _can_complete(found: Diagnosis) -> bool:
    """Whether the copy becomes the volume where Cinder is asked to complete.

    Cinder begins with an exchange of the names and places of both. Where it
    had done that before it died it would do it again: the volume then gets
    the place that it had, and cannot be detached.
    """
    swap, record = found.swap, found.record
    if swap is None or swap.problem is not None or swap.server is None:
        return False
    return (not swap.own and not record.attachments
            and bool(swap.of_copy)
            and all(each.status == 'attached' for each in swap.of_copy)
            and swap.copy.target_of == record.id and not found.renamed)


def confirm_copy(found: Diagnosis,
                 held: copies.LogicalVolumes) -> Diagnosis:
    """The diagnosis, confirmed by the logical volumes that exist.

    :param held: those of the pools of its records
    """
    copy = found.data
    there = held.get(copy.pool or '')
    name = copies.lv_name(copy)
    if there is not None and name not in there:
        return dataclasses.replace(
            found, forgotten=False, complete=False, broken=True,
            why=f'there is no {name} on {copy.pool}, which its server uses; '
            'look for the data with lvs')
    return dataclasses.replace(found, listed=there is not None)


def names_old_copy(record: Record, halves: Sequence[Record],
                   age_s: float) -> str | None:
    """What to do where an attachment still names the old copy, or None.

    That is the last that Cinder corrects when it completes a migration; the
    server uses the volume. No API moves an attachment to another volume.
    """
    old = next((half for half in halves if half.attachments
                and eligibility.leftover_of(half) == record.id), None)
    if (old is None or record.attachments or record.status != 'in-use'
            or eligibility.migrating(record) or age_s < diagnosis.CALL_S):
        return None
    return (f'the attachment of its server names the old copy {old.id} on '
            f'{old.pool}; correct it in Cinder\'s database: UPDATE '
            f"volume_attachment SET volume_id = '{record.id}' WHERE volume_id "
            f"= '{old.id}' AND deleted = 0; {diagnosis.QUIET_S / 60:.0f} min "
            'later the old copy is deleted by: serifos-balancer recover '
            f'{record.id}')


def _where(swap: Swap) -> str:
    server = swap.server
    return 'its nova-compute' if server is None else (
        f'the nova-compute on {server.host} of its server {server.id}')


def _not_begun(found: Diagnosis, observed: activity.Observed,
               age_s: float, where: str) -> Diagnosis:
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
        over = diagnosis.mirror_ended(found, observed)
        newer = diagnosis.newer_copy(found, observed)
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


def _stuck(found: Diagnosis, why: str) -> Diagnosis:
    return dataclasses.replace(found, stuck=True, why=why,
                               cure=end_mirror(found))


def _uses_copy(found: Diagnosis, why: str) -> Diagnosis:
    return dataclasses.replace(found, stuck=True, moved=True, why=why,
                               cure=copy_back(found))


def _to_complete(found: Diagnosis, why: str
                 ) -> Diagnosis:
    """Forgotten, and Cinder is to be asked to complete it."""
    return dataclasses.replace(found, forgotten=True, complete=True, why=why)


def _may_use_copy(found: Diagnosis, over: str | None,
                  newer: str) -> Diagnosis:
    """Stuck, and only requests show that the server used the copy."""
    return dataclasses.replace(found, stuck=True, moved=True, why=(
        f'{over}, which has ended the copy, but {newer}' if over else
        f'its server uses its copy already, it seems: {newer}'), cure=(
            compare(found, False) if over else look_first(found)))


def _deleted(found: Diagnosis, why: str) -> Diagnosis:
    """Forgotten, and the server never used the copy."""
    return dataclasses.replace(found, forgotten=True, stuck=False, why=why,
                               cure=())


def _kept(found: Diagnosis, why: str,
          observed: activity.Observed | None = None) -> Diagnosis:
    """Forgotten, and the server may have used the copy for a moment."""
    swap = found.swap
    assert swap is not None
    other = observed and observed.volumes.get(swap.copy.id)
    if other and other.quiet_s < diagnosis.STILL_S:
        return dataclasses.replace(found, forgotten=False, why=(
            f'{why}, but the copy had a request {other.quiet_s:.0f} s ago'))
    return dataclasses.replace(found, forgotten=True, stuck=False, why=why,
                               cure=(), keep=True)


_TARGETS = ("iscsiadm -m session -P 3 | awk '/^Target:/ {t = $2} "
            "/scsi disk/ {print $4, t}'")
"""Prints the disk and the target of each iSCSI session."""


def end_mirror(found: Diagnosis) -> tuple[str, ...]:
    """The end of a mirror whose server goes on with its volume."""
    swap = found.swap
    assert swap is not None
    domain, device = _domain(swap), _device(swap)
    own = f'volume-{found.record.lv_id}'
    return (
        *_look(found), f'Only where that names {own}, the volume, go on. Else '
        'run the last of these commands, with what it printed.',
        'Look at the copy:',
        f'    virsh blockjob {domain} {device} --info',
        'Below 99 % it is still being copied: wait; under writes a complete '
        'one changes between 99 and 100 %. Where there is no job, the server '
        'was restarted or the copy failed: go on with the second look at the '
        'disk, and add --keep-copy to recover. Else end the job; the server '
        'goes on with its volume, without a pause:',
        f'    virsh blockjob {domain} {device} --abort',
        'Give libvirt back the definition that Nova removed for the copy:',
        f'    virsh dumpxml --inactive --security-info {domain} | '
        'virsh define /dev/stdin',
        'The second look: what the disk of the server uses. Go on only '
        f'where that still names {own}:', f'    {_target(swap)}',
        *_disconnect(swap.of_copy), *_then(found))


def look_first(found: Diagnosis) -> tuple[str, ...]:
    """What shows whether a server uses the copy, as it seems to."""
    return (_warning(found, ', it seems'), *_look(found), *_then(found))


def compare(found: Diagnosis, certain: bool) -> tuple[str, ...]:
    """Of a server that is off: either may have been written last."""
    return (
        _warning(found, '' if certain else ', it seems'),
        'This ends the migration, keeps both, and makes the copy a volume of '
        'its own. Attach both to another server, read-only, and compare them '
        'before the volume is used again:',
        f'    {found.command} --keep-copy')


def copy_back(found: Diagnosis) -> tuple[str, ...]:
    """The way back where the server uses the copy: its data is there.

    Where Nova has ended the volume's own attachment there is none: Cinder has
    to be told that the copy is complete.
    """
    swap = found.swap
    assert swap is not None
    record, copy, domain, device = (
        found.record, swap.copy, _domain(swap), _device(swap))
    if found.renamed:
        return (_warning(found), *_names(found))
    if record.migration_status == 'completing' or (
            swap.server is not None and not swap.own):
        return (
            _warning(found),
            'Cinder makes the copy the volume where it is asked to complete '
            'the migration:',
            f'    POST /v3/PROJECT/volumes/{record.id}/action '
            '{"os-migrate_volume_completion": {"new_volume": '
            f'"{copy.id}", "error": false}}}}',
            'Nova then names an attachment that is gone; once the server is '
            'stopped: nova-manage volume_attachment refresh')
    if swap.problem is None if swap.server is None else (
            swap.server.vm_state not in eligibility.COPIED):
        return compare(found, certain=True)
    return (
        _warning(found), *_look(found),
        f'Only where that names volume-{copy.lv_id}, the copy, go on. Else '
        'run the last of these commands, with what it printed.',
        'Find the disk of the volume:',
        f'    {_TARGETS} | grep {record.lv_id}',
        'Where it is not connected: '
        + ' '.join(_login(swap.own)) + ' Copy the data back to it, in place '
        'of DISK; the server uses the volume then, without a pause:',
        f'    virsh blockcopy {domain} {device} --dest /dev/DISK --blockdev '
        '--reuse-external --transient-job --wait --verbose --pivot',
        'Print once more what the disk of the server uses, and go on only '
        'where that is the volume again:', f'    {_target(swap)}',
        f'    virsh dumpxml --inactive --security-info {domain} | '
        'virsh define /dev/stdin', *_disconnect(swap.of_copy), *_then(found))


def _warning(found: Diagnosis, doubt: str = '') -> str:
    assert found.swap is not None
    copy = found.swap.copy
    return (f'The newest data is in the copy {copy.id} on {copy.pool}{doubt}; '
            'do not delete it, and do not restart the server.')


def _names(found: Diagnosis) -> Iterator[str]:
    """Cinder exchanges them again each time that it completes."""
    assert found.swap is not None
    record, copy = found.record, found.swap.copy
    yield (f'It is in volume-{copy.id} there. Do not ask Cinder to complete '
           'the migration: it would exchange the names of both again, and '
           'the volume could name what is not there. Correct them first, in '
           'the table volumes of its database, while the cinder-volume of '
           'both hosts does nothing for them:')
    for each, name in (record, copy.name_id), (copy, None):
        yield (f'- the name_id of {each.id} is {name or "NULL"}; its '
               f'provider_location that of {each.pool}')
    yield f'Then, here, what completes it is shown by: {found.command}'


def _look(found: Diagnosis) -> Iterator[str]:
    swap = found.swap
    assert swap is not None
    server = swap.server
    if not swap.doings.device:
        yield (f'DEVICE is the target of the disk whose serial is '
               f'{found.record.id}: virsh dumpxml {_domain(swap)}')
    where = server and (server.hypervisor or server.host)
    host = f'{where}, the compute host' if where else (
        f'the compute host of its server {swap.server_id}')
    yield (f'On {host}, as root, where virsh speaks to its libvirt, print the '
           'target that the disk of the server uses:')
    yield f'    {_target(swap)}'


def _then(found: Diagnosis) -> Iterator[str]:
    yield ('Then, here, with the target that the last look at the disk '
           'printed in place of TARGET:')
    yield f'    {found.command} --disk "TARGET"'


def _domain(swap: Swap) -> str:
    return (swap.server and swap.server.domain) or 'DOMAIN'


def _device(swap: Swap) -> str:
    return (swap.doings.device or 'DEVICE').rpartition('/')[2]


def _target(swap: Swap) -> str:
    """Of multipath it prints one for each path."""
    return (f'{_TARGETS} | grep -w "$(lsblk -snro KNAME "$(virsh domblklist '
            f"{_domain(swap)} | awk '$1 == \"{_device(swap)}\" "
            "{print $2}')\")\"")


def _disconnect(of_copy: Iterable[Attachment]) -> Iterator[str]:
    targets = [target for each in of_copy for target in each.targets]
    if not targets:
        yield ('Disconnect the copy; how it was connected, Cinder does not '
               'say here.')
        return
    yield ('Disconnect the copy (of multipath after multipath -f of its '
           'device). "No matching sessions found" says that it was not '
           'connected:')
    for portal, iqn in targets:
        yield f'    iscsiadm -m node -T {iqn} -p {portal} --logout'
        yield f'    iscsiadm -m node -T {iqn} -p {portal} -o delete'


def _login(own: Iterable[Attachment]) -> Iterator[str]:
    for each in own:
        for portal, iqn in each.targets:
            yield (f'iscsiadm -m node -T {iqn} -p {portal} --login, with the '
                   f'login of Cinder\'s attachment {each.id}.')
