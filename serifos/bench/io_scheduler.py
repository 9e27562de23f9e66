# SPDX-License-Identifier: Apache-2.0
"""The I/O scheduler of the block device below a directory.

It is set for runs, read back, and the one of before is restored whatever
happens; a note tells which that was, for the case that this process is
killed. See the kernel's Documentation/block/switching-sched.rst.
"""

from __future__ import annotations

from collections.abc import Callable
from collections.abc import Collection
from collections.abc import Iterator
import contextlib
import dataclasses
import os
import pathlib
import re

from serifos.bench import restore_notes
from serifos import errors

SYS = pathlib.Path('/sys')

_NAME = '[A-Za-z0-9_-]{1,32}'

Set = Callable[[str], None]
"""Makes a scheduler that of the device, and reads it back."""


@dataclasses.dataclass(frozen=True)
class Queue:
    """The queue of a block device.

    :param device: such as sda, of a partition its disk
    :param active: its I/O scheduler, None where it has none to choose
    :param offered: those it may have
    """

    device: str
    active: str | None
    offered: tuple[str, ...]
    sys: pathlib.Path = SYS

    @property
    def path(self) -> pathlib.Path:
        return self.sys / 'block' / self.device / 'queue/scheduler'


def below(directory: pathlib.Path, sys: pathlib.Path = SYS) -> Queue:
    """The queue of the device that holds a directory's file system.

    :raises DeviceError: where there is none
    """
    dev = os.stat(directory).st_dev
    link = sys / 'dev/block' / f'{os.major(dev)}:{os.minor(dev)}'
    if not link.exists():
        raise errors.DeviceError(
            f'{directory} is on no block device of its own, so that it has '
            'no I/O scheduler; leave --schedulers out, or name a path on '
            'another file system.')
    place = link.resolve()
    if (place / 'partition').exists():
        place = place.parent
    return read(place.name, sys)


def read(device: str, sys: pathlib.Path = SYS) -> Queue:
    """The queue of a device of this name, as it is now."""
    queue = Queue(device, None, (), sys)
    try:
        active, offered = parse(queue.path.read_text())
    except OSError:
        return queue
    return dataclasses.replace(queue, active=active, offered=offered)


def parse(text: str) -> tuple[str | None, tuple[str, ...]]:
    """The active one and all of what the kernel lists: 'none [bfq]'.

    A single one stands without brackets.
    """
    names = tuple(re.findall(_NAME, text))
    active = re.search(rf'\[({_NAME})\]', text)
    alone = names[0] if len(names) == 1 else None
    return (active[1] if active else alone), names


def refusal(queue: Queue, asked: Collection[str],
            is_root: bool) -> str | None:
    """Why the schedulers that are asked for cannot be set, or None."""
    missing = sorted(set(asked) - set(queue.offered))
    if queue.active is None:
        return (f'{queue.device} has no I/O scheduler to be set; leave '
                '--schedulers out, or name a path on another device.')
    if missing:
        return (f'{queue.device} has no I/O scheduler '
                f'{" or ".join(missing)} but {", ".join(queue.offered)}; '
                'give two of those, or load the module of the other.')
    if not is_root:
        return ('--schedulers sets the I/O scheduler of '
                f'{queue.device}, which only root may; run as root, or leave '
                'it out.')
    return None


@contextlib.contextmanager
def held(queue: Queue,
         folder: pathlib.Path = restore_notes.FOLDER) -> Iterator[Set]:
    """Set a device's I/O scheduler; the former one is restored.

    :raises DeviceError: where another command sets it, or it cannot be set
    """
    note = _note(queue, folder)
    with note.held():
        before = _before(note) or read(queue.device, queue.sys).active
        if before is None:
            raise errors.DeviceError(
                f'{queue.device} has no I/O scheduler any more; see whether '
                'it is still there.')
        note.write({'scheduler': before})
        try:
            yield lambda name: _set(queue, name)
        finally:
            _set(queue, before)
            note.remove()


def recover(queue: Queue,
            folder: pathlib.Path = restore_notes.FOLDER) -> str | None:
    """Puts back the scheduler that a killed command had changed.

    :returns: what was done, in a sentence; None where nothing was to do
    :raises DeviceError: where it cannot be done, with the command that does
    """
    note = _note(queue, folder)
    before = _before(note)
    if before is None:
        return None
    if os.geteuid() != 0:
        raise errors.DeviceError(
            f'A study that was killed left the I/O scheduler of '
            f'{queue.device} changed; as root, put it back by echo {before} '
            f'> {queue.path}.')
    with note.held():
        _set(queue, before)
        note.remove()
    return (f'The I/O scheduler of {queue.device} is {before} again, which a '
            'study that was killed had left changed.')


def _set(queue: Queue, name: str) -> None:
    try:
        queue.path.write_text(name)
        now = parse(queue.path.read_text())[0]
    except OSError as exc:
        raise errors.DeviceError(
            f'The I/O scheduler of {queue.device} could not be made {name}: '
            f'{exc.strerror}; do it by echo {name} > {queue.path}.'
        ) from None
    if now != name:
        raise errors.DeviceError(
            f'The I/O scheduler of {queue.device} is {now} after it was made '
            f'{name}; something else sets it (a rule of udev, tuned): end '
            'that.')


def _note(queue: Queue, folder: pathlib.Path) -> restore_notes.Note:
    return restore_notes.Note('scheduler', queue.device, folder)


def _before(note: restore_notes.Note) -> str | None:
    doc = note.read()
    if doc is None:
        return None
    name = doc['scheduler'].text()
    if not re.fullmatch(_NAME, name):
        raise doc['scheduler'].wrong('an I/O scheduler')
    return name
