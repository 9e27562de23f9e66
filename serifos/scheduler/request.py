# SPDX-License-Identifier: Apache-2.0
"""The parts of Cinder's request and host states that are used."""

from __future__ import annotations

from collections.abc import Callable
from collections.abc import Container
from collections.abc import Mapping
import dataclasses
from typing import Any
from typing import NamedTuple

from serifos.facts import fields
from serifos.facts import names

CREATE = 'create_volume'

PLACES = frozenset({CREATE, 'create_group', 'retype_volume'})
"""Operations that place a volume or group; others are not ranked."""

CAPABILITY = 'serifos_model'

_MOST_GIB = 1 << 50

Refuse = Callable[[str], None]
"""Called with a sentence about a value that is ignored."""


@dataclasses.dataclass(frozen=True)
class Request:
    """The parts of Cinder's ``filter_properties`` that are used.

    :param home: the pool of a volume that has one already
    :param metadata: of the volume
    """

    operation: str | None = None
    volume_id: str | None = None
    size_gib: float = 0.0
    volume_type: str | None = None
    extra_specs: Mapping[str, Any] = dataclasses.field(default_factory=dict)
    hints: Mapping[str, Any] = dataclasses.field(default_factory=dict)
    qos: Mapping[str, Any] = dataclasses.field(default_factory=dict)
    home: str | None = None
    project_id: str | None = None
    metadata: Mapping[str, Any] = dataclasses.field(default_factory=dict)

    @classmethod
    def of(cls, properties: Any) -> Request:
        """From ``filter_properties``; malformed values are left out."""
        spec = _get(properties, 'request_spec') or {}
        kind = _get(spec, 'volume_type') or _get(
            properties, 'volume_type') or {}
        volume = _get(spec, 'volume_properties') or {}
        qos = _get(properties, 'qos_specs') or _get(
            volume, 'qos_specs') or _get(spec, 'qos_specs')
        size = fields.finite(_get(volume, 'size'))
        return cls(
            operation=_operation(spec),
            volume_id=_text(_get(spec, 'volume_id')),
            size_gib=max(0.0, size or 0.0),
            volume_type=_text(_get(kind, 'name')),
            extra_specs=_mapping(_get(kind, 'extra_specs')),
            hints=_mapping(_get(properties, 'scheduler_hints')),
            qos=_mapping(_get(qos, 'specs') or qos),
            home=_text(_get(volume, 'cluster_name') or _get(volume, 'host')),
            project_id=_text(_get(volume, 'project_id')),
            metadata=_mapping(_get(volume, 'metadata')))

    def slo_us(self, refuse: Refuse) -> float | None:
        """``serifos:max_latency_us`` of the volume type, or None."""
        try:
            return names.slo_us(self.extra_specs)
        except ValueError as exc:
            refuse(f'Volume type {self.volume_type} has no SLO: {exc}.')
            return None


class Candidate(NamedTuple):
    """A pool that a volume may be placed in.

    :param model: the stem of its model's file
    :param allocated_gib: allocated capacity that Cinder reports, None where
        it is not a number
    """

    pool: str
    model: str
    allocated_gib: float | None = None

    @classmethod
    def of(cls, state: Any, known: Container[str] | None) -> Candidate:
        """From a host state.

        :param known: the pools of cluster.json, if any; one that a cluster
            of cinder-volumes serves is there by the cluster's name or the
            host's
        """
        pool = state.backend_id
        if known is not None and pool not in known:
            pool = state.host
        capabilities, gib = state.capabilities, state.allocated_capacity_gb
        model = capabilities.get(CAPABILITY) if capabilities else None
        return cls(
            pool,
            model if type(model) is str and model else str(model or pool),
            gib if type(gib) is int and abs(gib) < _MOST_GIB
            else fields.finite(gib))


def _get(source: Any, key: str) -> Any:
    # Cinder hands dicts, and versioned objects that look like dicts.
    get = getattr(source, 'get', None)
    return get(key, None) if callable(get) else None


def _mapping(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


def _operation(spec: Any) -> str | None:
    """The operation by Cinder's name for it.

    Cinder 27 to 29 leave it out of create_volume: the decorator that sets
    it is inside Volume.set_workers, which passes all by position. So a
    request without one, of a volume whose status is creating, is that.
    """
    told = _get(spec, 'operation')
    if told is None and _get(_get(spec, 'volume'), 'status') == 'creating':
        return CREATE
    return _text(told)


def _text(value: Any) -> str | None:
    return value if isinstance(value, str) else None
