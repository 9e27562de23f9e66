# SPDX-License-Identifier: Apache-2.0
"""A planner that moves the busiest volume and no other."""

from __future__ import annotations

import numpy as np

from serifos.facts import cluster as cl
from serifos.plan import acceptance
from serifos.plan import limits as lm
from serifos.plan import outcomes as oc
from serifos.plan import plan as pl
from serifos.plan import predictions as pr
from serifos.plan import problem as pm
from serifos.plan import state as st
from serifos.plan import summary


def plan(cluster: cl.Cluster, models: pr.Predictions, limits: lm.Limits
         ) -> pl.Plan:
    """The volume with the most outstanding I/Os, to its best pool.

    :param models: predictions for the pools in the cluster's order
    """
    first = st.State.of(pm.Problem.of(cluster, models, limits))
    step = _step(first)
    if step is None:
        return summary.plan('hottest', first, first, [], truncated=False)
    last = first.moved(*step)
    return summary.plan('hottest', first, last, [step],
                        truncated=_step(last.carried_out()) is not None)


def _step(state: st.State) -> tuple[int, int] | None:
    """The accepted move of the busiest volume that leaves least, if any."""
    able = np.flatnonzero(state.problem.able)
    busiest = sorted(able, key=lambda i: -state.problem.volumes[
        i].workload.outstanding)[:1]
    found = oc.every(state, np.array(busiest, np.intp))
    found = found[acceptance.accepted(state, found)]
    if not len(found.volume):
        return None
    best = found.worse_us.argmin()
    return int(found.volume[best]), int(found.target[best])
