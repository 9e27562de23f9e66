# SPDX-License-Identifier: Apache-2.0
"""Targets of a measurement: block device, volume group, scratch file.

Every workload has a region of its own, of the same size whatever number of
them runs together, as the volumes of tenants are: the largest set of the
design decides it. On a device and in a file these lie one after another;
one file instead of several is one allocation to make, fill and remove, and
is laid out as a device is.
"""

from __future__ import annotations

from collections.abc import Callable
from collections.abc import Iterator
from collections.abc import Mapping
from collections.abc import Sequence
import contextlib
import dataclasses
import math
import pathlib
import re
from typing import Any

from serifos.bench import device
from serifos.bench import fio
from serifos.bench import lvm
from serifos.bench import purge
from serifos.bench import scratch
from serifos.bench import sizes
from serifos import errors
from serifos.facts import fields

_ALIGN = 2 ** 20

_PUNCTUATION = '/._-+,@=~ '
_MOST_BYTES = 2048  # fio cuts a line at 4095
_GROUP = re.compile(r'[A-Za-z0-9_+.][A-Za-z0-9_+.-]{0,126}')


@dataclasses.dataclass(frozen=True)
class Area:
    """What may be written while a target is open.

    :param pieces: all of it, one piece or several
    :param regions: a region of its own for each workload
    :param purge: purges it, and says what was done; None for a file
    """

    pieces: tuple[fio.Region, ...]
    regions: tuple[fio.Region, ...]
    purge: Callable[[], str] | None = None


@dataclasses.dataclass(frozen=True)
class Target:
    """A target, inspected and not yet written to.

    :param word: what to type before it is overwritten, None where nothing
        of anybody's is
    :param facts: what to show before
    :param identity: what a dataset's header says of the device
    :param regions: where the workloads will run
    :param logical_block: bytes of the smallest request
    :param purge: how it will be purged; None where it is not preconditioned
    :param fresh: whether opening it makes it anew, so that preconditioning
        done before is lost
    :param open: claims it, and releases it again
    """

    name: str
    word: str | None
    facts: Mapping[str, str]
    identity: Mapping[str, Any]
    regions: tuple[fio.Region, ...]
    logical_block: int
    purge: str | None
    fresh: bool
    open: Callable[[], contextlib.AbstractContextManager[Area]]


@dataclasses.dataclass(frozen=True)
class TargetOptions:
    """The user's options of a target.

    :param count: workloads that will run together at the most
    :param size_gib: of a scratch file
    :param lv_size_gib: of a scratch volume in a volume group
    :param engine: fio's ioengine
    :param keep: leave a scratch file where it is afterwards
    :param purge: auto, or the name of a purge
    """

    count: int
    size_gib: float = 4.0
    lv_size_gib: float = 4.0
    engine: str = 'libaio'
    keep: bool = False
    purge: str = 'auto'

    def __post_init__(self) -> None:
        fields.refuse_outside('--size-gib', self.size_gib, 0.01, 2 ** 20)
        fields.refuse_outside('--lv-size-gib', self.lv_size_gib, 0.01,
                              2 ** 20)


def find(text: str, options: TargetOptions) -> Target:
    """The target that a user named; nothing is touched.

    :raises DeviceError: where there is none, or it may not be measured
    :raises InputError: where its name is not safe with fio
    """
    if text.startswith('file:'):
        return _file(pathlib.Path(text.removeprefix('file:')), options)
    if '/' in text:
        return _block(text, options)
    return _group(text, options)


