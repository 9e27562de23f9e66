# SPDX-License-Identifier: Apache-2.0
"""What does a reply of Cinder's API say?

JSON of the API's views in, nouns of :mod:`serifos.facts.inventory` out; read
with the rights of an administrator at microversion 3.70. Each reader of one
item raises ValueError, with a clause that says why, where the item is none;
in a list that is the item's own affair: it is left out as
:class:`.inventory.Unread`.
"""

from __future__ import annotations

from collections.abc import Callable
from collections.abc import Iterable
from collections.abc import Mapping
import re
from typing import Any
from typing import TypeVar

from serifos.facts import fields
from serifos.facts import inventory as inv
from serifos.files import strict_json

_MOST_GIB = 1e9

Noun = TypeVar('Noun', inv.Record, inv.PoolStats, inv.Service, inv.Type)


def usable(status: int, body: bytes) -> None:
    """:raises ValueError: where a reply is JSON that cannot be read"""
    if body.lstrip()[:1] in (b'{', b'['):
        try:
            strict_json.loads(body)
        except ValueError as exc:
            raise ValueError(f'{exc} (HTTP {status})') from None


def record(said: object, snapshots: int = 0) -> inv.Record:
    """A volume as the API's detailed view gives it to an administrator."""
    doc = fields.document(said)
    created_at, updated_at = (
        fields.moment(doc, name) for name in ('created_at', 'updated_at'))
    if created_at is None and updated_at is None:
        raise ValueError('it has neither a created_at nor an updated_at')
    return inv.Record(
        _id(doc, 'id'), fields.number(doc, 'size', _MOST_GIB),
        fields.text(doc, 'status'),
        pool=fields.text_or_none(doc, _HOST),
        name_id=_id(doc, _NAME_ID) if doc.get(_NAME_ID) else None,
        migration_status=_migration_status(doc),
        name=fields.words(doc, 'name'),
        description=fields.words(doc, 'description'),
        volume_type=fields.text_or_none(doc, 'volume_type'),
        zone=fields.text_or_none(doc, 'availability_zone'),
        project_id=fields.text_or_none(doc, 'os-vol-tenant-attr:tenant_id'),
        metadata=fields.texts(doc, 'metadata'), snapshots=snapshots,
        group_id=fields.text_or_none(doc, 'group_id')
        or fields.text_or_none(doc, 'consistencygroup_id'),
        replication_status=fields.text_or_none(doc, 'replication_status'),
        encrypted=fields.flag(doc, 'encrypted'),
        attachments=len(fields.items(doc, 'attachments')),
        created_at=created_at, updated_at=updated_at)


_HOST = 'os-vol-host-attr:host'
_NAME_ID = 'os-vol-mig-status-attr:name_id'


def _migration_status(doc: Mapping[str, Any]) -> str | None:
    return (fields.text_or_none(doc, 'migration_status')
            or fields.text_or_none(doc, 'os-vol-mig-status-attr:migstat'))


def _id(doc: Mapping[str, Any], name: str) -> str:
    """It goes into the paths of requests and the names of volumes."""
    found = fields.text(doc, name)
    if not re.fullmatch('[A-Za-z0-9_-]+', found):
        raise ValueError(f'its {name} {fields.shown(found)} is no id')
    return found


def service(said: object) -> inv.Service:
    """A service as ``os-services`` lists it."""
    doc = fields.document(said)
    backend = doc.get('backend_state')
    return inv.Service(
        fields.text(doc, 'binary'), fields.text(doc, 'host'),
        zone=fields.text_or_none(doc, 'zone'),
        up=doc.get('state') == 'up', enabled=doc.get('status') == 'enabled',
        frozen=fields.flag(doc, 'frozen'),
        backend_up=None if backend is None else backend == 'up',
        updated_at=fields.moment(doc, 'updated_at'))


def kind(said: object, qos: Mapping[str, Mapping[str, str]]) -> inv.Type:
    """A volume type as ``types`` lists it.

    :param qos: the specs of each QoS, by its id
    """
    doc = fields.document(said)
    return inv.Type(fields.text(doc, 'name'),
                    fields.texts(doc, 'extra_specs'),
                    qos.get(str(doc.get('qos_specs_id')), {}))


def qos(docs: Iterable[object]) -> dict[str, dict[str, str]]:
    """The specs of each QoS, by its id; nothing we do depends on one."""
    found = {}
    for doc in docs:
        try:
            said = fields.document(doc)
            found[fields.text(said, 'id')] = fields.texts(said, 'specs')
        except ValueError:
            continue
    return found


def snapshots(docs: Iterable[object]) -> dict[str, int]:
    """Volume → how many snapshots hold it.

    One that does not say of what it is counts for none: Cinder itself does
    not migrate a volume that has snapshots.
    """
    found: dict[str, int] = {}
    for doc in docs:
        volume = doc.get('volume_id') if isinstance(doc, dict) else None
        if isinstance(volume, str):
            found[volume] = found.get(volume, 0) + 1
    return found


def attachment(doc: object) -> tuple[str, tuple[str, str]] | None:
    """(volume, (instance, device)), where one instance alone has it."""
    volume, had = id_of(doc), (doc.get('attachments')
                               if isinstance(doc, dict) else None)
    if not volume or not isinstance(had, list) or len(had) != 1 or (
            not isinstance(had[0], dict)):
        return None
    server, device = had[0].get('server_id'), had[0].get('device')
    if not isinstance(server, str) or not isinstance(device, str) or (
            not server or not device):
        return None
    return volume, (server, device)


def mentions(doc: object, volume_id: str) -> bool:
    """Whether a record may be the half of this volume's migration."""
    return isinstance(doc, dict) and any(
        volume_id in said for key in ('migration_status', 'description',
                                      'os-vol-mig-status-attr:migstat')
        if isinstance(said := doc.get(key), str))


def id_of(doc: object) -> str:
    """The id by which an item of a list is known, '' without one."""
    found = doc.get('id') if isinstance(doc, dict) else None
    return found if isinstance(found, str) else ''


def each(what: str, docs: Iterable[object],
         read: Callable[[object], Noun]
         ) -> tuple[tuple[Noun, ...], tuple[inv.Unread, ...]]:
    """The items of a list that can be read, and those that cannot.

    An item that stands there twice is one; where the two differ it cannot
    be read.

    :param what: ``volume``, ``pool``, ...: what a sentence calls an item
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


_TWICE = 'it is listed twice, and not alike'


def _name(noun: Noun) -> str:
    if isinstance(noun, inv.Record):
        return noun.id
    if isinstance(noun, inv.Service):
        return f'{noun.binary} on {noun.host}'
    return noun.name


def _unread(what: str, said: object, number: int, why: str) -> inv.Unread:
    doc = said if isinstance(said, dict) else {}
    keys = ('id',) if what == 'volume' else ('name', 'host', 'id')
    name = next((fields.name(doc[key]) for key in keys
                 if isinstance(doc.get(key), str) and doc[key]),
                f'number {number}')
    if what != 'volume':
        return inv.Unread(what, name, why)
    try:
        home = fields.text_or_none(doc, _HOST)
        status = _migration_status(fields.document(said))
    except ValueError:
        home, status = None, inv.UNKNOWN
    return inv.Unread(what, name, why, home, status)
