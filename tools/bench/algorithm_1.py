# SPDX-License-Identifier: Apache-2.0
"""The paper's Algorithm 1 in plain Python, to hold the planners against."""

from __future__ import annotations

import clusters

from serifos.facts.cluster import Cluster
from serifos.facts.cluster import Pool
from serifos.facts.workload import Workload
from serifos.model.model import Model
from serifos.plan.limits import Limits


class Host:
    """A pool as the paper's Algorithm 1 keeps it: three sums."""

    def __init__(self, pool: Pool, model: Model) -> None:
        rows = map(model.predictor.row, range(7))
        self.rows = [tuple(row.get(term, 0.0) for term in (
            'intercept_us', 'sum_write_pct', 'sum_block_kib'))
            for row in rows]
        self.free_capacity = pool.free_gib
        self.wklds, self.wr_sum, self.bs_sum = 0, 0.0, 0.0

    def add(self, workload: Workload, sign: int = 1) -> None:
        self.wklds += sign
        self.wr_sum += sign * workload.write_pct
        self.bs_sum += sign * workload.block_kib

    def predict(self) -> float:
        return self.predict_perf(0, 0.0, 0.0) if self.wklds else 0.0

    def predict_perf(self, more: int, write_pct: float,
                     block_kib: float) -> float:
        intercept, wr_co, bs_co = self.rows[min(6, self.wklds + more)]
        return max(0.0, intercept + wr_co * (self.wr_sum + write_pct)
                   + bs_co * (self.bs_sum + block_kib))


def migrations(cluster: Cluster, limits: Limits | None) -> int:
    """The migrations that it schedules, a volume lifted off first.

    :param limits: None for one pass that accepts every move, as printed;
        else passes by our rules, until one moves nothing
    """
    known = dict(zip(('s3500', 's3610'), clusters.models()))
    hosts = [Host(pool, known[pool.model]) for pool in cluster.pools]
    index = {pool.name: i for i, pool in enumerate(cluster.pools)}
    home = {v.id: index[v.pool] for v in cluster.volumes}
    for volume in cluster.volumes:
        hosts[home[volume.id]].add(volume.workload)
    latency = [host.predict() for host in hosts]
    queue = sorted(cluster.volumes,
                   key=lambda v: (-v.workload.block_kib, v.id))
    scheduled, moved = 0, True
    while moved:
        moved = False
        for volume in queue:
            current, workload = home[volume.id], volume.workload
            write_pct, block_kib = workload.write_pct, workload.block_kib
            best, best_perf = current, latency[current]
            for i, host in enumerate(hosts):
                if i == current or host.free_capacity < volume.size_gib:
                    continue
                perf = host.predict_perf(1, write_pct, block_kib)
                if perf < best_perf:
                    best, best_perf = i, perf
            if best == current:
                continue
            hosts[current].add(workload, -1)
            then = list(latency)
            then[current], then[best] = hosts[current].predict(), best_perf
            if limits and not accepted(latency, current, then, best, limits):
                hosts[current].add(workload)
                continue
            hosts[best].add(workload)
            hosts[best].free_capacity -= volume.size_gib
            home[volume.id], latency = best, then
            scheduled, moved = scheduled + 1, limits is not None
    return scheduled


def accepted(before: list[float], source: int, after: list[float],
             target: int, limits: Limits) -> bool:
    """The local rule, in plain Python."""
    mean = sum(before) / len(before)
    return before[source] > (1 + limits.hot_ratio) * mean and max(
        after[source], after[target]) <= before[source] * limits.keeps
