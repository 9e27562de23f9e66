# SPDX-License-Identifier: Apache-2.0
"""Caps of a volume: the limits of its type's QoS.

The keys are those that Cinder hands to Nova and Nova to libvirt.
``KEY_per_gb`` is of each GiB, at least ``KEY_per_gb_min`` and at most
``KEY_max``, as Cinder computes it; otherwise ``KEY_max`` is a burst above the
cap, for a second or ``KEY_max_length``. 0 is no cap. A cap holds volumes in
use, where QEMU makes their requests wait before they come to a device.
"""

from __future__ import annotations

from collections.abc import Mapping
import dataclasses
import math

from serifos.facts import fields
from serifos.facts.workload import Workload

REACHED = 0.9
"""A volume that does so much of what its cap lets it do is at its cap."""

EXCEEDED = 2 - REACHED
"""One that does more than this shows that the cap is not in force."""

_MOST = 1e15


@dataclasses.dataclass(frozen=True, slots=True)
class Caps:
    """None is no cap.

    :param request_kib: a larger request counts as several
    :param bursts: whether more is allowed for a while
    """

    total_iops: float | None = None
    read_iops: float | None = None
    write_iops: float | None = None
    total_kib_s: float | None = None
    read_kib_s: float | None = None
    write_kib_s: float | None = None
    request_kib: float | None = None
    bursts: bool = False

    @classmethod
    def of(cls, specs: Mapping[str, str], size_gib: float) -> Caps | None:
        """Those of a QoS for a volume of that size; None for none.

        A value that is no number from 0 on is taken as if it were not there.
        """
        found: dict[str, float | None] = {}
        bursts = False
        for way in ('total', 'read', 'write'):
            for unit, name, by in (('iops', 'iops', 1.0),
                                   ('bytes', 'kib_s', 1024.0)):
                cap, more = _cap(specs, f'{way}_{unit}_sec', size_gib)
                found[f'{way}_{name}'] = cap and cap / by
                bursts |= more
        if not any(found.values()):
            return None
        size = _number(specs, 'size_iops_sec')
        return cls(**found, request_kib=size / 1024 if size else None,
                   bursts=bursts)

    def share(self, workload: Workload) -> float:
        """What a workload does of what it may; above 1 it does more.

        0 where its rate is not known.
        """
        write = workload.write_pct / 100
        iops, kib = workload.iops or 0.0, workload.block_kib
        as_counted = max(1.0, kib / (self.request_kib or math.inf))
        return max(part * iops * size / cap for part, size, cap in (
            (1.0, as_counted, self.total_iops),
            (1 - write, as_counted, self.read_iops),
            (write, as_counted, self.write_iops),
            (1.0, kib, self.total_kib_s), (1 - write, kib, self.read_kib_s),
            (write, kib, self.write_kib_s)) if cap is not None)

    def in_force(self, workload: Workload) -> bool:
        """Whether a workload is no more than the caps let through."""
        return self.bursts or self.share(workload) <= EXCEEDED

    def throttles(self, workload: Workload) -> bool:
        """Whether its requests wait, since it is at a cap."""
        return self.in_force(workload) and self.share(workload) >= REACHED

    def bounded(self, workload: Workload) -> Workload:
        """The workload, its reads and writes in proportion, within the caps.

        Its requests take as long as before.
        """
        share = self.share(workload)
        if share <= 1:
            return workload
        return dataclasses.replace(
            workload, iops=(workload.iops or 0.0) / share)


def allowed(caps: Caps | None,
            workload: Workload | None) -> Workload | None:
    """The workload within the caps, where there are any."""
    return workload if caps is None or workload is None else (
        caps.bounded(workload))


def _cap(specs: Mapping[str, str], key: str,
         size_gib: float) -> tuple[float | None, bool]:
    """A cap, None for none, and whether more is allowed for a while."""
    each, burst = (_number(specs, f'{key}_{what}')
                   for what in ('per_gb', 'max'))
    if each is None:
        cap = _number(specs, key) or None
        return cap, bool(cap and burst and burst > cap)
    cap = max(_number(specs, f'{key}_per_gb_min') or 0.0, each * size_gib)
    return min(cap, cap if burst is None else burst) or None, False


def _number(specs: Mapping[str, str], key: str) -> float | None:
    found = fields.finite(specs.get(key))
    return found if found is not None and 0 <= found <= _MOST else None
