# SPDX-License-Identifier: Apache-2.0
"""Space, model and device of a pool, from its capabilities.

The figures are those that Cinder's own scheduler computes from the
capabilities of ``get_pools?detail=True``. A pool is unreadable where one that
is needed is not a number: guessed space would be filled.
"""

from __future__ import annotations

from collections.abc import Mapping
import math
from typing import Any

from serifos.facts import extra_specs
from serifos.facts import fields
from serifos.facts.inventory import PoolStats

UNBOUNDED = 1e9
"""GiB that stand for 'infinite'; nothing real is as large."""

_FIRST_AUTO_RATIO = 20.0
_MOST = 1e12
_NOT_SAID = (None, '', 'unknown')


def pool(item: object) -> PoolStats:
    """A pool as ``get_pools?detail=True`` gives it.

    :raises ValueError: with the reason where it cannot be read
    """
    doc = fields.Field(item)
    said = doc['capabilities'].object()
    thin = extra_specs.meets(
        said.get('thin_provisioning_support'), '<is> True')
    total = _gib(said, 'total_capacity_gb')
    if total < 0:
        raise ValueError(f'its total_capacity_gb {total:g} is below 0')
    return PoolStats(
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
