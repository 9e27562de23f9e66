# SPDX-License-Identifier: Apache-2.0
"""Other names of a block device's storage, and what uses it by them."""

from __future__ import annotations

from collections.abc import Iterator
from collections.abc import Sequence
import dataclasses

from serifos.bench.identity import storage
from serifos.bench import lsblk
from serifos.bench import open_files

SWAP = '[SWAP]'


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
    identity: open_files.Identity
    why: str
    uses: tuple[str, ...] = ()
    claims: bool = False
    watched: bool = True


def find(mine: storage.Storage,
         known: Sequence[storage.Storage]) -> tuple[Other, ...]:
    """Those of a device, without what stands on it.

    :param known: all devices of the machine
    """
    return tuple(sorted(
        [*_files(mine, known),
         *(_other(mine, one, known, why) for one in known
           if one is not mine and not one.stands_on(mine)
           and (why := mine.shared(one)) is not None)],
        key=lambda other: other.path))


def _files(mine: storage.Storage,
           known: Sequence[storage.Storage]) -> Iterator[Other]:
    for backing in {one.node.backing for one in known
                    if one is mine or mine.stands_on(one)}:
        if backing and backing.what and backing.what[0] == 'file':
            yield Other(backing.path, backing.what, 'is behind it',
                        (*_uses(backing.path, backing),))


def _other(mine: storage.Storage, one: storage.Storage,
           known: Sequence[storage.Storage], why: str) -> Other:
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


def _holders(mine: storage.Storage, one: storage.Storage,
             known: Sequence[storage.Storage]) -> Iterator[str]:
    for other in known:
        if (one.node.identity in other.parents and other.node.kind != 'part'
                and other is not mine and not other.stands_on(mine)
                and not mine.stands_on(other) and mine.shared(other)):
            yield f'{one.node.path} is held by {other.node.kname}'
