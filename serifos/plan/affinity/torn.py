# SPDX-License-Identifier: Apache-2.0
"""Moves that would part volumes, or bring them together, against their bonds.

Of a plan that was made some time ago, or is carried out in part.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from serifos.facts.cluster import Cluster
from serifos.facts.refusals import Code
from serifos.plan.affinity.bonds import Bonds
from serifos.plan.affinity.bonds import Ints
from serifos.plan.affinity import staying
from serifos.plan.plan import Move


def bundles(cluster: Cluster) -> dict[str, str]:
    """Volume → the first of those that move with it, where there are any."""
    volumes = cluster.volumes
    found = _bonds(cluster)[0]
    return {volumes[each].id: volumes[first].id
            for first, its in found.bundles.items() for each in its.tolist()}


def of(cluster: Cluster, moves: Sequence[Move]) -> dict[str, str]:
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
        return staying.elsewhere(volumes[others[0]], pools[home[others[0]]])
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
        return staying.contradicted(volumes[odd])

    def device(pool: int) -> str | None:
        return pools[pool].device_key if pool >= 0 else None

    there = device(target)
    foe = next((other for other in bonds.apart_from(home, volume)
                if device(now[other]) == there and not (
                    device(home[other]) == device(home[volume]) == there)),
               None)
    return None if foe is None else staying.apart(
        volumes[foe], pools[now[foe]])
