# SPDX-License-Identifier: Apache-2.0
"""Labels of volumes that are to share a pool, or be kept apart.

Volumes with the same label in ``same`` are to be on one pool, those with the
same one in ``different`` on different devices. Labels come from the metadata
``serifos:same_pool`` and ``serifos:different_pool``, whose value is a list of
names of groups and of ids of volumes, and from the servers that volumes are
attached to. Metadata counts only within a project, so that no tenant binds
the volumes of another; and before servers.
"""

from __future__ import annotations

import collections
from collections.abc import Iterable
from collections.abc import Iterator
from collections.abc import Mapping
from typing import NamedTuple

from serifos.facts.inventory import Record
from serifos.facts import names

ANY, APART, TOGETHER = 'any', 'apart', 'together'
"""What may be asked of the volumes of one server."""

SERVER = 'server '
"""How a label begins that comes from a server."""


class Labels(NamedTuple):
    """Those of one volume.

    :param same: of volumes that are to share a pool with it
    :param different: of those that are to be on other devices
    """

    same: tuple[str, ...] = ()
    different: tuple[str, ...] = ()


class Asked(NamedTuple):
    """What the metadata of one volume asks for.

    :param groups: their labels
    :param ids: of other volumes, if there are such
    """

    groups: tuple[str, ...] = ()
    ids: tuple[str, ...] = ()

    @classmethod
    def of(cls, metadata: Mapping[str, object], key: str,
           project: str | None) -> Asked:
        words = names.words(metadata.get(key))
        return cls(tuple(f'group {word} of project {project}'
                         for word in words if not names.is_id(word)),
                   tuple(word.lower() for word in words if names.is_id(word)))


def of(records: Iterable[Record],
       server_volumes: str = ANY) -> dict[str, Labels]:
    """Volume → its labels, of those that have any.

    :param records: without copies that belong to migrations
    :param server_volumes: :data:`ANY`, :data:`APART` or :data:`TOGETHER`
    """
    by_id = {record.id: record for record in records}
    same: collections.defaultdict[str, set[str]] = (
        collections.defaultdict(set))
    different: collections.defaultdict[str, set[str]] = (
        collections.defaultdict(set))
    for found, key in ((same, names.SAME_POOL),
                       (different, names.DIFFERENT_POOL)):
        for record in by_id.values():
            for volume, label in _said(record, key, by_id):
                found[volume].add(label)
    if server_volumes != ANY:
        for server, its in _of_servers(by_id.values()).items():
            if server_volumes == APART:
                for volume in its:
                    different[volume].add(SERVER + server)
            elif not _at_odds(its, different):
                for volume in its:
                    same[volume].add(SERVER + server)
    return {volume: Labels(tuple(sorted(same[volume])),
                           tuple(sorted(different[volume])))
            for volume in by_id if same[volume] or different[volume]}


def _said(record: Record, key: str, by_id: Mapping[str, Record]
          ) -> Iterator[tuple[str, str]]:
    """Volume and label, for each that the metadata of a volume names."""
    asked = Asked.of(record.metadata, key, record.project_id)
    for label in asked.groups:
        yield record.id, label
    for other in asked.ids:
        found = by_id.get(other)
        if found is not None and other != record.id and (
                found.project_id == record.project_id):
            label = 'volumes ' + ' and '.join(sorted((record.id, other)))
            yield record.id, label
            yield other, label


def _of_servers(records: Iterable[Record]) -> dict[str, list[str]]:
    """Server → its volumes, where it has more than one."""
    found: dict[str, list[str]] = {}
    for record in records:
        for server in {*record.attachments} - {''}:
            found.setdefault(server, []).append(record.id)
    return {server: its for server, its in found.items() if len(its) > 1}


def _at_odds(volumes: Iterable[str],
             different: Mapping[str, set[str]]) -> bool:
    """Whether any two volumes are to be kept apart."""
    return any(number > 1 for number in collections.Counter(
        label for volume in volumes
        for label in different.get(volume, ())).values())
