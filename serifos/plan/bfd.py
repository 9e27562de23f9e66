# SPDX-License-Identifier: Apache-2.0
"""Best fit decreasing over the whole cluster, Algorithm 1 of [1]_.

The volumes are tried by decreasing block size, each on the host with the
least predicted latency. Read literally the algorithm adds a volume to its own
host a second time when it prices staying, and never settles; here a volume is
lifted off first, so that staying costs what its pool sees now. A move must
also be acceptable by :meth:`serifos.plan.limits.Limits.accepts`: the paper
looks at the receiving host alone. Passes repeat until a whole one moves
nothing. An acceptable move that is then left does not lead to a volume's best
host: the first volume that has one goes to the best acceptable host, and
passes begin again.

.. [1] Z. Yao, I. Papapanagiotou, R. Griffith, Serifos: Workload
   Consolidation and Load Balancing for SSD Based Cloud Storage Systems.
"""

from __future__ import annotations

import numpy as np

from serifos.facts import cluster as cl
from serifos.plan import greedy
from serifos.plan import limits as lm
from serifos.plan import outcomes
from serifos.plan import plan as pl
from serifos.plan import problem as pm
from serifos.plan.problem import Floats
from serifos.plan.problem import Ints
from serifos.plan import reach
from serifos.plan import state as st


def plan(cluster: cl.Cluster, load: pm.LoadOf, latency: pm.LatencyOf,
         limits: lm.Limits) -> pl.Plan:
    """Best fit decreasing until a pass over all volumes moves nothing.

    :param load: workload → float[features], additive
    :param latency: (int[n] pools in the cluster's order, float[n, features])
        → µs[n], NaN where a pool has no model
    """
    return greedy.plan(
        'bfd', pm.Problem.of(cluster, load, latency, limits), _Passes)


class _Passes:
    """Passes over volumes; each search goes on where the last one ended.

    Only a volume's best host is tried, as in the paper, until no volume
    finds it acceptable. What a batch of volumes would see on the pools is
    kept from search to search: a move changes two devices only.
    """

    def __init__(self, problem: pm.Problem, volumes: Ints) -> None:
        self._batches = list(outcomes.batches(problem, volumes))
        self._batch = self._row = 0
        self._priced: tuple[Floats, st.State] | None = None

    def __call__(self, state: st.State) -> greedy.Found | None:
        """The first volume whose best host takes it, and that host."""
        within = reach.Reach(state)
        for _ in range(len(self._batches) and len(self._batches) + 1):
            found = self._search(state, within)
            if found is not None:
                return found
            self._batch = (self._batch + 1) % len(self._batches)
            self._row, self._priced = 0, None
        self._batch = 0
        return self._second_choice(state, within)

    def _second_choice(self, state: st.State,
                       within: reach.Reach) -> greedy.Found | None:
        for batch in self._batches:
            found = within.acceptable(batch)
            if not len(found.volume):
                continue
            rows = np.argsort(batch)[np.searchsorted(
                np.sort(batch), found.volume)]
            price = outcomes.prices(state, batch)[rows, found.target]
            order = np.lexsort((found.target, price, rows))
            step = greedy.first_accepted(
                state, zip(found.volume[order], found.target[order]))
            if step is not None:
                return step
        return None

    def _search(self, state: st.State,
                within: reach.Reach) -> greedy.Found | None:
        batch = self._batches[self._batch]
        rows = self._row + np.flatnonzero(
            within.promising(batch[self._row:]))
        if not len(rows):
            return None
        some = batch[rows]
        target = outcomes.best(state, some, outcomes.allowed(state, some),
                               self._prices(state)[rows])
        moving = target >= 0
        hopeful = outcomes.screen(state, outcomes.outcomes(
            state, some[moving], target[moving]))
        found = greedy.first_accepted(
            state, zip(hopeful.volume, hopeful.target))
        if found is not None:
            self._row = int(np.flatnonzero(batch == found[0][0])[0]) + 1
        return found

    def _prices(self, state: st.State) -> Floats:
        batch = self._batches[self._batch]
        if self._priced is None:
            price = outcomes.prices(state, batch)
        else:
            price, was = self._priced
            outcomes.reprice(price, batch, was, state)
        self._priced = price, state
        return price
