# SPDX-License-Identifier: Apache-2.0
"""What will a new volume do, and who says so?

Each figure is asked of the scheduler hint, then of the volume type's extra
specs, then of what volumes of that type have been seen doing, and is the
configured default else. The volume's QoS bounds the whole.
"""

from __future__ import annotations

from collections.abc import Callable
from collections.abc import Iterator
from collections.abc import Mapping
import dataclasses
import math
import reprlib
from typing import Any

from serifos import names
from serifos import workload as wl

CREATE = 'create_volume'

BOUNDS: Mapping[str, tuple[float, float]] = {
    'write_pct': (0.0, 100.0), 'block_kib': (0.5, 65536.0),
    'iodepth': (wl.ACTIVE_FLOOR, 65536.0)}
"""What hints and extra specs may say, and between which ends."""

WRITE_PCT_STEP = 5.0
"""Hints of writes are rounded to its multiples, those of blocks and depths
to a power of two or one and a half of it: 1, 1.5, 2, 3, 4, 6, 8 ..."""

_LONGEST = 64  # characters of a number

Refuse = Callable[[str], None]


@dataclasses.dataclass(frozen=True)
class Request:
    """What Cinder hands to a weigher or a filter, of which we use this.

    :param home: the pool of a volume that lives somewhere already
    """

    operation: str | None = None
    volume_id: str | None = None
    size_gib: float = 0.0
    volume_type: str | None = None
    extra_specs: Mapping[str, Any] = dataclasses.field(default_factory=dict)
    hints: Mapping[str, Any] = dataclasses.field(default_factory=dict)
    qos: Mapping[str, Any] = dataclasses.field(default_factory=dict)
    home: str | None = None

    @classmethod
    def of(cls, properties: Any) -> Request:
        """A request out of ``filter_properties``; what is odd is absent."""
        spec = _get(properties, 'request_spec') or {}
        kind = _get(spec, 'volume_type') or _get(
            properties, 'volume_type') or {}
        volume = _get(spec, 'volume_properties') or {}
        qos = _get(properties, 'qos_specs') or _get(
            volume, 'qos_specs') or _get(spec, 'qos_specs')
        size = number(_get(volume, 'size'))
        return cls(
            operation=_operation(spec),
            volume_id=_text(_get(spec, 'volume_id')),
            size_gib=size if size is not None and size > 0 else 0.0,
            volume_type=_text(_get(kind, 'name')),
            extra_specs=_mapping(_get(kind, 'extra_specs')),
            hints=_mapping(_get(properties, 'scheduler_hints')),
            qos=_mapping(_get(qos, 'specs') or qos),
            home=_text(_get(volume, 'cluster_name') or _get(volume, 'host')))

    def promise_us(self, refuse: Refuse) -> float | None:
        """``serifos:max_latency_us`` of the volume type, or None."""
        try:
            return names.promise_us(self.extra_specs)
        except ValueError as exc:
            refuse(f'Volume type {self.volume_type} promises nothing: {exc}.')
            return None


@dataclasses.dataclass(frozen=True)
class Newcomer:
    """What a volume is expected to do.

    :param workload: its ``iops`` is the bound that its QoS sets, if any
    :param sources: figure → who says so
    """

    workload: wl.Workload
    sources: Mapping[str, str]

    def __str__(self) -> str:
        told = ', '.join(
            f'{name} {getattr(self.workload, name):g} from {source}'
            for name, source in self.sources.items())
        if self.workload.iops is None:
            return told
        return f'{told}, at most {self.workload.iops:g} IOPS by QoS'


def settled(workload: wl.Workload) -> wl.Workload:
    """An observed workload with its q for depth; it stays as it moves."""
    return dataclasses.replace(workload, iodepth=workload.outstanding,
                               iops=None, latency_us=None)


def expected(request: Request, seen: Mapping[str, wl.Workload],
             default: wl.Workload, refuse: Refuse) -> Newcomer:
    """What the volume of a request will do.

    :param seen: volume type → the mean of its active volumes
    :param refuse: is told, in a sentence, of each value that is no use
    """
    figures, sources = {}, {}
    met = seen.get(request.volume_type or '')
    for name, ends in BOUNDS.items():
        figures[name], sources[name] = next(_offers(
            request, name, ends, met, default, refuse))
    workload = dataclasses.replace(met or default, **figures)
    return Newcomer(
        dataclasses.replace(workload, iops=_limit(request, workload, refuse)),
        sources)


def _offers(request: Request, name: str, ends: tuple[float, float],
            met: wl.Workload | None, default: wl.Workload,
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
    """The nearest value of the grid of hints, by ratio but for writes.

    :param name: of :data:`BOUNDS`, which the value keeps
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


def _limit(request: Request, workload: wl.Workload,
           refuse: Refuse) -> float | None:
    """Requests per second that the volume's QoS lets through, or None."""
    found = []
    for name, request_size in (('total_iops_sec', 1.0),
                               ('total_bytes_sec', workload.block_kib * 1024)):
        value = _figure(request.qos, name, (0.0, 1e15), 'the QoS', refuse)
        if value:  # 0 means no limit, as it does to libvirt
            found.append(value / request_size)
    return min(found, default=None)


def _figure(told: Mapping[str, Any], key: str, ends: tuple[float, float],
            source: str, refuse: Refuse) -> float | None:
    if told.get(key) is None:
        return None
    value = number(told[key])
    if value is None or not ends[0] <= value <= ends[1]:
        refuse(f'{key}={reprlib.repr(told[key])} of {source} is ignored; '
               'give a figure '
               f'from {ends[0]:g} to {ends[1]:g}.')
        return None
    return value


def number(value: Any) -> float | None:
    """A finite float, or None where there is none in it."""
    if isinstance(value, str | bytes) and len(value) > _LONGEST:
        return None
    try:
        found = float(value)
    except (TypeError, ValueError, OverflowError):
        return None
    return found if math.isfinite(found) else None


def _get(source: Any, key: str) -> Any:
    # Cinder hands dicts, and versioned objects that look like dicts.
    get = getattr(source, 'get', None)
    return get(key) if callable(get) else None


def _mapping(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


def _operation(spec: Any) -> str | None:
    """What is to be done, in Cinder's word for it.

    Cinder 27 to 29 never say it of create_volume: there the decorator that
    would is inside Volume.set_workers, which passes all by position. What
    tells a volume that is being created is that nothing is said, and its
    status.
    """
    told = _get(spec, 'operation')
    if told is None and _get(_get(spec, 'volume'), 'status') == 'creating':
        return CREATE
    return _text(told)


def _text(value: Any) -> str | None:
    return value if isinstance(value, str) else None
