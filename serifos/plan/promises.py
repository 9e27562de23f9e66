# SPDX-License-Identifier: Apache-2.0
"""Latency promises (``serifos:max_latency_us``): kept, broken, kept again.

SerifosFilter keeps them when Cinder places a volume: a move that breaks one
would be refused there, or harm another tenant. A promise that is broken
already hinders no move, or an overloaded cluster could not be relieved.
"""

from __future__ import annotations

import numpy as np

from serifos.plan import limits as lm
from serifos.plan import outcomes as oc
from serifos.plan.problem import Bools
from serifos.plan.problem import Floats
from serifos.plan.problem import Ints
from serifos.plan import state as st


def seen_us(state: st.State, volumes: Ints) -> Floats:
    """µs[volumes] that each is predicted to see, NaN where nothing is."""
    home = state.home[volumes]
    return np.where(home >= 0, state.figure_us[
        state.problem.device[home]], np.nan)


def broken(state: st.State) -> Ints:
    """The volumes that see more than they were promised."""
    promised = state.problem.promised
    return promised[seen_us(state, promised)
                    > state.problem.promise_us[promised]]


def breaks(state: st.State, moves: oc.Outcomes) -> Bools:
    """bool[n]: whether a move breaks a promise that is kept before it.

    Of the volumes on the target's device, the moved one included.
    """
    problem = state.problem
    if not len(problem.promised):
        return np.zeros(len(moves.volume), bool)
    own = problem.promise_us[moves.volume]
    least = _least_kept(state)[problem.device[moves.target]]
    return (moves.came_us > least) | (
        (moves.came_us > own) & ~(moves.before_us > own))


def whose(state: st.State, volume: int, target: int,
          came_us: float) -> int | None:
    """The first volume whose promise a move to ``target`` breaks, or None."""
    problem = state.problem
    kept = np.setdiff1d(problem.promised, broken(state))
    near = kept[((state.home[kept] >= 0) & (
        problem.device[state.home[kept]] == problem.device[target]))
        | (kept == volume)]
    return next((int(v) for v in near if came_us > problem.promise_us[v]),
                None)


def _least_kept(state: st.State) -> Floats:
    """µs[devices]: the least promise that is kept, infinite without one."""
    problem = state.problem
    kept = np.setdiff1d(problem.promised, broken(state))
    kept = kept[state.home[kept] >= 0]
    least = np.full(len(state.figure_us), np.inf)
    np.minimum.at(least, problem.device[state.home[kept]],
                  problem.promise_us[kept])
    return least


def steps(state: st.State,
          most: int | None) -> tuple[list[tuple[int, int]], st.State]:
    """Moves that keep broken promises again, and where they lead.

    Off a device with a broken promise: that which lowers most the sum of
    what tenants see beyond their promises, breaks none, and keeps one again.
    Devices are tried by that sum, until a pass over them finds nothing.

    :param most: at most so many, None for any number
    """
    found: list[tuple[int, int]] = []
    while True:
        before = len(found)
        for device in _worst_first(state):
            while most is None or len(found) < most:
                step = _best(state, device)
                if step is None:
                    break
                state = state.moved(*step)
                found.append(step)
        if len(found) == before:
            return found, state


def _worst_first(state: st.State) -> list[int]:
    """The devices with broken promises, by the sum of what exceeds them."""
    late = broken(state)
    device = state.problem.device[state.home[late]]
    excess = np.bincount(device, seen_us(state, late)
                         - state.problem.promise_us[late])
    return [int(d) for d in np.argsort(-excess, kind='stable')
            if excess[d] > 0]


def _best(state: st.State, device: int) -> tuple[int, int] | None:
    """The move off a device that repairs most; then the smaller volume."""
    problem = state.problem
    able = np.flatnonzero(problem.able)
    volumes = able[problem.device[state.home[able]] == device]
    moves = oc.every(state, volumes, oc.coolest(state))
    gain = _repairs(state, device, moves)
    order = np.lexsort((moves.volume, moves.worse_us, problem.size_gib[
        moves.volume], -gain))
    if not len(order) or not gain[order[0]]:
        return None
    return int(moves.volume[order[0]]), int(moves.target[order[0]])


def _repairs(state: st.State, device: int, moves: oc.Outcomes) -> Floats:
    """µs[n] that moves off a device take off the sum beyond promises.

    0 where a move breaks a promise, or makes none kept again.
    """
    problem = state.problem
    there = problem.device[moves.target]
    here = _promised_on(state, device)
    was = _beyond(state.figure_us[[device]], problem.promise_us[here])
    stays = here != moves.volume[:, None]
    left = _beyond(moves.left_us, problem.promise_us[here], stays)
    found = np.zeros(len(moves.volume))
    for target in np.unique(there):
        rows = there == target
        on = problem.promise_us[_promised_on(state, int(target))]
        came = moves.came_us[rows]
        own = came - problem.promise_us[moves.volume[rows]]
        before = was + _beyond(state.figure_us[[target]], on)
        after = left[:, rows] + _beyond(came, on) + np.array(
            [own > 0, np.maximum(own, 0.0)])
        found[rows] = np.where(after[0] < before[0], before[1] - after[1], 0)
    bad = (breaks(state, moves) | (moves.left_us > moves.before_us)
           | (found <= lm.LEAST_GAIN))
    return np.where(bad, 0.0, found)


def _beyond(latency_us: Floats, promise_us: Floats,
            counts: Bools | bool = True) -> Floats:
    """float[2, n]: broken promises, and the sum of what is beyond them."""
    over = np.where(counts, latency_us[:, None] - promise_us, 0.0)
    return np.array([(over > 0).sum(1), np.maximum(over, 0.0).sum(1)])


def _promised_on(state: st.State, device: int) -> Ints:
    promised = state.problem.promised
    home = state.home[promised]
    return promised[(home >= 0) & (state.problem.device[home] == device)]
