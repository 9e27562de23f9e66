# SPDX-License-Identifier: Apache-2.0
"""The planning problem as arrays: what no move of a plan changes."""

from __future__ import annotations

from collections.abc import Callable
from collections.abc import Hashable
from collections.abc import Iterable
from collections.abc import Sequence
import dataclasses
import functools
import itertools
from typing import Any

import numpy as np
import numpy.typing as npt

from serifos.facts import cluster as cl
from serifos.facts import workload as wl
from serifos.plan import limits as lm

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.intp]
Bools = npt.NDArray[np.bool_]
LoadOf = Callable[[wl.Workload | None], Floats]
LatencyOf = Callable[[Ints, Floats], Floats]


COPY = (wl.Workload(0.0, 128.0, 8.0, random_pct=0.0),
        wl.Workload(100.0, 128.0, 8.0, random_pct=0.0))
"""What a copy does to its source and to its target: sequential requests of
128 KiB, at most 1 MiB of them outstanding."""

COPY_REQUESTS = 1024 * 1024 / 128
"""Such requests that a GiB takes."""


@dataclasses.dataclass(frozen=True, eq=False)
class Problem:
    """A cluster as arrays, the volumes in the order of their ids.

    :param home: int[volumes], the pool of each, -1 where it is unknown
    :param device: int[pools]; pools of one device add their Loads
    :param modelled: bool[pools]
    :param members: the modelled pools, device by device; those of device d
        are ``members[begins[d]:begins[d + 1]]``
    :param loads: float[distinct workloads, features]
    :param kind: int[volumes], a volume's row in ``loads``
    :param copies: float[2, features], the Loads of :data:`COPY`
    :param open: bool[groups, pools], the pools that the rules allow
    :param group: int[volumes], a volume's row in ``open``
    :param refusals: volume → why it may not move at all, '' if it is idle
    """

    cluster: cl.Cluster
    limits: lm.Limits
    latency: LatencyOf
    volumes: tuple[cl.Volume, ...]
    home: Ints
    size_gib: Floats
    attached: Ints
    device: Ints
    modelled: Bools
    members: Ints
    begins: Ints
    loads: Floats
    kind: Ints
    copies: Floats
    open: Bools
    group: Ints
    refusals: dict[int, str]

    @classmethod
    def of(cls, cluster: cl.Cluster, load: LoadOf, latency: LatencyOf,
           limits: lm.Limits) -> Problem:
        pools = cluster.pools
        volumes = tuple(sorted(cluster.volumes, key=lambda v: v.id))
        place = {pool.name: i for i, pool in enumerate(pools)}
        home = np.array([place.get(v.pool, -1) for v in volumes], np.intp)
        nothing = np.asarray(load(None), float)
        patterns, kind = _distinct(v.workload for v in volumes)
        loads = np.array([nothing, *map(load, patterns)])[1:]
        modelled = ~np.isnan(latency(
            np.arange(len(pools)), np.tile(nothing, (len(pools), 1))))
        devices, device = _distinct(pool.device_key for pool in pools)
        members, begins = _by_device(
            np.flatnonzero(modelled), device[modelled], len(devices))
        lives = [pools[at] if at >= 0 else None for at in home]
        typed = {name for pool in pools for name in pool.refuses}
        rules, group = _distinct(
            (pool and pool.zone, volume.required_backend_name,
             volume.volume_type if volume.volume_type in typed else None)
            for volume, pool in zip(volumes, lives))
        return cls(
            cluster, limits, latency, volumes, home,
            np.array([v.size_gib for v in volumes], float),
            np.array([v.attached for v in volumes], np.intp),
            device, modelled, members, begins, loads, kind,
            np.array([load(each) for each in COPY], float),
            _open(rules, pools) & modelled, group,
            _refusals(volumes, lives, {pools[i].name for i in members},
                      limits))

    @functools.cached_property
    def candidates(self) -> Ints:
        """The volumes that may move: large blocks, then few GiB, first."""
        able = np.array([i for i in range(len(self.volumes))
                         if i not in self.refusals], np.intp)
        block = np.array([self.volumes[i].workload.block_kib for i in able])
        return able[np.lexsort((self.size_gib[able], -block))]

    @functools.cached_property
    def copy_s(self) -> Floats:
        """s[volumes]: how long a copy of each takes."""
        rates = np.array(self.limits.copying.s_per_gib)
        return self.size_gib * rates[self.attached]

    @functools.cached_property
    def promise_us(self) -> Floats:
        """µs[volumes], infinite for a volume without a promise."""
        return np.array([np.inf if v.max_latency_us is None
                         else v.max_latency_us for v in self.volumes], float)

    @functools.cached_property
    def promised(self) -> Ints:
        """The volumes with a promise."""
        return np.flatnonzero(np.isfinite(self.promise_us))

    @functools.cached_property
    def shared(self) -> bool:
        """Whether a device holds more than one pool with a model."""
        return bool((np.diff(self.begins) > 1).any())

    def load(self, volumes: Ints) -> Floats:
        """float[features] that volumes, in the order of ids, add up to."""
        return self.loads[self.kind[volumes]].sum(axis=0)

    def device_loads(self) -> Floats:
        """float[devices, features] of the cluster as it was observed."""
        known = np.flatnonzero(self.home >= 0)
        volumes, begins = _by_device(
            known, self.device[self.home[known]], len(self.begins) - 1)
        return np.array([
            self.load(volumes[begin:end])
            for begin, end in itertools.pairwise(begins)
        ]).reshape(-1, self.loads.shape[1])


def _by_device(items: Ints, device: Ints, count: int) -> tuple[Ints, Ints]:
    """Items sorted by their device, and where each device begins."""
    order = np.argsort(device, kind='stable')
    return items[order], np.searchsorted(device[order], np.arange(count + 1))


def _open(rules: Iterable[tuple[str | None, str | None, str | None]],
          pools: Sequence[cl.Pool]) -> Bools:
    found = [[lm.target_refusal(*rule, pool) is None for pool in pools]
             for rule in rules]
    return np.array(found, bool).reshape(len(found), len(pools))


def _refusals(volumes: Iterable[cl.Volume], lives: Iterable[cl.Pool | None],
              modelled: set[str], limits: lm.Limits) -> dict[int, str]:
    reasons = (
        lm.volume_refusal(volume, pool, bool(pool) and pool.name in modelled,
                          limits.active_floor)
        for volume, pool in zip(volumes, lives))
    return {i: reason for i, reason in enumerate(reasons)
            if reason is not None}


def _distinct(items: Iterable[Hashable]) -> tuple[list[Any], Ints]:
    """The distinct items, and for each item its place among them."""
    place: dict[Hashable, int] = {}
    index = [place.setdefault(item, len(place)) for item in items]
    return list(place), np.array(index, np.intp)
