# SPDX-License-Identifier: Apache-2.0
"""The mounts of a namespace, as /proc/PID/mountinfo lists them.

The lines are described in proc_pid_mountinfo(5).
"""

from __future__ import annotations

from collections.abc import Sequence
import dataclasses
import re

from serifos import errors

_ESCAPED = re.compile(r'\\([0-7]{3})')
_NUMBER = re.compile('[0-9]{1,9}:[0-9]{1,9}')
_LEAST = 10  # fields of a line, the hyphen among them


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


def parse(text: str) -> tuple[Mount, ...]:
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
