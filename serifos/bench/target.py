# SPDX-License-Identifier: Apache-2.0
"""What is measured: a block device, a volume group or a scratch file."""

from __future__ import annotations

from collections.abc import Callable
from collections.abc import Iterator
from collections.abc import Mapping
import contextlib
import dataclasses
import json
import os
import pathlib
from typing import Any

from serifos.bench import command
from serifos.bench import device as dv
from serifos.bench import fio
from serifos.bench import lvm
from serifos.bench import purge as pg
from serifos import errors
from serifos import store

GIB = 2 ** 30
_ALIGN = 2 ** 20
_MARGIN = 256 * 2 ** 20
_SCRATCH_SCHEMA = 'serifos-scratch/1'


@dataclasses.dataclass(frozen=True)
class Area:
    """What may be written while a target is open: one piece, or several."""

    pieces: tuple[fio.Region, ...]

    def regions(self, count: int) -> tuple[fio.Region, ...]:
        """A region of its own for each of ``count`` workloads.

        :raises DeviceError: where they would be too small
        """
        if len(self.pieces) > 1:
            return self.pieces[:count]
        piece = self.pieces[0]
        share = piece.size // count // _ALIGN * _ALIGN
        if share < _ALIGN:
            raise errors.DeviceError(
                f'{piece.path} is too small for {count} workloads at once; '
                'each needs 1 MiB at least.')
        return tuple(fio.Region(piece.path, piece.offset + i * share, share)
                     for i in range(count))


@dataclasses.dataclass(frozen=True)
class Target:
    """Something to measure, looked at and not yet touched.

    :param word: what to type before it is overwritten, None where nothing
        of anybody's is
    :param facts: what to show before
    :param identity: what a dataset's header says of the device
    :param purge: how it would be purged; None where it is not preconditioned
    :param fresh: whether opening it makes it anew, so that preconditioning
        done before is lost
    :param open: claims it, and releases it again
    """

    name: str
    word: str | None
    facts: Mapping[str, str]
    identity: Mapping[str, Any]
    purge: pg.Purge | None
    fresh: bool
    open: Callable[[], contextlib.AbstractContextManager[Area]]


