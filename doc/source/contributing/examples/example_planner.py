# SPDX-License-Identifier: Apache-2.0
"""A planner that moves the busiest volume and no other."""

from __future__ import annotations

import dataclasses
import functools

import numpy as np

from serifos.facts import cluster as cl
from serifos.plan import greedy
from serifos.plan import limits as lm
from serifos.plan import plan as pl
from serifos.plan import problem as pm
from serifos.plan import reach
from serifos.plan import state as st


def plan(cluster: cl.Cluster, load: pm.LoadOf, latency: pm.LatencyOf,
         limits: lm.Limits) -> pl.Plan:
    """The volume with the most outstanding I/Os, to its best pool.

    :param load: workload → float[features], additive
    :param latency: (int[n] pools in the cluster's order, float[n, features])
        → µs[n], NaN where a pool has no model
    """
    limits = dataclasses.replace(limits, max_moves=1)
    problem = pm.Problem.of(cluster, load, latency, limits)
    return greedy.plan('hottest', problem, _search)


def _search(problem: pm.Problem, volumes: pm.Ints) -> greedy.Search:
    """Searches among volumes that may move, the hottest of them."""
    busiest_first = sorted(
        volumes, key=lambda i: -problem.volumes[i].workload.outstanding)
    return functools.partial(_next, np.array(busiest_first[:1], np.intp))


def _next(hottest: pm.Ints, state: st.State) -> greedy.Found | None:
    """The acceptable move with the least worst latency in the cluster."""
    found = reach.Reach(state).acceptable(hottest)
    best_first = found[np.lexsort((found.target, found.worst_us))]
    return greedy.first_accepted(
        state, zip(best_first.volume, best_first.target))
