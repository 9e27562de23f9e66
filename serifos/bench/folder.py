# SPDX-License-Identifier: Apache-2.0
"""A scratch directory of our own inside of one that the user named.

A note in it says that we made it: without that, and not empty, it is
somebody else's and stays as it is. What is removed is what jobs of ours make
there, files named ``serifos.*``, never anything else and never a directory
below.
"""

from __future__ import annotations

from collections.abc import Callable
from collections.abc import Iterator
import contextlib
import fcntl
import json
import os
import pathlib

from serifos.bench import scratch
from serifos import errors
from serifos import store

SCHEMA = 'serifos-folder/1'
NAME = 'serifos-screen'
_NOTE = 'note.json'
_FILES = 'serifos.*'


def refusal(directory: pathlib.Path, size: int) -> str | None:
    """Why our directory cannot be made there, or None."""
    path = directory / NAME
    if not directory.is_dir():
        return f'There is no directory {directory}; make it first.'
    if not os.access(directory, os.W_OK | os.X_OK):
        return f'You may not write to {directory}; name another directory.'
    if os.path.lexists(path) and not is_ours(path):
        return (f'{path} exists and serifos did not make it; name another '
                'directory.')
    return scratch.no_room(directory, size, 'the files of a run')


@contextlib.contextmanager
def made(directory: pathlib.Path, size: int
         ) -> Iterator[Callable[[], None]]:
    """Our directory, ours alone meanwhile and gone afterwards.

    What an earlier command left behind, killed outright, goes first.

    :returns: what empties it, for the next run to begin like the first
    :raises DeviceError: where it cannot be made, or another has it
    """
    path = directory / NAME
    why = refusal(directory, 0)
    if why is not None:
        raise errors.DeviceError(why)
    try:
        path.mkdir(mode=0o700, exist_ok=True)
        fd = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW
                     | os.O_CLOEXEC)
    except OSError as exc:
        raise errors.DeviceError(
            f'{path} cannot be made: {exc.strerror}.') from None
    try:
        _lock(fd, path)
    except errors.DeviceError:
        os.close(fd)
        raise
    try:
        store.write_json(path / _NOTE, {
            'schema': SCHEMA, 'inode': os.fstat(fd).st_ino})
        _empty(path)
        why = refusal(directory, size)
        if why is not None:
            raise errors.DeviceError(why)
        yield lambda: _empty(path)
    finally:
        _remove(path)
        os.close(fd)


def is_ours(path: pathlib.Path) -> bool:
    """Whether the note in a directory says that we made this very one."""
    if path.is_symlink() or not path.is_dir():
        return False
    try:
        said = json.loads((path / _NOTE).read_text())
    except (OSError, ValueError):
        return not any(path.iterdir())  # killed before the note was there
    return (isinstance(said, dict) and said.get('schema') == SCHEMA
            and said.get('inode') == path.stat().st_ino)


def _lock(fd: int, path: pathlib.Path) -> None:
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        raise errors.DeviceError(
            f'Another screening is using {path}; wait for its end, or name '
            'another directory.') from None


def _empty(path: pathlib.Path) -> None:
    for file in path.glob(_FILES):
        if file.is_file() and not file.is_symlink():
            file.unlink()


def _remove(path: pathlib.Path) -> None:
    _empty(path)
    (path / _NOTE).unlink(missing_ok=True)
    with contextlib.suppress(OSError):  # somebody has put something there
        path.rmdir()
