# SPDX-License-Identifier: Apache-2.0
"""The scratch file, measured through its descriptor.

While it is measured it has no name: it is made without one, programs are
given its descriptor, and the kernel frees it with us, however we end. So no
file of anybody's can take its place, and nothing is ever removed by name.
With ``keep`` it is made under its name, where nothing may be yet, and is the
user's from then on.
"""

from __future__ import annotations

from collections.abc import Iterator
import contextlib
import errno
import fcntl
import mmap
import os
import pathlib
import tempfile

from serifos.bench import command
from serifos.bench import in_use
from serifos.bench import sizes
from serifos import errors
from serifos.facts import strict_json

_MARGIN_SHARE = 20   # of the filesystem is left free,
_MARGIN_MOST = sizes.GIB   # or this where that is less
_BLOCK = 4096

_IN_MEMORY = ('tmpfs', 'ramfs')


def refusal(path: pathlib.Path, size: int) -> str | None:
    """Why a scratch file cannot be made there, or None."""
    if path.is_dir():
        return (f'{path} is a directory; name a file in it for the scratch '
                f'file, such as {path / "scratch"}.')
    if not path.parent.is_dir():
        return f'There is no directory {path.parent} for the scratch file.'
    if os.path.lexists(path):
        return (f'{path} exists, and serifos did not make it for this '
                f'build; name a path where nothing is yet{_hint(path)}.')
    return no_room(path.parent, size, 'a scratch file')


def no_room(directory: pathlib.Path, size: int, what: str) -> str | None:
    """Why something of this size does not fit on a filesystem, or None."""
    room = os.statvfs(directory)
    free = room.f_bavail * room.f_frsize
    margin = min(room.f_blocks * room.f_frsize // _MARGIN_SHARE,
                 _MARGIN_MOST)
    if free < size + margin:
        return (f'{directory} has {sizes.gib(free)} free, and {what} of '
                f'{sizes.gib(size)} does not fit with {sizes.gib(margin)} to '
                'spare; give a smaller --size-gib.')
    return None


@contextlib.contextmanager
def made(path: pathlib.Path, size: int, keep: bool) -> Iterator[int]:
    """The descriptor of an allocated file of exactly this size, all zeros.

    :param keep: make it under its name, and leave it there afterwards
    :raises DeviceError: where it cannot be made, or another build measures
        in the same directory; at the end, where somebody has put something
        else in the place of a file that shall be kept
    """
    with _alone(path):
        why = refusal(path, size)
        if why is not None:
            raise errors.DeviceError(why)
        fd = _new(path, keep)
        try:
            _allocate(fd, path, size)
            refuse_without_direct_io(fd, path)
            yield fd
            if keep:
                _refuse_replaced(fd, path)
        finally:
            os.close(fd)


def _new(path: pathlib.Path, keep: bool) -> int:
    try:
        if keep:
            return os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL
                           | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
        # Without a name; where a filesystem has no such files, its name is
        # random and taken away at once.
        with tempfile.TemporaryFile(dir=path.parent, buffering=0) as file:
            return os.dup(file.fileno())
    except OSError as exc:
        raise errors.DeviceError(
            f'{path} cannot be made: {exc.strerror}.') from None


def _allocate(fd: int, path: pathlib.Path, size: int) -> None:
    try:
        os.posix_fallocate(fd, 0, size)
    except OSError as exc:
        raise errors.DeviceError(
            f'{path} cannot be given {sizes.gib(size)}: {exc.strerror}.'
        ) from None


@contextlib.contextmanager
def _alone(path: pathlib.Path) -> Iterator[None]:
    """Locks the directory: builds side by side would measure each other."""
    try:
        fd = os.open(path.parent, os.O_RDONLY | os.O_DIRECTORY
                     | os.O_CLOEXEC)
    except OSError as exc:
        raise errors.DeviceError(
            f'{path.parent}, the directory of the scratch file, cannot be '
            f'read: {exc.strerror}.') from None
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as exc:
        if exc.errno in (errno.EWOULDBLOCK, errno.EACCES):
            os.close(fd)
            raise errors.DeviceError(
                f'Another build measures in {path.parent}; wait for its '
                'end, or name a path on another device.') from None
        # A network's filesystem may have no locks for directories.
    try:
        yield
    finally:
        os.close(fd)


