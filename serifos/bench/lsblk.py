# SPDX-License-Identifier: Apache-2.0
"""The block devices of this machine, as lsblk reports them."""

from __future__ import annotations

from collections.abc import Iterator
import dataclasses
import re

from serifos.bench import command
from serifos.facts import fields
from serifos.files import strict_json

# With NAME first, what stands on a disk is listed below it; without, beside.
_COLUMNS = ('NAME', 'KNAME', 'PATH', 'MAJ:MIN', 'TYPE', 'SIZE', 'RO', 'TRAN',
            'MODEL', 'SERIAL', 'WWN', 'MOUNTPOINTS', 'LOG-SEC')
_DEEPEST = 64
_MOST_BLOCK = 2 ** 26


@dataclasses.dataclass(frozen=True)
class Node:
    """A block device and the devices that are built on it.

    :param kind: disk, loop, part, lvm, ...
    :param logical_block: bytes of the smallest request
    :param number: major:minor
    :param mounts: where it is mounted itself
    :param children: partitions, and devices made of it
    """

    path: str
    kind: str
    size_bytes: int
    model: str | None = None
    serial: str | None = None
    wwn: str | None = None
    transport: str | None = None
    logical_block: int = 512
    read_only: bool = False
    number: str | None = None
    kname: str = ''
    mounts: tuple[str, ...] = ()
    children: tuple[Node, ...] = ()

    def walk(self) -> Iterator[Node]:
        """Itself, then all that stands on it."""
        yield self
        for child in self.children:
            yield from child.walk()


def tree() -> tuple[Node, ...]:
    """Every disk, with the devices that are built on it.

    :raises ToolError: where lsblk is missing, fails or prints something else
    """
    return parse(command.run(['lsblk', '-J', '-b', '-o',
                              ','.join(_COLUMNS)]))


def parse(text: str) -> tuple[Node, ...]:
    """:raises ToolError: where this is not what lsblk prints"""
    disks = strict_json.read(text, 'lsblk')['blockdevices']
    return tuple(_node(disk, 1) for disk in disks.items())


def stripped(text: str | None) -> str | None:
    return (text or '').strip() or None


def _node(node: fields.Field, depth: int) -> Node:
    if depth > _DEEPEST:
        raise node.wrong(f'within {_DEEPEST} levels of devices')
    children = node['children']
    number, size = node['maj:min'], node['size']
    if not re.fullmatch('[0-9]{1,9}:[0-9]{1,9}', number.text().strip()):
        raise number.wrong('major:minor')
    return Node(
        kname=node['kname'].text(), path=node['path'].text(),
        number=number.text().strip(), kind=node['type'].text(),
        size_bytes=size.whole() if size.value is not None else 0,
        read_only=node['ro'].flag(),
        logical_block=node['log-sec'].whole(0, _MOST_BLOCK) or 512,
        transport=node['tran'].text_or_none(),
        model=stripped(node['model'].text_or_none()),
        serial=stripped(node['serial'].text_or_none()),
        wwn=stripped(node['wwn'].text_or_none()),
        mounts=tuple(mount for mount in (
            one.text_or_none() for one in node['mountpoints'].items())
            if mount),
        children=() if children.value is None else tuple(
            _node(child, depth + 1) for child in children.items()))
