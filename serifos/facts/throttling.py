# SPDX-License-Identifier: Apache-2.0
"""Volumes at the caps of their QoS, in an observation.

A cap that allows bursts bounds what a volume counts as: it may do more for
seconds only. What a volume does beyond a cap that allows none shows that the
cap is not in force, as after a change until the volume is attached again.

The requests of a throttled volume wait in QEMU. Where telemetry tells
latencies as QEMU sees them (Gnocchi), that waiting is none of the device's:
such a volume is taken to have the requests outstanding that its rate needs at
the latency of the others on its pool, else of all others; without any, what it
does counts as unknown.
"""

from __future__ import annotations

from collections.abc import Iterable
from collections.abc import Mapping
import dataclasses

from serifos.facts.caps import Caps
from serifos.facts.cluster import Cluster
from serifos.facts.cluster import Volume
from serifos.facts.inventory import BACK_END
from serifos.facts.inventory import Inventory
from serifos.facts.inventory import Record

_LVM = 'LVMVolumeDriver:'
"""How the ``location_info`` of a backend begins that throttles nothing."""


def caps(inventory: Inventory,
         volumes: Iterable[Volume | Record]) -> dict[str, Caps]:
    """Volume → its caps; those of a back end that has none are left out."""
    throttles = {
        pool.name: not str(pool.capabilities.get('location_info') or '')
        .startswith(_LVM) for pool in inventory.pools}
    found = {}
    for volume in volumes:
        kind = inventory.type_by_name.get(volume.volume_type or '')
        if kind is None or not kind.qos or (
                kind.qos_consumer == BACK_END
                and not throttles.get(volume.pool or '', False)):
            continue
        its = Caps.of(kind.qos, volume.size_gib)
        if its is not None:
            found[volume.id] = its
    return found


def capped(cluster: Cluster, known: Mapping[str, Caps],
           in_qemu: bool) -> Cluster:
    """The cluster with the caps of its volumes.

    :param in_qemu: whether latencies are those that QEMU sees
    """
    if not known:
        return cluster
    volumes = [_within(volume, known.get(volume.id))
               for volume in cluster.volumes]
    if in_qemu and any(volume.at_cap for volume in volumes):
        volumes = list(_without_waiting(volumes))
    return dataclasses.replace(cluster, volumes=tuple(volumes))


def _within(volume: Volume, its: Caps | None) -> Volume:
    seen = volume.workload
    if its is None:
        return volume
    if seen is None:
        return dataclasses.replace(volume, caps=its)
    if not its.in_force(seen):
        return volume
    return dataclasses.replace(
        volume, caps=its, workload=its.bounded(seen),
        at_cap=its.throttles(seen))


def _without_waiting(volumes: Iterable[Volume]) -> Iterable[Volume]:
    """The volumes, those at their caps with what the others' latency makes."""
    volumes = list(volumes)
    others: dict[str | None, list[tuple[float, float]]] = {}
    for volume in volumes:
        seen = volume.workload
        if not volume.at_cap and seen is not None and seen.iops and (
                seen.latency_us is not None):
            for pool in (volume.pool, None):
                others.setdefault(pool, []).append(
                    (seen.iops, seen.iops * seen.latency_us))
    latency_us = {pool: sum(took for _, took in found)
                  / sum(iops for iops, _ in found)
                  for pool, found in others.items()}
    for volume in volumes:
        yield _at(volume, latency_us.get(
            volume.pool, latency_us.get(None))) if volume.at_cap else volume


def _at(volume: Volume, latency_us: float | None) -> Volume:
    """A throttled volume whose requests take so long at the device."""
    seen = volume.workload
    if seen is None or latency_us is None:
        return dataclasses.replace(volume, workload=None)
    shown_us = min(latency_us, seen.latency_us or latency_us)
    return dataclasses.replace(volume, workload=dataclasses.replace(
        seen, iodepth=(seen.iops or 0.0) * shown_us / 1e6, latency_us=None))
