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
import math
import re
from typing import Any
from typing import TypeVar

from serifos.facts import extra_specs
from serifos.facts import fields
from serifos.facts import inventory
from serifos.facts import strict_json

UNBOUNDED = 1e9
"""GiB that stand for 'infinite'; nothing real is as large."""

_MOST_GIB = 1e9
_FIRST_AUTO_RATIO = 20.0
_MOST = 1e12
_NOT_SAID = (None, '', 'unknown')

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


def pool(item: object) -> inventory.PoolStats:
    """A pool as ``get_pools?detail=True`` gives it.

    With the space that Cinder's own scheduler computes. It is unreadable where
    a figure is not a number: guessed space would be filled.

    :raises ValueError: with the reason where it cannot be read
    """
    doc = fields.Field(item)
    said = doc['capabilities'].object()
    thin = extra_specs.meets(
        said.get('thin_provisioning_support'), '<is> True')
    total = _gib(said, 'total_capacity_gb')
    if total < 0:
        raise ValueError(f'its total_capacity_gb {total:g} is below 0')
    return inventory.PoolStats(
        doc['name'].name(), total_gib=min(UNBOUNDED, total),
        free_gib=_free_gib(said, thin), unwritten_gib=_unwritten_gib(said),
        used_gib=_used_gib(said),
        backend_name=fields.Field(said)['volume_backend_name'].name_or_none(),
        model=_model(said.get('serifos_model')), thin=thin,
        device=_device(said.get('serifos_device')), capabilities=said)


def _model(said: object) -> str | None:
    if not said:
        return None
    if isinstance(said, (list, dict, bool)):
        raise fields.Field(said, 'serifos_model').wrong("a model's name")
    return said if isinstance(said, str) else fields.shown(said)


def _device(said: object) -> str | None:
    if isinstance(said, (int, float)):
        return fields.shown(said)
    return fields.Field(said, 'serifos_device').name_or_none()


def _free_gib(said: Mapping[str, Any], thin: bool) -> float:
    """The space that Cinder would still allocate, its reserve deducted.

    The ``virtual_free_capacity`` of Cinder's ``calculate_capacity_factors``,
    the same in Cinder 27 to 29, for a volume provisioned as the pool is: a
    thin pool may be over-subscribed.
    """
    total, free = (_gib(said, f'{name}_capacity_gb')
                   for name in ('total', 'free'))
    reserved = _number(said, 'reserved_percentage', 0.0) / 100
    if math.isinf(free) or math.isinf(total):
        refused = reserved and not math.isinf(free)
        return 0.0 if refused else min(free, UNBOUNDED)
    provisioned = _number(said, 'provisioned_capacity_gb',
                          _gib(said, 'allocated_capacity_gb'))
    ours = total - math.floor(total * reserved)
    if not thin:
        return min(free, ours - provisioned)
    ratio = _ratio(said, total - free, provisioned)
    return ours * ratio - provisioned if ratio >= 1 else 0.0


def _unwritten_gib(said: Mapping[str, Any]) -> float:
    total, free = (_gib(said, f'{name}_capacity_gb')
                   for name in ('total', 'free'))
    reserved = _number(said, 'reserved_percentage', 0.0) / 100
    return free if math.isinf(total) else (
        free - math.floor(total * reserved))


def _used_gib(said: Mapping[str, Any]) -> float | None:
    if said.get('free_capacity_gb') in _NOT_SAID:
        return None
    total, free = (_gib(said, f'{name}_capacity_gb')
                   for name in ('total', 'free'))
    return None if math.inf in (total, free) else max(0.0, total - free)


def _ratio(said: Mapping[str, Any], used_gib: float,
           provisioned_gib: float) -> float:
    """``max_over_subscription_ratio``; ``auto`` as Cinder computes it."""
    if said.get('max_over_subscription_ratio') != 'auto':
        return _number(said, 'max_over_subscription_ratio', 1.0)
    if not provisioned_gib:
        return _FIRST_AUTO_RATIO
    return 1 + provisioned_gib / (max(0.0, used_gib) + 1)


def _gib(said: Mapping[str, Any], name: str) -> float:
    """A capability in GiB; 0 for 'unknown'."""
    return math.inf if said.get(name) == 'infinite' else (
        _number(said, name, 0.0))


def _number(said: Mapping[str, Any], name: str, default: float) -> float:
    """A capability as a number.

    :raises ValueError: where it is something else
    """
    value = said.get(name)
    if not isinstance(value, (list, dict)) and value in _NOT_SAID:
        return default
    found = fields.finite(value)
    if found is None or abs(found) > _MOST:
        raise fields.Field(value, name).wrong('a number')
    return found
