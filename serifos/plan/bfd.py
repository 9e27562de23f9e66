# SPDX-License-Identifier: Apache-2.0
"""Best fit decreasing over the whole cluster, Algorithm 1 of [1]_.

The volumes are tried by decreasing block size, of equal ones that with fewer
GiB, each on the host with the least predicted latency. Read literally the
algorithm adds a volume to its own host a second time when it prices staying,
and never settles; here a volume is lifted off first, so that staying costs
what its pool sees now.

As printed it is one pass that looks at the mean latency of the receiving host
alone. Otherwise hosts are compared by their planning figures, a move must be
one that :mod:`.acceptance` accepts, and passes repeat until a whole one moves
nothing.

.. [1] Z. Yao, I. Papapanagiotou, R. Griffith, Serifos: Workload
   Consolidation and Load Balancing for SSD Based Cloud Storage Systems.
"""

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


def plan(cluster: cl.Cluster, models: pr.Predictions, limits: lm.Limits,
         paper: bool = False) -> pl.Plan:
    """Best fit decreasing until a pass over all volumes moves nothing.

    :param models: predictions for the pools in the cluster's order
    :param paper: as printed, one pass without a minimum gain
    """
    first = st.State.of(pm.Problem.of(cluster, models, limits))
    steps, last = _steps(first, limits.max_moves, paper)
    truncated = bool(steps) and bool(
        _steps(last.carried_out(), 1, paper)[0]) and (
            not paper or len(steps) == limits.max_moves)
    return summary.plan(
        'bfd --paper' if paper else 'bfd', first, last, steps, truncated,
        [summary.FASTEST] * len(steps) if paper else ())


def _steps(state: st.State, most: int | None,
           paper: bool) -> tuple[list[summary.Step], st.State]:
    """The moves, and the state that they lead to."""
    volumes = np.flatnonzero(state.problem.able)
    block = [state.problem.volumes[v].workload.block_kib for v in volumes]
    order = np.lexsort((state.problem.size_gib[volumes], np.negative(block)))
    steps: list[summary.Step] = []
    moved = True
    while moved:
        moved = False
        for volume in volumes[order]:
            target = _best_host(state, int(volume), paper)
            if target is not None and len(steps) != most:
                steps.append((int(volume), target))
                state = state.moved(*steps[-1])
                moved = not paper
    return steps, state


def _best_host(state: st.State, volume: int, paper: bool) -> int | None:
    """The pool with the least latency for a volume, where that is another.

    A tie stays, and of several pools the first wins.
    """
    problem, one, at = state.problem, np.array([volume]), state.home[volume]
    if not paper and not acceptance.hot(state, one)[0]:
        return None
    pools = np.flatnonzero(oc.allowed(state, one)[0])
    if not len(pools):
        return None
    device = problem.device[pools]
    loads = state.loads[device] + problem.loads[volume]
    price, stays = (
        problem.models.latency(pools, loads), state.latency_us[at]
    ) if paper else (
        problem.figure_us(device, loads), state.figure_us[problem.device[at]])
    best = pools[[price.argmin()]]
    if price.min() < stays and (paper or acceptance.accepted(
            state, oc.outcomes(state, one, best))[0]):
        return int(best[0])
    return None
