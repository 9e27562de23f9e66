# SPDX-License-Identifier: Apache-2.0
"""Marks a disk, and counts what is left of the marks on the disk itself."""

from __future__ import annotations

from collections.abc import Iterator
import contextlib
import mmap
import os

MIB = 2 ** 20
_MARK = b'tenant! ' * (MIB // 8)
_ZEROS = bytes(MIB)


def write(path: str) -> None:
    """Fills a device with marks, past the page cache."""
    with _direct(path, os.O_RDWR) as handle, mmap.mmap(-1, MIB) as buffer:
        buffer[:] = _MARK
        for at in _every_mib(handle):
            os.pwritev(handle, [buffer], at)
        os.fsync(handle)


def left(path: str) -> dict[str, int]:
    """MiB that are whole marks, only zeros, or something else."""
    found = {'marks': 0, 'zeros': 0, 'else': 0}
    for data in _read(path):
        found['marks' if data == _MARK else
              'zeros' if data == _ZEROS else 'else'] += 1
    return found


def _read(path: str) -> Iterator[bytes]:
    with _direct(path, os.O_RDONLY) as handle, mmap.mmap(-1, MIB) as buffer:
        for at in _every_mib(handle):
            os.preadv(handle, [buffer], at)
            yield buffer[:]


def _every_mib(handle: int) -> range:
    return range(0, os.lseek(handle, 0, os.SEEK_END), MIB)


@contextlib.contextmanager
def _direct(path: str, mode: int) -> Iterator[int]:
    handle = os.open(path, mode | os.O_DIRECT)
    try:
        yield handle
    finally:
        os.close(handle)