def refuse_without_direct_io(fd: int, path: pathlib.Path) -> None:
    """:raises DeviceError: where the page cache cannot be bypassed"""
    try:
        os.close(os.open(in_use.path(fd),
                         os.O_RDWR | os.O_DIRECT | os.O_CLOEXEC))
    except OSError as exc:
        raise errors.DeviceError(
            f'{path} has no direct I/O ({exc.strerror}), so that the page '
            'cache would be measured; name a path on another filesystem.'
        ) from None


def refuse_unwritten(fd: int, path: pathlib.Path, size: int) -> None:
    """Checks by its contents that a fill wrote to this file.

    :raises DeviceError: where its beginning, middle or end is still zeros
    """
    for at in (0, size // 2, size - _BLOCK):
        if not any(os.pread(fd, _BLOCK, at)):
            raise errors.DeviceError(
                f'fio reported success and did not write the scratch file '
                f'{path} at byte {at}; check which program fio is, and '
                'whether it wrote to another file.')


def _refuse_replaced(fd: int, path: pathlib.Path) -> None:
    with contextlib.suppress(OSError):
        if (in_use.identity(path.lstat())
                == in_use.identity(os.fstat(fd))):
            return
    raise errors.DeviceError(
        f'The scratch file {path} was removed or replaced by somebody '
        'while it was measured; what is there now was left as it is, and '
        'the runs made are in the dataset.')


def _hint(path: pathlib.Path) -> str:
    note = path.with_name(f'{path.name}.serifos')
    return (f' (an earlier serifos left it if {note} is beside it: '
            'remove both if nobody needs them)' if note.exists()
            else ', or remove it if nobody needs it')


def mounted(directory: pathlib.Path) -> tuple[str, str]:
    """The source and the type of the filesystem of a directory.

    :raises DeviceError: where it lives in memory
    """
    said = command.run(
        ['findmnt', '--json', '--target', str(directory), '--output',
         'SOURCE,FSTYPE'], accept=(0, 1))
    if not said.strip():  # a bare chroot knows no mount above the file
        return 'unknown', 'unknown'
    source, kind = parse_mounted(said)
    if kind in _IN_MEMORY:
        raise errors.DeviceError(
            f'{directory} is a {kind}, which lives in memory; name a path '
            'on the device to be measured.')
    return source, kind


def parse_mounted(text: str) -> tuple[str, str]:
    """The source and type in what findmnt printed.

    :raises ToolError: where this is not what findmnt prints
    """
    mount = strict_json.read(text, 'findmnt')['filesystems'].items(1)[0]
    return (mount['source'].text_or_none() or 'unknown',
            mount['fstype'].text_or_none() or 'unknown')


def smallest_direct(directory: pathlib.Path) -> int:
    """Bytes of the smallest direct request that a filesystem supports.

    Found by reading a file without a name; nothing is left behind.

    :raises DeviceError: where there is none, as on one in memory
    """
    try:
        with tempfile.TemporaryFile(dir=directory) as file:
            file.write(bytes(8192))
            file.flush()
            os.fsync(file.fileno())
            fd = os.open(f'/proc/self/fd/{file.fileno()}',
                         os.O_RDONLY | os.O_DIRECT | os.O_CLOEXEC)
            try:
                return next(size for size in (512, 4096)
                            if _reads(fd, size))
            finally:
                os.close(fd)
    except (OSError, StopIteration):
        raise errors.DeviceError(
            f'{directory} has no direct I/O, so that the page cache would '
            'be measured; name a directory on another filesystem.') from None


def _reads(fd: int, size: int) -> bool:
    # Direct I/O wants memory that is aligned as well: a page of its own.
    with mmap.mmap(-1, 8192) as page, memoryview(page) as view:
        try:
            with view[:size] as part:
                return os.preadv(fd, [part], size) == size
        except OSError:
            return False
