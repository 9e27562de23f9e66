# SPDX-License-Identifier: Apache-2.0
"""A scratch file of our own: made, known again, and removed.

A note beside it, ``PATH.serifos``, names the inode and size of the file
that we made. Without it, or where it names another file, a file is somebody
else's and stays as it is.
"""

from __future__ import annotations

from collections.abc import Iterator
import contextlib
import fcntl
import json
import os
import pathlib
from typing import Any

from serifos import errors
from serifos import store

SCHEMA = 'serifos-scratch/1'
GIB = 2 ** 30
_MARGIN_SHARE = 20   # of the filesystem is left free,
_MARGIN_MOST = GIB   # or this where that is less


def refusal(path: pathlib.Path, size: int) -> str | None:
    """Why a scratch file cannot be made there, or None."""
    if not path.parent.is_dir():
        return f'There is no directory {path.parent} for the scratch file.'
    if os.path.lexists(path) and not is_ours(path):
        return (f'{path} exists and serifos did not make it; name a path '
                'where nothing is yet.')
    if os.path.lexists(note(path)) and _read(path) is None:
        return (f'{note(path)} exists and is no note of serifos about a '
                'scratch file; name another path.')
    return no_room(
        path.parent, size, 'a scratch file',
        path.stat().st_blocks * 512 if path.exists() else 0)


def no_room(directory: pathlib.Path, size: int, what: str,
            reused: int = 0) -> str | None:
    """Why what we make does not fit on a filesystem, or None.

    :param reused: bytes of it that are taken by us already
    """
    room = os.statvfs(directory)
    free = room.f_bavail * room.f_frsize + reused
    margin = min(room.f_blocks * room.f_frsize // _MARGIN_SHARE,
                 _MARGIN_MOST)
    if free < size + margin:
        return (f'{directory} has {free / GIB:.4g} GiB free, and {what} of '
                f'{size / GIB:.4g} GiB does not fit with '
                f'{margin / GIB:.4g} GiB to spare; give a smaller '
                '--size-gib.')
    return None


@contextlib.contextmanager
def made(path: pathlib.Path, size: int, keep: bool) -> Iterator[None]:
    """An allocated file of exactly this size, ours alone, meanwhile.

    :param keep: leave it where it is afterwards
    :raises DeviceError: where it cannot be made, or another build has it
    """
    with contextlib.ExitStack() as stack:
        if path.exists():
            stack.enter_context(_locked(path))
            _remove(path)
        stack.enter_context(_new(path, size, keep))
        yield


@contextlib.contextmanager
def _new(path: pathlib.Path, size: int, keep: bool) -> Iterator[None]:
    why = refusal(path, size)
    if why is not None:
        raise errors.DeviceError(why)
    try:
        fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL
                     | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    except OSError as exc:
        raise errors.DeviceError(
            f'{path} cannot be made: {exc.strerror}.') from None
    try:
        fcntl.flock(fd, fcntl.LOCK_EX)
        store.write_json(note(path), {
            'schema': SCHEMA, 'inode': os.fstat(fd).st_ino, 'size': size})
        _allocate(fd, path, size)
        refuse_without_direct_io(path)
        yield
    finally:
        if not keep:
            _remove(path)
        os.close(fd)


def _allocate(fd: int, path: pathlib.Path, size: int) -> None:
    try:
        os.posix_fallocate(fd, 0, size)
    except OSError as exc:
        raise errors.DeviceError(
            f'{path} cannot be given {size / GIB:.4g} GiB: '
            f'{exc.strerror}.') from None


@contextlib.contextmanager
def _locked(path: pathlib.Path) -> Iterator[None]:
    with open(path, 'rb') as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            raise errors.DeviceError(
                f'Another build is using {path}; wait for its end, or name '
                'another path.') from None
        yield


def refuse_without_direct_io(path: str | os.PathLike[str]) -> None:
    """:raises DeviceError: where the page cache cannot be gone around"""
    try:
        os.close(os.open(path, os.O_RDWR | os.O_DIRECT | os.O_CLOEXEC))
    except OSError as exc:
        raise errors.DeviceError(
            f'{path} takes no direct I/O ({exc.strerror}), so that memory '
            'would be measured; name a path on another filesystem.'
        ) from None


def note(path: pathlib.Path) -> pathlib.Path:
    """Where it is said that a scratch file is ours."""
    return path.with_name(f'{path.name}.serifos')


def is_ours(path: pathlib.Path) -> bool:
    """Whether the note beside a file says that we made this very file."""
    said = _read(path)
    try:
        info = path.lstat()
    except OSError:
        return False
    return (said is not None and path.is_file() and not path.is_symlink()
            and said.get('inode') == info.st_ino
            and isinstance(said.get('size'), int)
            and info.st_size <= said['size'])


def _read(path: pathlib.Path) -> dict[str, Any] | None:
    try:
        said = json.loads(note(path).read_text())
    except (OSError, ValueError):
        return None
    return said if (isinstance(said, dict)
                    and said.get('schema') == SCHEMA) else None


def _remove(path: pathlib.Path) -> None:
    if is_ours(path):
        path.unlink()
        note(path).unlink()
