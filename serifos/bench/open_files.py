# SPDX-License-Identifier: Apache-2.0
"""A check that a program writes only to the files it was given.

Programs are given our open descriptors, as ``/proc/self/fd/N``: what they
open by that is the very file or device that we hold, whatever has happened
to its name. :func:`watch` looks, while they run, whether they have anything
else open for writing. It looks some times a second, so that what is opened
and closed in between escapes it: it proves that fio did as it was told for
as long as it ran, and stops one that does not.
"""

from __future__ import annotations

from collections.abc import Callable
from collections.abc import Collection
from collections.abc import Iterator
import contextlib
import os
import pathlib
import re
import stat

from serifos import errors

Identity = tuple[str, int, int]
"""A file, directory or device, whatever its name."""

_STREAMS = 3


def path(fd: int) -> str:
    """The path by which a program reopens a descriptor that it inherits."""
    return f'/proc/self/fd/{fd}'


def identity(info: os.stat_result) -> Identity:
    """Equal for the same block device, or for the same file."""
    if stat.S_ISBLK(info.st_mode):
        return 'device', os.major(info.st_rdev), os.minor(info.st_rdev)
    return 'file', info.st_dev, info.st_ino


def watch(ours: Callable[[], Collection[Identity]],
          inherited: Collection[int]) -> Callable[[int], bool]:
    """The check that :func:`.command.together` makes of a program.

    :param ours: what may be written, asked for at each look
    :param inherited: descriptors that the program was given
    :returns: pid → whether it has opened something of ours by now
    :raises DeviceError: from what is returned, where it has a file or
        device open for writing that is not ours
    """
    def look(pid: int) -> bool:
        found = [*_written(pid)]
        mine = ours() if found else ()
        for _, name, info in found:
            # Without a name it is our own scratch, or nobody's.
            if identity(info) not in mine and info.st_nlink:
                raise errors.DeviceError(
                    f'fio had {name} open for writing, which it was not '
                    'given, and was killed; check which program fio is on '
                    'this machine, and the contents of that file.')
        return any(identity(info) in mine and number not in inherited
                   for number, _, info in found)
    return look


def _written(pid: int) -> Iterator[tuple[int, str, os.stat_result]]:
    """Files and block devices that a process has open for writing."""
    folder = pathlib.Path('/proc', str(pid))
    with contextlib.suppress(OSError):  # it has ended
        for entry in os.listdir(folder / 'fd'):
            if int(entry) < _STREAMS:
                continue
            with contextlib.suppress(OSError):  # closed meanwhile
                before = os.stat(folder / 'fd' / entry)
                said = (folder / 'fdinfo' / entry).read_text()
                info = os.stat(folder / 'fd' / entry)
                if identity(before) != identity(info):
                    continue  # the number was given to another meanwhile
                if _writes(said) and _lasts(info):
                    name = os.readlink(folder / 'fd' / entry)
                    yield int(entry), name, info


def _writes(fdinfo: str) -> bool:
    flags = re.search(r'^flags:\s*([0-7]+)$', fdinfo, re.M)
    return flags is not None and int(flags[1], 8) & os.O_ACCMODE != os.O_RDONLY


def _lasts(info: os.stat_result) -> bool:
    return stat.S_ISBLK(info.st_mode) or stat.S_ISREG(info.st_mode)
