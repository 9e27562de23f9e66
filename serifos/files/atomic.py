# SPDX-License-Identifier: Apache-2.0
"""Files: read whole within a bound, replaced atomically.

What is read or replaced is a regular file: no directory, device or FIFO.
A file that says to be one of ours, such as a dataset, is replaced by another
only of its kind: a name mistyped must not cost days of measuring. A file is
written beside its place under a name of ours, which the writer holds locked;
what a killed writer left is removed by the next one.
"""

from __future__ import annotations

from collections.abc import Iterator
import contextlib
import fcntl
import mmap
import os
import pathlib
import re
import secrets
import stat
import time
from typing import TextIO

from serifos import errors

Path = str | os.PathLike[str]

MOST_BYTES = 2 ** 29
"""Of a file that is read whole; 200,000 volumes are a sixth of it."""

_MODE = 0o640
_OPENS = re.compile(rb'\s*{')
_SAYS = re.compile(rb'"schema"\s*:\s*"serifos-([a-z-]+)/')
"""We write the schema first; programs that sort keys, anywhere."""
_OLD_S = 60.0
_KINDS = ((stat.S_ISDIR, 'directory'), (stat.S_ISFIFO, 'FIFO'),
          (stat.S_ISSOCK, 'socket'), (stat.S_ISCHR, 'character device'),
          (stat.S_ISBLK, 'block device'))


def read_text(path: Path, what: str, most: int = MOST_BYTES) -> str:
    """The text of a file.

    :param what: it should be, for the sentence: model, cluster, ...
    :param most: bytes that it may have
    :raises InputError: where it is missing, no regular file, larger, not
        UTF-8, or cannot be read
    """
    try:
        with open_text(path, what, most) as file:
            text = file.read(most + 1)
    except UnicodeDecodeError:
        raise errors.FormatError(
            f'{path} is not UTF-8 text, so it is not a {what}.') from None
    except OSError as exc:
        raise _unreadable(path, what, exc) from None
    if len(text) > most:
        raise _too_large(path, what, most)
    return text


def open_text(path: Path, what: str, most: int = MOST_BYTES) -> TextIO:
    """A file to be read part by part, which raises UnicodeDecodeError.

    :raises InputError: as :func:`read_text` does
    """
    try:
        kind = _kind(os.stat(path))  # opening a device may do something
        handle = -1 if kind else os.open(
            path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK | os.O_NOCTTY)
    except FileNotFoundError:
        raise errors.InputError(f'There is no {what} {path}.') from None
    except (OSError, ValueError) as exc:
        raise _unreadable(path, what, exc) from None
    if kind is None:
        info = os.fstat(handle)
        kind = _kind(info)
        if kind is None and info.st_size <= most:
            return open(handle, encoding='utf-8', newline='')
        os.close(handle)
    if kind is None:
        raise _too_large(path, what, most)
    raise errors.InputError(
        f'{path} is a {kind}; give the regular file of a {what}.')


def _unreadable(path: Path, what: str,
                exc: OSError | ValueError) -> errors.InputError:
    return errors.InputError(
        f'The {what} {path} cannot be read: {_why(exc)}.')


def _too_large(path: Path, what: str, most: int) -> errors.FormatError:
    return errors.FormatError(
        f'{path} is larger than the {most >> 20} MiB that a {what} may have.')


def kind_said(data: bytes | mmap.mmap) -> str:
    """The kind that a document of ours says to be, '' of anything else."""
    said = _OPENS.match(data) and _SAYS.search(data)
    return said[1].decode() if said else ''


def replace(path: Path, text: str | bytes) -> None:
    """Replaces a file by a text, or bytes, atomically, mode 0640.

    A symbolic link is itself replaced; what it names stays as it is.

    :raises InputError: where that cannot be, or the old file is of another
        kind; it is then whole
    """
    path = pathlib.Path(path)
    try:
        data = text.encode() if isinstance(text, str) else text
        with _directory(path.parent) as directory:
            _refuse_special(path, directory)
            _refuse_other(path, directory, kind_said(data))
            _remove_stale(path.name, directory)
            _replace(path.name, data, directory)
    except (OSError, ValueError) as exc:
        raise _unwritable(path, exc) from None


