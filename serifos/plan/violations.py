# SPDX-License-Identifier: Apache-2.0
"""SLOs (``serifos:max_latency_us``): met, violated, restored.

An SLO is one volume's, and is judged by what that volume would see on its
pool; by the mean of the pool where the pool's model does not tell tenants
apart. A move that breaks one would harm another tenant. An SLO that is
violated already hinders no move off a hot device, or an overloaded cluster
could not be relieved.

A move off a device with a violated SLO restores one, or at least eases:
what is seen beyond the SLOs on its two devices falls by min_gain, and so
does the greater figure of the two; no SLO is exceeded by more. Without
the fall of the figure, moves lead round in circles.

Planning ends, for every accepted move lowers this: the number of violated
SLOs and, where that stays, the figures of all devices, compared from the
greatest down. A move that restores an SLO breaks none, so the number
falls. No other raises it, and each other lowers the greater figure of its two
devices and changes no third's, so that the figures, sorted, fall at the first
place where they differ. Both follow from where the volumes live, of which
there are finitely many ways, so none comes twice. What exceeds SLOs is no
part of this: a move off a hot device may raise it.
"""

from __future__ import annotations

import dataclasses

import numpy as np

from serifos.plan import limits
from serifos.plan.outcomes import Outcomes
from serifos.plan.problem import Bools
from serifos.plan.problem import Floats
from serifos.plan.problem import Ints
from serifos.plan.problem import Problem
from serifos.plan.state import State


def broken(state: State) -> Ints:
    """The volumes that exceed their SLO."""
    return state.problem.slos.volumes[state.beyond_us > 0]


def violated(first: State, state: State) -> Ints:
    """The volumes whose SLOs are violated as measured.

    In a later state those of them that are predicted to do so there, or on
    whose devices nothing changed.

    :param first: as it was observed
    """
    slos = state.problem.slos
    its, home = slos.volumes, state.home[slos.volumes]
    device = state.problem.device[home]
    same = (home == first.home[its]) & (
        state.loads[device] == first.loads[device]).all(axis=(1, 2))
    return its[slos.violated & (home >= 0) & (
        same | (state.beyond_us > 0))]


def forecast(first: State, state: State) -> Ints:
    """The other volumes whose SLOs are predicted to be violated."""
    return np.setdiff1d(broken(state), violated(first, state))


def exceeded(state: State) -> Bools:
    """bool[devices]: those with a violated SLO."""
    problem, found = state.problem, np.zeros(len(state.loads), bool)
    found[problem.device[state.home[broken(state)]]] = True
    return found


def breaks(state: State, moves: Outcomes) -> Bools:
    """bool[n]: whether a move violates an SLO that is met before it.

    Of the volumes on both devices, the moved one included.
    """
    if not len(state.problem.slos.volumes):
        return np.zeros(len(moves.volume), bool)
    return Touched.by(state, moves).breaks


def whose(state: State, moves: Outcomes) -> Ints:
    """int[n]: the first volume whose SLO a move violates, -1 for none."""
    none = len(state.problem.volumes)
    found = np.full(len(moves.volume), none)
    if len(state.problem.slos.volumes):
        touched = Touched.by(state, moves)
        late = touched.which[touched.anew]
        np.minimum.at(found, touched.row[touched.anew],
                      state.problem.slos.volumes[late])
    return np.where(found < none, found, -1)


def eases(state: State, moves: Outcomes) -> Bools:
    """bool[n]: whether SLOs are exceeded by less, none by more."""
    return Touched.by(state, moves).eases(state, moves)


def excess_us(state: State) -> Floats:
    """µs[devices]: what tenants of each see beyond their SLOs, in all."""
    problem = state.problem
    home = state.home[problem.slos.volumes]
    here = home >= 0
    return np.bincount(problem.device[home[here]], state.beyond_us[here],
                       len(state.loads))


def relief(state: State, volumes: Ints) -> tuple[Floats, Bools]:
    """The most by which leaving a device may lower what exceeds SLOs there.

    :returns: µs[n] by which it falls, and whether an SLO is restored,
        if the volume meets its SLO on its target
    """
    problem = state.problem
    source = problem.device[state.home[volumes]]
    row, which = _on(state, source)
    late = state.beyond_us[which] > 0
    row, which = row[late], which[late]
    then = np.zeros(len(which))
    bundle = problem.bonds.bundle
    stays = bundle[problem.slos.volumes[which]] != bundle[volumes[row]]
    then[stays] = problem.slos.beyond_us(
        which[stays], state.home[problem.slos.volumes[which[stays]]],
        state.loads[source] - problem.carried[volumes], row[stays])
    keeps = np.zeros(len(volumes), bool)
    keeps[row[then == 0]] = True
    return np.bincount(
        row, state.beyond_us[which] - then, len(volumes)), keeps


