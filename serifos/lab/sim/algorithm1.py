# SPDX-License-Identifier: Apache-2.0
"""Algorithm 1 of the paper, without a guard.

One pass by decreasing block size, each volume to the host with the least
predicted latency, whether or not the cluster gets better. A volume is taken
off its host before hosts are compared, since read literally the algorithm
counts it twice there. :mod:`serifos.plan.bfd` is compared with it.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from serifos.facts import cluster as cl
from serifos.facts import workload as wl

Floats = npt.NDArray[np.float64]


def moves(cluster: cl.Cluster, load: Callable[[wl.Workload | None], Floats],
          latency: Callable[[npt.NDArray[np.intp], Floats], Floats]
          ) -> list[tuple[str, str]]:
    """(volume, pool) in the order in which they are to be carried out.

    :param load: workload → float[features], additive
    :param latency: (int[n] pools, float[n, features]) → µs[n]
    """
    names = [pool.name for pool in cluster.pools]
    home = {v.id: names.index(v.pool) for v in cluster.volumes}
    free = np.array([pool.free_gib for pool in cluster.pools])
    loads = np.tile(load(None), (len(names), 1))
    for volume in cluster.volumes:
        loads[home[volume.id]] += load(volume.workload)
    chosen = []
    for volume in sorted(
            cluster.volumes, key=lambda v: (-v.workload.block_kib, v.id)):
        at, own = home[volume.id], load(volume.workload)
        loads[at] -= own
        free[at] += volume.size_gib
        price = np.where(free >= volume.size_gib, latency(
            np.arange(len(names)), loads + own), np.inf)
        best = at if price[at] <= price.min() else int(np.argmin(price))
        loads[best] += own
        free[best] -= volume.size_gib
        if best != at:
            chosen.append((volume.id, names[best]))
    return chosen
