# SPDX-License-Identifier: Apache-2.0
"""A block device: what it is, and whether it may be overwritten.

What is shown and refused is decided in pure code over one frozen
:class:`Device`; :func:`held` then opens the device exclusively.
"""

from __future__ import annotations

from collections.abc import Iterator
from collections.abc import Sequence
import contextlib
import dataclasses
import os
import pathlib
import stat

from serifos.bench import in_use
from serifos.bench import lsblk
from serifos.bench import sizes
from serifos import errors


IDLE_FILESYSTEMS = frozenset({
    'ext2', 'ext3', 'ext4', 'xfs', 'f2fs', 'exfat', 'iso9660', 'squashfs'})
"""Signatures of what is used by mounting it alone, and mounts are listed.
Any other may be part of something that is not running now (a volume group, an
array, a pool, another host's)."""

_KINDS = ('disk', 'loop', 'part', 'mpath', 'raid')
_TABLES = ('gpt', 'dos', 'PMBR', 'mac', 'bsd', 'sun', 'sgi', 'atari')
_SYSTEM = ('/', '/boot', '/boot/efi', '/usr', '/var', '[SWAP]')


@dataclasses.dataclass(frozen=True)
class Device(lsblk.Node):
    """A block device, and who uses it.

    Its mounts are also those of what stands on it.

    :param holders: devices that stand on it
    :param partitions: its partitions
    :param signatures: what is written on it, by libblkid's names
    :param openers: processes that have it open
    :param system: the running system is on the same disk
    :param serial_is_shared: another disk here has the same
    """

    holders: tuple[str, ...] = ()
    partitions: tuple[str, ...] = ()
    signatures: tuple[str, ...] = ()
    openers: tuple[str, ...] = ()
    system: bool = False
    serial_is_shared: bool = False

    @property
    def name(self) -> str:
        return os.path.basename(self.path)

    @property
    def confirm_word(self) -> str:
        """What must be typed before anything is destroyed.

        A partition has no serial of its own: that names the whole disk. One
        that several have, such as the namespaces of an NVMe device, names
        none of them.
        """
        own = (None if self.kind == 'part' else
               self.wwn if self.serial_is_shared else
               self.serial or self.wwn)
        return own or self.path

    @property
    def facts(self) -> dict[str, str]:
        """What the user is shown before the word is asked for."""
        return {
            'device': f'{self.path} ({self.kind})',
            'model': self.model or 'unknown',
            'serial': self.serial or 'none', 'WWN': self.wwn or 'none',
            'size': f'{sizes.gib(self.size_bytes)} ({self.size_bytes} bytes)',
            'holders': ', '.join(self.holders) or 'none',
            'mounts': ', '.join(self.mounts) or 'none',
            'signatures': ', '.join(self.signatures) or 'none'}


def identify(path: str) -> Device:
    """The device as it is now; looks, and changes nothing.

    :raises DeviceError: where it is none, or cannot be looked at
    """
    number, real = _number(path)
    device = find(lsblk.tree(), number)
    if device is None:
        raise errors.DeviceError(
            f'lsblk does not list {path}; it holds nothing to measure.')
    device = dataclasses.replace(
        device, serial=device.serial or _kernels_serial(device.name))
    if device.path != real and not device.path.startswith('/dev/mapper/'):
        raise errors.DeviceError(
            f'{path} is another name for {device.path}; give that one.')
    if refusal(device) is not None:
        return device
    holders = {*device.holders, *in_use.holders(number)}
    return dataclasses.replace(
        device, holders=tuple(sorted(holders)),
        signatures=in_use.written_on(real),
        openers=tuple(sorted(in_use.openers(number))))


def find(tree: Sequence[lsblk.Node], number: str | None) -> Device | None:
    """The device with this major:minor in a tree that lsblk printed."""
    for disk in tree:
        for node in disk.walk():
            if node.number == number:
                return dataclasses.replace(
                    _device(node, disk), serial_is_shared=any(
                        other is not disk and other.serial
                        and other.serial == node.serial for other in tree))
    return None


def _device(node: lsblk.Node, disk: lsblk.Node) -> Device:
    below = [*node.walk()]
    above = below[1:]
    return Device(
        **{**vars(node), 'children': (), 'mounts': tuple(sorted(
            {mount for one in below for mount in one.mounts}))},
        holders=tuple(sorted({n.kname for n in above if n.kind != 'part'})),
        partitions=tuple(sorted(
            {n.kname for n in above if n.kind == 'part'})),
        system=any(m in _SYSTEM for n in disk.walk() for m in n.mounts))


