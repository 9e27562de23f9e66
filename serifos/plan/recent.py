# SPDX-License-Identifier: Apache-2.0
"""The latest observations: smoothed loads, and pools that stay hot.

A cloud's load is noisy. What a volume does is taken as its mean over the
last observations on the pool that it is on. A pool is relieved where it is
hot by these means, and was so in each of the observations: a burst of one
round stays in the means for as many rounds. An SLO counts as violated where
it is by the means of each of as many rounds.
"""

from __future__ import annotations

from collections.abc import Sequence
import dataclasses
import math

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


@dataclasses.dataclass(frozen=True, eq=False)
class Achieved:
    """The latency of a pool's tenants, measured and predicted.

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


@dataclasses.dataclass(frozen=True)
class Round:
    """An earlier round.

    :param at: seconds of the epoch
    :param hot: the pools that were hot by it
    :param violated: the volumes whose SLOs were violated by the means up to it
    """

    at: float
    cluster: Cluster
    hot: frozenset[str]
    violated: frozenset[str]


@dataclasses.dataclass(frozen=True)
class Recent:
    """The last rounds, the latest at the end.

    Rounds in which nothing was observed, or that another balancer led, may
    lie between two of them: what is older than one round more than count may
    take is forgotten.

    :param hold: how many rounds count
    :param interval_s: from the end of a round to the next
    """

    hold: int = 1
    interval_s: float = math.inf
    rounds: tuple[Round, ...] = ()

    def smoothed(self, cluster: Cluster, now: float) -> Cluster:
        """The cluster with the mean workload of each volume.

        Also of one without telemetry now, which is not moved.

        :param now: seconds of the epoch
        """
        counted = [*(each.cluster for each in self._before(now)), cluster]
        earlier = [{(v.id, v.pool): v.workload for v in each.volumes}
                   for each in counted]
        return dataclasses.replace(cluster, volumes=tuple(
            _doing(v, mean([w for each in earlier if (
                w := each.get((v.id, v.pool))) is not None]))
            for v in cluster.volumes))

    def after(self, this: Round) -> Recent:
        """The last rounds, with this one."""
        return dataclasses.replace(
            self, rounds=(*self._before(this.at), this))

    @property
    def hot(self) -> frozenset[str]:
        """The pools that were hot in each of the last rounds."""
        return self._in_each([each.hot for each in self.rounds])

    @property
    def violated(self) -> frozenset[str]:
        """The volumes whose SLOs were violated in each of the last rounds."""
        return self._in_each([each.violated for each in self.rounds])

    def _before(self, now: float) -> list[Round]:
        """The rounds that count beside one at this time."""
        age_s = (self.hold + 1) * (self.interval_s + ROUND_S)
        counted = [each for each in self.rounds if now - each.at <= age_s]
        return counted[max(0, len(counted) - self.hold + 1):]

    def _in_each(self, found: Sequence[frozenset[str]]) -> frozenset[str]:
        return frozenset.intersection(*found) if (
            len(found) >= self.hold) else frozenset()
