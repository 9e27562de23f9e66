# SPDX-License-Identifier: Apache-2.0
"""Commands for a compute host whose libvirt mirrors a volume to its copy.

Cinder and Nova cannot end a mirror that a nova-compute has left behind, and
do not see which of the two a server uses. A line that begins with blanks is a
command.
"""

from __future__ import annotations

from collections.abc import Iterable
from collections.abc import Iterator

from serifos.balancer.recovery.diagnosis import Diagnosis
from serifos.balancer.recovery.diagnosis import Swap
from serifos.facts.servers import Attachment
from serifos.plan import eligibility

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
