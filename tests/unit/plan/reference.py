# SPDX-License-Identifier: Apache-2.0
"""The planners' rules in plain Python, one pool and one volume at a time.

Nothing is shared with :mod:`serifos.plan` but the facts: no vectors and no
sums kept. Slow, and meant to be read beside doc/source/user/moves.rst.
"""

from __future__ import annotations

from collections.abc import Iterable
import math
import statistics

from serifos.facts.cluster import Cluster
from serifos.facts.cluster import Pool
from serifos.facts.cluster import Volume
from serifos.facts import workload
from serifos.model.model import Model


class Reference:
    """Predictions, acceptance and choices for one set of models."""

    def __init__(self, models: dict[str, Model], min_gain: float,
                 floor: float = 0.05, hot_ratio: float = 0.25,
                 part: float = 1.0) -> None:
        self.models = models
        self.min_gain = min_gain
        self.floor = floor
        self.hot_ratio = hot_ratio
        self.part = part

    def latencies(self, cluster: Cluster) -> dict[str, float]:
        """Pool name → µs, of the pools that have a model."""
        return {pool.name: self.models[pool.model].predict(
            self._load(cluster, pool))
            for pool in cluster.pools if pool.model in self.models}

    def _load(self, cluster: Cluster, pool: Pool) -> workload.Load:
        mates = {other.name for other in cluster.pools
                 if other.device_key == pool.device_key}
        return self.models[pool.model].load(
            (v.workload or self.typical(cluster, v.volume_type)
             for v in cluster.volumes if v.pool in mates), self.floor)

    def typical(self, cluster: Cluster,
                volume_type: str | None) -> workload.Workload | None:
        """What a volume of a type does in the mean."""
        known = [v.workload for v in sorted(
            cluster.volumes, key=lambda v: v.id)
            if v.workload and v.volume_type == volume_type]
        return workload.mean(known) if known else None

    def figures(self, cluster: Cluster) -> dict[str, float]:
        """Pool name → µs: root mean square of what its tenants see.

        Those of its device; the greatest of the pools of one device.
        """
        latency = {pool.name: self._figure(cluster, pool)
                   for pool in cluster.pools if pool.model in self.models}
        return {pool.name: max((
            latency[other.name] for other in cluster.pools
            if other.device_key == pool.device_key
            and other.name in latency), default=float('nan'))
            for pool in cluster.pools}

    def _figure(self, cluster: Cluster, pool: Pool) -> float:
        devices = {other.name: other.device_key for other in cluster.pools}
        seen = self._would_all_see(cluster, pool, [
            v for v in cluster.volumes
            if devices.get(v.pool) == pool.device_key])
        return math.sqrt(statistics.fmean(
            each ** 2 for each in seen)) if seen else 0.0

    def _would_all_see(self, cluster: Cluster, pool: Pool,
                       volumes: Iterable[Volume]) -> list[float]:
        load = self._load(cluster, pool)
        return [self._would_see(pool, load, v.workload or (
            self.typical(cluster, v.volume_type)))
            for v in volumes if self._active(cluster, v)]

    def _active(self, cluster: Cluster, volume: Volume) -> bool:
        its = volume.workload or self.typical(cluster, volume.volume_type)
        return its is not None and its.is_active(self.floor)

    def level(self, cluster: Cluster, volume: Volume) -> float:
        """The mean figure of the pools that a volume may live on."""
        figure, home = self.figures(cluster), cluster.pool(volume.pool)
        return statistics.fmean(
            figure[pool.name] for pool in cluster.pools
            if self.open_to(pool, volume, home))

    def hot(self, cluster: Cluster, volume: Volume) -> bool:
        key = cluster.pool(volume.pool).device_key
        ratio = min(
            self.hot_ratio if pool.hot_ratio is None else pool.hot_ratio
            for pool in cluster.pools if pool.device_key == key)
        return self.figures(cluster)[volume.pool] > (
            1 + self.part * ratio) * self.level(cluster, volume)

    def gain(self, volume: Volume) -> float:
        """What a move of a volume has to gain."""
        return max(1e-9, self.min_gain if volume.min_gain is None
                   else volume.min_gain)

    def open_to(self, pool: Pool, volume: Volume,
                home: Pool) -> bool:
        return (pool.model in self.models and pool.state == 'up'
                and pool.zone == home.zone
                and volume.required_backend_name in (None, pool.backend_name))

    def pair(self, before: Cluster, volume: Volume,
             to: str) -> tuple[float, float, float]:
        """The source's figure, and both afterwards."""
        was = self.figures(before)
        then = self.figures(moved(before, volume, to))
        return was[volume.pool], then[volume.pool], then[to]

    def accepts(self, before: Cluster, volume: Volume,
                to: str) -> bool:
        """Whether a move by itself is worth making."""
        was, left, came = self.pair(before, volume, to)
        keeps = 1 - self.gain(volume) + 1e-12
        return (max(left, came) <= was * keeps and self.hot(before, volume)
                and self.meets_slos(before, volume, to))

    def broken(self, cluster: Cluster) -> dict[str, float]:
        """Volume → µs beyond its SLO."""
        return {v.id: seen - v.max_latency_us for v in cluster.volumes
                if v.max_latency_us is not None
                and (seen := self._seen(cluster, v)) > v.max_latency_us}

    def _seen(self, cluster: Cluster, volume: Volume) -> float:
        """What a volume sees where it is; 0 where nothing is predicted."""
        pool = {pool.name: pool for pool in cluster.pools}.get(volume.pool)
        if pool is None or pool.model not in self.models:
            return 0.0
        return self._tenant(cluster, pool, volume)

    def _tenant(self, cluster: Cluster, pool: Pool,
                volume: Volume) -> float:
        """What a volume would see on a pool under the Load it has."""
        if not self._active(cluster, volume):
            seen = self._would_all_see(cluster, pool, cluster.volumes)
            return statistics.fmean(seen) if (
                self._load(cluster, pool).count) else 0.0
        return self._would_see(
            pool, self._load(cluster, pool), volume.workload
            or self.typical(cluster, volume.volume_type))

    def _would_see(self, pool: Pool, load: workload.Load,
                   its: workload.Workload) -> float:
        model = self.models[pool.model]
        if not model.tenants:
            return model.plan(load)
        above = model.plan(load) / (model.predict(load) or 1.0)
        return above * model.tenant(load, its).latency_us

    def meets_slos(self, before: Cluster, volume: Volume,
                   to: str) -> bool:
        """Whether every SLO that was met is still met."""
        return self.broken(moved(before, volume, to)).keys() <= self.broken(
            before).keys()

    def repairs(self, before: Cluster, volume: Volume,
                to: str) -> bool:
        """Whether a violated SLO is restored, at nobody's cost."""
        was = self.broken(before)
        then = self.broken(moved(before, volume, to))
        return then.keys() < was.keys() and (
            sum(then.values()) < sum(was.values()))

    def worthy(self, before: Cluster, volume: Volume,
               to: str) -> bool:
        """Whether a move that restores an SLO is worth its copy.

        One that is measured to be broken, or the source gains enough.
        """
        was, left, _ = self.pair(before, volume, to)
        then = self.broken(moved(before, volume, to))
        return left <= was * (1 - self.gain(volume) + 1e-12) or (
            left <= was and any(
                name not in then and (its := before.volume(name).workload)
                and its.iops and its.latency_us is not None
                and its.latency_us > before.volume(name).max_latency_us
                for name in self.broken(before)))

    def eases(self, before: Cluster, volume: Volume, to: str,
              slack: float = 1e-7) -> bool:
        """Whether SLOs on both devices are exceeded by less.

        And none by more, and the greater figure of the two falls as well.

        :param slack: the fraction by which rounding may err; below 0, what
            is true beyond doubt
        """
        keys = {before.pool(name).device_key for name in (volume.pool, to)}
        was = self._beyond(before, keys)
        then = self._beyond(moved(before, volume, to), keys)
        left = (1 - self.gain(volume)) * (1 + slack)
        figure, *after = self.pair(before, volume, to)
        return (0 < sum(was.values()) and then.keys() <= was.keys()
                and sum(then.values()) <= sum(was.values()) * left
                and max(after) <= figure * left
                and all(us <= was[name] + slack * before.volume(
                    name).max_latency_us for name, us in then.items()))

    def _beyond(self, cluster: Cluster,
                devices: set[str]) -> dict[str, float]:
        """What :meth:`broken` says of the volumes on devices."""
        home = {volume.id: volume.pool for volume in cluster.volumes}
        return {name: us for name, us in self.broken(cluster).items()
                if cluster.pool(home[name]).device_key in devices}

    def movable(self, cluster: Cluster, volume: Volume) -> bool:
        pools = {pool.name: pool for pool in cluster.pools}
        return (volume.movable is True and volume.workload is not None
                and volume.workload.is_active(self.floor)
                and volume.pool in pools
                and pools[volume.pool].model in self.models
                and pools[volume.pool].state == 'up')

    def targets(self, cluster: Cluster,
                volume: Volume) -> list[Pool]:
        """The targets that rules and free space allow."""
        if not self.movable(cluster, volume):
            return []
        home = cluster.pool(volume.pool)
        return [pool for pool in cluster.pools
                if self.open_to(pool, volume, home)
                and pool.device_key != home.device_key
                and volume.size_gib <= pool.free_gib]

    def acceptable(self, cluster: Cluster) -> set[tuple[str, str]]:
        """Every (volume, target) that is accepted by itself."""
        return {(volume.id, pool.name) for volume in cluster.volumes
                for pool in self.targets(cluster, volume)
                if self.accepts(cluster, volume, pool.name)}

    def power_mean(self, cluster: Cluster) -> float:
        """The value by which small clouds are judged, a device at a time."""
        keys = {pool.name: pool.device_key for pool in cluster.pools}
        of = {keys[name]: figure for name, figure
              in self.figures(cluster).items() if figure == figure}
        return statistics.fmean(f ** 8 for f in of.values()) ** 0.125


def moved(cluster: Cluster, volume: Volume, to: str) -> Cluster:
    return cluster.without(volume).place(volume, to)
