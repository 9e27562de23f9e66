# SPDX-License-Identifier: Apache-2.0
"""The parts of Cinder's request and host states that are used."""

from __future__ import annotations

from collections.abc import Callable
from collections.abc import Container
from collections.abc import Iterator
from collections.abc import Mapping
import dataclasses
import math
from typing import Any
from typing import NamedTuple

from serifos.facts import fields
from serifos.facts import names
from serifos.facts.workload import ACTIVE_FLOOR
from serifos.facts.workload import Workload

CREATE = 'create_volume'

PLACES = frozenset({CREATE, 'create_group', 'retype_volume'})
"""Operations that place a volume or group; others are not ranked."""

CAPABILITY = 'serifos_model'

_MOST_GIB = 1 << 50

Refuse = Callable[[str], None]
"""Called with a sentence about a value that is ignored."""

BOUNDS: Mapping[str, tuple[float, float]] = {
    'write_pct': (0.0, 100.0), 'block_kib': (0.5, 65536.0),
    'iodepth': (ACTIVE_FLOOR, 65536.0)}
"""Figure of a hint or extra spec → its least and greatest value."""

WRITE_PCT_STEP = 5.0
"""Hints of write_pct are rounded to multiples of this, those of block_kib
and iodepth to a power of two or 1.5 times one: 1, 1.5, 2, 3, 4, 6, 8 ..."""


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

        :param known: the pools of pools.json, if any; one that a cluster
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


@dataclasses.dataclass(frozen=True)
class Newcomer:
    """The workload expected of a volume.

    :param workload: its ``iops`` is the limit that its QoS sets, if any
    :param sources: figure → where it is from
    """

    workload: Workload
    sources: Mapping[str, str]

    def __str__(self) -> str:
        told = ', '.join(
            f'{name} {getattr(self.workload, name):g} from {source}'
            for name, source in self.sources.items())
        if self.workload.iops is None:
            return told
        return f'{told}, at most {self.workload.iops:g} IOPS by QoS'


def expected(request: Request, met: Workload | None,
             default: Workload, refuse: Refuse) -> Newcomer:
    """The workload expected of the volume of a request.

    :param met: the mean of the active volumes of its type
    :param refuse: called with a sentence on each value that is ignored
    """
    figures, sources = {}, {}
    for name, ends in BOUNDS.items():
        figures[name], sources[name] = next(_figures(
            request, name, ends, met, default, refuse))
    workload = dataclasses.replace(met or default, **figures)
    return Newcomer(
        dataclasses.replace(workload, iops=_limit(request, workload, refuse)),
        sources)


def _figures(request: Request, name: str, ends: tuple[float, float],
             met: Workload | None, default: Workload,
             refuse: Refuse) -> Iterator[tuple[float, str]]:
    kind = f'volume type {request.volume_type}'
    for told, source in ((request.hints, 'the scheduler hint'),
                         (request.extra_specs, kind)):
        value = _figure(told, names.PREFIX + name, ends, source, refuse)
        if value is not None:
            yield (rounded(name, value) if told is request.hints
                   else value), source
    if met is not None:
        yield getattr(met, name), f'what {kind} was seen doing'
    yield getattr(default, name), 'the configured default'


def rounded(name: str, value: float) -> float:
    """The nearest value that a hint may have, by ratio but for write_pct.

    :param name: of :data:`BOUNDS`, within which the value is
    """
    least, greatest = BOUNDS[name]
    if name == 'write_pct':
        return WRITE_PCT_STEP * round(value / WRITE_PCT_STEP)
    below = 2.0 ** math.floor(math.log2(value))
    steps = below, 1.5 * below, 2 * below
    # Halfway between two steps by ratio is their geometric mean.
    nearest = next((step for step, above in zip(steps, steps[1:])
                    if value * value < step * above), steps[-1])
    return min(max(nearest, least), greatest)


def _limit(request: Request, workload: Workload,
           refuse: Refuse) -> float | None:
    """Requests per second that the volume's QoS allows, or None."""
    found = []
    for name, request_size in (('total_iops_sec', 1.0),
                               ('total_bytes_sec', workload.block_kib * 1024)):
        value = _figure(request.qos, name, (0.0, 1e15), 'the QoS', refuse)
        if value:  # 0 means no limit, as it does to libvirt
            found.append(value / request_size)
    return min(found, default=None)


def _figure(told: Mapping[str, Any], key: str, ends: tuple[float, float],
            source: str, refuse: Refuse) -> float | None:
    said = told.get(key)
    if said is None:
        return None
    value = fields.finite(said)
    if value is None or not ends[0] <= value <= ends[1]:
        refuse(f'{key}={fields.shown(said)} of {source} is ignored; give a '
               f'number from {ends[0]:g} to {ends[1]:g}.')
        return None
    return value
