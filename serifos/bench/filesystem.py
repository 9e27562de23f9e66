# SPDX-License-Identifier: Apache-2.0
"""The filesystem of a directory, and the direct I/O that it supports."""

from __future__ import annotations

import mmap
import os
import pathlib
import tempfile

from serifos.bench import command
from serifos import errors
from serifos.files import strict_json

_IN_MEMORY = ('tmpfs', 'ramfs')


def mounted(directory: pathlib.Path) -> tuple[str, str]:
    """The source and the type of the filesystem of a directory.

    :raises DeviceError: where it lives in memory
    """
    said = command.run(
        ['findmnt', '--json', '--target', str(directory), '--output',
         'SOURCE,FSTYPE'], accept=(0, 1))
    if not said.strip():  # a bare chroot knows no mount above the file
        return 'unknown', 'unknown'
    source, kind = parse(said)
    if kind in _IN_MEMORY:
        raise errors.DeviceError(
            f'{directory} is a {kind}, which lives in memory; name a path '
            'on the device to be measured.')
    return source, kind


def parse(text: str) -> tuple[str, str]:
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