def refusal(device: Device) -> str | None:
    """Why a device must not be measured, or None where it may be."""
    d = device
    rules = (
        (d.unread, f'cannot be measured: {(d.unread or "").rstrip(".")}'),
        (d.system, 'is, or shares its disk with, the running system; '
                   'measure another device, or a file on it by file:PATH'),
        (d.mounts, f'is in use: {" and ".join(d.mounts)} is mounted from '
                   'it; unmount it if nobody needs what is there'),
        (d.holders, f'is held by {" and ".join(d.holders)}; take it out of '
                    'there first'),
        (d.kind == 'lvm', 'is a logical volume, and may be a tenant\'s; '
                          'give the name of its volume group to measure on '
                          'scratch volumes there'),
        (not d.kind.startswith(_KINDS),
         f'is of type {d.kind}, which serifos does not measure'),
        (d.partitions, f'has partitions ({", ".join(d.partitions)}); remove '
                       'them if nobody needs what is there'),
        (set(d.signatures) & set(_TABLES),
         'has a partition table; remove it by wipefs if nobody needs what '
         'is there'),
        ('LVM2_member' in d.signatures,
         'is a physical volume of LVM; give the name of its volume group '
         'to measure on scratch volumes there, or pvremove it'),
        (set(d.signatures) - IDLE_FILESYSTEMS,
         f'has the signature of {" and ".join(d.signatures)} and may be in '
         'use by something that is not running now; remove it by wipefs if '
         'nobody needs what is there'),
        (d.openers, f'is open in {", ".join(d.openers)}; end that first'),
        (d.read_only, 'is read-only'),
        (not d.size_bytes, 'has no capacity'))
    return next((f'{d.path} {why}.' for broken, why in rules if broken),
                None)


@contextlib.contextmanager
def held(device: Device) -> Iterator[int]:
    """The device opened exclusively, as a file descriptor.

    Nobody can mount it, swap to it or build on it meanwhile.

    :raises DeviceError: where somebody else has it, or it has changed
    """
    try:
        fd = os.open(device.path, os.O_RDWR | os.O_EXCL | os.O_CLOEXEC)
    except OSError as exc:
        raise errors.DeviceError(
            f'{device.path} cannot be opened exclusively '
            f'({exc.strerror}); something uses it.') from None
    try:
        now = dataclasses.replace(identify(device.path),
                                  openers=device.openers)
        if now != device or in_use.major_minor(os.fstat(fd)) != device.number:
            raise errors.DeviceError(
                f'{device.path} has changed since it was shown; nothing '
                'was touched: run the command again.')
        yield fd
    finally:
        os.close(fd)


def disk_below(path: str | os.PathLike[str]) -> tuple[str | None, ...]:
    """(path, model, serial) of the disk that holds a file, or Nones."""
    dev = os.stat(path).st_dev
    number = f'{os.major(dev)}:{os.minor(dev)}'
    with contextlib.suppress(errors.ToolError):  # nothing depends on it
        for disk in lsblk.tree():
            if any(node.number == number for node in disk.walk()):
                return (disk.path, disk.model,
                        disk.serial or _kernels_serial(disk.kname))
    return (None, None, None)


def _kernels_serial(name: str) -> str | None:
    # lsblk asks udev, which is missing in a container for one.
    for file, head in (('serial', 0), ('device/vpd_pg80', 4)):
        with contextlib.suppress(OSError):
            page = pathlib.Path('/sys/class/block', name, file).read_bytes()
            return lsblk.stripped(page[head:].decode('ascii', 'replace'))
    return None


def _number(path: str) -> tuple[str, str]:
    try:
        info = os.stat(path)
    except OSError as exc:
        raise errors.DeviceError(
            f'There is no device {path} ({exc.strerror}).') from None
    if not stat.S_ISBLK(info.st_mode):
        raise errors.DeviceError(
            f'{path} is not a block device; name a volume group without its '
            'directory, and a scratch file as file:PATH.')
    if not os.access(path, os.R_OK | os.W_OK):
        raise errors.DeviceError(
            f'{path} may not be read and written by you; run as root.')
    return in_use.major_minor(info), os.path.realpath(path)
