# SPDX-License-Identifier: Apache-2.0
"""The planning problem as arrays: what no move of a plan changes."""

from __future__ import annotations

from collections.abc import Hashable
from collections.abc import Iterable
from collections.abc import Sequence
import dataclasses
import functools
import operator
from typing import Any

import numpy as np
import numpy.typing as npt

from serifos.facts.cluster import Cluster
from serifos.facts.cluster import Pool
from serifos.facts.cluster import Volume
from serifos.facts import workload
from serifos.plan import affinity
from serifos.plan.affinity import Bonds
from serifos.plan.limits import keeps
from serifos.plan.limits import Limits
from serifos.plan.limits import target_refusal
from serifos.plan.limits import volume_refusal
from serifos.plan import predictions
from serifos.plan import slos
from serifos.plan.slots import OverSlots
from serifos.plan.slots import pieces
from serifos.plan.slots import present
from serifos.plan.slots import Slots


@dataclasses.dataclass(frozen=True, eq=False)
class Thresholds:
    """The thresholds of pools and moves: hot_ratio and min_gain.

    :param hot_ratio: float[devices]
    :param min_gain: float[volumes]
    :param by_type: bool[volumes], whether it is a volume type's own
    :param keeps: float[volumes], the part of a figure that may remain; as
        :attr:`.limits.Limits.keeps`
    """

    hot_ratio: Floats
    min_gain: Floats
    by_type: Bools
    keeps: Floats

    @classmethod
    def of(cls, limits: Limits, pools: Sequence[Pool], device: Ints,
           volumes: Sequence[Volume], bundle: Ints) -> Thresholds:
        """The thresholds of a cluster.

        :param device: int[pools], the device of each
        :param bundle: int[volumes], the first that each moves together with
        """
        ratio = np.full(device.max(initial=-1) + 1, np.inf)
        np.minimum.at(ratio, device, [
            limits.hot_ratio if pool.hot_ratio is None else pool.hot_ratio
            for pool in pools])
        said = [volume.min_gain for volume in volumes]
        own = np.array([each is not None for each in said], bool)
        gain = np.array([limits.min_gain if each is None else each
                         for each in said], float)
        most = np.zeros(len(volumes))
        np.maximum.at(most, bundle, gain)
        usual = np.zeros(len(volumes), bool)
        usual[bundle[~own & (gain >= most[bundle])]] = True
        gain = most[bundle]
        return cls(ratio, gain, ~usual[bundle], keeps(gain))

    def nearly(self, source: Ints, target: Ints) -> Floats:
        """float[n]: how far above the mean several moves may leave targets.

        Half of hot_ratio, so that none becomes hot; of the lower one, so that
        none becomes hotter than its source was.
        """
        return np.minimum(
            self.hot_ratio[source], self.hot_ratio[target]) / 2


def by_device(items: Ints, device: Ints, count: int) -> tuple[Ints, Ints]:
    """Items sorted by their device, and where each device begins."""
    order = np.argsort(device, kind='stable')
    return items[order], np.searchsorted(device[order], np.arange(count + 1))


def distinct(items: Iterable[Hashable]) -> tuple[list[Any], Ints]:
    """The distinct items, and for each item its place among them."""
    place: dict[Hashable, int] = {}
    index = [place.setdefault(item, len(place)) for item in items]
    return list(place), np.array(index, np.intp)


Floats = predictions.Floats
Ints = predictions.Ints
Bools = npt.NDArray[np.bool_]

_id = operator.attrgetter('id')

COPY = (workload.Workload(0.0, 128.0, 8.0, random_pct=0.0),
        workload.Workload(100.0, 128.0, 8.0, random_pct=0.0))
"""What a copy does to its source and to its target: sequential requests of
128 KiB, at most 1 MiB of them outstanding."""

