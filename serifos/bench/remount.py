# SPDX-License-Identifier: Apache-2.0
"""Remount a file system, so that nothing of it stays cached.

It is mounted again whatever happens in between; a note tells how, for the
case that this process is killed.
"""

from __future__ import annotations

from collections.abc import Iterator
from collections.abc import Mapping
import contextlib
import dataclasses
import errno
import os
import pathlib
import shlex
import stat

from serifos.bench import command
from serifos.bench import in_use
from serifos.bench import mountinfo
from serifos.bench import restore_notes
from serifos import errors
from serifos.facts import fields

_TIMEOUT_S = 600.0  # a full cache is written first

KINDS = ('ext2', 'ext3', 'ext4', 'xfs', 'f2fs')
"""The file systems of one block device that can be mounted as they were."""

_OPTIONS = frozenset({
    'rw', 'nosuid', 'nodev', 'noexec', 'noatime', 'nodiratime', 'relatime',
    'nosymfollow'})
_SYSTEM = ('/', '/home', '/opt', '/root', '/run', '/srv', '/tmp', '/var')
_SYSTEM_BELOW = ('/bin', '/boot', '/dev', '/efi', '/etc', '/lib', '/proc',
                 '/sbin', '/sys', '/usr', '/var/lib', '/var/log')


def find(directory: pathlib.Path) -> mountinfo.Mount:
    """The mount on a directory, where it may be remounted.

    :raises DeviceError: where it may not
    """
    found = look(directory)
    why = refusal(found)
    mount = found.mount
    if why is not None or mount is None:
        raise errors.DeviceError(why or f'Nothing is mounted on {directory}.')
    return mount


def refuse_on(mount: mountinfo.Mount, path: pathlib.Path) -> None:
    """:raises InputError: where a file would be on the file system"""
    dev = os.stat(path.absolute().parent).st_dev
    if f'{os.major(dev)}:{os.minor(dev)}' == mount.number:
        raise errors.InputError(
            f'{path} would be on {mount.point}, which is unmounted for the '
            'runs; give an --output elsewhere.')


def again(mount: mountinfo.Mount,
          folder: pathlib.Path = restore_notes.FOLDER) -> None:
    """Unmounts a file system and mounts it again.

    :raises DeviceError: where it could not be unmounted, and is mounted; or
        where it could not be mounted again, with the command that does
    """
    now = mountinfo.top(mountinfo.ours(), mount.point)
    if now is None or now.likeness != mount.likeness:
        raise errors.DeviceError(
            f'{mount.point} is not mounted as it was when it was shown; '
            'nothing was unmounted: run the command again.')
    note = _note(mount.point, folder)
    note.write({'mount': dataclasses.asdict(mount),
                'uuid': _uuid(mount.source), 'command': words(mount)})
    try:
        command.run(['umount', '-i', mount.point], _TIMEOUT_S)
        _refuse_alive(mount)
    except errors.ToolError as exc:
        raise errors.DeviceError(
            f'{mount.point} could not be unmounted ({exc}), so it is '
            'mounted as before; see what uses it, or leave --remount out.'
        ) from None
    finally:
        _restore(mount, note)


@contextlib.contextmanager
def held(mount: mountinfo.Mount,
         folder: pathlib.Path = restore_notes.FOLDER) -> Iterator[None]:
    """No other command remounts it meanwhile."""
    with _note(mount.point, folder).held():
        yield


def recover(directory: pathlib.Path,
            folder: pathlib.Path = restore_notes.FOLDER) -> str | None:
    """Mounts what a killed command had unmounted from a directory.

    :returns: what was done, in a sentence; None where nothing was to do
    :raises DeviceError: where it cannot be done, with the command that does
    """
    note = _note(os.path.realpath(directory), folder)
    doc = note.read()
    if doc is None:
        return None
    mount = _read(doc)
    if os.geteuid() != 0:
        raise errors.DeviceError(
            f'A screening left {mount.point} unmounted; as root, mount it '
            f'again by {words(mount)}.')
    with note.held():
        if mountinfo.top(mountinfo.ours(), mount.point) is not None:
            note.remove()
            return None
        if (device_of(mount.source) != mount.number
                or _uuid(mount.source) != doc['uuid'].value):
            raise errors.DeviceError(
                f'A screening that was killed left {mount.point} unmounted, '
                f'and {mount.source} is not what was mounted there; mount '
                f'that by hand, and remove {note.path}.')
        _restore(mount, note)
    return (f'{mount.source} is mounted on {mount.point} again, which a '
            'screening that was killed had left unmounted.')


def words(mount: mountinfo.Mount) -> str:
    """The command that mounts it as it was."""
    return shlex.join(_argv(mount))


def _argv(mount: mountinfo.Mount) -> list[str]:
    return ['mount', '-i', '-t', mount.kind, '-o', ','.join(mount.given),
            mount.source, mount.point]


def _restore(mount: mountinfo.Mount, note: restore_notes.Note) -> None:
    try:
        if mountinfo.top(mountinfo.ours(), mount.point) is None:
            command.run(_argv(mount), _TIMEOUT_S)
    except errors.ToolError as exc:
        raise errors.DeviceError(
            f'{mount.point} is unmounted and could not be mounted again '
            f'({exc}); mount it by {words(mount)}.') from None
    note.remove()
    now = mountinfo.top(mountinfo.ours(), mount.point)
    if now is None or now.likeness != mount.likeness:
        raise errors.DeviceError(
            f'{mount.point} is not mounted as it was before; unmount it, and '
            f'mount it by {words(mount)}.')


def _refuse_alive(mount: mountinfo.Mount) -> None:
    """Checks that the kernel has let go of the file system.

    A mount that nobody sees keeps it, and its caches, in memory.
    """
    try:
        os.close(os.open(mount.source,
                         os.O_RDONLY | os.O_EXCL | os.O_CLOEXEC))
    except OSError as exc:
        if exc.errno == errno.EBUSY:
            raise errors.DeviceError(
                f'{mount.source} was still in use when it was unmounted from '
                f'{mount.point}, by a mount that is not seen from here; it '
                'is mounted as before: end that, or leave --remount out.'
            ) from None
        raise errors.ToolError(
            f'{mount.source} cannot be opened: {exc.strerror}') from None


def _note(point: str, folder: pathlib.Path) -> restore_notes.Note:
    return restore_notes.Note('mount', point, folder)


def _read(doc: fields.Field) -> mountinfo.Mount:
    said = doc['mount']
    lists = ('options', 'propagation', 'super_options')
    return mountinfo.Mount(
        said['id'].whole(), said['parent'].whole(),
        **{name: said[name].text()
           for name in ('number', 'root', 'point', 'kind', 'source')},
        **{name: tuple(one.text() for one in said[name].items())
           for name in lists})


def _uuid(source: str) -> str | None:
    said = command.run(['blkid', '-p', '-s', 'UUID', '-o', 'value', source],
                       accept=(0, 2))
    return said.strip() or None


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
    place = Place(at, os.geteuid() == 0, mountinfo.ours(),
                  mountinfo.elsewhere())
    mount = place.mount
    if mount is None or not place.is_root:
        return place
    ids = {one.id for mounts in (place.mounts, *place.elsewhere.values())
           for one in mounts if one.number == mount.number}
    return dataclasses.replace(
        place, users=mountinfo.openers(mount.number, mount.point, ids),
        device=device_of(mount.source), autoclear=_autoclear(mount.number))


def device_of(source: str) -> str | None:
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
