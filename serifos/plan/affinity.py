# SPDX-License-Identifier: Apache-2.0
"""Affinity of volumes: those that move together, those kept apart.

Those that are to share a pool and do are a bundle: they move together or not
at all. One that is to share a pool with others and does not may come to where
any of them is, and go nowhere else: what is broken is restored or left.
Those that are to be kept apart never come to the device of one another. Two
that share a device already may part.
"""

from __future__ import annotations

from collections.abc import Iterable
from collections.abc import Mapping
from collections.abc import Sequence
import dataclasses
import functools
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from serifos.facts.cluster import Cluster
from serifos.facts.cluster import Volume
from serifos.facts import labels
from serifos.facts.refusals import Code
from serifos.facts.refusals import Reason
from serifos.plan.plan import Move


Ints = npt.NDArray[np.intp]
Bools = npt.NDArray[np.bool_]

_NOBODY: Ints = np.zeros(0, np.intp)


class Apart(NamedTuple):
    """Volumes that are to be kept apart.

    :param members: in their order
    :param of_server: whether they are so for the server that they share,
        and not those that are to share a pool: metadata goes first
    """

    members: Ints
    of_server: bool


@dataclasses.dataclass(frozen=True, eq=False)
class Bonds:
    """The bonds of volumes, by their places among them.

    :param bundle: int[volumes], the first volume of its bundle for each;
        itself for one that moves alone
    :param bundles: first volume → all of its bundle, of two or more
    :param kin: volume → those that are to share a pool, it too
    :param apart: volume → the groups of those to be kept apart that it is in
    :param odd: volume → the first of those to be kept apart from one
        another, of all that are to share a pool with it
    """

    bundle: Ints
    bundles: Mapping[int, Ints]
    kin: Mapping[int, Ints]
    apart: Mapping[int, Sequence[Apart]]
    odd: Mapping[int, int]

    @classmethod
    def of(cls, volumes: Sequence[Volume], home: Ints) -> Bonds:
        """The bonds of volumes where they live.

        :param home: int[volumes], the pool of each, -1 for none
        """
        kin = {int(each): classed for classed in _classes(volumes)
               for each in classed}
        apart: dict[int, list[Apart]] = {}
        for label, several in _sharing(
                volume.different_pool for volume in volumes).items():
            group = Apart(np.array(several, np.intp),
                          label.startswith(labels.SERVER))
            if not group.of_server or len({
                    int(kin[each][0]) if each in kin else each
                    for each in several}) > 1:
                for each in several:
                    apart.setdefault(each, []).append(group)
        bundle = np.arange(len(volumes))
        bundles: dict[int, list[int]] = {}
        first: dict[tuple[int, int], int] = {}
        for each in sorted(kin):
            if home[each] >= 0:
                mine = first.setdefault(
                    (int(kin[each][0]), int(home[each])), each)
                bundle[each] = mine
                bundles.setdefault(mine, []).append(each)
        return cls(bundle, {mine: np.array(its, np.intp)
                            for mine, its in bundles.items() if len(its) > 1},
                   kin, apart, _odd(kin, apart))

    def __bool__(self) -> bool:
        return bool(self.kin or self.apart)

    @functools.cached_property
    def bound(self) -> Bools:
        """bool[volumes]: those that may not move as they like."""
        found = np.zeros(len(self.bundle), bool)
        found[[*self.kin, *self.apart]] = True
        return found

    def with_it(self, volume: int) -> Ints:
        """The volumes that move with one, itself too."""
        found = self.bundles.get(int(self.bundle[volume]))
        return np.array([volume], np.intp) if found is None else found

    def contradiction(self, volume: int) -> int | None:
        """One that it is to share a pool with, and to be kept apart from."""
        return self.odd.get(volume)

    def expanded(self, volumes: npt.ArrayLike,
                 targets: npt.ArrayLike) -> tuple[Ints, Ints, Ints]:
        """Moves with those of the volumes that go with each.

        :returns: volumes, targets, and of which move each is
        """
        volumes, targets = (np.atleast_1d(np.asarray(each, np.intp))
                            for each in (volumes, targets))
        if not self.bundles:
            return volumes, targets, np.arange(len(volumes))
        its = [self.with_it(volume) for volume in volumes.tolist()]
        row = np.repeat(np.arange(len(volumes)), [len(each) for each in its])
        return (np.concatenate([*its, np.zeros(0, np.intp)]), targets[row],
                row)

    def summed(self, each: npt.NDArray[np.float64]
               ) -> npt.NDArray[np.float64]:
        """float[volumes, ...] of volumes, added up over their bundles."""
        if not self.bundles:
            return each
        found = each.copy()
        for its in self.bundles.values():
            found[its] = each[its].sum(axis=0)
        return found

    def not_with(self, home: Ints, volume: int) -> Ints:
        """Those elsewhere that it is to share a pool with."""
        its = self.kin.get(volume, _NOBODY)
        return its[(self.bundle[its] != self.bundle[volume])
                   & (home[its] >= 0)]

    def apart_from(self, home: Ints, volume: int) -> Ints:
        """Those that its bundle is to be kept apart from, and not in it.

        Those of its first volume first.
        """
        found, seen = [_NOBODY], set[int]()
        for each in self.with_it(volume).tolist():
            new = [group for group in self.apart.get(each, ())
                   if id(group) not in seen]
            seen.update(map(id, new))
            its = [self._of(group, volume) for group in new]
            found.append(its[0] if len(its) == 1 else
                         np.unique(np.concatenate([_NOBODY, *its])))
        every = np.concatenate(found)
        return every[home[every] >= 0]

    def _of(self, group: Apart, volume: int) -> Ints:
        """Those of a group that the bundle of a volume is not to meet."""
        its = group.members[
            self.bundle[group.members] != self.bundle[volume]]
        return its[~np.isin(its, self.kin.get(volume, _NOBODY))] if (
            group.of_server) else its


