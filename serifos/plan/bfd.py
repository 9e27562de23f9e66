# SPDX-License-Identifier: Apache-2.0
"""Which volumes should live elsewhere, over the whole cluster?

Best fit decreasing, Algorithm 1 of [1]_: the volumes by decreasing block
size, each to the host with the least predicted latency. Read literally the
algorithm adds a volume to its own host a second time when it prices
staying, and never settles; here a volume is lifted off first, so that
staying costs what its pool sees now. A move must also be acceptable by
:meth:`serifos.plan.limits.Limits.accepts`: the paper looks at the receiving
host alone. Passes repeat until a whole one moves nothing.

.. [1] Z. Yao, I. Papapanagiotou, R. Griffith, Serifos: Workload
   Consolidation and Load Balancing for SSD Based Cloud Storage Systems.
"""

from __future__ import annotations

from serifos import cluster as cl
from serifos.plan import limits as lm
from serifos.plan import pairs
from serifos.plan import plan as pl
from serifos.plan import problem as pm
from serifos.plan.problem import Ints
from serifos.plan import state as st
from serifos.plan import steps

_LEAST_CHUNK, _GREATEST_CHUNK = 16, 4096


def plan(cluster: cl.Cluster, load: pm.LoadOf, latency: pm.LatencyOf,
         limits: lm.Limits) -> pl.Plan:
    """Best fit decreasing until a pass over all volumes moves nothing.

    :param load: workload → float[features], additive
    :param latency: (int[n] pools in the cluster's order, float[n, features])
        → µs[n], NaN where a pool has no model
    """
    return steps.plan(
        'bfd', pm.Problem.of(cluster, load, latency, limits), _next)


def _next(state: st.State, queue: Ints) -> steps.Step | None:
    """The first volume whose best host takes it, and that host.

    The best host only, as in the paper: a volume whose best host is not
    acceptable stays.
    """
    chunk, done = _LEAST_CHUNK, 0
    while done < len(queue):
        some = pairs.promising(state, queue[done:done + chunk])
        for batch in pairs.batches(state, some):
            target, _ = pairs.best(state, batch, pairs.allowed(state, batch))
            moving = target >= 0
            hopeful = pairs.screen(state, pairs.outcomes(
                state, batch[moving], target[moving]))
            for step in zip(hopeful.volume, hopeful.target):
                if steps.accepted(state, step):
                    return step
        done, chunk = done + chunk, min(2 * chunk, _GREATEST_CHUNK)
    return None
