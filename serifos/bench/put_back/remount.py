# SPDX-License-Identifier: Apache-2.0
"""A file system that is unmounted and mounted again, so that nothing of it
stays in memory.

It is mounted again whatever happens in between; a note tells how, for the
case that this process is killed.
"""

from __future__ import annotations

from collections.abc import Iterator
import contextlib
import dataclasses
import errno
import os
import pathlib
import shlex

from serifos.bench import command
from serifos.bench.put_back import mountinfo
from serifos.bench.put_back import notes
from serifos.bench.put_back import place as places
from serifos.bench.put_back import users
from serifos import errors
from serifos.facts import fields

_TIMEOUT_S = 600.0  # a full cache is written first


def find(directory: pathlib.Path) -> mountinfo.Mount:
    """The mount on a directory, where it may be remounted.

    :raises DeviceError: where it may not
    """
    place = places.look(directory)
    why = places.refusal(place)
    mount = place.mount
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
          folder: pathlib.Path = notes.FOLDER) -> None:
    """Unmounts a file system and mounts it again.

    :raises DeviceError: where it could not be unmounted, and is mounted; or
        where it could not be mounted again, with the command that does
    """
    now = mountinfo.top(users.mounts(), mount.point)
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
        _put_back(mount, note)


@contextlib.contextmanager
def held(mount: mountinfo.Mount,
         folder: pathlib.Path = notes.FOLDER) -> Iterator[None]:
    """No other command remounts it meanwhile."""
    with _note(mount.point, folder).held():
        yield


def recover(directory: pathlib.Path,
            folder: pathlib.Path = notes.FOLDER) -> str | None:
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
        if mountinfo.top(users.mounts(), mount.point) is not None:
            note.remove()
            return None
        if (places.device(mount.source) != mount.number
                or _uuid(mount.source) != doc['uuid'].value):
            raise errors.DeviceError(
                f'A screening that was killed left {mount.point} unmounted, '
                f'and {mount.source} is not what was mounted there; mount '
                f'that by hand, and remove {note.path}.')
        _put_back(mount, note)
    return (f'{mount.source} is mounted on {mount.point} again, which a '
            'screening that was killed had left unmounted.')


def words(mount: mountinfo.Mount) -> str:
    """The command that mounts it as it was."""
    return shlex.join(_argv(mount))


def _argv(mount: mountinfo.Mount) -> list[str]:
    return ['mount', '-i', '-t', mount.kind, '-o', ','.join(mount.given),
            mount.source, mount.point]


def _put_back(mount: mountinfo.Mount, note: notes.Note) -> None:
    try:
        if mountinfo.top(users.mounts(), mount.point) is None:
            command.run(_argv(mount), _TIMEOUT_S)
    except errors.ToolError as exc:
        raise errors.DeviceError(
            f'{mount.point} is unmounted and could not be mounted again '
            f'({exc}); mount it by {words(mount)}.') from None
    note.remove()
    now = mountinfo.top(users.mounts(), mount.point)
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


def _note(point: str, folder: pathlib.Path) -> notes.Note:
    return notes.Note('mount', point, folder)


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
