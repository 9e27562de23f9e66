# SPDX-License-Identifier: Apache-2.0
"""Placement by free space, as Cinder's CapacityWeigher: the baseline."""

from __future__ import annotations

from serifos.facts.cluster import Cluster
from serifos.facts.cluster import Pool
from serifos.facts.cluster import Volume
from serifos.plan import limits


def place(volume: Volume, cluster: Cluster) -> str | None:
    """The pool that Cinder's available-capacity rule chooses.

    Of the pools that fit the one with the most free space; the first of
    several (section 3.2 of the paper, and Cinder's CapacityWeigher).

    :returns: its name, or None where no pool fits
    """
    best = max(fitting(volume, cluster), key=lambda pool: pool.free_gib,
               default=None)
    return best and best.name


def fitting(volume: Volume, cluster: Cluster) -> list[Pool]:
    """The pools that are up, of the type's backend and have room."""
    return [pool for pool in cluster.pools
            if pool.free_gib >= volume.size_gib
            and limits.target_refusal(
                pool.zone, volume.required_backend_name,
                volume.volume_type, pool) is None]
