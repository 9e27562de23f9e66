# SPDX-License-Identifier: Apache-2.0
"""One assignment of volumes to pools, with Loads, space and latencies.

Frozen: ``state.moved(...)`` is the state after a move. Everything in it is
computed from the assignment, so that a state reached by moves equals, to the
last bit, the one computed afresh.
"""

from __future__ import annotations

import dataclasses
import functools
from typing import NamedTuple

import numpy as np

from serifos.facts import cluster as cl
from serifos.plan import problem as pm
from serifos.plan.problem import Floats
from serifos.plan.problem import Ints
from serifos.plan import score


class Figures(NamedTuple):
    """A state's latencies by device, about their mean.

    ``total`` and ``squares`` are sums of (latency - mean) and its square,
    float[devices]; ``worst`` is the greatest latency, -inf where a device
    has no model; ``top`` are the three devices with the greatest.
    """

    mean: float
    total: Floats
    squares: Floats
    worst: Floats
    top: Ints


@dataclasses.dataclass(frozen=True, eq=False)
class State:
    """One assignment of the volumes.

    :param home: int[volumes], the pool of each, -1 where it is unknown
    :param loads: float[devices, features]
    :param room: GiB[pools] that the plan may still fill: what was free, less
        what the plan placed there
    :param free: GiB[pools] that will be free when the plan was carried out
    """

    problem: pm.Problem
    home: Ints
    loads: Floats
    room: Floats
    free: Floats

    @classmethod
    def of(cls, problem: pm.Problem) -> State:
        """The cluster as it was observed."""
        free = np.array([p.free_gib for p in problem.cluster.pools], float)
        return cls(problem, problem.home, problem.device_loads(), free, free)

    def moved(self, volume: int, target: int) -> State:
        """The state with one volume on another pool."""
        problem, source = self.problem, self.home[volume]
        size = problem.size_gib[volume]
        home, loads = self.home.copy(), self.loads.copy()
        room, free = self.room.copy(), self.free.copy()
        home[volume] = target
        free[source] += size
        free[target] -= size
        room[target] -= size
        for device in problem.device[[source, target]]:
            here = (problem.device == device)[home] & (home >= 0)
            loads[device] = problem.load(np.flatnonzero(here))
        return State(problem, home, loads, room, free)

    def carried_out(self) -> State:
        """This state with the space that its moves freed."""
        return dataclasses.replace(self, room=self.free)

    @functools.cached_property
    def latency_us(self) -> Floats:
        """µs[pools], NaN where a pool has no model."""
        device = self.problem.device
        return self.problem.latency(
            np.arange(len(device)), self.loads[device])

    @functools.cached_property
    def copied_us(self) -> Floats:
        """µs[2, 2, pools]: the mean while a volume is copied.

        A detached one and one in use; off each pool and to each.
        """
        return np.array([[self._with(us, each) for us in self._busiest]
                         for each in self.problem.limits.copying.s_per_gib])

    @functools.cached_property
    def wiped_us(self) -> Floats:
        """µs[pools]: the mean while a volume is wiped on each."""
        return self._with(self._busiest[1],
                          self.problem.limits.copying.wiping)

    @functools.cached_property
    def _busiest(self) -> tuple[Floats, Floats]:
        """µs[pools] under the reader and the writer of COPY."""
        device = self.problem.device
        reader, writer = (self.problem.latency(
            np.arange(len(device)), self.loads[device] + load)
            for load in self.problem.copies)
        return reader, writer

    def _with(self, busiest_us: Floats, s_per_gib: float) -> Floats:
        """µs[pools] under such a reader or writer, at the rate that it has.

        Its requests are outstanding for the part of the time in which they
        come to that rate, by Little's law.
        """
        per_s = pm.COPY_REQUESTS / max(s_per_gib, 1e-9)
        share = np.minimum(
            1.0, per_s * busiest_us / 1e6 / pm.COPY[0].iodepth)
        return self.latency_us + share * (busiest_us - self.latency_us)

    @functools.cached_property
    def score(self) -> score.Score:
        return score.Score.of(self.latency_us)

    @functools.cached_property
    def figures(self) -> Figures:
        problem = self.problem
        count = len(problem.begins) - 1
        latency = self.latency_us[problem.members]
        device = problem.device[problem.members]
        off = latency - self.score.mean_us
        worst = np.full(count, -np.inf)
        np.maximum.at(worst, device, latency)
        return Figures(
            self.score.mean_us,
            np.bincount(device, off, count),
            np.bincount(device, off * off, count),
            worst, np.argsort(-worst, kind='stable')[:3])

    def cluster(self) -> cl.Cluster:
        """The cluster as it would then be, volumes in the order of ids."""
        pools = self.problem.cluster.pools
        return dataclasses.replace(
            self.problem.cluster,
            pools=tuple(
                dataclasses.replace(pool, free_gib=float(gib))
                for pool, gib in zip(pools, self.free)),
            volumes=tuple(
                v if at < 0 or pools[at].name == v.pool
                else dataclasses.replace(v, pool=pools[at].name)
                for v, at in zip(self.problem.volumes, self.home)))
