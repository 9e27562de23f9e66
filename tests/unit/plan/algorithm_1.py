# SPDX-License-Identifier: Apache-2.0
"""Algorithm 1 of the Serifos paper, transcribed line by line.

Nothing of serifos is used: names are those of the paper, predictions are
Eq. 14 with the coefficients of its Table 6. Where the paper adds a workload
to its own host a second time, the workload is lifted off first.
"""

from __future__ import annotations

import dataclasses
import math

from tests.unit.papers import golden

MAX_PERF = math.inf


@dataclasses.dataclass
class Workload:
    name: str
    wr: float
    bs: float
    size: float
    host: str


@dataclasses.dataclass
class Host:
    name: str
    ssd: str
    free_capacity: float
    num_of_wklds: int = 0
    wr_sum: float = 0.0
    bs_sum: float = 0.0

    def add(self, wkld: Workload, sign: int = 1) -> None:
        self.num_of_wklds += sign
        self.wr_sum += sign * wkld.wr
        self.bs_sum += sign * wkld.bs


def predict(host: Host, count: int, wr_sum: float, bs_sum: float) -> float:
    """Eq. 14, by a basic model of 1 to 5 workloads or the extended one."""
    models = golden.SERIFOS['table6_consolidation'][host.ssd]
    intercept, wr_co, bs_co, _ = models[str(count) if count <= 5 else '5+']
    return intercept + wr_co * wr_sum + bs_co * bs_sum


def predict_perf(host: Host, wkld: Workload) -> float:
    return predict(host, host.num_of_wklds + 1, host.wr_sum + wkld.wr,
                   host.bs_sum + wkld.bs)


def load_balance(wkld_list: list[Workload], host_list: list[Host]
                 ) -> list[tuple[str, str, str]]:
    """The migrations: workload, current host and best host."""
    scheduled = []
    hosts = {host.name: host for host in host_list}
    for wkld in wkld_list:
        hosts[wkld.host].add(wkld)
    for wkld in sorted(wkld_list, key=lambda wkld: wkld.bs, reverse=True):
        current = hosts[wkld.host]
        current.add(wkld, -1)
        best_host, best_perf = None, MAX_PERF
        for host in host_list:
            if host is not current and host.free_capacity < wkld.size:
                continue
            perf = predict_perf(host, wkld)
            if perf < best_perf:
                best_host, best_perf = host, perf
        best_host.add(wkld)
        if best_host is not current:
            scheduled.append((wkld.name, current.name, best_host.name))
            best_host.free_capacity -= wkld.size
    return scheduled


def latencies(wkld_list: list[Workload],
              host_list: list[Host]) -> dict[str, float]:
    """What is predicted of each host that has workloads."""
    found = {}
    for host in host_list:
        its = [wkld for wkld in wkld_list if wkld.host == host.name]
        if its:
            found[host.name] = predict(host, len(its), sum(
                wkld.wr for wkld in its), sum(wkld.bs for wkld in its))
    return found
