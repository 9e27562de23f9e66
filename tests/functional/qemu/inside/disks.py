# SPDX-License-Identifier: Apache-2.0
"""Checks inside a guest: identifying and purging disks.

What ``build`` refuses of a disk needs no emulated one: test_build_loop.
"""

from __future__ import annotations

from collections.abc import Callable
import functools
import json
import os
import pathlib
from typing import Any

from serifos.bench.device import Device
from serifos.bench.device import held
from serifos.bench.device import identify
from serifos.bench.device import refusal
from serifos.bench import purge
from serifos import errors
from tests.functional.inside import pattern
from tests.functional.inside import report


def _all() -> list[Device]:
    paths = ('/dev' / pathlib.Path(entry.name)
             for entry in pathlib.Path('/sys/class/block').iterdir())
    return [identify(str(path)) for path in sorted(paths)
            if path.exists()]


@functools.cache
def _serials() -> list[tuple[str | None, str]]:
    return [(disk.serial, disk.path) for disk in _all()]


def path(serial: str, end: str = '') -> str:
    """The path of the disk with this serial, which changes with each boot."""
    found, = (path for its, path in _serials()
              if its == serial and path.endswith(end))
    return found


def _facts() -> Any:
    return {disk.path: {
        'model': disk.model, 'serial': disk.serial,
        'size_bytes': disk.size_bytes, 'transport': disk.transport,
        'word': disk.confirm_word, 'refusal': refusal(disk)}
        for disk in _all()}


def identified_without_udev() -> Any:
    return _facts()


def identified() -> Any:
    report.start_udev()
    return _facts()


def two_paths_without_udev() -> Any:
    """Of a LUN: what one is refused for, before and while both are one."""
    one, other = (path for serial, path in _serials() if serial == 'LUN')
    before = refusal(identify(one))
    report.sh('mkfs.ext4', '-q', '-F', other)
    report.sh('mount', other, '/mnt')
    try:
        return {'before': before, 'mounted': refusal(identify(one))}
    finally:
        report.sh('umount', '/mnt')


def two_paths() -> Any:
    return two_paths_without_udev()


def not_emulated() -> Any:
    controller = json.loads(report.sh(
        'nvme', 'id-ctrl', path('NVME'), '-o', 'json'))
    return {'sanicap': controller['sanicap'], 'security': purge.ata(
        path('ATA'), report.sh('hdparm', '-I', path('ATA')))}


def _purged(disk: str) -> dict[str, Any]:
    device = identify(disk)
    chosen = purge.choose_purge(device)
    with held(device) as fd:
        words = purge.purge(device, chosen, fd)
    return {'name': chosen.name, 'words': words, 'left': pattern.left(disk)}


def purged() -> Any:
    found = {}
    for serial in ('NVME', 'ATA', 'SCSI', 'VIRTIO', 'DULL'):
        pattern.write(path(serial))
        found[serial] = _purged(path(serial))
    return found


def purged_beside_a_namespace() -> Any:
    first, second = path('SHARED', 'n1'), path('SHARED', 'n2')
    pattern.write(first)
    pattern.write(second)
    return {**_purged(first), 'beside': pattern.left(second)}


def purged_beside_a_partition() -> Any:
    disk = path('NVME')
    report.sh('sfdisk', disk, given='label: gpt\nsize=20MiB\nsize=20MiB\n')
    report.sh('udevadm', 'settle')
    first, second = f'{disk}p1', f'{disk}p2'
    pattern.write(first)
    pattern.write(second)
    found = {'whole': refusal(identify(disk)), **_purged(second),
             'beside': pattern.left(first)}
    try:
        purge.choose_purge(identify(second), 'format')
    except errors.DeviceError as exc:
        found['format'] = str(exc)
    report.sh('mkfs.ext4', '-q', '-F', first)
    os.makedirs('/boot', exist_ok=True)
    report.sh('mount', first, '/boot')
    found['system'] = refusal(identify(second))
    report.sh('umount', '/boot')
    report.sh('wipefs', '--all', '--force', disk)
    report.sh('blockdev', '--rereadpt', disk)
    report.sh('udevadm', 'settle')
    return found


CHECKS: tuple[Callable[[], Any], ...] = (
    identified_without_udev, two_paths_without_udev, identified, two_paths,
    not_emulated, purged,
    purged_beside_a_namespace, purged_beside_a_partition)

if __name__ == '__main__':
    os.mkdir('/run/guest')
    os.chdir('/run/guest')
    report.main(*CHECKS)
