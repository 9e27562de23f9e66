# SPDX-License-Identifier: Apache-2.0
"""Who uses a file system: mounts of other namespaces, and processes.

Processes that end while they are looked at are passed over, as are those
that may not be looked at.
"""

from __future__ import annotations

from collections.abc import Collection
from collections.abc import Iterator
from collections.abc import Mapping
import contextlib
import os
import pathlib
import re

from serifos.bench.put_back import mountinfo

PROC = pathlib.Path('/proc')

_LINKS = ('cwd', 'root', 'exe')
_ID = re.compile(r'^mnt_id:\s*([0-9]+)$', re.M)

Mounts = tuple[mountinfo.Mount, ...]


def mounts(proc: pathlib.Path = PROC) -> Mounts:
    """Those that this process sees."""
    return mountinfo.parse((proc / 'self/mountinfo').read_text(
        errors='surrogateescape'))


def elsewhere(proc: pathlib.Path = PROC) -> Mapping[str, Mounts]:
    """The mounts of each other namespace, by a process that lives in it."""
    ours = os.readlink(proc / 'self/ns/mnt')
    found: dict[str, tuple[str, Mounts]] = {}
    for process in _processes(proc):
        with contextlib.suppress(OSError):
            space = os.readlink(process / 'ns/mnt')
            if space != ours and space not in found:
                text = (process / 'mountinfo').read_text(
                    errors='surrogateescape')
                found[space] = _words(process), mountinfo.parse(text)
    return dict(found.values())


def openers(number: str, point: str, ids: Collection[int],
            proc: pathlib.Path = PROC) -> tuple[str, ...]:
    """The processes that have something of a file system open.

    :param number: major:minor of it
    :param point: where it is mounted
    :param ids: of all its mounts, in whatever namespace
    """
    return tuple(_words(process) for process in _processes(proc)
                 if _uses(process, number, point, ids))


def _processes(proc: pathlib.Path) -> list[pathlib.Path]:
    return sorted(proc.glob('[0-9]*'), key=lambda one: int(one.name))


def _words(process: pathlib.Path) -> str:
    name = 'something'
    with contextlib.suppress(OSError):
        name = (process / 'comm').read_text(errors='replace').strip()
    return f'{name} (process {process.name})'


def _uses(process: pathlib.Path, number: str, point: str,
          ids: Collection[int]) -> bool:
    return (any(one in ids for one in _open_mounts(process))
            or any(one == point or one.startswith(f'{point}/')
                   for one in _places(process))
            or _maps(process, number))


def _open_mounts(process: pathlib.Path) -> Iterator[int]:
    with contextlib.suppress(OSError):
        for one in (process / 'fdinfo').iterdir():
            with contextlib.suppress(OSError):
                said = _ID.search(one.read_text())
                if said is not None:
                    yield int(said[1])


def _places(process: pathlib.Path) -> Iterator[str]:
    for link in _LINKS:
        with contextlib.suppress(OSError):
            yield os.readlink(process / link)


def _maps(process: pathlib.Path, number: str) -> bool:
    major, minor = map(int, number.split(':'))
    device = f' {major:02x}:{minor:02x} '
    with contextlib.suppress(OSError):
        return device in (process / 'maps').read_text(errors='replace')
    return False
