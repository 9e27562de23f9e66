# SPDX-License-Identifier: Apache-2.0
"""Bytes as texts and as files, for the targets."""

from __future__ import annotations

import functools
import os
import pathlib
import tempfile

CORPUS = pathlib.Path(__file__).parent / 'corpus'


def seeds(name: str) -> list[bytes]:
    """The good inputs of a target."""
    return [path.read_bytes() for path in sorted((CORPUS / name).iterdir())]


def text(data: bytes) -> str:
    """Bytes as an argument or a reply: any text, never an error."""
    return data.decode('utf-8', 'replace')


@functools.cache
def _directory() -> pathlib.Path:
    where = '/dev/shm' if os.access('/dev/shm', os.W_OK) else None
    keeper = tempfile.TemporaryDirectory(dir=where, prefix='serifos-fuzz-')
    _KEPT.append(keeper)
    return pathlib.Path(keeper.name)


_KEPT: list[tempfile.TemporaryDirectory[str]] = []


def clean() -> None:
    """Removes the files of this process."""
    while _KEPT:
        _KEPT.pop().cleanup()
    _directory.cache_clear()


def file_of(data: bytes, name: str = 'input',
            alone: bool = False) -> pathlib.Path:
    """A file with these bytes; the next call replaces it.

    :param alone: in a directory of its own, where nothing else is
    """
    directory = _directory() / str(os.getpid())
    if alone:
        directory /= name
    directory.mkdir(parents=True, exist_ok=True)
    for other in directory.iterdir() if alone else ():
        other.unlink()
    path = directory / name
    path.write_bytes(data)
    return path
