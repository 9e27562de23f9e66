# SPDX-License-Identifier: Apache-2.0
"""Sums of a cluster's volumes by device, for cinder-scheduler."""

from __future__ import annotations

from collections.abc import Iterable
from collections.abc import Mapping
from collections.abc import Sequence
import dataclasses
import math

from serifos.facts.cluster import Cluster
from serifos.facts.cluster import Volume
from serifos.facts import pools
from serifos.facts import refusals
from serifos.facts import times
from serifos.facts.workload import Load
from serifos.facts.workload import Mean
from serifos.facts.workload import Workload
from serifos.model.model import Model

MOST_SLOS = 8
"""SLOs of a device that are kept: those that are the first to be violated."""


def of(cluster: Cluster, models: Mapping[str, Model], floor: float,
       created_at: Mapping[str, float | None]) -> pools.Pools:
    """The pools of a cluster as the scheduler judges them.

    A pool that is not up counts as if it were not there; where it shares its
    device with one that is, its volumes are a load of that.

    :param models: by the stems of their files; a device whose model is
        missing has no latency
    :param floor: outstanding I/Os below which a volume is idle
    :param created_at: volume → seconds of the epoch, as far as known
    """
    places = dict.fromkeys((pool.device_key, pool.model or pool.name)
                           for pool in cluster.pools if pool.state == 'up')
    up = {device for device, _ in places}
    homes = {pool.name: pool.device_key for pool in cluster.pools
             if pool.device_key in up}
    gib = dict.fromkeys(homes, 0.0)
    residents: dict[str | None, list[Volume]] = {}
    for volume in cluster.volumes:
        residents.setdefault(homes.get(volume.pool), []).append(volume)
        if volume.pool in gib:
            gib[volume.pool] += volume.size_gib
    types = _types(cluster.volumes, floor)
    its = _Workloads({each.name: each.typical for each in types}, floor)
    loads = {place: its.load(models.get(place[1]), residents.get(
        place[0], ())) for place in places}
    once = {device: load for (device, _), load in loads.items()}
    everyone = Load.total(
        [*once.values(), its.load(None, residents.get(None, ()))])
    at = None if cluster.observed_at is None else times.parse(
        cluster.observed_at)
    young = {name for name, created in created_at.items()
             if created is not None and at is not None
             and created > at - pools.NEW_S}
    sizes = [volume.size_gib for volume in cluster.volumes]
    return pools.Pools(
        at, floor, everyone.vector,
        sum(sizes) / len(sizes) if sizes else 0.0,
        [pools.PoolSums(
            pool.name, pool.device_key, pool.model or pool.name,
            pool.state == 'up', pool.correction, gib[pool.name],
            pool.copies_gib) for pool in cluster.pools if pool.name in homes],
        [_device(device, stem, models.get(stem), load, everyone, [
            (volume, its.load(models.get(stem), [volume]))
            for volume in residents.get(device, ())
            if volume.max_latency_us is not None])
         for (device, stem), load in loads.items()],
        types,
        [pools.ListedVolume(
            volume.id, volume.pool, volume.size_gib, its.active(volume),
            created_at[volume.id] if volume.id in young else None,
            volume.volume_type, volume.max_latency_us, volume.project_id)
         for volume in cluster.volumes if volume.id in young
         or refusals.code(volume.movable) == refusals.Code.MIGRATING],
        _labelled((volume, volume.same_pool) for volume in cluster.volumes),
        _labelled((volume, volume.different_pool)
                  for volume in cluster.volumes))


@dataclasses.dataclass(frozen=True)
class _Workloads:
    """The workloads of volumes, and the Loads of those.

    :param typical: volume type → what stands in for a workload that is not
        known
    """

    typical: Mapping[str | None, Workload]
    floor: float

    def of(self, volume: Volume) -> Workload | None:
        return volume.workload or self.typical.get(volume.volume_type)

    def active(self, volume: Volume) -> bool:
        workload = self.of(volume)
        return workload is not None and workload.is_active(self.floor)

    def load(self, model: Model | None, volumes: Iterable[Volume]) -> Load:
        workloads = map(self.of, volumes)
        return Load.total(
            Load.of(each, floor=self.floor) for each in workloads
        ) if model is None else model.load(workloads, self.floor)


def _device(name: str, stem: str, model: Model | None, load: Load,
            everyone: Load, bound: Sequence[tuple[Volume, Load]]
            ) -> pools.Device:
    """:param bound: the volumes with an SLO, and their Loads"""
    latency_us, seen = None, [0.0] * len(bound)
    if model is not None:
        newcomer = Load(*(
            figure / max(1.0, everyone.count) for figure in everyone.vector))
        figure, *seen = seen_us(
            model, load + newcomer, everyone + newcomer,
            [its for _, its in bound])
        latency_us = figure if math.isfinite(figure) else None
    slos = [pools.DeviceSlo(
        volume.id, volume.max_latency_us or 0.0,
        us if math.isfinite(us) else 0.0, its.vector if its.count else ())
        for (volume, its), us in zip(bound, seen)]
    return pools.Device(
        name, stem, latency_us, load.vector if load.count else (),
        sorted(slos, key=lambda slo: (
            -slo.seen_us / slo.max_latency_us, slo.max_latency_us,
            slo.volume))[:MOST_SLOS])


def _types(volumes: Iterable[Volume],
           floor: float) -> list[pools.TypeMeans]:
    typical: dict[str | None, Mean] = {}
    active: dict[str | None, Mean] = {}
    for volume in volumes:
        name, workload = volume.volume_type, volume.workload
        if workload is not None:
            typical.setdefault(name, Mean()).add(workload)
            if name is not None and workload.is_active(floor):
                active.setdefault(name, Mean()).add(workload)
    return [pools.TypeMeans(
        name, mean.workload,
        active[name].workload.settled if name in active else None)
        for name, mean in typical.items()]


def _labelled(volumes: Iterable[tuple[Volume, Iterable[str]]]
              ) -> pools.Labelled:
    found: dict[str, list[tuple[str, str]]] = {}
    for volume, labels in volumes:
        for label in labels:
            found.setdefault(label, []).append((volume.pool, volume.id))
    return found


def seen_us(model: Model, load: Load, everyone: Load,
            several: Iterable[Load]) -> list[float]:
    """The latencies of all tenants of the cloud, and of several, µs.

    An idle one may come to do what the others do. NaN where the model fails,
    as one beyond its range may; 0 in an idle pool.
    """
    asked = [everyone, *(own if own.count else everyone for own in several)]
    if not load.count:
        return [0.0] * len(asked)
    try:
        return model.seen(load, asked)
    except (ArithmeticError, ValueError):
        return [math.nan] * len(asked)
