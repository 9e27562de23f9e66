# SPDX-License-Identifier: Apache-2.0
"""The latest observations: smoothed loads, and pools that stay hot.

A cloud's load is noisy. What a volume does is taken as its mean over the
last observations on the pool that it is on. A pool is relieved where it is
hot by these means, and was so in each of the observations: a burst of one
round stays in the means for as many rounds.
"""

from __future__ import annotations

import collections
import dataclasses

from serifos.facts import cluster as cl
from serifos.facts import workload as wl


class Recent:
    """What the last rounds observed.

    :param hold: how many rounds count
    """

    def __init__(self, hold: int) -> None:
        self._seen: collections.deque[cl.Cluster] = collections.deque(
            maxlen=hold)
        self._hot: collections.deque[frozenset[str]] = collections.deque(
            maxlen=hold)

    def smoothed(self, cluster: cl.Cluster) -> cl.Cluster:
        """The cluster with the mean workload of each volume."""
        self._seen.append(cluster)
        earlier = [{(v.id, v.pool): v.workload for v in seen.volumes}
                   for seen in self._seen]
        return dataclasses.replace(cluster, volumes=tuple(
            v if v.workload is None else dataclasses.replace(
                v, workload=wl.mean([w for seen in earlier if (
                    w := seen.get((v.id, v.pool))) is not None]))
            for v in cluster.volumes))

    def held(self, hot: frozenset[str]) -> frozenset[str]:
        """The pools that were hot in each of the last rounds.

        :param hot: those that are hot in this one
        """
        self._hot.append(hot)
        if len(self._hot) < (self._hot.maxlen or 1):
            return frozenset()
        return frozenset.intersection(*self._hot)
