# SPDX-License-Identifier: Apache-2.0
"""Moves that would part volumes, or bring them together, against their bonds.

Of a plan that was made some time ago, or is carried out in part.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from serifos.facts import cluster as cl
from serifos.plan.affinity import bonds as bd
from serifos.plan import plan as pl


def bundles(cluster: cl.Cluster) -> dict[str, str]:
    """Volume → the first of those that move with it, where there are any."""
    volumes = cluster.volumes
    found = _bonds(cluster)[0]
    return {volumes[each].id: volumes[first].id
            for first, its in found.bundles.items() for each in its.tolist()}


def of(cluster: cl.Cluster, moves: Sequence[pl.Move]) -> dict[str, str]:
    """Volume → why its move, as one of these, would break a bond.

    :param cluster: as it is now
    """
    found, home = _bonds(cluster)
    if not found:
        return {}
    place = {volume.id: i for i, volume in enumerate(cluster.volumes)}
    pools = {pool.name: i for i, pool in enumerate(cluster.pools)}
    then = home.copy()
    for move in moves:
        if move.volume in place and move.target in pools:
            then[place[move.volume]] = pools[move.target]
    said = {move.volume: _why(cluster, found, home, then, place[move.volume])
            for move in moves if move.volume in place}
    return {volume: why for volume, why in said.items() if why is not None}


def _bonds(cluster: cl.Cluster) -> tuple[bd.Bonds, bd.Ints]:
    place = {pool.name: i for i, pool in enumerate(cluster.pools)}
    home = np.array([place.get(volume.pool, -1)
                     for volume in cluster.volumes], np.intp)
    return bd.Bonds.of(cluster.volumes, home), home


def _why(cluster: cl.Cluster, bonds: bd.Bonds, home: bd.Ints, then: bd.Ints,
         volume: int) -> str | None:
    volumes, pools = cluster.volumes, cluster.pools
    for other in bonds.with_it(volume).tolist():
        if then[other] != then[volume]:
            return (f'volume {volumes[other].id}, with which it shares a '
                    'pool, does not come with it')
    others = bonds.not_with(home, volume)
    if others and then[volume] not in then[others]:
        return (f'it is to share a pool with volume {volumes[others[0]].id}, '
                f'on {pools[home[others[0]]].name}')
    there = pools[then[volume]].device_key
    for other in bonds.apart_from(home, volume):
        if pools[then[other]].device_key == there and (
                pools[home[other]].device_key
                != pools[home[volume]].device_key):
            return (f'it is to be kept apart from volume {volumes[other].id},'
                    f' on {pools[then[other]].name}')
    return None
