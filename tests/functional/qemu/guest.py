# SPDX-License-Identifier: Apache-2.0
"""A QEMU guest that runs one Python module on emulated disks.

It has no KVM and boots Debian's kernel. It sees the files of this machine,
its emulated disks and no network, runs the module with this Python, and
powers off; what the module printed as JSON is its result.
"""

from __future__ import annotations

from collections.abc import Sequence
import contextlib
import dataclasses
import functools
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import time
from typing import Any

from tests.functional import machine
from tests.testbed import initramfs
from tests.testbed import kernel

ROOT = pathlib.Path(__file__).parents[3]
EMULATOR = 'qemu-system-x86_64'
PROGRAMS = (EMULATOR, 'busybox', 'apt-get', 'dpkg-deb', 'udevadm',
            'nvme', 'hdparm', 'blkdiscard', 'sfdisk', 'mkfs.ext4', 'fio',
            'lvcreate')
_BOOT_S, _BOOTS = 600, 3
"""A boot takes 20 s of a processor, but now and then it never ends."""

_MIB = 2 ** 20


@dataclasses.dataclass(frozen=True)
class Disk:
    """A sparse file that stands behind the emulated device of its name.

    :param same_as: the disk of another device that is behind this one, too
    """

    name: str
    mib: int = 64
    discard: str = 'unmap'
    same_as: str | None = None


@dataclasses.dataclass(frozen=True)
class Outcome:
    """What the module printed, and what it left on the disks.

    :param allocated_mib: name of the disk → what its file takes
    """

    said: dict[str, Any]
    allocated_mib: dict[str, float]
    seconds: float


@functools.cache
def lacking() -> str | None:
    """Why no guest can run here, or None."""
    missing = [name for name in PROGRAMS if not machine.which(name)]
    if os.geteuid() != 0:
        return 'only root reads all the files that a guest is lent'
    if missing:
        return f'{", ".join(missing)} not installed'
    try:
        # A dynamic program names its interpreter close to its beginning.
        if b'/ld-linux' in _busybox().read_bytes()[:4096]:
            return 'busybox is not the one of busybox-static'
        kernel.fetch()
    except OSError as exc:
        return f'no kernel for a guest: {exc}'
    return None


def _busybox() -> pathlib.Path:
    return pathlib.Path(machine.which('busybox'))


def run(module: str, disks: Sequence[Disk], devices: Sequence[str],
        seconds: int) -> Outcome:
    """Boots, runs the module for at most so many seconds, powers off.

    :param devices: QEMU's -device arguments, which name the disks as drives
    :raises AssertionError: with the console where it printed no JSON
    """
    began = time.monotonic()
    with tempfile.TemporaryDirectory(dir='/var/tmp',
                                     prefix='serifos-guest-') as name:
        place = pathlib.Path(name)
        for disk in disks:
            with open(place / disk.name, 'wb') as file:
                file.truncate(disk.mib * _MIB)
        booted = kernel.fetch()
        (place / 'initrd').write_bytes(
            initramfs.build(_busybox(), booted.modules))
        append = (f'console=ttyS0 panic=-1 quiet guest={seconds} {ROOT} '
                  f'{sys.executable} {module}')
        command = _command(place, booted.image, append, disks, devices)
        for _ in range(_BOOTS):
            if _ran(command, place / 'console', seconds):
                break
        return Outcome(
            _said(place),
            {disk.name: (place / disk.name).stat().st_blocks * 512 / _MIB
             for disk in disks}, time.monotonic() - began)


def _ran(command: Sequence[str], console: pathlib.Path,
         seconds: int) -> bool:
    """Whether the guest booted; its program is then over, or was ended."""
    end = time.monotonic() + _BOOT_S
    with subprocess.Popen(command, stdin=subprocess.DEVNULL) as emulator:
        try:
            while not (console.exists() and console.stat().st_size):
                with contextlib.suppress(subprocess.TimeoutExpired):
                    emulator.wait(timeout=1)
                    return True
                if time.monotonic() > end:
                    return False
            with contextlib.suppress(subprocess.TimeoutExpired):
                emulator.wait(timeout=seconds)
            return True
        finally:
            emulator.kill()


def _command(place: pathlib.Path, image: pathlib.Path, append: str,
             disks: Sequence[Disk], devices: Sequence[str]) -> list[str]:
    return [
        EMULATOR, '-machine', 'q35', '-accel', 'tcg', '-cpu', 'Nehalem',
        '-smp', '2', '-m', '1024', '-display', 'none', '-nodefaults',
        '-nic', 'none', '-no-reboot',
        '-serial', f'file:{place}/console', '-serial', f'file:{place}/said',
        '-kernel', str(image), '-initrd', f'{place}/initrd',
        '-append', append,
        '-virtfs', f'local,path=/,mount_tag={initramfs.ROOT_TAG},'
        'security_model=none,readonly=on,multidevs=remap',
        *(word for disk in disks for word in (
            '-drive', f'if=none,id={disk.name},file.locking=off,'
            f'file={place}/{disk.same_as or disk.name},'
            f'format=raw,discard={disk.discard}')),
        *(word for device in devices for word in ('-device', device))]


def _said(place: pathlib.Path) -> dict[str, Any]:
    try:
        return json.loads((place / 'said').read_text())
    except ValueError:
        console = (place / 'console').read_text(errors='replace')
        raise AssertionError(
            f'The guest printed no result; its console ends with:\n'
            f'{console[-6000:]}') from None
