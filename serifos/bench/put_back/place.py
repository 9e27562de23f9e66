# SPDX-License-Identifier: Apache-2.0
"""Whether the file system of a directory may be unmounted and mounted again.

What is refused is decided in pure code over one frozen :class:`Place`.
"""

from __future__ import annotations

from collections.abc import Iterator
from collections.abc import Mapping
import dataclasses
import os
import pathlib
import stat

from serifos.bench import in_use
from serifos.bench.put_back import mountinfo
from serifos.bench.put_back import users

KINDS = ('ext2', 'ext3', 'ext4', 'xfs', 'f2fs')
"""The file systems of one block device that can be mounted as they were."""

_OPTIONS = frozenset({
    'rw', 'nosuid', 'nodev', 'noexec', 'noatime', 'nodiratime', 'relatime',
    'nosymfollow'})
_SYSTEM = ('/', '/home', '/opt', '/root', '/run', '/srv', '/tmp', '/var')
_SYSTEM_BELOW = ('/bin', '/boot', '/dev', '/efi', '/etc', '/lib', '/proc',
                 '/sbin', '/sys', '/usr', '/var/lib', '/var/log')


@dataclasses.dataclass(frozen=True)
class Place:
    """A directory, and what is known of the file system mounted on it.

    :param mounts: all that this process sees
    :param elsewhere: process → the mounts of its other namespace
    :param users: processes that have something of it open
    :param device: major:minor of what it is mounted from, None for no block
        device
    :param autoclear: whether the device goes away when it is unmounted
    """

    directory: str
    is_root: bool
    mounts: tuple[mountinfo.Mount, ...]
    elsewhere: Mapping[str, tuple[mountinfo.Mount, ...]]
    users: tuple[str, ...] = ()
    device: str | None = None
    autoclear: bool = False

    @property
    def mount(self) -> mountinfo.Mount | None:
        return mountinfo.top(self.mounts, self.directory)


def refusal(place: Place) -> str | None:
    """Why a directory's file system may not be remounted, or None."""
    mount, at = place.mount, place.directory
    if not place.is_root:
        return ('--remount unmounts and mounts, which only root may; run as '
                'root, or leave --remount out.')
    if at in _SYSTEM or any(f'{at}/'.startswith(f'{one}/')
                            for one in _SYSTEM_BELOW):
        return (f'{at} belongs to the running system, so it is not '
                'remounted; mount a file system elsewhere for --remount.')
    if mount is None:
        return (f'{at} is not itself a mount point; name the directory on '
                'which a file system is mounted, or leave --remount out.')
    why = next((why for broken, why in _rules(place, mount) if broken), None)
    return None if why is None else f'{at} is not remounted: {why}.'


def _rules(place: Place, mount: mountinfo.Mount
           ) -> Iterator[tuple[object, str]]:
    yield (mount.kind not in KINDS,
           f'it is a {mount.kind}, and --remount takes {", ".join(KINDS)}')
    yield (place.device != mount.number,
           f'{mount.source}, from which it is mounted, is not its block '
           'device; mount it from that')
    yield (mount.root != '/',
           f'only {mount.root} of its file system is mounted there; mount '
           'the whole of it')
    yield (sum(one.point == mount.point for one in place.mounts) > 1,
           'several are mounted there, one over the other; unmount all but '
           'one')
    below = [one.point for one in place.mounts if one.parent == mount.id]
    yield (below, f'{", ".join(below)} is mounted below it; unmount that '
           'first')
    twice = [one.point for one in place.mounts
             if one.number == mount.number and one.id != mount.id]
    yield (twice, f'its file system is mounted on {", ".join(twice)} as '
           'well; unmount that first')
    far = [who for who, mounts in place.elsewhere.items()
           if not _is_reached(place, mount, mounts)]
    yield (far, f'{", ".join(far)} has it in a mount namespace of its own, '
           'where unmounting it here does not reach; end that first')
    yield (place.users, f'{", ".join(place.users)} has something open '
           'there; end that, or go elsewhere')
    yield (place.autoclear, f'{mount.source} goes away with its mount '
           '(autoclear); set it up by losetup, and mount that')
    strange = [one for one in mount.options if one not in _OPTIONS] + [
        one for one in mount.super_options
        if '\\' in one or one == 'ro' or 'quota' in one and one != 'noquota'
        or one.startswith(('usrjquota', 'grpjquota'))]
    yield (strange, f'it has the option {", ".join(strange)}, with which '
           'serifos cannot mount it again as it is; mount it without')
    yield (_sharing(mount) != _sharing(_parent(place.mounts, mount)),
           'it is shared with other mount namespaces in another way than '
           'what it is mounted on, so that it would not come back as it is; '
           'mount it anew')


def _parent(mounts: tuple[mountinfo.Mount, ...], mount: mountinfo.Mount
            ) -> mountinfo.Mount | None:
    return next((one for one in mounts if one.id == mount.parent), None)


def _sharing(mount: mountinfo.Mount | None) -> tuple[str, ...]:
    return () if mount is None else tuple(sorted(
        name.partition(':')[0] for name in mount.propagation))


def _is_reached(place: Place, mount: mountinfo.Mount,
                theirs: tuple[mountinfo.Mount, ...]) -> bool:
    """Whether unmounting here also unmounts in another namespace.

    It does where what they have it mounted on follows what we have.
    """
    groups = _groups(_parent(place.mounts, mount), ('shared',))
    return all(groups & _groups(_parent(theirs, one), ('shared', 'master'))
               for one in theirs if one.number == mount.number)


def _groups(mount: mountinfo.Mount | None,
            kinds: tuple[str, ...]) -> set[str]:
    """The numbers of the groups in which a mount propagates."""
    found = [name.partition(':') for name
             in (() if mount is None else mount.propagation)]
    return {number for kind, _, number in found if kind in kinds}


def look(directory: pathlib.Path) -> Place:
    """A directory as it is now; nothing is changed."""
    at = os.path.realpath(directory)
    place = Place(at, os.geteuid() == 0, users.mounts(), users.elsewhere())
    mount = place.mount
    if mount is None or not place.is_root:
        return place
    ids = {one.id for mounts in (place.mounts, *place.elsewhere.values())
           for one in mounts if one.number == mount.number}
    return dataclasses.replace(
        place, users=users.openers(mount.number, mount.point, ids),
        device=device(mount.source), autoclear=_autoclear(mount.number))


def device(source: str) -> str | None:
    """major:minor of a block device, None where it is none."""
    try:
        info = os.stat(source)
    except OSError:
        return None
    return in_use.major_minor(info) if stat.S_ISBLK(info.st_mode) else None


def _autoclear(number: str) -> bool:
    try:
        return pathlib.Path('/sys/dev/block', number,
                            'loop/autoclear').read_text().strip() == '1'
    except OSError:
        return False
