# SPDX-License-Identifier: Apache-2.0
"""A block device, and whether it may be overwritten.

What is shown and refused is decided in pure code over one frozen
:class:`Device`; :func:`held` then opens the device exclusively.
"""

from __future__ import annotations

from collections.abc import Iterable
from collections.abc import Iterator
from collections.abc import Sequence
import contextlib
import dataclasses
import os
import stat

from serifos.bench import in_use
from serifos.bench import lsblk
from serifos.bench import sizes
from serifos.bench import storage
from serifos import errors


IDLE_FILESYSTEMS = frozenset({
    'ext2', 'ext3', 'ext4', 'xfs', 'f2fs', 'exfat', 'iso9660', 'squashfs'})
"""Signatures of what is used only by mounting it, and mounts are listed.
Any other may be part of something that is not running now (a volume group, an
array, a pool, another host's)."""

_KINDS = ('disk', 'loop', 'part', 'mpath', 'raid')
_TABLES = ('gpt', 'dos', 'PMBR', 'mac', 'bsd', 'sun', 'sgi', 'atari')
_SHOWN = 3
_SYSTEM = ('/', '/boot', '/boot/efi', '/usr', '/var', '[SWAP]')


@dataclasses.dataclass(frozen=True)
class Device(lsblk.Node):
    """A block device, and who uses it.

    Its mounts are also those of what stands on it.

    :param holders: devices that stand on it
    :param partitions: its partitions
    :param others: other names of its storage, or of parts of it
    :param unsure: disks that may be the same, as nothing tells them apart
    :param signatures: what is written on it, by libblkid's names
    :param openers: processes that have it open
    :param system: the running system is on the same disk
    :param serial_is_shared: another disk here has the same
    :param wwn_is_shared: another disk here has the same
    """

    holders: tuple[str, ...] = ()
    partitions: tuple[str, ...] = ()
    others: tuple[storage.Other, ...] = ()
    unsure: tuple[str, ...] = ()
    signatures: tuple[str, ...] = ()
    openers: tuple[str, ...] = ()
    system: bool = False
    serial_is_shared: bool = False
    wwn_is_shared: bool = False

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
        words = ((self.serial, self.serial_is_shared),
                 (self.wwn, self.wwn_is_shared))
        return self.path if self.kind == 'part' else next(
            (word for word, shared in words if word and not shared),
            self.path)

    @property
    def facts(self) -> dict[str, str]:
        """What the user is shown before the word is asked for."""
        facts = {
            'device': f'{self.path} ({self.kind})',
            'model': self.model or 'unknown',
            'serial': self.serial or 'none', 'WWN': self.wwn or 'none',
            'size': f'{sizes.gib(self.size_bytes)} ({self.size_bytes} bytes)',
            'holders': ', '.join(self.holders) or 'none',
            'mounts': ', '.join(self.mounts) or 'none',
            'signatures': ', '.join(self.signatures) or 'none'}
        if self.others:
            facts['same storage'] = ', '.join(
                f'{other.path} ({other.why})' for other in self.others)
        if self.unsure:
            facts['not compared'] = (
                f'{", ".join(self.unsure)} may be the same storage; neither '
                'WWN nor serial number tells')
        return facts


def identify(path: str) -> Device:
    """The device as it is now; looks, and changes nothing.

    :raises DeviceError: where it is none, or cannot be looked at
    """
    number, real = _number(path)
    device = find(_tree(), number)
    if device is None:
        raise errors.DeviceError(
            f'lsblk does not list {path}; it holds nothing to measure.')
    if device.path != real and not device.path.startswith('/dev/mapper/'):
        raise errors.DeviceError(
            f'{path} is another name for {device.path}; give that one.')
    if refusal(device) is not None:
        return device
    holders = {*device.holders, *in_use.holders(number)}
    return dataclasses.replace(
        device, holders=tuple(sorted(holders)),
        signatures=in_use.written_on(real),
        openers=tuple(sorted(in_use.openers({
            device.identity: '',
            **{other.identity: f', as {other.path}'
               for other in device.others if other.watched}}))))


def _tree() -> list[lsblk.Node]:
    mounts, exports = in_use.mounted(), in_use.exports()
    return [storage.completed(disk, mounts, exports) for disk in lsblk.tree()]


