# SPDX-License-Identifier: Apache-2.0
"""The few moves that relieve the slowest pools most.

Each move is taken off the slowest pool that has an acceptable one
(:meth:`serifos.plan.limits.Limits.accepts`): of that pool's, the one that
leaves the least worst latency in the cluster and, of equals, the least
variance over the pools.
"""

from __future__ import annotations

import dataclasses
import functools

import numpy as np

from serifos.facts import cluster as cl
from serifos.plan import copying
from serifos.plan import greedy
from serifos.plan import limits as lm
from serifos.plan import outcomes
from serifos.plan import plan as pl
from serifos.plan import problem as pm
from serifos.plan.problem import Ints
from serifos.plan import reach
from serifos.plan import state as st

MAX_MOVES = 4
"""Moves of a plan where the limits name none."""


def plan(cluster: cl.Cluster, load: pm.LoadOf, latency: pm.LatencyOf,
         limits: lm.Limits) -> pl.Plan:
    """At most ``limits.max_moves`` moves, each the one that relieves most.

    :param load: workload → float[features], additive
    :param latency: (int[n] pools in the cluster's order, float[n, features])
        → µs[n], NaN where a pool has no model
    """
    if limits.max_moves is None:
        limits = dataclasses.replace(limits, max_moves=MAX_MOVES)
    return greedy.plan(
        'relieve', pm.Problem.of(cluster, load, latency, limits), _search)


def _search(problem: pm.Problem, volumes: Ints) -> greedy.Search:
    return functools.partial(_next, np.sort(volumes))


def _next(volumes: Ints, state: st.State) -> greedy.Found | None:
    """The best move off the slowest pool that has one."""
    within = reach.Reach(state)
    home = state.home[volumes]
    pools = np.flatnonzero(np.bincount(home))
    for pool in pools[np.argsort(-state.latency_us[pools], kind='stable')]:
        ranked = _ranked(state, within.acceptable(volumes[home == pool]))
        found = greedy.first_accepted(state, zip(ranked.volume, ranked.target))
        if found is not None:
            return found
    return None


def _ranked(state: st.State, found: outcomes.Outcomes) -> outcomes.Outcomes:
    """Best first, the smaller volume of equals; ten digits count.

    A copy's price is added to the worst latency that its move leaves.
    """
    was = state.score
    worst = found.worst_us + copying.penalty_us(state, found)
    return found[np.lexsort((
        found.target, found.volume, state.problem.size_gib[found.volume],
        np.round(found.variance_us2 / (was.variance_us2 or 1), 10),
        np.round(worst / (was.max_us or 1), 10)))]