def find(text: str, count: int, size_gib: float, lv_size_gib: float,
         engine: str, keep: bool = False) -> Target:
    """The target that a user named.

    :param count: workloads that will run together at the most
    :param size_gib: of a scratch file
    :param lv_size_gib: of a scratch volume in a volume group
    :param keep: leave a scratch file where it is afterwards
    :raises DeviceError: where there is none, or it is in use
    """
    for what, size in (('--size-gib', size_gib),
                       ('--lv-size-gib', lv_size_gib)):
        if not 0.01 <= size <= 2 ** 20:
            raise errors.InputError(
                f'{what} {size:g} cannot be used; give 0.01 to 1048576.')
    if text.startswith('file:'):
        return _file(pathlib.Path(text.removeprefix('file:')),
                     int(size_gib * GIB) // _ALIGN * _ALIGN, engine, keep)
    if dv.is_volume_group(text):
        return _group(text, count, int(lv_size_gib * GIB) // _ALIGN * _ALIGN)
    return _block(text)


def _block(path: str) -> Target:
    device = dv.identify(path)
    dv.refuse_if_used(device)

    @contextlib.contextmanager
    def claim() -> Iterator[Area]:
        with dv.exclusive(device.path):
            # What became of it since it was shown and confirmed?
            now = dv.identify(device.path)
            dv.refuse_if_used(now)
            if (now.serial, now.wwn, now.size) != (
                    device.serial, device.wwn, device.size):
                raise errors.DeviceError(
                    f'{device.path} is another device than a moment ago; '
                    'nothing was written.')
            dv.refuse_without_direct_io(device.path)
            yield Area((fio.Region(
                device.path, 0, device.size // _ALIGN * _ALIGN),))

    return Target(
        device.path, device.word, device.facts,
        {'model': device.model, 'serial': device.serial,
         'size_gib': round(device.size / GIB, 3), 'target': device.path},
        pg.choose_purge(device), False, claim)


def _group(name: str, count: int, size: int) -> Target:
    group = lvm.identify(name)
    lvm.refuse_if_small(group, count, size)

    @contextlib.contextmanager
    def claim() -> Iterator[Area]:
        with lvm.scratch(name, count, size) as paths:
            for path in paths:
                dv.refuse_without_direct_io(path)
            yield Area(tuple(fio.Region(path, 0, size) for path in paths))

    return Target(
        name, group.uuid,
        {**group.facts, 'scratch volumes':
         f'{count} of {size / GIB:.2f} GiB, tagged {lvm.TAG}',
         'note': 'tenants on this volume group will feel the load'},
        {'model': f'LVM on {", ".join(group.physical_volumes)}',
         'serial': group.uuid, 'size_gib': round(group.size / GIB, 3),
         'target': name},
        pg.Purge('discard of the scratch volumes (blkdiscard)', tuple(
            ('blkdiscard', f'/dev/{name}/{lvm.TAG}-{i}')
            for i in range(count))), True, claim)


def _file(path: pathlib.Path, size: int, engine: str,
          keep: bool) -> Target:
    path = path.absolute()
    if path.exists() and not _is_ours(path):
        raise errors.DeviceError(
            f'{path} exists and serifos did not make it; name a path where '
            'nothing is yet.')
    if not path.parent.is_dir():
        raise errors.DeviceError(
            f'There is no directory {path.parent} for the scratch file.')
    source, filesystem = json.loads(command.run(
        ['findmnt', '--json', '--target', str(path.parent), '--output',
         'SOURCE,FSTYPE']))['filesystems'][0].values()

    @contextlib.contextmanager
    def claim() -> Iterator[Area]:
        try:
            _make(path, size)
            dv.refuse_without_direct_io(str(path))
            region = fio.Region(str(path), 0, size)
            fio.write_region(region, engine, 60 + size / 2 ** 20)
            yield Area((region,))
        finally:
            if not keep:
                _remove(path)

    return Target(
        f'file:{path}', None,
        {'file': str(path), 'size': f'{size / GIB:.2f} GiB',
         'filesystem': f'{filesystem} on {source}'},
        {'model': f'file on {filesystem} ({source})', 'serial': None,
         'size_gib': round(size / GIB, 3), 'target': f'file:{path}'},
        None, True, claim)


def _sidecar(path: pathlib.Path) -> pathlib.Path:
    return path.with_name(f'{path.name}.serifos')


def _is_ours(path: pathlib.Path) -> bool:
    """Whether the note beside a file says that we made this very file."""
    try:
        note = json.loads(_sidecar(path).read_text())
        return (note.get('schema') == _SCRATCH_SCHEMA
                and note['inode'] == path.stat().st_ino
                and path.is_file() and not path.is_symlink())
    except (OSError, ValueError, KeyError, AttributeError):
        return False


def _make(path: pathlib.Path, size: int) -> None:
    """An allocated file of exactly this size, with our note beside it."""
    _remove(path)
    room = os.statvfs(path.parent)
    free = room.f_bavail * room.f_frsize
    if free < size + _MARGIN:
        raise errors.DeviceError(
            f'{path.parent} has {free / GIB:.2f} GiB free and a scratch file '
            f'of {size / GIB:.2f} GiB does not fit with '
            f'{_MARGIN / GIB:.2f} GiB to spare; give a smaller --size-gib.')
    try:
        handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600)
    except OSError as exc:
        raise errors.DeviceError(
            f'{path} cannot be made: {exc.strerror}.') from None
    try:
        store.write_json(_sidecar(path), {
            'schema': _SCRATCH_SCHEMA, 'inode': os.fstat(handle).st_ino})
        os.posix_fallocate(handle, 0, size)
    except OSError as exc:
        raise errors.DeviceError(
            f'{path} cannot be given {size / GIB:.2f} GiB: '
            f'{exc.strerror}.') from None
    finally:
        os.close(handle)


def _remove(path: pathlib.Path) -> None:
    if path.exists() and _is_ours(path):
        path.unlink()
        _sidecar(path).unlink()
