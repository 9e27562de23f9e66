# SPDX-License-Identifier: Apache-2.0
"""A planner that moves the busiest volume and no other."""

from __future__ import annotations

import numpy as np

from serifos.facts.cluster import Cluster
from serifos.plan import acceptance
from serifos.plan.limits import Limits
from serifos.plan import outcomes
from serifos.plan.plan import Plan
from serifos.plan.predictions import Predictions
from serifos.plan.problem import Problem
from serifos.plan.state import State
from serifos.plan import summary


def plan(cluster: Cluster, models: Predictions, limits: Limits
         ) -> Plan:
    """The volume with the most outstanding I/Os, to its best pool.

    :param models: predictions for the pools in the cluster's order
    """
    first = State.of(Problem.of(cluster, models, limits))
    step = _step(first)
    if step is None:
        return summary.plan('hottest', first, first, [], truncated=False)
    last = first.after(*step)
    return summary.plan('hottest', first, last, [step],
                        truncated=_step(last.carried_out()) is not None)


def _step(state: State) -> tuple[int, int] | None:
    """The accepted move of the busiest volume that leaves least, if any."""
    able = np.flatnonzero(state.able)
    busiest = sorted(able, key=lambda i: -state.problem.volumes[
        i].workload.outstanding)[:1]
    found = outcomes.every(state, np.array(busiest, np.intp))
    found = found[acceptance.accepted(state, found)]
    if not len(found.volume):
        return None
    best = found.worse_us.argmin()
    return int(found.volume[best]), int(found.target[best])
