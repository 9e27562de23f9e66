# SPDX-License-Identifier: Apache-2.0
"""Section ``optimum``: small plans against the least worst latency."""

from __future__ import annotations

from collections.abc import Iterator
import itertools
import time

import clusters
import numpy as np
from scipy import optimize
from scipy import sparse

from serifos.facts.cluster import Cluster
from serifos.lab.sim import scenario

MILP_SECONDS = 60


def least_worst(cluster: Cluster) -> tuple[float, float]:
    """The least possible worst latency, and a bound that proves it, µs.

    Disaggregated by count: x[v, h, q] is volume v on host h while h holds
    the count q, y[h, q] says that it does. Counts above 5 share the 5+ row,
    so they share a q. T, the worst latency, is the last variable.
    """
    n = len(cluster.volumes)
    known = dict(zip(('s3500', 's3610'), clusters.models()))
    least = np.array([0, 1, 2, 3, 4, 5, 6])
    most = np.array([0, 1, 2, 3, 4, 5, n])
    hosts, classes = len(cluster.pools), len(least)
    x = np.arange(n * hosts * classes).reshape(n, hosts, classes)
    y = x.size + np.arange(hosts * classes).reshape(hosts, classes)
    worst = x.size + y.size
    rows: list[tuple[dict[int, float], float, float]] = []
    for v in range(n):  # every volume lives once
        rows.append(({i: 1.0 for i in x[v].flat}, 1, 1))
    for h, (one, two) in enumerate(itertools.pairwise(cluster.pools)):
        if one.model == two.model:  # of equal hosts the first holds most
            rows.append(({**{i: 1.0 for i in x[:, h].flat},
                          **{i: -1.0 for i in x[:, h + 1].flat}}, 0, np.inf))
    for h, pool in enumerate(cluster.pools):
        predictor = known[pool.model].predictor
        rows.append(({i: 1.0 for i in y[h]}, 1, 1))
        rows.append(({x[v, h, q]: volume.size_gib for q in range(classes)
                      for v, volume in enumerate(cluster.volumes)},
                     -np.inf, pool.total_gib))
        latency = {worst: -1.0}
        for q in range(classes):
            held = {i: 1.0 for i in x[:, h, q]}
            rows.append(({**held, y[h, q]: -float(least[q])}, 0, np.inf))
            rows.append(({**held, y[h, q]: -float(most[q])}, -np.inf, 0))
            row = predictor.row(q) if q else {}
            latency[y[h, q]] = row.get('intercept_us', 0.0)
            for v, volume in enumerate(cluster.volumes):
                latency[x[v, h, q]] = (
                    row.get('sum_write_pct', 0.0) * volume.workload.write_pct
                    + row.get('sum_block_kib', 0.0)
                    * volume.workload.block_kib)
                rows.append(({x[v, h, q]: 1.0, y[h, q]: -1.0}, -np.inf, 0))
        rows.append((latency, -np.inf, 0))
    matrix = sparse.csr_array((
        [value for row, _, _ in rows for value in row.values()],
        ([r for r, (row, _, _) in enumerate(rows) for _ in row],
         [int(i) for row, _, _ in rows for i in row])),
        shape=(len(rows), worst + 1))
    found = optimize.milp(
        np.eye(1, worst + 1, worst)[0],
        constraints=optimize.LinearConstraint(
            matrix, [low for _, low, _ in rows], [top for _, _, top in rows]),
        integrality=np.append(np.ones(worst), 0),
        bounds=optimize.Bounds(0, np.append(np.ones(worst), np.inf)),
        options={'time_limit': MILP_SECONDS, 'mip_rel_gap': 1e-3})
    return found.fun, found.mip_dual_bound


def lines(quick: bool) -> Iterator[str]:
    """Lines of the section."""
    yield ('volumes  pools  cases  proved to  HiGHS s   '
           'before      bfd  relieve  all moves  all gains')
    for volumes, cases in ((16, 3),) if quick else ((16, 10), (30, 3)):
        over, slack, taken = [], [], []
        for seed in range(cases):
            cluster = clusters.make_cluster(volumes, 5, seed, by_capacity=True)
            start = time.perf_counter()
            best, bound = least_worst(cluster)
            taken.append(time.perf_counter() - start)
            slack.append(best / bound - 1)
            plans = [clusters.plan(planner, cluster, limits)
                     for planner, limits in (
                         ('bfd', scenario.limits()),
                         ('relieve', scenario.limits()),
                         ('relieve', scenario.limits(max_moves=10**6)),
                         ('relieve', scenario.limits(
                             max_moves=10**6, min_gain=0.0,
                             hot_ratio=0.0)))]
            over.append([made / best - 1 for made in (
                plans[0].max_us.before, *(p.max_us.after for p in plans))])
        mean = 100 * np.mean(over, axis=0)
        yield (f'{volumes:7} {5:6} {cases:6} {100 * max(slack):8.2f} % '
               f'{np.mean(taken):8.1f}  {mean[0]:5.1f} %  {mean[1]:5.1f} %  '
               f'{mean[2]:5.1f} % {mean[3]:8.1f} % {mean[4]:8.1f} %')
    yield ('Worst latency above the least possible, mean over the cases; '
           'volumes placed by capacity. All moves: without max_moves; all '
           'gains: without min_gain and hot_ratio, too.')
