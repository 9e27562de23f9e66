# SPDX-License-Identifier: Apache-2.0
"""Who lives where while a plan is being made, and what each pool then sees?

A :class:`Problem` is what stays as it is; a :class:`State` is one
assignment of volumes to pools. Both are frozen: ``state.moved(...)`` is the
state after. Everything in a State is computed from the assignment, never
carried along, so that a plan that was applied and a plan in the making are
the same to the last bit.
"""

from __future__ import annotations

from collections.abc import Callable
import dataclasses
import functools
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from serifos import cluster as cl
from serifos.plan import limits as lm
from serifos.plan import score
from serifos import workload as wl

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.intp]
Bools = npt.NDArray[np.bool_]
LoadOf = Callable[[wl.Workload | None], Floats]
LatencyOf = Callable[[Ints, Floats], Floats]


@dataclasses.dataclass(frozen=True, eq=False)
class Problem:
    """What no move changes. Volumes stand in the order of their ids.

    :param device: int[pools], what a pool shares its Load with
    :param modelled: bool[pools]
    :param members: the modelled pools, device by device; those of device d
        are ``members[begins[d]:begins[d + 1]]``
    :param loads: float[distinct workloads, features]
    :param kind: int[volumes], a volume's row in ``loads``
    :param group: int[volumes], a volume's row in ``open``
    :param open: bool[groups, pools], where the rules let a volume live
    :param stay: reasons of the volumes that may not move at all, '' if idle
    """

    cluster: cl.Cluster
    limits: lm.Limits
    latency: LatencyOf
    volumes: tuple[cl.Volume, ...]
    home: Ints
    size_gib: Floats
    device: Ints
    modelled: Bools
    members: Ints
    begins: Ints
    loads: Floats
    kind: Ints
    group: Ints
    open: Bools
    stay: dict[int, str]

    @classmethod
    def of(cls, cluster: cl.Cluster, load: LoadOf, latency: LatencyOf,
           limits: lm.Limits) -> Problem:
        pools = cluster.pools
        volumes = tuple(sorted(cluster.volumes, key=lambda v: v.id))
        index = {pool.name: i for i, pool in enumerate(pools)}
        home = np.array([index.get(v.pool, -1) for v in volumes], np.intp)
        distinct, kind = _distinct([v.workload for v in volumes])
        loads = np.array([load(w) for w in (None, *distinct)], float)[1:]
        loads = loads.reshape(-1, np.size(load(None)))
        device = _distinct([pool.device_key for pool in pools])[1]
        everywhere = np.arange(len(pools))
        modelled = ~np.isnan(latency(
            everywhere, np.zeros((len(pools), loads.shape[1]))))
        members = everywhere[modelled][
            np.argsort(device[modelled], kind='stable')]
        begins = np.searchsorted(
            device[members], np.arange(device.max(initial=-1) + 2))
        rules, group = _distinct([
            (pools[i].zone if i >= 0 else None, v.required_backend_name)
            for i, v in zip(home, volumes)])
        stay = {}
        for i, volume in enumerate(volumes):
            at = home[i]
            reason = lm.stays(volume, pools[at] if at >= 0 else None,
                              bool(at >= 0 and modelled[at]),
                              limits.active_floor)
            if reason is not None:
                stay[i] = reason
        return cls(
            cluster, limits, latency, volumes, home,
            np.array([v.size_gib for v in volumes], float),
            device, modelled, members, begins, loads, kind, group,
            np.array([[not lm.bar(*rule, pool) for pool in pools]
                      for rule in rules],
                     bool).reshape(len(rules), len(pools))
            & modelled, stay)

    @functools.cached_property
    def candidates(self) -> Ints:
        """The volumes that may move, by decreasing block size, then id."""
        free = np.array([i for i in range(len(self.volumes))
                         if i not in self.stay], np.intp)
        block = np.array([self.volumes[i].workload.block_kib for i in free])
        return free[np.argsort(-block, kind='stable')]

    def start(self) -> State:
        """The cluster as it was observed."""
        free = np.array([p.free_gib for p in self.cluster.pools], float)
        at = np.where(self.home >= 0, self.device[self.home], -1) \
            if len(self.device) else self.home
        order = np.argsort(at, kind='stable')
        ends = np.searchsorted(at[order], np.arange(len(self.begins)))
        loads = np.array([
            self._sum(order[begin:end]) for begin, end
            in zip(ends[:-1], ends[1:])]).reshape(-1, self.loads.shape[1])
        return State(self, self.home, loads, free, free)

    def _sum(self, volumes: Ints) -> Floats:
        return self.loads[self.kind[volumes]].sum(axis=0)


class Figures(NamedTuple):
    """A state's latencies, device by device, about their mean.

    ``total`` and ``squares`` are sums of (latency - mean) and its square,
    float[devices]; ``worst`` is the greatest latency, -inf where a device
    has no figure; ``top`` are the three devices with the greatest.
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

    problem: Problem
    home: Ints
    loads: Floats
    room: Floats
    free: Floats

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
            mates = np.flatnonzero(problem.device == device)
            here = (home == mates[0]) if len(mates) == 1 \
                else np.isin(home, mates)
            loads[device] = problem._sum(np.flatnonzero(here))
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


def _distinct(items: list) -> tuple[list, Ints]:
    """The distinct items, and for each item its place among them."""
    place: dict = {}
    index = [place.setdefault(item, len(place)) for item in items]
    return list(place), np.array(index, np.intp)
