# SPDX-License-Identifier: Apache-2.0
"""The storage behind block devices: two names may stand for the same.

Two paths of a LUN are two block devices, and so are two loop devices of a
file. What is known of each device is followed down to media, which are disks
or files, and to the bytes of them that it has.
"""

from __future__ import annotations

from collections.abc import Collection
from collections.abc import Iterable
from collections.abc import Sequence
import dataclasses
import math
import re

from serifos.bench import lsblk
from serifos.bench import open_files

Parents = dict[open_files.Identity, set[open_files.Identity]]
"""Of each device those that it is made of."""

_LINEAR = ('disk', 'loop', 'part', 'mpath')
_PREFIX = re.compile(r'^(0x|naa\.|eui\.)')


@dataclasses.dataclass(frozen=True)
class Medium:
    """A disk, or the file behind a loop device.

    :param identity: of the block device or file; None where a loop device
        does not tell its file
    :param wwns: world wide names, without their prefixes
    """

    identity: open_files.Identity | None
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
    identity: open_files.Identity


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
    parents: frozenset[open_files.Identity]
    below: frozenset[open_files.Identity]
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
    pieces: dict[open_files.Identity, tuple[Piece, ...]] = {}
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
             nodes: Collection[open_files.Identity]) -> Parents:
    found: Parents = {one: set() for one in nodes}
    for node in listed:
        for child in node.children:
            found[child.identity].add(node.identity)
        if node.backing is not None and node.backing.what in found:
            found[node.identity].add(node.backing.what)
    return found


def _is_linear(node: lsblk.Node,
               parents: Collection[open_files.Identity]) -> bool:
    """Whether each byte is where it is on the parents; not of bcache."""
    return node.kind in _LINEAR and not (node.kind == 'disk' and parents)


def _narrowed(node: lsblk.Node, parents: frozenset[open_files.Identity],
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


def _below(one: open_files.Identity,
           parents: Parents) -> frozenset[open_files.Identity]:
    found: set[open_files.Identity] = set()
    ahead = [one]
    while ahead:
        new = parents[ahead.pop()] - found
        found |= new
        ahead.extend(new)
    return frozenset(found - {one})