def _odd(kin: Mapping[int, Ints],
         apart: Mapping[int, Sequence[Apart]]) -> dict[int, int]:
    """Volume → as of :class:`Bonds`."""
    found: dict[int, int] = {}
    for first, its in kin.items():
        if first != its[0]:
            continue
        here: dict[int, list[int]] = {}
        for each in its.tolist():
            for group in apart.get(each, ()):
                if not group.of_server:
                    here.setdefault(id(group), []).append(each)
        several = [both for both in here.values() if len(both) > 1]
        if several:
            one = min(both[0] for both in several)
            found.update(dict.fromkeys(its.tolist(), min(
                both[1] for both in several if both[0] == one)))
    return found


def _sharing(said: Iterable[tuple[str, ...]]) -> dict[str, list[int]]:
    """Label → the volumes that have it, where there are several."""
    found: dict[str, list[int]] = {}
    for volume, its in enumerate(said):
        for label in its and dict.fromkeys(its):
            found.setdefault(label, []).append(volume)
    return {label: its for label, its in found.items() if len(its) > 1}


def _classes(volumes: Sequence[Volume]) -> list[Ints]:
    """Volumes that labels join to be on one pool, in their order."""
    joined: dict[int, int] = {}  # volume → another of its class, or itself

    def root(volume: int) -> int:
        while (above := joined.setdefault(volume, volume)) != volume:
            joined[volume] = joined[above]
            volume = above
        return volume

    for several in _sharing(v.same_pool for v in volumes).values():
        first = root(several[0])
        for each in several:
            joined[root(each)] = first
    found: dict[int, list[int]] = {}
    for each in sorted(joined):
        found.setdefault(root(each), []).append(each)
    return [np.array(its, np.intp) for its in found.values()]


def own_reason(volume: Volume) -> str | None:
    """Why a volume itself may not move, idle or not, or None."""
    if volume.movable is not True:
        return volume.movable or 'not movable'
    return Code.NO_TELEMETRY.of() if volume.workload is None else None


