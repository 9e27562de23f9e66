# SPDX-License-Identifier: Apache-2.0
"""A scratch directory inside of one that the user named.

A note in it says that we made it: without that, or where another user can
write to it, it is somebody else's and stays as it is. All that is done in it
is done by its descriptor, so that another directory of its name is never
touched. What is removed is what jobs of ours make there, files named
``serifos.N`` and ``serifos.N.N``; where there is anything else, nothing is
run.
"""

from __future__ import annotations

from collections.abc import Callable
from collections.abc import Iterator
import contextlib
import fcntl
import json
import os
import pathlib
import re
import stat

from serifos.bench import in_use
from serifos.bench import scratch
from serifos import errors
from serifos.files import strict_json

SCHEMA = 'serifos-folder/1'
NAME = 'serifos-screen'
_NOTE = 'note.json'
_MOST_NOTE = 4096
_OURS = re.compile(r'serifos(\.[0-9]{1,9}){1,2}')
_OPEN = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


def refusal(directory: pathlib.Path, size: int) -> str | None:
    """The reason why our directory cannot be made there, or None."""
    path = directory / NAME
    if not directory.is_dir():
        return f'There is no directory {directory}; make it first.'
    if not os.access(directory, os.W_OK | os.X_OK):
        return f'You may not write to {directory}; name another directory.'
    if os.path.lexists(path) and not is_ours(path):
        return (f'{path} exists and serifos did not make it; name another '
                'directory, or remove it if nobody needs it.')
    return scratch.no_room(directory, size, 'the files of a run')


@contextlib.contextmanager
def made(directory: pathlib.Path, size: int
         ) -> Iterator[tuple[int, Callable[[], None]]]:
    """Our directory, locked meanwhile and removed afterwards.

    What an earlier command left behind, killed outright, goes first.

    :returns: its descriptor, and what empties it, for the next run to begin
        like the first
    :raises DeviceError: where it cannot be made, another has it, or
        somebody has put something there
    """
    path = directory / NAME
    why = refusal(directory, 0)
    if why is not None:
        raise errors.DeviceError(why)
    fd = _opened(path)
    try:
        _lock(fd, path)
        _empty(fd, path)
        try:
            why = refusal(directory, size)
            if why is not None:
                raise errors.DeviceError(why)
            yield fd, lambda: _empty(fd, path)
        finally:
            _remove(fd, path)
    finally:
        os.close(fd)


def is_ours(path: pathlib.Path) -> bool:
    """Whether a directory has the note of serifos that it made it."""
    try:
        fd = os.open(path, _OPEN)
    except OSError:
        return False
    try:
        return _is_ours(fd)
    finally:
        os.close(fd)


def written(fd: int) -> set[in_use.Identity]:
    """The files in our directory."""
    found = set()
    for name in os.listdir(fd):
        with contextlib.suppress(OSError):
            found.add(in_use.identity(
                os.stat(name, dir_fd=fd, follow_symlinks=False)))
    return found


def _opened(path: pathlib.Path) -> int:
    try:
        try:
            path.mkdir(mode=0o700)
        except FileExistsError:
            return os.open(path, _OPEN)
        fd = os.open(path, _OPEN)
        _write_note(fd)
        return fd
    except OSError as exc:
        raise errors.DeviceError(
            f'{path} cannot be made: {exc.strerror}.') from None


def _write_note(fd: int) -> None:
    note = os.open(_NOTE, os.O_WRONLY | os.O_CREAT | os.O_EXCL
                   | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600, dir_fd=fd)
    try:
        os.write(note, json.dumps({
            'schema': SCHEMA, 'inode': os.fstat(fd).st_ino}).encode())
    finally:
        os.close(note)


def _is_ours(fd: int) -> bool:
    info = os.fstat(fd)
    if info.st_uid != os.geteuid() or info.st_mode & (
            stat.S_IWGRP | stat.S_IWOTH):
        return False
    try:
        note = os.open(_NOTE, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK
                       | os.O_CLOEXEC, dir_fd=fd)
        try:
            said = strict_json.loads(os.read(note, _MOST_NOTE))
        finally:
            os.close(note)
    except (OSError, ValueError):
        return False
    return (isinstance(said, dict) and said.get('schema') == SCHEMA
            and said.get('inode') == info.st_ino)


def _lock(fd: int, path: pathlib.Path) -> None:
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        raise errors.DeviceError(
            f'Another screening is using {path}; wait for its end, or name '
            'another directory.') from None


def _empty(fd: int, path: pathlib.Path) -> None:
    ours = _is_ours(fd)
    if ours:
        _unlink(fd)
    left = sorted(name for name in os.listdir(fd) if name != _NOTE)
    if left or not ours:
        raise errors.DeviceError(
            f'{path} holds {", ".join(left[:3]) or "no note of ours"}, which '
            'is not as serifos left it; nothing is run there: look at it, '
            'and remove the directory if nobody needs it.')


def _unlink(fd: int) -> None:
    for name in os.listdir(fd):
        if _OURS.fullmatch(name) and stat.S_ISREG(os.stat(
                name, dir_fd=fd, follow_symlinks=False).st_mode):
            os.unlink(name, dir_fd=fd)


def _remove(fd: int, path: pathlib.Path) -> None:
    """Removes our files, and leaves those of anybody else."""
    with contextlib.suppress(OSError):
        _unlink(fd)
        if os.listdir(fd) == [_NOTE]:
            os.unlink(_NOTE, dir_fd=fd)
        if (in_use.identity(path.lstat())
                == in_use.identity(os.fstat(fd))):
            path.rmdir()
