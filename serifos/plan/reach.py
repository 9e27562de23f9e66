# SPDX-License-Identifier: Apache-2.0
"""Bounds that rule out moves without predicting their latency.

Whatever a move does to its two devices, the cluster's worst latency is at
least the worst of the others, and its sum of squares at least theirs about
their own mean. Where neither bound allows a fall by min_gain, no move
between these devices is acceptable.
"""

from __future__ import annotations

from collections.abc import Iterator
import dataclasses

import numpy as np

from serifos.plan import outcomes as oc
from serifos.plan.problem import Bools
from serifos.plan.problem import Ints
from serifos.plan import state as st

_WORTH = 0.1
"""Bounds are used where min_gain x devices is at least this: below it they
rule out hardly any move, and computing them costs more than it saves."""


class Reach:
    """The bounds for moves from one state, computed once per device."""

    def __init__(self, state: st.State) -> None:
        self._state = state
        self._devices = len(state.problem.begins) - 1
        self._known: dict[int, Bools] = {}

    def acceptable(self, volumes: Ints) -> oc.Outcomes:
        """All moves of these volumes that may be acceptable."""
        state = self._state
        found = [oc.outcomes(state, volumes[:0], volumes[:0])]
        for some, reach in self._batches(volumes):
            among = oc.allowed(state, some) & reach
            if 4 * among.sum() > among.size and not state.problem.shared:
                outcomes = oc.outcomes_of_most(state, some, among)
            else:
                row, target = np.nonzero(among)
                outcomes = oc.outcomes(state, some[row], target)
            found.append(oc.screen(state, outcomes))
        return oc.Outcomes(*(
            np.concatenate([getattr(p, field.name) for p in found])
            for field in dataclasses.fields(oc.Outcomes)))

    def promising(self, volumes: Ints) -> Bools:
        """bool[volumes]: those that may have an acceptable move."""
        state = self._state
        hopeful = np.zeros(len(state.problem.volumes), bool)
        for some, reach in self._batches(volumes):
            if 2 * reach.sum() < reach.size:  # else pricing all costs as much
                row, target = np.nonzero(oc.allowed(state, some) & reach)
                some = oc.screen(state, oc.outcomes(
                    state, some[row], target)).volume
            hopeful[some] = True
        return hopeful[volumes]

    def _batches(self, volumes: Ints) -> Iterator[tuple[Ints, Bools]]:
        """Batches of volumes with bool[volumes, pools] of possible targets.

        Volumes of a device off which no move can be accepted are left out.
        """
        problem = self._state.problem
        device = problem.device[self._state.home[volumes]]
        alive = self._possible(device).any(axis=1)
        for some in oc.batches(problem, volumes[alive]):
            here = problem.device[self._state.home[some]]
            yield some, self._possible(here)[:, problem.device]

    def _possible(self, sources: Ints) -> Bools:
        """bool[sources, devices]: whether a move may be acceptable."""
        problem = self._state.problem
        if problem.limits.min_gain * len(problem.members) < _WORTH:
            return np.ones((len(sources), self._devices), bool)
        new = np.array(sorted({*sources.tolist()} - {*self._known}), np.intp)
        if len(new):
            self._known.update(zip(new.tolist(), _possible(self._state, new)))
        return np.array([self._known[source] for source in sources.tolist()],
                        bool).reshape(len(sources), self._devices)


def _possible(state: st.State, sources: Ints) -> Bools:
    problem, figures = state.problem, state.figures
    keeps = problem.limits.keeps + oc.SLACK
    sizes = np.diff(problem.begins)
    targets = np.arange(len(sizes))
    a = sources[:, None]
    rest = len(problem.members) - sizes[a] - sizes
    total = figures.total.sum() - figures.total[a] - figures.total
    squares = figures.squares.sum() - figures.squares[a] - figures.squares
    floor = squares - total * total / np.maximum(rest, 1)
    others = oc.worst_of_others(figures, *np.broadcast_arrays(a, targets))
    return (sizes > 0) & (targets != a) & (
        (others <= state.score.max_us * keeps)
        | (floor <= state.score.variance_us2 * len(problem.members) * keeps))
