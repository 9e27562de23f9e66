# SPDX-License-Identifier: Apache-2.0
"""The pools to which the bonds of a volume let it move, in a state."""

from __future__ import annotations

import numpy as np

from serifos.facts.refusals import Code
from serifos.plan.problem import Bools
from serifos.plan.problem import Ints
from serifos.plan.state import State


def pools(state: State, volume: int) -> Bools:
    """bool[pools]: those that bonds leave to a volume and its bundle.

    And that the rules allow to all that moves with it.
    """
    problem, home = state.problem, state.home
    bonds = problem.bonds
    found = problem.open[problem.group[bonds.with_it(volume)]].all(axis=0)
    others = home[bonds.not_with(home, volume)]
    if len(others):
        there = np.zeros(len(found), bool)
        # Once it is with some of them, it stays.
        there[others] = not (others == home[volume]).any()
        found &= there
    foes = home[bonds.apart_from(home, volume)]
    if len(foes):
        found &= ~np.isin(problem.device, problem.device[foes])
    return found


def every(state: State, volumes: Ints) -> Bools:
    """bool[volumes, pools], as :func:`pools`."""
    problem = state.problem
    found = problem.open[problem.group[volumes]]
    for row in np.flatnonzero(problem.bonds.bound[volumes]).tolist():
        found[row] = pools(state, int(volumes[row]))
    return found


def each(state: State, volumes: Ints, targets: Ints) -> Bools:
    """bool[n]: whether each volume may move to its target."""
    problem = state.problem
    found = problem.open[problem.group[volumes], targets]
    bound = np.flatnonzero(problem.bonds.bound[volumes])
    for volume in np.unique(volumes[bound]).tolist():
        rows = bound[volumes[bound] == volume]
        found[rows] = pools(state, volume)[targets[rows]]
    return found


def why_not(state: State, volume: int, target: int) -> str | None:
    """Why bonds keep a volume from a pool, or None."""
    problem, home = state.problem, state.home
    bonds, named = problem.bonds, problem.volumes
    if not bonds.bound[volume]:
        return None
    others = bonds.not_with(home, volume)
    if len(others) and (target not in home[others]
                        or home[volume] in home[others]):
        return Code.COMPANIONS_ELSEWHERE.of(
            volume=named[others[0]].id,
            pool=problem.cluster.pools[home[others[0]]].name)
    there = problem.device[target]
    foes = bonds.apart_from(home, volume)
    foes = foes[problem.device[home[foes]] == there]
    return None if not len(foes) else Code.KEPT_APART.of(
        volume=named[foes[0]].id,
        pool=problem.cluster.pools[home[foes[0]]].name)
