# SPDX-License-Identifier: Apache-2.0
"""Users of a block device: holders, signatures, processes."""

from __future__ import annotations

from collections.abc import Iterator
import contextlib
import os
import pathlib
import stat
import time

from serifos.bench import command
from serifos.files import strict_json


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


def openers(number: str) -> set[str]:
    """Processes other than this one that have a device open, and keep it.

    A guest's or a target daemon's open takes no exclusive hold, so that
    nothing else would tell.
    """
    # udev looks at a device for a moment whenever somebody has closed it.
    seen = set(_openers(number))
    if seen:
        time.sleep(1)
        seen &= set(_openers(number))
    return seen


def _openers(number: str) -> Iterator[str]:
    for process in pathlib.Path('/proc').glob('[0-9]*'):
        if process.name == str(os.getpid()):
            continue
        with contextlib.suppress(OSError):
            if any(_is_device(link, number)
                   for link in (process / 'fd').iterdir()):
                name = (process / 'comm').read_text(
                    errors='replace').strip()
                yield f'{name} (process {process.name})'


def _is_device(link: pathlib.Path, number: str) -> bool:
    try:
        if not os.readlink(link).startswith('/dev/'):
            return False
        info = os.stat(link)
    except OSError:
        return False
    return stat.S_ISBLK(info.st_mode) and number == major_minor(info)
