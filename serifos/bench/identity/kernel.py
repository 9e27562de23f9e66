# SPDX-License-Identifier: Apache-2.0
"""Facts of block devices in sysfs that lsblk does not report."""

from __future__ import annotations

from collections.abc import Collection
from collections.abc import Mapping
import contextlib
import dataclasses
import fcntl
import os
import pathlib
import struct

from serifos.bench import lsblk
from serifos.bench import open_files

SYS = pathlib.Path('/sys')

_LOOP_GET_STATUS64 = 0x4C05
_LOOP_INFO64 = struct.Struct('=QQQQQ192x')  # see loop(4)
_SECTOR = 512

Used = Mapping[open_files.Identity, Collection[str]]
"""Block devices and files, and what uses each of them."""


def completed(node: lsblk.Node, mounts: Used, exports: Used,
              sys: pathlib.Path = SYS) -> lsblk.Node:
    """A device, and those on it, with what the kernel knows of them."""
    place = sys / 'dev/block' / str(node.number)
    start = _text(place / 'start')
    return dataclasses.replace(
        node, serial=node.serial or _serial(place), wwid=_wwid(place),
        start=int(start) * _SECTOR if start and start.isdigit() else None,
        sequence=(_text(place / 'diskseq')
                  or _text(place.resolve().parent / 'diskseq')),
        backing=_backing(place, node.path, mounts, exports),
        mounts=tuple(sorted({*node.mounts, *mounts.get(node.identity, ())})),
        exports=tuple(sorted(exports.get(node.identity, ()))),
        children=tuple(completed(child, mounts, exports, sys)
                       for child in node.children))


def _serial(place: pathlib.Path) -> str | None:
    # lsblk asks udev, which is missing in a container for one.
    return (_text(place / 'serial')
            or _text(place / 'device/vpd_pg80', head=4))


def _wwid(place: pathlib.Path) -> str | None:
    image = [_text(place / 'device' / name)  # that rbd maps, maybe twice
             for name in ('cluster_fsid', 'pool_id', 'image_id')]
    return (_text(place / 'wwid') or _text(place / 'device/wwid')
            or ('/'.join(map(str, image)) if all(image) else None))


def _backing(place: pathlib.Path, path: str, mounts: Used,
             exports: Used) -> lsblk.Backing | None:
    name = _text(place / 'loop/backing_file')
    if name is None:
        return None
    try:
        device, inode, itself, offset, limit = _loop_info(path)
    except OSError:
        return lsblk.Backing(None, name)
    what: open_files.Identity = (
        ('device', os.major(itself), os.minor(itself))
        if itself not in (0, device) else ('file', device, inode))
    return lsblk.Backing(what, name, offset, limit or None,
                         tuple(sorted(mounts.get(what, ()))),
                         tuple(sorted(exports.get(what, ()))))


def _loop_info(path: str) -> tuple[int, ...]:
    fd = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    try:
        info = bytearray(_LOOP_INFO64.size)
        fcntl.ioctl(fd, _LOOP_GET_STATUS64, info)
        return _LOOP_INFO64.unpack(info)
    finally:
        os.close(fd)


def _text(path: pathlib.Path, head: int = 0) -> str | None:
    with contextlib.suppress(OSError):
        return lsblk.stripped(
            path.read_bytes()[head:].decode('ascii', 'replace'))
    return None
