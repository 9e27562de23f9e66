# SPDX-License-Identifier: Apache-2.0
"""The latest observations: smoothed loads, and pools that stay hot.

A cloud's load is noisy. What a volume does is taken as its mean over the
last observations on the pool that it is on. A pool is relieved where it is
hot by these means, and was so in each of the observations: a burst of one
round stays in the means for as many rounds. An SLO counts as violated where
it is by the means of each of as many rounds.
"""

from __future__ import annotations

import collections
from collections.abc import Sequence
import dataclasses
import math
from typing import Generic
from typing import TypeVar

import numpy as np

from serifos.facts.cluster import Cluster
from serifos.facts.cluster import Volume
from serifos.facts.refusals import Code
from serifos.facts.workload import mean
from serifos.facts.workload import Workload
from serifos.plan.problem import Floats
from serifos.plan.problem import Problem


ROUND_S = 60.0
"""What a round itself may take, beside the interval to the next."""

_Seen = TypeVar('_Seen')


@dataclasses.dataclass(frozen=True, eq=False)
class Achieved:
    """What the tenants of a pool see, and what is predicted for them.

    :param load: of its device, float[features]
    """

    seen_us: float
    predicted_us: float
    load: Floats


def achieved(problem: Problem) -> dict[str, Achieved]:
    """Pool → what it shows, of those of which anything is seen."""
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
    found = np.bincount(place, seen[here]) / number
    return {problem.cluster.pools[pool].name: Achieved(
        float(us), float(by), load[0]) for pool, us, by, load in zip(
            pools, found, predicted, loads)}


def filled(cluster: Cluster, smoothed: Cluster) -> Cluster:
    """The cluster, where volumes without telemetry do what they lately did.

    :param smoothed: the same by :meth:`Recent.smoothed`
    """
    return dataclasses.replace(cluster, volumes=tuple(
        then if v.workload is None else v
        for v, then in zip(cluster.volumes, smoothed.volumes)))


def _doing(volume: Volume, workload: Workload | None) -> Volume:
    """The volume with a workload; it stays where it has none itself."""
    stays = volume.workload is None and volume.movable is True
    return dataclasses.replace(
        volume, workload=workload,
        movable=Code.NO_TELEMETRY.of() if stays else volume.movable)


class _Last(Generic[_Seen]):
    """The last things seen, at most so many, and none of long ago."""

    def __init__(self, most: int, age_s: float) -> None:
        self._age_s = age_s
        self._seen: collections.deque[tuple[float, _Seen]] = (
            collections.deque(maxlen=most))

    def add(self, one: _Seen, now: float) -> list[_Seen]:
        """Those that count now, this one last."""
        self._seen.append((now, one))
        return self.at(now)

    def at(self, now: float) -> list[_Seen]:
        """Those that count now."""
        while self._seen and now - self._seen[0][0] > self._age_s:
            self._seen.popleft()
        return [one for _, one in self._seen]


class Recent:
    """What the last rounds observed.

    Rounds in which nothing was observed, or that another balancer led, may
    lie between two of them: what is older than one round more than count may
    take is forgotten. Each ``now`` is in seconds of the epoch.

    :param hold: how many rounds count
    :param interval_s: from the end of a round to the next
    """

    def __init__(self, hold: int, interval_s: float = math.inf) -> None:
        age_s = (hold + 1) * (interval_s + ROUND_S)
        self._hold = hold
        self._seen: _Last[Cluster] = _Last(hold, age_s)
        self._hot: _Last[frozenset[str]] = _Last(hold, age_s)
        self._broken: _Last[frozenset[str]] = _Last(hold, age_s)

    def smoothed(self, cluster: Cluster, now: float) -> Cluster:
        """The cluster with the mean workload of each volume.

        Also of one without telemetry now, which is not moved.
        """
        earlier = [{(v.id, v.pool): v.workload for v in seen.volumes}
                   for seen in self._seen.add(cluster, now)]
        return dataclasses.replace(cluster, volumes=tuple(
            _doing(v, mean([w for seen in earlier if (
                w := seen.get((v.id, v.pool))) is not None]))
            for v in cluster.volumes))

    def held(self, hot: frozenset[str], now: float) -> frozenset[str]:
        """The pools that were hot in each of the last rounds.

        :param hot: those that are hot in this one
        """
        return self._in_each(self._hot.add(hot, now))

    def late(self, broken: frozenset[str], now: float) -> frozenset[str]:
        """The volumes whose SLOs were violated in each of the last rounds.

        :param broken: those that are broken by the means of this one
        """
        return self._in_each(self._broken.add(broken, now))

    def _in_each(self, found: Sequence[frozenset[str]]) -> frozenset[str]:
        return frozenset.intersection(*found) if (
            len(found) == self._hold) else frozenset()
