# SPDX-License-Identifier: Apache-2.0
"""The mounts of a namespace, as /proc/PID/mountinfo lists them.

The lines are described in proc_pid_mountinfo(5). Processes that end while
they are looked at are passed over, as are those that may not be looked at.
"""

from __future__ import annotations

from collections.abc import Collection
from collections.abc import Iterator
from collections.abc import Mapping
from collections.abc import Sequence
import contextlib
import dataclasses
import os
import pathlib
import re

from serifos import errors

_ESCAPED = re.compile(r'\\([0-7]{3})')
_NUMBER = re.compile('[0-9]{1,9}:[0-9]{1,9}')
_LEAST = 10  # fields of a line, the hyphen among them

PROC = pathlib.Path('/proc')

_LINKS = ('cwd', 'root', 'exe')
_ID = re.compile(r'^mnt_id:\s*([0-9]+)$', re.M)


@dataclasses.dataclass(frozen=True)
class Mount:
    """A mount, and the file system that is mounted.

    :param number: major:minor of the file system
    :param root: which directory of the file system is mounted
    :param options: of this mount, such as noatime
    :param propagation: such as shared:25
    :param kind: of the file system, such as ext4
    :param super_options: of the file system
    """

    id: int
    parent: int
    number: str
    root: str
    point: str
    options: tuple[str, ...]
    propagation: tuple[str, ...]
    kind: str
    source: str
    super_options: tuple[str, ...]

    @property
    def given(self) -> tuple[str, ...]:
        """The options by which ``mount`` makes it what it is."""
        return tuple(dict.fromkeys((*self.options, *self.super_options)))

    @property
    def likeness(self) -> tuple[object, ...]:
        """Equal for mounts of one file system on one place, done alike.

        The numbers of groups in which mounts propagate are new each time.
        """
        return (self.number, self.root, self.point, self.kind, self.source,
                frozenset(self.given),
                sorted(name.partition(':')[0] for name in self.propagation))


def parse_mounts(text: str) -> tuple[Mount, ...]:
    """:raises ToolError: where this is not what the kernel lists"""
    return tuple(_mount(line) for line in text.split('\n') if line)


def top(mounts: Sequence[Mount], point: str) -> Mount | None:
    """The mount on a directory: the last one of several."""
    return next((mount for mount in reversed(mounts)
                 if mount.point == point), None)


def _mount(line: str) -> Mount:
    words = line.split(' ')
    try:
        if len(words) < _LEAST or not _NUMBER.fullmatch(words[2]):
            raise ValueError
        hyphen = words.index('-', 6)
        kind, source, super_options = words[hyphen + 1:hyphen + 4]
        return Mount(
            int(words[0]), int(words[1]), words[2], plain(words[3]),
            plain(words[4]), tuple(words[5].split(',')),
            tuple(words[6:hyphen]), kind, plain(source),
            tuple(super_options.split(',')))
    except ValueError:
        raise errors.ToolError(
            f'The kernel lists a mount as {line[:80]!r}, which serifos '
            'cannot read; unmount it, or leave the option out that asks for '
            'mounts.') from None


def plain(text: str) -> str:
    """A name as it is, of one with octal escapes."""
    return _ESCAPED.sub(lambda found: chr(int(found[1], 8)), text)


def ours(proc: pathlib.Path = PROC) -> tuple[Mount, ...]:
    """The mounts that this process sees."""
    return parse_mounts((proc / 'self/mountinfo').read_text(
        errors='surrogateescape'))


def elsewhere(proc: pathlib.Path = PROC) -> Mapping[str, tuple[Mount, ...]]:
    """The mounts of each other namespace, by a process that lives in it."""
    ours = os.readlink(proc / 'self/ns/mnt')
    found: dict[str, tuple[str, tuple[Mount, ...]]] = {}
    for process in _processes(proc):
        with contextlib.suppress(OSError):
            space = os.readlink(process / 'ns/mnt')
            if space != ours and space not in found:
                text = (process / 'mountinfo').read_text(
                    errors='surrogateescape')
                found[space] = _words(process), parse_mounts(text)
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