@dataclasses.dataclass(frozen=True, eq=False)
class Touched:
    """The SLOs on the devices of moves, before and after each.

    :param moves: how many
    :param row: int[n], the move of each
    :param which: int[n], index into the volumes with an SLO
    :param was_us: µs[n] beyond the SLO before the move; 0 where kept
    :param then_us: after it
    :param allowed_us: what an SLO may be exceeded by after the move so
        that it is not exceeded by more; slightly above ``was_us``
    :param violated: bool[n], whether it is measured to be broken
    """

    moves: int
    row: Ints
    which: Ints
    was_us: Floats
    then_us: Floats
    allowed_us: Floats
    violated: Bools

    @classmethod
    def by(cls, state: State, moves: Outcomes) -> Touched:
        problem, number = state.problem, len(moves.volume)
        source = problem.device[state.home[moves.volume]]
        there = problem.device[moves.target]
        its, bundle = problem.carried[moves.volume], problem.bonds.bundle
        loads = np.concatenate([state.loads[source] - its,
                                state.loads[there] + its])
        row, which = _on(state, np.concatenate([source, there]))
        stays = bundle[problem.slos.volumes[which]] != bundle[
            moves.volume[row % number]]
        row, which = row[stays], which[stays]
        comes, own = _comes(problem, moves.volume)
        pools = np.concatenate([state.home[problem.slos.volumes[which]],
                                moves.target[comes]])
        row = np.concatenate([row, number + comes])
        which = np.concatenate([which, own])
        was = state.beyond_us[which]
        return cls(number, row % number, which, was,
                   problem.slos.beyond_us(which, pools, loads, row),
                   was + limits.LEAST_GAIN * problem.slos.us[
                       problem.slos.volumes[which]],
                   problem.slos.violated[which] & (was > 0))

    @property
    def anew(self) -> Bools:
        """bool[n]: SLOs that the move violates."""
        return (self.then_us > 0) & (self.was_us == 0)

    @property
    def breaks(self) -> Bools:
        """bool[moves]: whether a move violates any SLO."""
        return self._any(self.anew)

    @property
    def keeps(self) -> Bools:
        """bool[moves]: whether a move restores any violated SLO."""
        return self._any((self.then_us == 0) & (self.was_us > 0))

    @property
    def restores(self) -> Bools:
        """bool[moves]: the same of one that is measured to be broken."""
        return self._any((self.then_us == 0) & self.violated)

    @property
    def mends(self) -> Bools:
        """bool[moves]: whether such a one is exceeded by less."""
        return self._any((self.then_us < self.was_us) & self.violated)

    @property
    def deepens(self) -> Bools:
        """bool[moves]: whether any SLO is exceeded by more."""
        return self._any(self.then_us > self.allowed_us)

    @property
    def excess_us(self) -> tuple[Floats, Floats]:
        """µs[moves]: the sum beyond SLOs before a move, and after it."""
        return (np.bincount(self.row, self.was_us, self.moves),
                np.bincount(self.row, self.then_us, self.moves))

    def eases(self, state: State, moves: Outcomes) -> Bools:
        """bool[moves]: whether SLOs are exceeded by less, none by more."""
        least = state.problem.thresholds.keeps[moves.volume]
        was, then = self.excess_us
        return ((was > 0) & (then <= was * least) & ~self.breaks
                & ~self.deepens & (moves.worse_us <= moves.before_us * least))

    def _any(self, which: Bools) -> Bools:
        found = np.zeros(self.moves, bool)
        found[self.row[which]] = True
        return found


def _comes(problem: Problem, volumes: Ints) -> tuple[Ints, Ints]:
    """The volumes with an SLO that move with others: (row, which) each."""
    bundle = problem.bonds.bundle
    of = bundle[problem.slos.volumes]
    order = np.argsort(of, kind='stable')
    first = np.searchsorted(of[order], bundle[volumes])
    number = np.searchsorted(of[order], bundle[volumes], 'right') - first
    row = np.repeat(np.arange(len(volumes)), number)
    start = np.cumsum(number) - number
    return row, order[first[row] + np.arange(len(row)) - start[row]]


def _on(state: State, devices: Ints) -> tuple[Ints, Ints]:
    """The volumes with an SLO on devices: (row of the device, which) each."""
    problem = state.problem
    home = state.home[problem.slos.volumes]
    which = np.flatnonzero(home >= 0)
    at = problem.device[home[which]]
    order = np.argsort(at, kind='stable')
    which, at = which[order], at[order]
    first = np.searchsorted(at, devices)
    number = np.searchsorted(at, devices, 'right') - first
    row = np.repeat(np.arange(len(devices)), number)
    start = np.cumsum(number) - number
    return row, which[first[row] + np.arange(len(row)) - start[row]]
