# SPDX-License-Identifier: Apache-2.0
"""Users of block devices: mounts, exports, holders, signatures, processes."""

from __future__ import annotations

import collections
from collections.abc import Callable
from collections.abc import Collection
from collections.abc import Iterator
from collections.abc import Mapping
import contextlib
import os
import pathlib
import re
import stat
import time

from serifos.bench import command
from serifos.bench import mountinfo
from serifos import errors
from serifos.facts import strict_json

PROC = pathlib.Path('/proc')
SYS = pathlib.Path('/sys')

_EXPORTS = ('config/nvmet/subsystems/*/namespaces/*/device_path',
            'config/target/core/*/*/udev_path',
            'scst_tgt/devices/*/filename')
"""Where NVMe, LIO and SCST targets tell what they give to other machines."""

_LIVE = '*/*', 'btrfs/*/devices/*'
"""Where file systems in use have an entry by the name of their device."""

Identity = tuple[str, int, int]
"""A file, directory or device, whatever its name."""

Uses = dict[Identity, set[str]]

_STREAMS = 3


def major_minor(info: os.stat_result) -> str:
    """Of a block device, such as 8:16."""
    return f'{os.major(info.st_rdev)}:{os.minor(info.st_rdev)}'


def written_on(path: str) -> tuple[str, ...]:
    """The signatures on a device, by libblkid's names."""
    return signatures(command.run(['wipefs', '--no-act', '--json', path]))


def signatures(text: str) -> tuple[str, ...]:
    """The types in a listing of wipefs, which is empty without any.

    :raises ToolError: where this is not what wipefs prints
    """
    if not text.strip():
        return ()
    found = strict_json.read(text, 'wipefs')['signatures'].items()
    return tuple(sorted({one['type'].text() for one in found}))


def holders(number: str) -> list[str]:
    """The devices built on the one with this major:minor."""
    try:
        return os.listdir(f'/sys/dev/block/{number}/holders')
    except FileNotFoundError:
        return []


def mounted(proc: pathlib.Path = PROC, sys: pathlib.Path = SYS) -> Uses:
    """Where block devices are mounted, in any namespace; files: swap only.

    A file system that no process sees mounted, as after ``umount --lazy``,
    is known by the kernel's directory of it.
    """
    found: Uses = collections.defaultdict(set)
    for more in (
            ((mount, mount.point) for mount in mountinfo.ours(proc)),
            ((mount, f'{mount.point} of {who}')
             for who, theirs in mountinfo.elsewhere(proc).items()
             for mount in theirs)):
        new: Uses = collections.defaultdict(set)
        for mount, words in more:
            for one in _devices_of(mount):
                new[one].add(words)
        # Other namespaces have what we have, too.
        found |= {one: words for one, words in new.items()
                  if one not in found}
    for one, words in (*_swap(proc), *_live(sys)):
        found.setdefault(one, {words})
    return found


def _devices_of(mount: mountinfo.Mount) -> Iterator[Identity]:
    major, minor = map(int, mount.number.split(':'))
    yield 'device', major, minor
    # btrfs has a number of its own, and XFS its log on another device.
    for path in (mount.source, *(
            option.partition('=')[2] for option in mount.super_options)):
        if path.startswith('/dev/'):
            with contextlib.suppress(OSError):
                yield identity(os.stat(path))


def _swap(proc: pathlib.Path) -> Iterator[tuple[Identity, str]]:
    try:
        said = (proc / 'swaps').read_text(errors='surrogateescape')
    except FileNotFoundError:  # a kernel without
        return
    for line in said.splitlines()[1:]:
        with contextlib.suppress(OSError):
            yield identity(os.stat(
                mountinfo.plain(line.split(' ')[0].split('\t')[0]))), '[SWAP]'


def _live(sys: pathlib.Path) -> Iterator[tuple[Identity, str]]:
    """The devices of file systems that the kernel has in use."""
    for path in (path for pattern in _LIVE
                 for path in sys.glob(f'fs/{pattern}')):
        with contextlib.suppress(OSError, ValueError):
            major, minor = map(int, (
                sys / 'class/block' / path.name / 'dev'
            ).read_text().split(':'))
            yield (('device', major, minor),
                   f'a file system ({path.relative_to(sys).parts[1]})')


def exports(sys: pathlib.Path = SYS) -> Uses:
    """The devices and files that this machine gives to others."""
    found: Uses = collections.defaultdict(set)
    for path in (path for pattern in _EXPORTS
                 for path in sys.glob(f'kernel/{pattern}')):
        with contextlib.suppress(OSError, IndexError):
            name = path.read_text(errors='surrogateescape').splitlines()[0]
            found[identity(os.stat(name.strip()))].add(
                str(path.parent))
    return found


def openers(watched: Mapping[Identity, str]) -> set[str]:
    """Processes other than this one that have a device open, and keep it.

    A guest's or a target daemon's open takes no exclusive hold, so that
    nothing else would tell.

    :param watched: devices and files, and what follows the process's id in
        the words on it
    """
    # udev looks at a device for a moment whenever somebody has closed it.
    seen = set(_openers(watched))
    if seen:
        time.sleep(1)
        seen &= set(_openers(watched))
    return seen


def _openers(watched: Mapping[Identity, str]) -> Iterator[str]:
    heads = ('/',) if any(
        kind == 'file' for kind, *_ in watched) else ('/dev/',)
    for process in PROC.glob('[0-9]*'):
        if process.name == str(os.getpid()):
            continue
        with contextlib.suppress(OSError):
            name = (process / 'comm').read_text(errors='replace').strip()
            for end in {watched[one] for one in _open(process, heads)
                        if one in watched}:
                yield f'{name} (process {process.name}{end})'


def _open(process: pathlib.Path, heads: tuple[str, ...]
          ) -> Iterator[Identity]:
    for link in (process / 'fd').iterdir():
        with contextlib.suppress(OSError):
            if os.readlink(link).startswith(heads):
                yield identity(os.stat(link))


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