def _block(path: str, options: TargetOptions) -> Target:
    refuse_unsafe(path)
    disk = device.identify(path)
    refuse_unsafe(disk.path)
    why = device.refusal(disk)
    if why is not None:
        raise errors.DeviceError(why)
    chosen = purge.choose_purge(disk, options.purge)
    whole = fio.Region(disk.path, 0,
                       disk.size_bytes // _ALIGN * _ALIGN)
    regions = shares(whole, options.count)

    @contextlib.contextmanager
    def claim() -> Iterator[Area]:
        with device.held(disk) as fd:
            ours = dataclasses.replace(whole, fd=fd)
            yield Area((ours,), shares(ours, options.count),
                       lambda: purge.purge(disk, chosen, fd))

    return Target(
        disk.path, disk.confirm_word, disk.facts,
        _identity(disk.model, disk.serial, disk.size_bytes,
                  disk.path, regions, options),
        regions, disk.logical_block, chosen.words, False, claim)


def _group(name: str, options: TargetOptions) -> Target:
    refuse_no_group(name)
    group = lvm.identify(name)
    extents = math.ceil(options.lv_size_gib * sizes.GIB / group.extent)
    size = extents * group.extent
    lvm.refuse_if_small(group, options.count, size)
    regions = tuple(fio.Region(f'/dev/{name}/{lvm.TAG}-{i}', 0, size)
                    for i in range(options.count))

    @contextlib.contextmanager
    def claim() -> Iterator[Area]:
        with lvm.scratch(name, options.count, size) as opened:
            ours = tuple(dataclasses.replace(region, fd=opened[region.path])
                         for region in regions)
            yield Area(ours, ours,
                       lambda: _discard(opened.values(), size))

    return Target(
        name, group.uuid,
        {**group.facts,
         'scratch volumes': f'{options.count} of {sizes.gib(size)}, tagged '
                            f'{lvm.TAG}, removed afterwards',
         'note': 'tenants of this volume group will feel the load'},
        _identity(f'LVM on {", ".join(group.physical_volumes)}', group.uuid,
                  group.size, name, regions, options),
        regions, 512, 'discard of our scratch volumes', True, claim)


def _discard(opened: Sequence[int], size: int) -> str:
    try:
        for fd in opened:
            purge.discard(fd, size)
    except OSError as exc:  # they are new: there is nothing of ours to purge
        return f'no purge: no discard here ({exc.strerror})'
    return 'discard of our scratch volumes'


def _file(path: pathlib.Path, options: TargetOptions) -> Target:
    path = path.absolute()
    refuse_unsafe(str(path))
    size = int(options.size_gib * sizes.GIB) // _ALIGN * _ALIGN
    why = scratch.refusal(path, size)
    if why is not None:
        raise errors.DeviceError(why)
    source, kind = scratch.mounted(path.parent)
    disk, model, serial = device.disk_below(path.parent)
    whole = fio.Region(str(path), 0, size)
    regions = shares(whole, options.count)

    @contextlib.contextmanager
    def claim() -> Iterator[Area]:
        with scratch.made(path, size, options.keep) as fd:
            ours = dataclasses.replace(whole, fd=fd)
            # Reading where nothing was written yet would be no I/O.
            fio.fill(ours, options.engine)
            scratch.refuse_unwritten(fd, path, size)
            yield Area((ours,), shares(ours, options.count))

    return Target(
        f'file:{path}', None,
        {'file': str(path), 'size': sizes.gib(size),
         'filesystem': f'{kind} on {source}',
         'model': model or 'unknown', 'serial': serial or 'none',
         'afterwards': 'kept' if options.keep else 'removed'},
        _identity(model or f'file on {kind} ({disk or source})',
                  serial, size, f'file:{path}', regions, options),
        regions, 512, None, True, claim)


def shares(whole: fio.Region, count: int) -> tuple[fio.Region, ...]:
    """Equal regions one after another, each a multiple of 1 MiB.

    :raises DeviceError: where they would be too small
    """
    share = whole.size // count // _ALIGN * _ALIGN
    if share < _ALIGN:
        raise errors.DeviceError(
            f'{whole.path} is too small for {count} workloads at once, of '
            'which each needs 1 MiB at least; give a larger one or fewer '
            '--counts.')
    return tuple(dataclasses.replace(
        whole, offset=whole.offset + i * share, size=share)
        for i in range(count))


def _identity(model: str | None, serial: str | None, size_bytes: int,
              target: str, regions: Sequence[fio.Region],
              options: TargetOptions) -> dict[str, Any]:
    return {'model': model, 'serial': serial,
            'size_gib': round(size_bytes / sizes.GIB, 3), 'target': target,
            'workload_gib': round(regions[0].size / sizes.GIB, 6),
            'ioengine': options.engine}


def refuse_unsafe(name: str) -> None:
    """:raises InputError: where fio might not take a path literally"""
    strange = next((c for c in name if not _is_safe(c)), None)
    if strange is not None:
        why = f'holds {strange!r}'
    elif any(part != part.strip(' ') for part in name.split('/')):
        why = 'begins or ends with a blank, or a part of it does'
    elif name.startswith('-'):
        why = 'begins with a hyphen'
    elif len(name.encode()) > _MOST_BYTES:
        why = f'is longer than {_MOST_BYTES} bytes'
    elif not name:
        why = 'is empty'
    else:
        return
    raise errors.InputError(
        f'The name {name!r} {why}, which fio may not take literally; name '
        'a path of letters, digits, blanks within and only these: '
        f'{" ".join(_PUNCTUATION.strip())}')


def refuse_no_group(name: str) -> None:
    """:raises InputError: where LVM would have no volume group so named"""
    if not _GROUP.fullmatch(name) or name in ('.', '..'):
        raise errors.InputError(
            f'{name!r} cannot be the name of a volume group, which is of '
            'letters, digits and _ + . - and begins with no hyphen; write '
            '/dev/NAME for a device, file:PATH for a scratch file.')


def _is_safe(character: str) -> bool:
    return character.isalnum() or character in _PUNCTUATION
