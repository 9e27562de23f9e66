# SPDX-License-Identifier: Apache-2.0
"""The workload that is expected of a new volume.

Each figure is taken from the scheduler hint, else from the volume type's
extra specs, else from the mean of the type's active volumes, else from the
configured default. The volume's QoS limits the whole.
"""

from __future__ import annotations

from collections.abc import Iterator
from collections.abc import Mapping
import dataclasses
import math
from typing import Any

from serifos.facts import fields
from serifos.facts import names
from serifos.facts.workload import ACTIVE_FLOOR
from serifos.facts.workload import Workload
from serifos.scheduler.request import Refuse
from serifos.scheduler.request import Request

BOUNDS: Mapping[str, tuple[float, float]] = {
    'write_pct': (0.0, 100.0), 'block_kib': (0.5, 65536.0),
    'iodepth': (ACTIVE_FLOOR, 65536.0)}
"""Figure of a hint or extra spec → its least and greatest value."""

WRITE_PCT_STEP = 5.0
"""Hints of write_pct are rounded to multiples of this, those of block_kib
and iodepth to a power of two or 1.5 times one: 1, 1.5, 2, 3, 4, 6, 8 ..."""


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


def expected(request: Request, seen: Mapping[str, Workload],
             default: Workload, refuse: Refuse) -> Newcomer:
    """The workload expected of the volume of a request.

    :param seen: volume type → the mean of its active volumes
    :param refuse: called with a sentence on each value that is ignored
    """
    figures, sources = {}, {}
    met = seen.get(request.volume_type or '')
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
