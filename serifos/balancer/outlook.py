# SPDX-License-Identifier: Apache-2.0
"""What a plan comes to by the models of its pools."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from serifos.balancer import planning
from serifos.model.model import Model
from serifos.plan import outlook as outlooks
from serifos.plan.plan import Plan
from serifos.plan.state import State


def outlook(plan: Plan, first: State,
            found: Mapping[str, Model]) -> outlooks.Outlook:
    """What a plan comes to.

    :param first: what it begins with, of :func:`.planning.state`
    :param found: the models by their names
    """
    last = outlooks.carried_out(first, plan)
    return outlooks.of(plan, first, last, *(
        expected(each, found) for each in (first, last)))


def expected(state: State,
             found: Mapping[str, Model]) -> dict[str, outlooks.Expected]:
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
    return {pool.name: outlooks.Expected(
        pool.correction * least, pool.correction * most, beyond)
        for pool, least, most, beyond in zip(
            [cluster.pools[at] for at in pools], low.mean(1).tolist(),
            high.mean(1).tolist(), outside.any(1).tolist())}
