# SPDX-License-Identifier: Apache-2.0
"""The planners' rules in plain Python, one pool and one volume at a time.

Nothing is shared with :mod:`serifos.plan` but the facts: no vectors, no
sums kept, no pruning. Slow, and meant to be read beside FORMATS.
"""

from __future__ import annotations

import statistics

from serifos.facts import cluster as cl
from serifos.model import model as mm


class Reference:
    """Predictions, acceptance and choices for one set of models."""

    def __init__(self, models: dict[str, mm.Model], min_gain: float,
                 floor: float = 0.05) -> None:
        self.models = models
        self.min_gain = min_gain
        self.floor = floor

    def latencies(self, cluster: cl.Cluster) -> dict[str, float]:
        """Pool name → µs, of the pools that have a model."""
        return {pool.name: self._latency(cluster, pool)
                for pool in cluster.pools if pool.model in self.models}

    def _latency(self, cluster: cl.Cluster, pool: cl.Pool) -> float:
        model = self.models[pool.model]
        mates = {other.name for other in cluster.pools
                 if other.device_key == pool.device_key}
        return model.plan(model.load(
            (v.workload for v in cluster.volumes if v.pool in mates),
            self.floor))

    def objective(self, cluster: cl.Cluster) -> tuple[float, float]:
        """(worst, variance), to ten digits."""
        values = list(self.latencies(cluster).values()) or [0.0]
        return (float(f'{max(values):.10g}'),
                float(f'{statistics.pvariance(values):.10g}'))

    def accepts(self, before: cl.Cluster, after: cl.Cluster) -> bool:
        worst, variance = self.objective(before)
        then, spread = self.objective(after)
        keeps = 1 - max(self.min_gain, 1e-9) + 1e-12
        return ((then < worst and then <= worst * keeps)
                or (then <= worst and spread < variance
                    and spread <= variance * keeps)) and (
                        self.keeps_promises(before, after))

    def keeps_promises(self, before: cl.Cluster, after: cl.Cluster) -> bool:
        """Whether every promise that was kept is still kept."""
        home = {v.id: v.pool for v in before.volumes}
        target, = {v.pool for v in after.volumes if v.pool != home[v.id]}
        device = after.pool(target).device_key
        was, then = self.latencies(before), self.latencies(after)
        return not any(
            v.max_latency_us is not None
            and v.pool in then and then[v.pool] > v.max_latency_us
            and not was.get(home[v.id], 0.0) > v.max_latency_us
            for v in after.volumes
            if v.pool in {p.name for p in after.pools
                          if p.device_key == device})

    def movable(self, cluster: cl.Cluster, volume: cl.Volume) -> bool:
        pools = {pool.name: pool for pool in cluster.pools}
        return (volume.movable is True and volume.workload is not None
                and volume.workload.is_active(self.floor)
                and volume.pool in pools
                and pools[volume.pool].model in self.models
                and pools[volume.pool].state == 'up')

    def targets(self, cluster: cl.Cluster, volume: cl.Volume,
                room: dict[str, float] | None = None) -> list[cl.Pool]:
        """The targets that rules and free space allow."""
        if not self.movable(cluster, volume):
            return []
        home = cluster.pool(volume.pool)
        return [pool for pool in cluster.pools
                if pool.model in self.models and pool.state == 'up'
                and pool.device_key != home.device_key
                and pool.zone == home.zone
                and volume.required_backend_name in (None, pool.backend_name)
                and volume.size_gib <= (room[pool.name] if room
                                        else pool.free_gib)]

    def acceptable(self, cluster: cl.Cluster) -> set[tuple[str, str]]:
        """Every acceptable (volume, target)."""
        return {(volume.id, pool.name) for volume in cluster.volumes
                for pool in self.targets(cluster, volume)
                if self.accepts(cluster, moved(cluster, volume, pool.name))}

    def best_fit(self, cluster: cl.Cluster) -> list[tuple[str, str]]:
        """Algorithm 1, pass after pass, until one accepts nothing.

        Then the first volume with any acceptable host, and so on.
        """
        room = {pool.name: pool.free_gib for pool in cluster.pools}
        largest_first = [v.id for v in sorted(cluster.volumes, key=lambda v: (
            -(v.workload.block_kib if v.workload else 0), v.size_gib, v.id))]
        queue, steps, quiet = [*largest_first], [], 0
        while True:
            if quiet < len(queue):
                best = self._best_host(cluster, queue[0], room)
                queue, quiet = [*queue[1:], queue[0]], quiet + 1
                found = best and self._first(cluster, queue[-1], best[:1])
            else:
                queue, quiet = [*largest_first], 0
                found = next(filter(None, (
                    self._first(cluster, v, self._hosts(cluster, v, room))
                    for v in queue)), None)
                if found is None:
                    return steps
            if found:
                volume, quiet = cluster.volume(found[0]), 0
                cluster = moved(cluster, volume, found[1])
                room[found[1]] -= volume.size_gib
                steps.append(found)

    def _hosts(self, cluster: cl.Cluster, volume: str,
               room: dict[str, float]) -> list[tuple[float, str]]:
        """(µs with the volume, pool) where it may go, the best first."""
        one = cluster.volume(volume)
        names = [pool.name for pool in self.targets(cluster, one, room)]
        priced = [(self.latencies(moved(cluster, one, name))[name], i, name)
                  for i, name in enumerate(names)]
        return [(price, name) for price, _, name in sorted(priced)]

    def _best_host(self, cluster: cl.Cluster, volume: str,
                   room: dict[str, float]) -> list[tuple[float, str]]:
        hosts = self._hosts(cluster, volume, room)
        home = self.latencies(cluster).get(cluster.volume(volume).pool, 0)
        return [host for host in hosts[:1] if host[0] < home]

    def _first(self, cluster: cl.Cluster, volume: str,
               hosts: list[tuple[float, str]]) -> tuple[str, str] | None:
        for _, name in hosts:
            if self.accepts(cluster, moved(
                    cluster, cluster.volume(volume), name)):
                return volume, name
        return None

    def relief(self, cluster: cl.Cluster) -> tuple[float, float] | None:
        """The objective after the best move off the slowest pool."""
        found = self.acceptable(cluster)
        now = self.latencies(cluster)
        for pool in sorted(now, key=now.get, reverse=True):
            after = [self.objective(moved(cluster, cluster.volume(v), to))
                     for v, to in found if cluster.volume(v).pool == pool]
            if after:
                return min(after)
        return None


def moved(cluster: cl.Cluster, volume: cl.Volume, to: str) -> cl.Cluster:
    return cluster.without(volume).place(volume, to)
