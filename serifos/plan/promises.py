# SPDX-License-Identifier: Apache-2.0
"""Latency promises (``serifos:max_latency_us``): kept, broken, kept again.

A promise is one volume's, and is judged by what that volume would see on its
pool; by the mean of the pool where the pool's model does not tell tenants
apart. A move that breaks one would harm another tenant. A promise that is
broken already hinders no move, or an overloaded cluster could not be
relieved.
"""

from __future__ import annotations

import dataclasses

import numpy as np

from serifos.plan import limits as lm
from serifos.plan import outcomes as oc
from serifos.plan.problem import Bools
from serifos.plan.problem import Floats
from serifos.plan.problem import Ints
from serifos.plan import state as st


def broken(state: st.State) -> Ints:
    """The volumes that see more than they were promised."""
    return state.problem.promised[state.beyond_us > 0]


def breaks(state: st.State, moves: oc.Outcomes) -> Bools:
    """bool[n]: whether a move breaks a promise that is kept before it.

    Of the volumes on both devices, the moved one included.
    """
    if not len(state.problem.promised):
        return np.zeros(len(moves.volume), bool)
    return _Touched.by(state, moves).breaks


def whose(state: st.State, volume: int, target: int) -> int | None:
    """The first volume whose promise a move to ``target`` breaks, or None."""
    found = _Touched.by(state, oc.outcomes(
        state, np.array([volume]), np.array([target])))
    late = state.problem.promised[found.which[found.anew]]
    return int(late.min()) if len(late) else None


@dataclasses.dataclass(frozen=True, eq=False)
class _Touched:
    """The promises on the devices of moves, before and after each.

    :param moves: how many
    :param row: int[n], the move of each
    :param which: int[n], index into the promised volumes
    :param was_us: µs[n] beyond the promise before the move; 0 where kept
    :param then_us: after it
    """

    moves: int
    row: Ints
    which: Ints
    was_us: Floats
    then_us: Floats

    @classmethod
    def by(cls, state: st.State, moves: oc.Outcomes) -> _Touched:
        problem, number = state.problem, len(moves.volume)
        source = problem.device[state.home[moves.volume]]
        there = problem.device[moves.target]
        its = problem.loads[moves.volume]
        loads = np.concatenate([state.loads[source] - its,
                                state.loads[there] + its])
        row, which = _on(state, np.concatenate([source, there]))
        stays = problem.promised[which] != moves.volume[row % number]
        row, which = row[stays], which[stays]
        comes = np.flatnonzero(np.isin(moves.volume, problem.promised))
        own = np.searchsorted(problem.promised, moves.volume[comes])
        pools = np.concatenate([state.home[problem.promised[which]],
                                moves.target[comes]])
        row = np.concatenate([row, number + comes])
        which = np.concatenate([which, own])
        return cls(number, row % number, which, state.beyond_us[which],
                   problem.beyond_us(which, pools, loads, row))

    @property
    def anew(self) -> Bools:
        """bool[n]: promises that the move breaks."""
        return (self.then_us > 0) & (self.was_us == 0)

    @property
    def breaks(self) -> Bools:
        """bool[moves]: whether a move breaks any promise."""
        found = np.zeros(self.moves, bool)
        found[self.row[self.anew]] = True
        return found

    @property
    def gain_us(self) -> Floats:
        """µs[moves] that a move takes off the sum beyond promises.

        0 where it keeps none again.
        """
        kept = np.zeros(self.moves, bool)
        kept[self.row[(self.then_us == 0) & (self.was_us > 0)]] = True
        return np.where(kept, np.bincount(
            self.row, self.was_us - self.then_us, self.moves), 0.0)


def _on(state: st.State, devices: Ints) -> tuple[Ints, Ints]:
    """The promised volumes on devices: (row of the device, which) each."""
    problem = state.problem
    home = state.home[problem.promised]
    which = np.flatnonzero(home >= 0)
    at = problem.device[home[which]]
    order = np.argsort(at, kind='stable')
    which, at = which[order], at[order]
    first = np.searchsorted(at, devices)
    number = np.searchsorted(at, devices, 'right') - first
    row = np.repeat(np.arange(len(devices)), number)
    start = np.cumsum(number) - number
    return row, which[first[row] + np.arange(len(row)) - start[row]]


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
    late = state.beyond_us > 0
    home = state.home[state.problem.promised[late]]
    excess = np.bincount(state.problem.device[home], state.beyond_us[late])
    return [int(d) for d in np.argsort(-excess, kind='stable')
            if excess[d] > 0]


def _best(state: st.State, device: int) -> tuple[int, int] | None:
    """The move off a device that repairs most; then the smaller volume."""
    problem = state.problem
    able = np.flatnonzero(problem.able)
    volumes = able[problem.device[state.home[able]] == device]
    moves = oc.every(state, volumes, oc.coolest(state))
    gain = _repairs(state, moves)
    order = np.lexsort((moves.volume, moves.worse_us, problem.size_gib[
        moves.volume], -gain))
    if not len(order) or not gain[order[0]]:
        return None
    return int(moves.volume[order[0]]), int(moves.target[order[0]])


def _repairs(state: st.State, moves: oc.Outcomes) -> Floats:
    """µs[n] that moves take off the sum beyond promises.

    0 where a move breaks a promise, or makes none kept again.
    """
    found = _Touched.by(state, moves)
    gain = found.gain_us
    return np.where(found.breaks | (moves.left_us > moves.before_us)
                    | (gain <= lm.LEAST_GAIN), 0.0, gain)
