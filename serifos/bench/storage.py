# SPDX-License-Identifier: Apache-2.0
"""The storage behind block devices, and their other names.

Two paths of a LUN are two block devices, and so are two loop devices of a
file. What is known of each device is followed down to media, which are disks
or files, and to the bytes of them that it has.
"""

from __future__ import annotations

from collections.abc import Collection
from collections.abc import Iterable
from collections.abc import Iterator
from collections.abc import Mapping
from collections.abc import Sequence
import contextlib
import dataclasses
import fcntl
import math
import os
import pathlib
import re
import struct

from serifos.bench import in_use
from serifos.bench import lsblk

Parents = dict[in_use.Identity, set[in_use.Identity]]
"""Of each device those that it is made of."""

_LINEAR = ('disk', 'loop', 'part', 'mpath')
_PREFIX = re.compile(r'^(0x|naa\.|eui\.)')

SWAP = '[SWAP]'

SYS = pathlib.Path('/sys')

_LOOP_GET_STATUS64 = 0x4C05
_LOOP_INFO64 = struct.Struct('=QQQQQ192x')  # see loop(4)
_SECTOR = 512

Used = Mapping[in_use.Identity, Collection[str]]
"""Block devices and files, and what uses each of them."""


@dataclasses.dataclass(frozen=True)
class Medium:
    """A disk, or the file behind a loop device.

    :param identity: of the block device or file; None where a loop device
        does not tell its file
    :param wwns: world wide names, without their prefixes
    """

    identity: in_use.Identity | None
    path: str
    wwns: frozenset[str] = frozenset()
    serial: str | None = None
    model: str | None = None

    @property
    def is_file(self) -> bool:
        return self.identity is not None and self.identity[0] == 'file'

    def shared(self, other: Medium) -> str | None:
        """The storage that both have in common; None without any.

        World wide names decide where both report one: the namespaces of an
        NVMe device have one serial number, as the LUNs of some targets.
        """
        if self.identity is not None and self.identity == other.identity:
            return f'{self.path} is behind both'
        if self.wwns and other.wwns:
            return next((f'both have the WWN {wwn}' for wwn in sorted(
                self.wwns & other.wwns)), None)
        if not self.serial or self.serial != other.serial or (
                self.model and other.model and self.model != other.model):
            return None
        return f'both have the serial number {self.serial}'

    def is_comparable(self, other: Medium) -> bool:
        """Whether it is known if they are the same."""
        if None in (self.identity, other.identity):
            return False
        return (self.is_file or other.is_file
                or self.shared(other) is not None
                or bool(self.wwns and other.wwns)
                or bool(self.serial and other.serial))


@dataclasses.dataclass(frozen=True)
class Part:
    """A part of a medium, of which is not known where it lies.

    :param family: of parts that have no bytes in common
    """

    family: object
    identity: in_use.Identity


@dataclasses.dataclass(frozen=True)
class Piece:
    """Bytes of a medium, or a part of them."""

    medium: Medium
    begin: float = 0
    end: float = math.inf
    part: Part | None = None

    def cut(self, offset: int, length: float | None) -> Piece:
        begin = self.begin + offset
        end = self.end if length is None else min(self.end, begin + length)
        return dataclasses.replace(self, begin=begin, end=end)

    def shared(self, other: Piece) -> str | None:
        """How it is known that bytes of both are the same, or None."""
        if not (self.begin < other.end and other.begin < self.end) or (
                self.part and other.part and self.part != other.part
                and self.part.family == other.part.family):
            return None
        return self.medium.shared(other.medium)

    def covers(self, other: Piece) -> bool:
        return (self.begin <= other.begin and other.end <= self.end
                and self.part in (None, other.part)
                and self.medium.shared(other.medium) is not None)


@dataclasses.dataclass(frozen=True)
class Storage:
    """A block device, and what lies behind its name.

    :param parents: devices that it is made of
    :param below: these, and what they are made of in turn
    """

    node: lsblk.Node
    parents: frozenset[in_use.Identity]
    below: frozenset[in_use.Identity]
    pieces: tuple[Piece, ...]

    def stands_on(self, other: Storage) -> bool:
        return other.node.identity in self.below

    def shared(self, other: Storage) -> str | None:
        """How it is known that both have bytes in common, or None."""
        if self.stands_on(other):
            return f'{self.node.path} is on it'
        return next((why for mine in self.pieces for theirs in other.pieces
                     if (why := mine.shared(theirs))), None)

    def covers(self, other: Storage) -> bool:
        """Whether all bytes of another are among its own."""
        return all(any(mine.covers(theirs) for mine in self.pieces)
                   for theirs in other.pieces)

    def is_beside(self, other: Storage) -> bool:
        """Whether both are on one disk or file, wherever on it."""
        return any(mine.medium.shared(theirs.medium)
                   for mine in self.pieces for theirs in other.pieces)

    def is_comparable(self, other: Storage) -> bool:
        """Whether it is known if they have bytes in common."""
        return all(mine.medium.is_comparable(theirs.medium)
                   for mine in self.pieces for theirs in other.pieces)


