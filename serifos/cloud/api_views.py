# SPDX-License-Identifier: Apache-2.0
"""Readers of the replies of Cinder's API, as facts of the inventory.

The views are those that an administrator gets at microversion 3.70. A reader
of one item raises ValueError with the reason where it cannot be read; in a
list such an item is left out as :class:`.inventory.Unread`.
"""

from __future__ import annotations

from collections.abc import Callable
from collections.abc import Iterable
from collections.abc import Mapping
import re
from typing import TypeVar

from serifos.facts import fields
from serifos.facts import inventory
from serifos.facts import strict_json

_MOST_GIB = 1e9

Noun = TypeVar('Noun', inventory.Record, inventory.PoolStats,
               inventory.Service, inventory.Type)


def usable(status: int, body: bytes) -> None:
    """:raises ValueError: where a reply is JSON that cannot be read"""
    if body.lstrip()[:1] in (b'{', b'['):
        try:
            strict_json.loads(body)
        except ValueError as exc:
            raise ValueError(f'{exc} (HTTP {status})') from None


def record(said: object, snapshots: int = 0) -> inventory.Record:
    """A volume as the API's detailed view gives it to an administrator."""
    doc = fields.Field(said)
    created_at, updated_at = (doc[name].moment_or_none()
                              for name in ('created_at', 'updated_at'))
    if created_at is None and updated_at is None:
        raise ValueError('it has neither a created_at nor an updated_at')
    return inventory.Record(
        _id(doc['id']), doc['size'].number(0, _MOST_GIB),
        doc['status'].name(), pool=_pool(doc),
        name_id=_id(doc[_NAME_ID]) if doc[_NAME_ID].value else None,
        migration_status=_migration_status(doc),
        name=doc['name'].text_or_none(),
        description=doc['description'].text_or_none(),
        volume_type=doc['volume_type'].name_or_none(),
        zone=doc['availability_zone'].name_or_none(),
        project_id=doc['os-vol-tenant-attr:tenant_id'].name_or_none(),
        metadata=doc['metadata'].texts(), snapshots=snapshots,
        group_id=doc['group_id'].name_or_none()
        or doc['consistencygroup_id'].name_or_none(),
        replication_status=doc['replication_status'].name_or_none(),
        encrypted=doc['encrypted'].flag(absent=False),
        multiattach=doc['multiattach'].flag(absent=False),
        bootable=doc['bootable'].value in (True, 'true'),
        attachments=_attachments(doc['attachments']),
        created_at=created_at, updated_at=updated_at)


def _attachments(field: fields.Field) -> tuple[str, ...]:
    return () if field.value is None else tuple(
        each['server_id'].name_or_none() or '' for each in field.items())


_HOST = 'os-vol-host-attr:host'
_NAME_ID = 'os-vol-mig-status-attr:name_id'


def _pool(doc: fields.Field) -> str | None:
    """The pool of a volume, by the name that Cinder's scheduler gives it."""
    host, cluster = (doc[name].name_or_none()
                     for name in (_HOST, 'cluster_name'))
    if host is None or cluster is None or '#' in cluster:
        return cluster or host
    return cluster + ''.join(host.partition('#')[1:])


def _migration_status(doc: fields.Field) -> str | None:
    return (doc['migration_status'].name_or_none()
            or doc['os-vol-mig-status-attr:migstat'].name_or_none())


def _id(field: fields.Field) -> str:
    """An id, for the paths of requests and the names of volumes."""
    if not re.fullmatch('[A-Za-z0-9_-]+', field.name()):
        raise field.wrong('an id')
    return field.name()


def service(said: object) -> inventory.Service:
    """A service as ``os-services`` lists it."""
    doc = fields.Field(said)
    backend = doc['backend_state'].value
    return inventory.Service(
        doc['binary'].name(), doc['host'].name(),
        zone=doc['zone'].name_or_none(),
        up=doc['state'].value == 'up',
        enabled=doc['status'].value == 'enabled',
        frozen=doc['frozen'].flag(absent=False),
        backend_up=None if backend is None else backend == 'up',
        updated_at=doc['updated_at'].moment_or_none(),
        cluster=doc['cluster'].name_or_none())


