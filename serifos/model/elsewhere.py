# SPDX-License-Identifier: Apache-2.0
"""What will pools see of tenants who ask for less where they wait longer?

A Load is additive as long as a tenant's own part of it is known before. A
tenant that answers to latency has another q on another device: a vector
here holds one Load for each model of the fleet, a tenant's with the q that
is expected of it there, and a pool reads its own model's. So it is additive
still, and planners need know nothing of it.

How many requests it will have outstanding there, relative fitness says: by
the relation of the two devices, and by what the models of both foretell of
its latency.
"""

from __future__ import annotations

from collections.abc import Iterator
from collections.abc import Mapping
from collections.abc import Sequence
import dataclasses

import numpy as np
import numpy.typing as npt

from serifos import cluster as cl
from serifos.model import fleet
from serifos.model import model as mm
from serifos.model import relation as rl
from serifos import workload as wl

Floats = npt.NDArray[np.float64]
Relations = Mapping[tuple[str, str], rl.Relation]
"""(model of the pool where it is, model of the other one) → relation."""

_MOST_TIMES = 100.0
"""A model may foretell no latency at all; nobody gets faster by more."""


class Elsewhere:
    """As :class:`.fleet.Fleet`, each workload as it will be on each model.

    :param models: the model of each pool, in the pools' order, None where a
        pool has none
    :param names: the name of each pool's model, by which
        :meth:`.Workload.on` knows it
    """

    def __init__(self, models: Sequence[mm.Model | None],
                 names: Sequence[str | None],
                 floor: float = wl.ACTIVE_FLOOR) -> None:
        self._fleet = fleet.Fleet(models, floor)
        self._names = sorted({name for name in names if name is not None})
        self._block = np.array([
            0 if name is None else self._names.index(name)
            for name in names], np.intp)
        self.features = max(1, len(self._names)) * self._fleet.features

    def load(self, workload: wl.Workload | None) -> Floats:
        """The Loads of one workload, model by model: float[features]."""
        return np.concatenate([self._fleet.load(
            workload and workload.on(name)) for name in self._names or ['']])

    def latency(self, pools: npt.NDArray[np.intp], loads: Floats) -> Floats:
        """As :meth:`.fleet.Fleet.latency`."""
        own = loads.reshape(len(loads), -1, self._fleet.features)
        return self._fleet.latency(
            pools, own[np.arange(len(loads)), self._block[pools]])


def expected(cluster: cl.Cluster, models: Mapping[str, mm.Model],
             known: Relations, floor: float) -> cl.Cluster:
    """The cluster, each active tenant with what it will ask elsewhere.

    Its company on another model is taken as what that model's pools hold in
    the mean: a plan has not chosen between them yet.
    """
    if not known:
        return cluster
    model_of = {pool.name: pool.model for pool in cluster.pools
                if pool.model in models}
    loads = dict(_loads(cluster, model_of, models, floor))
    company = {stem: _mean([loads[pool] for pool, its in model_of.items()
                            if its == stem]) for stem in models}

    def answered(volume: cl.Volume) -> cl.Volume:
        home, workload = model_of.get(volume.pool), volume.workload
        if home is None or not _seen(workload, floor):
            return volume
        now = models[home].predict(loads[volume.pool])
        found = tuple(
            (stem, relation.expect(workload, _factor(
                now, models[stem].predict(company[stem] + models[stem].load(
                    [workload], floor)))).workload.outstanding)
            for stem in models
            if (relation := known.get((home, stem))) is not None)
        return dataclasses.replace(volume, workload=dataclasses.replace(
            workload, elsewhere=found)) if found else volume
    return dataclasses.replace(
        cluster, volumes=tuple(map(answered, cluster.volumes)))


def _loads(cluster: cl.Cluster, model_of: Mapping[str, str | None],
           models: Mapping[str, mm.Model], floor: float
           ) -> Iterator[tuple[str, wl.Load]]:
    by_device: dict[str, list[wl.Workload | None]] = {}
    key = {pool.name: pool.device_key for pool in cluster.pools}
    for volume in cluster.volumes:
        if volume.pool in key:
            by_device.setdefault(key[volume.pool], []).append(volume.workload)
    for pool, stem in model_of.items():
        yield pool, models[stem].load(by_device.get(key[pool], ()), floor)


def _mean(loads: list[wl.Load]) -> wl.Load:
    count = max(1, len(loads))
    return wl.Load(*(sum(each) / count for each in zip(
        *(load.vector for load in loads)))) if loads else wl.Load()


def _seen(workload: wl.Workload | None, floor: float) -> bool:
    return bool(workload and workload.is_active(floor) and workload.iops
                and workload.latency_us)


def _factor(now: float, then: float) -> float:
    least, most = 1 / _MOST_TIMES, _MOST_TIMES
    return min(max(then / now, least), most) if now > 0 else 1.0
