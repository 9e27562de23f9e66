# SPDX-License-Identifier: Apache-2.0
"""What a plan comes to by the models of its pools."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from serifos.balancer import planning
from serifos.facts import cluster as cl
from serifos.model import model as mm
from serifos.plan import limits as lm
from serifos.plan.loads import slots as sl
from serifos.plan.outlook import outlook as ol
from serifos.plan import plan as pl
from serifos.plan import state as st


def outlook(plan: pl.Plan, cluster: cl.Cluster, limits: lm.Limits,
            found: Mapping[str, mm.Model],
            slots: sl.Slots | None = None) -> ol.Outlook:
    """What a plan for this cluster comes to.

    :param found: the models by their names
    :param slots: what the volumes did; None for what the cluster says
    """
    first = planning.state(cluster, limits, found, slots)
    last = ol.carried_out(first, plan)
    return ol.of(plan, first, last,
                 *(expected(each, found) for each in (first, last)))


def expected(state: st.State,
             found: Mapping[str, mm.Model]) -> dict[str, ol.Expected]:
    """Pool → what its model expects, corrected; none without a model.

    The mean of the intervals of its slots: what makes a model err on a pool
    in one of them does so in the others.

    :param found: the models by their names
    """
    cluster = state.problem.cluster
    fleet = planning.models_of(cluster, found,
                               state.problem.limits.active_floor,
                               state.problem.hot_by)
    pools = np.flatnonzero(state.problem.modelled)
    loads = state.loads[state.problem.device[pools]]
    slots = loads.shape[1]
    low, high, outside = (each.reshape(-1, slots) for each in fleet.expected(
        np.repeat(pools, slots), loads.reshape(-1, loads.shape[2])))
    return {pool.name: ol.Expected(
        pool.correction * least, pool.correction * most, beyond)
        for pool, least, most, beyond in zip(
            [cluster.pools[at] for at in pools], low.mean(1).tolist(),
            high.mean(1).tolist(), outside.any(1).tolist())}