def kind(said: object, qos: Mapping[
        str, tuple[Mapping[str, str], str]]) -> inventory.Type:
    """A volume type as ``types`` lists it.

    :param qos: the specs and the consumer of each QoS, by its id
    """
    doc = fields.Field(said)
    specs, consumer = qos.get(
        str(doc['qos_specs_id'].value), ({}, inventory.BACK_END))
    return inventory.Type(doc['name'].name(), doc['extra_specs'].texts(),
                          specs,
                          consumer)


def qos(docs: Iterable[object]) -> dict[str, tuple[dict[str, str], str]]:
    """The specs of each QoS and who consumes them, by its id.

    Unreadable ones are left out.
    """
    found = {}
    for doc in map(fields.Field, docs):
        try:
            found[doc['id'].name()] = (
                doc['specs'].texts(),
                doc['consumer'].name_or_none() or inventory.BACK_END)
        except ValueError:
            continue
    return found


def snapshots(docs: Iterable[object]) -> dict[str, int]:
    """Volume → the number of its snapshots.

    One without a volume is ignored: Cinder itself does not migrate a volume
    that has snapshots.
    """
    found: dict[str, int] = {}
    for doc in docs:
        volume = doc.get('volume_id') if isinstance(doc, dict) else None
        if isinstance(volume, str):
            found[volume] = found.get(volume, 0) + 1
    return found


def attachment(said: object) -> tuple[str, tuple[str, str, float]] | None:
    """(volume, (instance, device, since)) of a volume with one attachment.

    Since when, seconds of the epoch; 0 where Cinder does not say.
    """
    doc = fields.Field(said)
    try:
        only, = doc['attachments'].items()
        return doc['id'].name(), (only['server_id'].name(),
                                  only['device'].name(),
                                  _since(only['attached_at']))
    except ValueError:
        return None


def _since(at: fields.Field) -> float:
    try:
        return at.moment()
    except ValueError:
        return 0.0


def mentions(doc: object, volume_id: str) -> bool:
    """Whether a record may be a copy of this volume's migration."""
    return isinstance(doc, dict) and any(
        volume_id in said for key in ('migration_status', 'description',
                                      'os-vol-mig-status-attr:migstat')
        if isinstance(said := doc.get(key), str))


def id_of(doc: object) -> str:
    """The id of an item of a list, '' without one."""
    found = doc.get('id') if isinstance(doc, dict) else None
    return found if isinstance(found, str) else ''


def each(what: str, docs: Iterable[object],
         read: Callable[[object], Noun]
         ) -> tuple[tuple[Noun, ...], tuple[inventory.Unread, ...]]:
    """The items of a list that can be read, and those that cannot.

    An item that is listed twice counts once; where the two differ it cannot
    be read.

    :param what: ``volume``, ``pool``, ..., for messages
    """
    found: dict[str, tuple[Noun, object]] = {}
    unread = []
    twice = set()
    for number, doc in enumerate(docs, 1):
        try:
            noun = read(doc)
        except (RecursionError, ValueError) as exc:
            unread.append(_unread(what, doc, number, str(exc)))
            continue
        name = _name(noun)
        if found.setdefault(name, (noun, doc))[0] != noun:
            twice.add(name)
            unread.append(_unread(what, doc, number, _TWICE))
    unread += [_unread(what, found[name][1], 0, _TWICE) for name in twice]
    return (tuple(noun for name, (noun, _) in found.items()
                  if name not in twice), tuple(unread))


_TWICE = 'it is listed twice, with different values'


def _name(noun: Noun) -> str:
    if isinstance(noun, inventory.Record):
        return noun.id
    if isinstance(noun, inventory.Service):
        return f'{noun.binary} on {noun.host}'
    return noun.name


def _unread(what: str, said: object, number: int,
            why: str) -> inventory.Unread:
    doc = fields.Field(said if isinstance(said, dict) else {})
    keys = ('id',) if what == 'volume' else ('name', 'host', 'id')
    name = next((_readable(doc[key]) for key in keys
                 if isinstance(doc[key].value, str) and doc[key].value),
                f'number {number}')
    if what != 'volume':
        return inventory.Unread(what, name, why)
    try:
        home = _pool(doc)
        status = _migration_status(fields.Field(said))
    except ValueError:
        home, status = None, inventory.UNKNOWN
    return inventory.Unread(what, name, why, home, status)


def _readable(field: fields.Field) -> str:
    try:
        return field.name()
    except ValueError:
        return fields.shown(field.value)
