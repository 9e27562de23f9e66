# SPDX-License-Identifier: Apache-2.0
"""Users of block devices: mounts, exports, holders, signatures, processes."""

from __future__ import annotations

import collections
from collections.abc import Iterator
from collections.abc import Mapping
import contextlib
import os
import pathlib
import time

from serifos.bench import command
from serifos.bench import open_files
from serifos.bench.put_back import mountinfo
from serifos.bench.put_back import users
from serifos.files import strict_json

PROC = pathlib.Path('/proc')
SYS = pathlib.Path('/sys')

_EXPORTS = ('config/nvmet/subsystems/*/namespaces/*/device_path',
            'config/target/core/*/*/udev_path',
            'scst_tgt/devices/*/filename')
"""Where NVMe, LIO and SCST targets tell what they give to other machines."""

_LIVE = '*/*', 'btrfs/*/devices/*'
"""Where file systems in use have an entry by the name of their device."""

Uses = dict[open_files.Identity, set[str]]


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


def mounts(proc: pathlib.Path = PROC, sys: pathlib.Path = SYS) -> Uses:
    """Where block devices are mounted, in any namespace; files: swap only.

    A file system that no process sees mounted, as after ``umount --lazy``,
    is known by the kernel's directory of it.
    """
    found: Uses = collections.defaultdict(set)
    for more in (
            ((mount, mount.point) for mount in users.mounts(proc)),
            ((mount, f'{mount.point} of {who}')
             for who, theirs in users.elsewhere(proc).items()
             for mount in theirs)):
        new: Uses = collections.defaultdict(set)
        for mount, words in more:
            for one in _mounted(mount):
                new[one].add(words)
        # Other namespaces have what we have, too.
        found |= {one: words for one, words in new.items()
                  if one not in found}
    for one, words in (*_swap(proc), *_live(sys)):
        found.setdefault(one, {words})
    return found


def _mounted(mount: mountinfo.Mount) -> Iterator[open_files.Identity]:
    major, minor = map(int, mount.number.split(':'))
    yield 'device', major, minor
    # btrfs has a number of its own, and XFS its log on another device.
    for path in (mount.source, *(
            option.partition('=')[2] for option in mount.super_options)):
        if path.startswith('/dev/'):
            with contextlib.suppress(OSError):
                yield open_files.identity(os.stat(path))


def _swap(proc: pathlib.Path) -> Iterator[tuple[open_files.Identity, str]]:
    try:
        said = (proc / 'swaps').read_text(errors='surrogateescape')
    except FileNotFoundError:  # a kernel without
        return
    for line in said.splitlines()[1:]:
        with contextlib.suppress(OSError):
            yield open_files.identity(os.stat(
                mountinfo.plain(line.split(' ')[0].split('\t')[0]))), '[SWAP]'


def _live(sys: pathlib.Path) -> Iterator[tuple[open_files.Identity, str]]:
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
            found[open_files.identity(os.stat(name.strip()))].add(
                str(path.parent))
    return found


def openers(watched: Mapping[open_files.Identity, str]) -> set[str]:
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


def _openers(watched: Mapping[open_files.Identity, str]) -> Iterator[str]:
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
          ) -> Iterator[open_files.Identity]:
    for link in (process / 'fd').iterdir():
        with contextlib.suppress(OSError):
            if os.readlink(link).startswith(heads):
                yield open_files.identity(os.stat(link))