def find(tree: Sequence[lsblk.Node], number: str | None) -> Device | None:
    """The device with this major:minor in a tree that lsblk printed."""
    known = storage.every(tree)
    mine = next((one for one in known if one.node.number == number), None)
    if mine is None:
        return None
    above = [one.node for one in known if one.stands_on(mine)]
    disks = [one for one in known if one is not mine and not one.parents
             and not mine.stands_on(one)]
    return Device(
        **{**vars(mine.node), 'children': (), 'mounts': tuple(sorted(
            {mount for node in (mine.node, *above)
             for mount in node.mounts}))},
        holders=_knames(node for node in above if node.kind != 'part'),
        partitions=_knames(node for node in above if node.kind == 'part'),
        others=storage.other_names(mine, known),
        unsure=tuple(sorted(
            disk.node.path for disk in disks
            if _is_measurable(disk.node) and not mine.is_comparable(disk))),
        system=any(mount in _SYSTEM for one in known if mine.is_beside(one)
                   for mount in one.node.mounts),
        serial_is_shared=_has_another(disks, 'serial', mine.node.serial),
        wwn_is_shared=_has_another(disks, 'wwn', mine.node.wwn))


def _knames(nodes: Iterable[lsblk.Node]) -> tuple[str, ...]:
    return tuple(sorted({node.kname for node in nodes}))


def _is_measurable(node: lsblk.Node) -> bool:
    """Whether it could be a disk: no drive of CDs, nothing in memory."""
    return node.unread is not None or (
        node.kind.startswith(_KINDS) and node.size_bytes > 0
        and not node.kname.startswith('zram'))


def _has_another(disks: Iterable[storage.Storage], what: str,
                 name: str | None) -> bool:
    return name is not None and any(
        getattr(disk.node, what) == name for disk in disks)


def refusal(device: Device) -> str | None:
    """Why a device must not be measured, or None where it may be."""
    d = device
    used = [f'{use} ({other.why})' for other in d.others
            for use in other.uses][:_SHOWN]
    rules = (
        (d.unread, f'cannot be measured: {(d.unread or "").rstrip(".")}'),
        (used, f'is in use under another name: {" and ".join(used)}; end '
               'that if nobody needs what is there'),
        (d.system, 'is, or shares its disk with, the running system; '
                   'measure another device, or a file on it by file:PATH'),
        (d.mounts, f'is in use: {" and ".join(d.mounts)} is mounted from '
                   'it; unmount it if nobody needs what is there'),
        (d.holders, f'is held by {" and ".join(d.holders)}; take it out of '
                    'there first'),
        (d.exports, f'is exported by {" and ".join(d.exports)}; remove it '
                    'from there first'),
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

    Nobody can mount it, swap to it or build on it meanwhile, by any of its
    names.

    :raises DeviceError: where somebody else has it, or it has changed
    """
    with contextlib.ExitStack() as stack:
        fd = _claimed(device.path, os.O_RDWR)
        stack.callback(os.close, fd)
        now = identify(device.path)
        why = refusal(now)
        if why is None and (now != device or in_use.major_minor(
                os.fstat(fd)) != device.number):
            why = f'{device.path} has changed since it was shown.'
        if why is not None:
            raise errors.DeviceError(
                f'{why.removesuffix(".")}; nothing was touched: run the '
                'command again.')
        for other in device.others:
            # A container may not have all names of what it was given.
            if other.claims and os.path.exists(other.path):
                stack.callback(os.close, _claimed(other.path, os.O_RDONLY))
        yield fd


def _claimed(path: str, mode: int) -> int:
    try:
        return os.open(path, mode | os.O_EXCL | os.O_CLOEXEC)
    except OSError as exc:
        raise errors.DeviceError(
            f'{path} cannot be opened exclusively ({exc.strerror}); '
            'something uses it.') from None


def disk_below(path: str | os.PathLike[str]) -> tuple[str | None, ...]:
    """(path, model, serial) of the disk that holds a file, or Nones."""
    dev = os.stat(path).st_dev
    number = f'{os.major(dev)}:{os.minor(dev)}'
    with contextlib.suppress(errors.ToolError):  # nothing depends on it
        for disk in lsblk.tree():
            if any(node.number == number for node in disk.walk()):
                disk = storage.completed(disk, {}, {})
                return disk.path, disk.model, disk.serial
    return (None, None, None)


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
