# SPDX-License-Identifier: Apache-2.0
"""What is left of a plan that was made some time ago."""

from __future__ import annotations

from collections.abc import Collection
from collections.abc import Mapping
from collections.abc import Sequence

from serifos.balancer.moving import batch
from serifos.balancer import planning
from serifos.facts.cluster import Cluster
from serifos.plan import affinity
from serifos.plan.limits import Limits
from serifos.plan.plan import Move

ASKED = 'its move was requested already'


def remaining(moves: Sequence[Move], cluster: Cluster,
              limits: Limits, asked: Collection[str] = ()
              ) -> tuple[list[Move], list[tuple[str, str]]]:
    """The moves that are still possible, and why others are not.

    A move whose volume has changed since is left out, and with it those that
    bring a volume where another one was to leave first, and stays, and those
    of volumes that are to share a pool with it.

    :param cluster: as it is now
    :param asked: volumes whose moves are not to be requested again
    :returns: the moves, and (volume, reason) for each other
    """
    parted: dict[str, str] = {}
    while True:
        found, left = _once(moves, cluster, limits, asked, parted)
        more = affinity.against(cluster, found)
        if not more:
            return found, left
        parted.update(more)


def _once(moves: Sequence[Move], cluster: Cluster, limits: Limits,
          asked: Collection[str], parted: Mapping[str, str]
          ) -> tuple[list[Move], list[tuple[str, str]]]:
    """The same, where some moves are known to break a bond.

    :param parted: volume → which
    """
    found: list[Move] = []
    left: list[tuple[str, str]] = []
    unmade = batch.Unmade(batch.devices_of(cluster), affinity.bundles(cluster))
    homes = {volume.id: volume.pool for volume in cluster.volumes}
    for move in moves:
        why = planning.changed(move, cluster, limits) or unmade.why_not(
            move) or (ASKED if move.volume in asked else None) or parted.get(
                move.volume)
        if why is None:
            found.append(move)
            cluster = cluster.filled(move.target, move.size_gib)
            continue
        left.append((move.volume, why))
        if homes.get(move.volume) == move.source:
            unmade.add(move.volume, move.source)
    return found, left
