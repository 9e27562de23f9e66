# SPDX-License-Identifier: Apache-2.0
"""Pools and volumes that only plans asked for by a person may use."""

from __future__ import annotations

import dataclasses

from serifos.facts.cluster import Cluster
from serifos.plan import evacuate
from serifos.plan.plan import Plan
from serifos.plan import undo


def of(plan: Plan, cluster: Cluster) -> Cluster:
    """The cluster as what is left of a plan may use it.

    Volumes that are moved back are not held by their cool-down, nor those of
    a pool that is evacuated by its ``serifos_balance``. Pools that did not
    fit their models when the plan was made are as usable as then.
    """
    if plan.unexplained:
        cluster = dataclasses.replace(cluster, pools=tuple(
            dataclasses.replace(pool, unexplained=None)
            if pool.name in plan.unexplained else pool
            for pool in cluster.pools))
    if plan.planner == undo.NAME:
        return undo.released(cluster, {move.volume for move in plan.moves})
    if plan.planner == evacuate.NAME:
        left = {move.source for move in plan.moves}
        return dataclasses.replace(cluster, pools=tuple(
            dataclasses.replace(pool, balance=True) if pool.name in left
            else pool for pool in cluster.pools))
    return cluster
