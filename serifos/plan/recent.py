# SPDX-License-Identifier: Apache-2.0
"""The latest observations: smoothed loads, pools that stay hot, errors.

A cloud's load is noisy. What a volume does is taken as its mean over the
last observations on the pool that it is on. A pool is relieved where it is
hot by these means, and was so in each of the observations: a burst of one
round stays in the means for as many rounds.

Devices drift from their models. What the tenants of a pool see is held
against what is predicted for them, and the predictions of the pool are
multiplied by a power of that ratio, where the factor of the round before
would have lowered the error of this one.
"""

from __future__ import annotations

import collections
from collections.abc import Mapping
import dataclasses
import math

import numpy as np

from serifos.facts import cluster as cl
from serifos.facts import workload as wl
from serifos.plan import problem as pm


SHARE = 0.5
"""Predictions are corrected by the square root of their errors."""

MOST = 4.0
"""An error beyond this ratio is no drift, and counts as this."""


def ratios(problem: pm.Problem) -> dict[str, float]:
    """Pool → what its tenants see, by what is predicted for them.

    Of the pools with active volumes whose latency was observed.
    """
    seen = np.array([
        v.workload.latency_us if v.workload is not None and v.workload.iops
        and v.workload.latency_us else np.nan for v in problem.volumes], float)
    here = np.flatnonzero((problem.home >= 0) & problem.active
                          & ~np.isnan(seen))
    here = here[problem.modelled[problem.home[here]]]
    if not len(here):
        return {}
    home = problem.home[here]
    pools, place, number = np.unique(
        home, return_inverse=True, return_counts=True)
    loads = problem.device_loads(problem.home)[problem.device[pools]]
    own = np.empty_like(loads)
    for slot in range(own.shape[1]):
        own[:, slot] = np.column_stack([
            np.bincount(place, column, len(pools))
            for column in problem.loads[here, slot].T])
    predicted = problem.models.tenants(
        pools, loads, np.arange(len(pools)), own)
    found = np.bincount(place, seen[here]) / number / np.maximum(
        predicted, 1e-9)
    return {problem.cluster.pools[pool].name: float(ratio) for pool, ratio
            in zip(pools, np.clip(found, 1 / MOST, MOST))}


def corrected(cluster: cl.Cluster,
              factors: Mapping[str, float]) -> cl.Cluster:
    """The cluster with these factors as its pools' corrections, else 1."""
    return dataclasses.replace(cluster, pools=tuple(
        dataclasses.replace(pool, correction=factors.get(pool.name, 1.0))
        for pool in cluster.pools))


class Recent:
    """What the last rounds observed.

    :param hold: how many rounds count
    :param share: of the log of a ratio that corrects predictions, 0 to 1
    """

    def __init__(self, hold: int, share: float = SHARE) -> None:
        self._share = share
        self._factors: dict[str, float] = {}
        self._kept: dict[str, float] = {}
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

    def factors(self, ratio: Mapping[str, float]) -> dict[str, float]:
        """Pool → what corrects its predictions.

        :param ratio: those of this round, of predictions without correction
        """
        before, self._factors = self._factors, {
            pool: its ** self._share for pool, its in ratio.items()}
        self._kept = {
            pool: factor for pool, factor in self._factors.items()
            if pool in before and abs(math.log(
                ratio[pool] / before[pool])) < abs(math.log(ratio[pool]))}
        return self._kept

    def corrected(self, cluster: cl.Cluster) -> cl.Cluster:
        """The cluster with the last factors as its pools' corrections."""
        return corrected(cluster, self._kept)

    def held(self, hot: frozenset[str]) -> frozenset[str]:
        """The pools that were hot in each of the last rounds.

        :param hot: those that are hot in this one
        """
        self._hot.append(hot)
        if len(self._hot) < (self._hot.maxlen or 1):
            return frozenset()
        return frozenset.intersection(*self._hot)