QUEUED = workload.FEATURES.index('sum_iodepth')
"""The column of a Load with the outstanding I/Os."""

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
    :param loads: float[volumes, slots, features]; a typical one of its type
        stands in for a volume without telemetry
    :param able: bool[volumes], those that may move
    :param copies: float[2, features], the Loads of :data:`COPY`
    :param lives: bool[groups, pools], the pools that the rules allow
    :param group: int[volumes], a volume's row in ``lives``
    """

    cluster: Cluster
    limits: Limits
    models: OverSlots
    volumes: tuple[Volume, ...]
    home: Ints
    size_gib: Floats
    attached: Ints
    device: Ints
    modelled: Bools
    members: Ints
    begins: Ints
    loads: Floats
    able: Bools
    copies: Floats
    lives: Bools
    group: Ints

    @classmethod
    def of(cls, cluster: Cluster, models: predictions.Predictions,
           limits: Limits, slots: Slots | None = None) -> Problem:
        """The problem of a cluster.

        :param slots: what its volumes did; None for one slot, in which they
            do what the cluster says
        """
        pools = cluster.pools
        volumes = tuple(sorted(cluster.volumes, key=_id))
        place = {pool.name: i for i, pool in enumerate(pools)}
        home = np.array([place.get(v.pool, -1) for v in volumes], np.intp)
        modelled = ~np.isnan(models.latency(
            np.arange(len(pools)),
            np.repeat(models.loads([None]), len(pools), 0)))
        devices, device = distinct(pool.device_key for pool in pools)
        members, begins = by_device(
            np.flatnonzero(modelled), device[modelled], len(devices))
        its = models.loads(present(volumes))
        its = its[:, None] if slots is None else slots.loads(
            models, [*map(_id, volumes)], its)
        source = modelled & np.array([
            p.state == 'up' and p.balance for p in pools], bool)
        able = (home >= 0) & (its[..., 0] > 0).any(1) & np.array(
            [v.movable is True and v.workload is not None for v in volumes],
            bool)
        able[able] = source[home[able]]
        typed = {name for pool in pools for name in pool.refuses}
        zones = [pool.zone for pool in pools] + [None]
        rules, group = distinct(zip(
            (zones[at] for at in home.tolist()),
            (v.required_backend_name for v in volumes),
            (v.volume_type if v.volume_type in typed else None
             for v in volumes)))
        return cls(
            cluster, limits,
            OverSlots(models),
            volumes, home,
            np.array([v.size_gib for v in volumes], float),
            np.array([v.attached for v in volumes], np.intp), device,
            modelled, members, begins, its, able, models.loads(COPY),
            _lives(rules, pools) & modelled, group)

    def figure_us(self, devices: Ints, loads: Floats,
                  own: Floats | None = None) -> Floats:
        """The planning figure of devices under Loads, µs[n].

        The root mean square over a pool's own tenants of what each sees;
        where a pool's model does not tell tenants apart, the latency of the
        pool. Where :attr:`hot_by` says so, the 99th percentile in the mean,
        or how busy it is, µs of each second. The greatest of the device's
        pools that have a model. Every rule of planning compares this figure
        and no other.

        :param devices: int[n], each with at least one such pool
        :param loads: float[n, slots, features]
        :param own: likewise, of the tenants that count; None for all
        """
        own = loads if own is None else own
        if not self.shared:
            return self._by_all(self.members[self.begins[devices]], loads,
                                own)
        first, sizes = self.begins[devices], np.diff(self.begins)[devices]
        row = np.repeat(np.arange(len(devices)), sizes)
        start = np.cumsum(sizes) - sizes
        pools = self.members[first[row] + np.arange(len(row)) - start[row]]
        found = self._by_all(pools, loads[row], own[row])
        return np.maximum.reduceat(found, start) if len(row) else found

    def _by_all(self, pools: Ints, loads: Floats, own: Floats) -> Floats:
        """The figure of pools, µs[n]; 0 for an idle one."""
        found = np.empty(len(pools))
        for piece in pieces(*loads.shape[:2]):
            found[piece] = self.models.figure(
                pools[piece], loads[piece], own[piece])
        return found

    def changed_us(self, devices: Ints, loads: Floats, volumes: Ints,
                   sign: int) -> Floats:
        """The figure of devices with a volume more, or less, µs[n].

        And what moves with it.

        :param devices: int[n]
        :param loads: float[devices, slots, features], of all devices
        :param volumes: int[n], which comes to each, or leaves it
        :param sign: 1 where it comes, -1 where it leaves
        """
        found = np.empty(len(devices))
        for piece in pieces(len(devices), loads.shape[1]):
            at = devices[piece]
            found[piece] = self.figure_us(
                at, loads[at] + sign * self.carried[volumes[piece]])
        return found

    @functools.cached_property
    def bonds(self) -> Bonds:
        """What moves together, and what may not meet."""
        return Bonds.of(self.volumes, self.home)

    @functools.cached_property
    def thresholds(self) -> Thresholds:
        """From when on devices are hot, and moves worth making."""
        return Thresholds.of(
            self.limits, self.cluster.pools, self.device, self.volumes,
            self.bonds.bundle)

    @functools.cached_property
    def carried(self) -> Floats:
        """float[volumes, slots, features]: the Loads that move with each."""
        return self.bonds.summed(self.loads)

    @functools.cached_property
    def carried_gib(self) -> Floats:
        """GiB[volumes] that move with each."""
        return self.bonds.summed(self.size_gib)

    @functools.cached_property
    def carried_s(self) -> Floats:
        """s[volumes]: how long copies take of all that moves with each."""
        return self.bonds.summed(self.copy_s)

    @functools.cached_property
    def movers(self) -> Bools:
        """bool[volumes]: those to move; of a bundle its first volume."""
        found = self.able.copy()
        for first, its in self.bonds.bundles.items():
            found[its] = False
            found[first] = self.able[its].any() and all(
                affinity.own_reason(self.volumes[each]) is None
                for each in its.tolist())
        for volume in self.bonds.kin:
            found[volume] &= self.bonds.contradiction(volume) is None
        return found

    @property
    def hot_by(self) -> str:
        """What figures are of: :mod:`serifos.facts.hot_by` names it."""
        return self.models.models.hot_by

    @functools.cached_property
    def tenants(self) -> Floats:
        """float[slots, features]: the sum of the Loads of all volumes."""
        return self.loads.sum(axis=0, dtype=float)

    @functools.cached_property
    def active(self) -> Bools:
        """bool[volumes]: those with a Load in any slot."""
        return (self.loads[..., 0] > 0).any(1)

    def queued(self, loads: Floats) -> Floats:
        """The outstanding I/Os of Loads, over slots as their figures, n."""
        return self.models.one(loads[..., QUEUED])

    @functools.cached_property
    def copy_s(self) -> Floats:
        """s[volumes]: how long a copy of each takes."""
        rates = np.array(self.limits.copying.s_per_gib)
        return self.size_gib * rates[self.attached]

    @functools.cached_property
    def slos(self) -> slos.Slos:
        """The SLOs of volumes."""
        return slos.Slos.of(self.volumes, self.models, self.loads,
                            self.tenants, self.home)

    @functools.cached_property
    def shared(self) -> bool:
        """Whether a device holds more than one pool with a model."""
        return bool((np.diff(self.begins) > 1).any())

    @functools.cached_property
    def unexplained(self) -> Bools:
        """bool[pools]: those that do not fit their model."""
        return self.modelled & np.array([
            self.limits.unexplained(pool) is not None
            for pool in self.cluster.pools], bool)

    @functools.cached_property
    def open(self) -> Bools:
        """bool[groups, pools]: the targets that the rules allow."""
        return self.lives & ~self.unexplained

    @functools.cached_property
    def held(self) -> Bools:
        """bool[pools]: those that may be relieved as hot.

        As the limits say; one that does not fit its model only where its
        latency, which is as measured then, is over hot_ratio.
        """
        names, pools = self.limits.held, self.cluster.pools
        found = np.array([names is None or pool.name in names
                          for pool in pools], bool)
        if self.unexplained.any():
            found &= ~self.unexplained | self._slow
        return found

    @property
    def _slow(self) -> Bools:
        """bool[pools]: whose latency is over hot_ratio for some volume."""
        latency_us = self.models.latency(
            np.arange(len(self.device)),
            self.device_loads(self.home)[self.device])
        level_us = np.where(self.lives, latency_us, 0).sum(1) / np.maximum(
            1, self.lives.sum(1))
        here = np.flatnonzero((self.home >= 0) & self.active)
        at, found = self.home[here], np.zeros(len(latency_us), bool)
        found[at[latency_us[at] > level_us[self.group[here]] * (
            1 + self.thresholds.hot_ratio[self.device[at]])]] = True
        return found

    @functools.cached_property
    def predicted(self) -> Bools:
        """bool[devices]: those with a pool that has a model."""
        return np.diff(self.begins) > 0

    def device_loads(self, home: Ints,
                     which: Ints | None = None) -> Floats:
        """float[n, slots, features] where volumes live as given.

        :param home: int[volumes], -1 where a volume is not to count
        :param which: the devices, int[n]; None for all
        """
        here, count = np.flatnonzero(home >= 0), len(self.begins) - 1
        if which is None:
            which = np.arange(count)
        else:
            here = here[np.isin(self.device[home[here]], which)]
        volumes, begins = by_device(here, self.device[home[here]], count)
        found = np.empty((len(which), *self.loads.shape[1:]))
        for row, one in enumerate(which.tolist()):
            found[row] = self.loads[volumes[
                begins[one]:begins[one + 1]]].sum(axis=0, dtype=float)
        return found

    def refusal(self, volume: int) -> str | None:
        """Why a volume may not move whatever the target; '' for idle."""
        at, one = int(self.home[volume]), self.volumes[volume]
        pool = None if at < 0 else self.cluster.pools[at]
        why = volume_refusal(one, pool, at >= 0 and bool(
            self.modelled[at]),
            0.0 if self.active[volume] else np.inf)
        return affinity.others_reason(self.bonds, self.volumes, volume) if (
            why is None) else why


def _lives(rules: Iterable[tuple[str | None, str | None, str | None]],
           pools: Sequence[Pool]) -> Bools:
    found = [[target_refusal(*rule, pool) is None for pool in pools]
             for rule in rules]
    return np.array(found, bool).reshape(len(found), len(pools))