def every(tree: Sequence[lsblk.Node]) -> list[Storage]:
    """The storage behind each device of a tree, each device once."""
    listed = [node for disk in tree for node in disk.walk()]
    nodes = {node.identity: node for node in listed}
    parents = _parents(listed, nodes)
    below = {one: _below(one, parents) for one in nodes}
    pieces: dict[in_use.Identity, tuple[Piece, ...]] = {}
    for one in sorted(nodes, key=lambda one: len(below[one])):
        behind = dict.fromkeys(piece for parent in sorted(parents[one])
                               for piece in pieces.get(parent, ()))
        is_linear = all(_is_linear(nodes[parent], parents[parent])
                        for parent in parents[one])
        pieces[one] = tuple(
            _narrowed(nodes[one], frozenset(parents[one]), piece, is_linear)
            for piece in behind or (Piece(medium(nodes[one])),))
    return [Storage(node, frozenset(parents[one]), below[one], pieces[one])
            for one, node in nodes.items()]


def _parents(listed: Iterable[lsblk.Node],
             nodes: Collection[in_use.Identity]) -> Parents:
    found: Parents = {one: set() for one in nodes}
    for node in listed:
        for child in node.children:
            found[child.identity].add(node.identity)
        if node.backing is not None and node.backing.what in found:
            found[node.identity].add(node.backing.what)
    return found


def _is_linear(node: lsblk.Node,
               parents: Collection[in_use.Identity]) -> bool:
    """Whether each byte is where it is on the parents; not of bcache."""
    return node.kind in _LINEAR and not (node.kind == 'disk' and parents)


def _narrowed(node: lsblk.Node, parents: frozenset[in_use.Identity],
              behind: Piece, is_linear: bool) -> Piece:
    """The piece of its parents, or of its medium, that a device has.

    :param is_linear: whether a byte of the piece is where it is on them
    """
    if node.backing is not None and is_linear:
        return behind.cut(node.backing.offset, node.backing.limit)
    if node.kind == 'part' and node.start is not None and is_linear:
        return behind.cut(node.start, node.size_bytes)
    family = {'lvm': 'lvm', 'part': parents}.get(node.kind)
    return behind if family is None else dataclasses.replace(
        behind, part=Part(family, node.identity))


def medium(node: lsblk.Node) -> Medium:
    """A device that is made of no other."""
    if node.kind == 'loop':
        return Medium(None if node.backing is None else node.backing.what,
                      'a file' if node.backing is None else
                      node.backing.path)
    names = {_PREFIX.sub('', name.lower()) for name in
             (node.wwn, node.wwid) if name}
    return Medium(node.identity, node.path,
                  frozenset(name for name in names if name.strip('0')),
                  node.serial, node.model)


def _below(one: in_use.Identity,
           parents: Parents) -> frozenset[in_use.Identity]:
    found: set[in_use.Identity] = set()
    ahead = [one]
    while ahead:
        new = parents[ahead.pop()] - found
        found |= new
        ahead.extend(new)
    return frozenset(found - {one})


@dataclasses.dataclass(frozen=True)
class Other:
    """A device that has bytes of the same storage, or the file behind it.

    :param why: how that is known
    :param uses: what uses it, a clause each
    :param claims: whether to open it exclusively keeps others away from
        the storage, and from nothing else
    :param watched: whether a process that has it open uses the storage;
        multipathd has the paths open that it made a device of
    """

    path: str
    identity: in_use.Identity
    why: str
    uses: tuple[str, ...] = ()
    claims: bool = False
    watched: bool = True


def other_names(mine: Storage,
                known: Sequence[Storage]) -> tuple[Other, ...]:
    """The other names of a device's storage, without what stands on it.

    :param known: all devices of the machine
    """
    return tuple(sorted(
        [*_files(mine, known),
         *(_other(mine, one, known, why) for one in known
           if one is not mine and not one.stands_on(mine)
           and (why := mine.shared(one)) is not None)],
        key=lambda other: other.path))


def _files(mine: Storage,
           known: Sequence[Storage]) -> Iterator[Other]:
    for backing in {one.node.backing for one in known
                    if one is mine or mine.stands_on(one)}:
        if backing and backing.what and backing.what[0] == 'file':
            yield Other(backing.path, backing.what, 'is behind it',
                        (*_uses(backing.path, backing),))


def _other(mine: Storage, one: Storage,
           known: Sequence[Storage], why: str) -> Other:
    node, is_below = one.node, mine.stands_on(one)
    return Other(
        node.path, node.identity, why,
        (*_uses(node.path, node), *_holders(mine, one, known)),
        # A partition is claimed with its disk, and not beside it.
        claims=not is_below and mine.covers(one) and (
            node.kind != 'part' or mine.node.kind == 'part'),
        watched=not is_below or all(
            child.kind == 'part' for child in node.children))


def _uses(path: str, used: lsblk.Node | lsblk.Backing) -> Iterator[str]:
    for mount in used.mounts:
        yield (f'swap is on {path}' if mount == SWAP else
               f'{mount} is mounted from {path}')
    for export in used.exports:
        yield f'{path} is exported by {export}'


def _holders(mine: Storage, one: Storage,
             known: Sequence[Storage]) -> Iterator[str]:
    for other in known:
        if (one.node.identity in other.parents and other.node.kind != 'part'
                and other is not mine and not other.stands_on(mine)
                and not mine.stands_on(other) and mine.shared(other)):
            yield f'{one.node.path} is held by {other.node.kname}'


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
    what: in_use.Identity = (
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
