# SPDX-License-Identifier: Apache-2.0
"""What does a reply of Cinder's API say?

JSON of the API's views in, nouns of :mod:`serifos.inventory` out; read with
the rights of an administrator at microversion 3.70.
"""

from __future__ import annotations

from collections.abc import Mapping
import datetime
import math
from typing import Any

from serifos import inventory as inv


def record(doc: Mapping[str, Any], snapshots: int = 0) -> inv.Record:
    """A volume as the API's detailed view gives it to an administrator."""
    return inv.Record(
        doc['id'], float(doc['size']), doc['status'],
        pool=doc.get('os-vol-host-attr:host'),
        name_id=doc.get('os-vol-mig-status-attr:name_id'),
        migration_status=doc.get('migration_status')
        or doc.get('os-vol-mig-status-attr:migstat'),
        name=doc.get('name'), description=doc.get('description'),
        volume_type=doc.get('volume_type') or None,
        zone=doc.get('availability_zone'),
        project_id=doc.get('os-vol-tenant-attr:tenant_id'),
        metadata=doc.get('metadata') or {}, snapshots=snapshots,
        group_id=doc.get('group_id') or doc.get('consistencygroup_id'),
        replication_status=doc.get('replication_status'),
        encrypted=bool(doc.get('encrypted')),
        multiattach=bool(doc.get('multiattach')),
        attachments=len(doc.get('attachments') or ()),
        created_at=_moment(doc.get('created_at')),
        updated_at=_moment(doc.get('updated_at')))


def service(doc: Mapping[str, Any]) -> inv.Service:
    """A service as ``os-services`` lists it."""
    backend = doc.get('backend_state')
    return inv.Service(
        doc['binary'], doc['host'], zone=doc.get('zone'),
        up=doc.get('state') == 'up', enabled=doc.get('status') == 'enabled',
        frozen=bool(doc.get('frozen')),
        backend_up=None if backend is None else backend == 'up',
        updated_at=_moment(doc.get('updated_at')))


def pool(doc: Mapping[str, Any]) -> inv.PoolStats:
    """A pool as ``get_pools?detail=True`` gives it."""
    said = doc['capabilities']
    thin = _true(said.get('thin_provisioning_support'))
    model = said.get('serifos_model')
    return inv.PoolStats(
        doc['name'],
        total_gib=min(_UNBOUNDED, _gib(said, 'total_capacity_gb')),
        free_gib=_free_gib(said, thin), unwritten_gib=_unwritten_gib(said),
        allocated_gib=_gib(said, 'allocated_capacity_gb'),
        backend_name=said.get('volume_backend_name'),
        model=str(model) if model else None, thin=thin,
        capabilities=said)


def _free_gib(said: Mapping[str, Any], thin: bool) -> float:
    """What Cinder would still place there, its reserve deducted.

    The ``virtual_free_capacity`` of Cinder's ``calculate_capacity_factors``,
    the same in Cinder 27 to 29, for a volume of the pool's own kind: a thin
    one may be promised more than there is.
    """
    total, free = (_gib(said, f'{name}_capacity_gb')
                   for name in ('total', 'free'))
    reserved = _number(said.get('reserved_percentage'), 0.0) / 100
    if math.isinf(free) or math.isinf(total):
        refused = reserved and not math.isinf(free)
        return 0.0 if refused else min(free, _UNBOUNDED)
    provisioned = _number(said.get('provisioned_capacity_gb'),
                          _gib(said, 'allocated_capacity_gb'))
    ours = total - math.floor(total * reserved)
    if not thin:
        return min(free, ours - provisioned)
    ratio = _ratio(said, total - free, provisioned)
    return ours * ratio - provisioned if ratio >= 1 else 0.0


def _unwritten_gib(said: Mapping[str, Any]) -> float:
    total, free = (_gib(said, f'{name}_capacity_gb')
                   for name in ('total', 'free'))
    reserved = _number(said.get('reserved_percentage'), 0.0) / 100
    return free if math.isinf(total) else (
        free - math.floor(total * reserved))


def _ratio(said: Mapping[str, Any], used_gib: float,
           provisioned_gib: float) -> float:
    """``max_over_subscription_ratio``; ``auto`` as Cinder works it out."""
    ratio = said.get('max_over_subscription_ratio')
    if ratio != 'auto':
        return _number(ratio, 1.0)
    if not provisioned_gib:
        return _FIRST_AUTO_RATIO
    return 1 + provisioned_gib / (used_gib + 1)


_FIRST_AUTO_RATIO = 20.0

_UNBOUNDED = 1e9
"""GiB that stand for 'infinite'; nothing real is as large."""


def _gib(said: Mapping[str, Any], name: str) -> float:
    """0 for 'unknown': no room that nobody vouches for."""
    return _number(said.get(name), 0.0)


def _number(value: object, default: float) -> float:
    if value == 'infinite':
        return math.inf
    try:
        number = float(str(value))
    except ValueError:
        return default
    return default if math.isnan(number) else number


def _moment(said: str | None) -> float | None:
    """Seconds of the epoch; Cinder's times are UTC without saying so."""
    if said is None:
        return None
    at = datetime.datetime.fromisoformat(said)
    return (at if at.tzinfo else at.replace(
        tzinfo=datetime.UTC)).timestamp()


def _true(value: object) -> bool:
    return str(value).strip().lower() in ('true', '1', 'yes', 'on', 't', 'y')
