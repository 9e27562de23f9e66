# SPDX-License-Identifier: Apache-2.0
"""The block devices of this machine, as lsblk reports them."""

from __future__ import annotations

from collections.abc import Iterator
import dataclasses
import re

from serifos.bench import command
from serifos.bench import in_use
from serifos import errors
from serifos.facts import fields
from serifos.facts import strict_json

# With NAME first, what stands on a disk is listed below it; without, beside.
# All of them are older than JSON; who mounts a device, the kernel tells.
_COLUMNS = ('NAME', 'KNAME', 'MAJ:MIN', 'TYPE', 'SIZE', 'RO', 'TRAN',
            'MODEL', 'SERIAL', 'WWN', 'LOG-SEC')
_DEEPEST = 64
_MOST_BLOCK = 2 ** 26
_NUMBER = re.compile('[0-9]{1,9}:[0-9]{1,9}')

UNKNOWN = 'unknown'


@dataclasses.dataclass(frozen=True)
class Backing:
    """The part of a file or device that a loop device reads and writes.

    :param what: the file or block device, None where that is unknown
    :param path: its name when the loop device was set up
    :param offset: where it begins there, bytes
    :param limit: how long it is at the most, bytes; None to the end
    :param mounts: '[SWAP]' where it is swapped to
    :param exports: what gives it to other machines
    """

    what: in_use.Identity | None
    path: str
    offset: int = 0
    limit: int | None = None
    mounts: tuple[str, ...] = ()
    exports: tuple[str, ...] = ()


@dataclasses.dataclass(frozen=True)
class Node:
    """A block device and the devices that are built on it.

    What follows ``unread`` is of the kernel, see :func:`.storage.completed`.

    :param kind: disk, loop, part, lvm, ...
    :param logical_block: bytes of the smallest request
    :param number: major:minor, None where lsblk's cannot be understood
    :param mounts: where it is mounted itself
    :param children: partitions, and devices made of it
    :param unread: why what lsblk reports of it cannot be understood
    :param wwid: the kernel's own name of the storage, such as naa.5000
    :param start: of a partition on its disk, bytes; None where unknown
    :param backing: what stands behind a loop device
    :param sequence: another one each time that a device takes this name
    :param exports: what gives it to other machines
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
    unread: str | None = None
    wwid: str | None = None
    start: int | None = None
    backing: Backing | None = None
    sequence: str | None = None
    exports: tuple[str, ...] = ()

    @property
    def identity(self) -> in_use.Identity:
        major, minor = map(int, (self.number or '0:0').split(':'))
        return 'device', major, minor

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
    """A device that cannot be understood is one that says so.

    :raises ToolError: where this is not what lsblk prints
    """
    if not text.strip():  # there is no block device
        return ()
    disks = strict_json.read(text, 'lsblk')['blockdevices']
    return tuple(_node(disk, 1) for disk in disks.items())


def stripped(text: str | None) -> str | None:
    """A name; None where a driver has none, and says so."""
    found = (text or '').strip()
    return None if found in ('', '(null)') else found


def _node(node: fields.Field, depth: int) -> Node:
    children: tuple[Node, ...] = ()
    try:
        if depth > _DEEPEST:
            raise node.wrong(f'within {_DEEPEST} levels of devices')
        below = node['children']
        children = () if below.value is None else tuple(
            _node(child, depth + 1) for child in below.items())
        return dataclasses.replace(_understood(node), children=children)
    except errors.ToolError as exc:
        return _unread(node.value, children, str(exc))


def _understood(node: fields.Field) -> Node:
    number, size = node['maj:min'], node['size']
    if not _NUMBER.fullmatch(number.text().strip()):
        raise number.wrong('major:minor')
    return Node(
        kname=node['kname'].text(), path=_path(node),
        number=number.text().strip(),
        kind=node['type'].text_or_none() or UNKNOWN,
        size_bytes=size.whole() if size.value is not None else 0,
        read_only=node['ro'].flag(),
        logical_block=node['log-sec'].whole(0, _MOST_BLOCK) or 512,
        transport=node['tran'].text_or_none(),
        model=stripped(node['model'].text_or_none()),
        serial=stripped(node['serial'].text_or_none()),
        wwn=stripped(node['wwn'].text_or_none()),
        mounts=_mounts(node['mountpoints']))


def _path(node: fields.Field) -> str:
    """The name in /dev, which lsblk before 2.33 does not report."""
    kname = node['kname'].text()
    name = node['name'].text_or_none()
    return node['path'].text_or_none() or (
        f'/dev/mapper/{name}' if name and kname.startswith('dm-') else
        f'/dev/{kname.replace("!", "/")}')


def _mounts(column: fields.Field) -> tuple[str, ...]:
    """A column that lsblk has since 2.37."""
    return () if column.value is None else tuple(filter(None, (
        one.text_or_none() for one in column.items())))


def _unread(said: object, children: tuple[Node, ...], why: str) -> Node:
    texts = {name: value.strip() for name, value in said.items()
             if isinstance(value, str)} if isinstance(said, dict) else {}
    kname, number = texts.get('kname', UNKNOWN), texts.get('maj:min', '')
    return Node(
        f'/dev/{kname}', UNKNOWN, 0, kname=kname, children=children,
        number=number if _NUMBER.fullmatch(number) else None, unread=why,
        **{name: stripped(texts.get(name))
           for name in ('model', 'serial', 'wwn')})