def others_reason(bonds: Bonds, volumes: Sequence[Volume],
                  volume: int) -> str | None:
    """Why what a volume is bound to keeps it where it is, or None."""
    odd = bonds.contradiction(volume)
    if odd is not None:
        return Code.CONTRADICTION.of(volume=volumes[odd].id)
    return next((
        companion_stays(volumes[other], why)
        for other in bonds.with_it(volume).tolist() if other != volume
        and (why := own_reason(volumes[other])) is not None), None)


def companion_stays(other: Volume, why: str) -> Reason:
    """That a volume stays, since one that moves with it does."""
    return Code.COMPANION_STAYS.of(volume=other.id,
                                   why=f'which stays: {why}')


def bundles(cluster: Cluster) -> dict[str, str]:
    """Volume → the first of those that move with it, where there are any."""
    volumes = cluster.volumes
    found = _bonds(cluster)[0]
    return {volumes[each].id: volumes[first].id
            for first, its in found.bundles.items() for each in its.tolist()}


def against(cluster: Cluster, moves: Sequence[Move]) -> dict[str, str]:
    """Volume → why its move, as one of these, would break a bond.

    :param cluster: as it is now
    """
    found, home = _bonds(cluster)
    if not found:
        return {}
    place = {volume.id: i for i, volume in enumerate(cluster.volumes)}
    pools = {pool.name: i for i, pool in enumerate(cluster.pools)}
    then, now = home.copy(), home.copy()
    known = [(place[move.volume], pools[move.target]) for move in moves
             if move.volume in place and move.target in pools]
    for volume, target in known:
        then[volume] = target
    said: dict[str, str] = {}
    for volume, target in known:
        why = _parted(cluster, found, home, then, volume) or _met(
            cluster, found, home, now, volume, target)
        if why is None:
            now[volume] = target
        else:
            said[cluster.volumes[volume].id] = why
    return said


def _bonds(cluster: Cluster) -> tuple[Bonds, Ints]:
    place = {pool.name: i for i, pool in enumerate(cluster.pools)}
    home = np.array([place.get(volume.pool, -1)
                     for volume in cluster.volumes], np.intp)
    return Bonds.of(cluster.volumes, home), home


def _parted(cluster: Cluster, bonds: Bonds, home: Ints,
            then: Ints, volume: int) -> str | None:
    """Why a volume would not share a pool with those that it is to, or None.

    :param then: int[volumes], the pool of each after all moves
    """
    volumes, pools = cluster.volumes, cluster.pools
    its = bonds.with_it(volume)
    its = its[then[its] != then[volume]]
    if len(its):
        return Code.COMPANION_LEFT.of(volume=volumes[its[0]].id)
    others = bonds.not_with(home, volume)
    if len(others) and then[volume] not in then[others]:
        return Code.COMPANIONS_ELSEWHERE.of(
            volume=volumes[others[0]].id, pool=pools[home[others[0]]].name)
    return None


def _met(cluster: Cluster, bonds: Bonds, home: Ints, now: Ints,
         volume: int, target: int) -> str | None:
    """Why a volume would meet one that it is to be kept apart from, or None.

    Two that share a device already may stay on it.

    :param now: int[volumes], the pool of each before its move
    """
    volumes, pools = cluster.volumes, cluster.pools
    odd = bonds.contradiction(volume)
    if odd is not None:
        return Code.CONTRADICTION.of(volume=volumes[odd].id)

    def device(pool: int) -> str | None:
        return pools[pool].device_key if pool >= 0 else None

    there = device(target)
    foe = next((other for other in bonds.apart_from(home, volume)
                if device(now[other]) == there and not (
                    device(home[other]) == device(home[volume]) == there)),
               None)
    return None if foe is None else Code.KEPT_APART.of(
        volume=volumes[foe].id, pool=pools[now[foe]].name)