def refuse_unwritable(path: Path, kind: str = '') -> None:
    """Checks, before long work for a file, that :func:`replace` can write it.

    :param kind: as the schema of what will be written names it, such as
        model; none of a page
    :raises InputError: where it could not
    """
    path = pathlib.Path(path)
    try:
        with _directory(path.parent) as directory:
            _refuse_special(path, directory)
            _refuse_other(path, directory, kind)
            ours, handle = _new(path.name, directory)
            os.close(handle)
            os.unlink(ours, dir_fd=directory)
    except (OSError, ValueError) as exc:
        raise _unwritable(path, exc) from None


def _unwritable(path: pathlib.Path,
                exc: OSError | ValueError) -> errors.InputError:
    return errors.InputError(f'{path} cannot be written: {_why(exc)}.')


def _replace(name: str, data: bytes, directory: int) -> None:
    ours, handle = _new(name, directory)
    try:
        with open(handle, 'wb') as file:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            file.write(data)
            file.flush()
            os.fchmod(handle, _MODE)
            os.fsync(handle)
            os.replace(ours, name, src_dir_fd=directory,
                       dst_dir_fd=directory)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(ours, dir_fd=directory)
        raise
    os.fsync(directory)


def _new(name: str, directory: int) -> tuple[str, int]:
    """A new file of ours beside the one of that name, and its handle."""
    ours = f'.{name}.{secrets.token_hex(8)}.new'
    return ours, os.open(ours, os.O_WRONLY | os.O_CREAT | os.O_EXCL
                         | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600,
                         dir_fd=directory)


@contextlib.contextmanager
def _directory(path: pathlib.Path) -> Iterator[int]:
    handle = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        yield handle
    finally:
        os.close(handle)


def _refuse_special(path: pathlib.Path, directory: int) -> None:
    """Refuses a directory, device or FIFO, also behind a link."""
    try:
        kind = _kind(os.stat(path.name, dir_fd=directory))
    except FileNotFoundError:
        if path.name:
            return
        raise
    if kind is not None:
        raise errors.InputError(
            f'{path} cannot be written: it is a {kind}; give a file.')


def _refuse_other(path: pathlib.Path, directory: int, kind: str) -> None:
    """Refuses to replace a file of ours by one that is of another kind."""
    try:
        handle = os.open(path.name, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC
                         | os.O_NONBLOCK, dir_fd=directory)
    except OSError:
        return  # none, or a link or a file whose content stays or is not seen
    with open(handle, 'rb'):
        if not os.fstat(handle).st_size:
            return
        with mmap.mmap(handle, 0, access=mmap.ACCESS_READ) as data:
            found = kind_said(data)
    if found and found != kind:
        raise errors.InputError(
            f'{path} would be lost, which is a file of another kind '
            f'({found}); name another.')


def _remove_stale(name: str, directory: int) -> None:
    """Removes what killed writers of the same file left.

    That is ours by its name, kind and owner, a minute old, and locked by
    nobody.
    """
    ours = re.compile(rf'\.{re.escape(name)}\.[0-9a-f]{{16}}\.new')
    with os.scandir(directory) as entries:
        found = [entry.name for entry in entries
                 if ours.fullmatch(entry.name)]
    for stale in found:
        with contextlib.suppress(OSError):
            handle = os.open(stale, os.O_RDONLY | os.O_NOFOLLOW
                             | os.O_NONBLOCK | os.O_CLOEXEC,
                             dir_fd=directory)
            try:
                if _is_stale(os.fstat(handle)):
                    fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
                    os.unlink(stale, dir_fd=directory)
            finally:
                os.close(handle)


def _is_stale(info: os.stat_result) -> bool:
    return (stat.S_ISREG(info.st_mode) and info.st_uid == os.geteuid()
            and info.st_nlink == 1 and time.time() - info.st_mtime > _OLD_S)


def _kind(info: os.stat_result) -> str | None:
    """The kind of a file that is not a regular one, else None."""
    if stat.S_ISREG(info.st_mode):
        return None
    return next((name for test, name in _KINDS if test(info.st_mode)),
                'special file')


def _why(exc: OSError | ValueError) -> str:
    if isinstance(exc, UnicodeEncodeError):
        return 'its text holds half a character (a lone surrogate)'
    return getattr(exc, 'strerror', None) or str(exc)
