# SPDX-License-Identifier: Apache-2.0
"""The default planner: promises first, then hot pools, then nothing.

Promises that are broken are kept again where a move can (:mod:`.promises`);
then hot pools are relieved, on small clouds by the best of many sequences
of moves (:mod:`.hot.beam`), on large ones and for pools of many small volumes
in rounds (:mod:`.hot.rounds`). Promises that are still broken are eased at
the end. Moves that keep one may take the space by which others could be
eased, and moves off hot pools may keep several; so, where any is left broken,
easing at the beginning is tried as well.
"""

from __future__ import annotations

from collections.abc import Sequence
import dataclasses
import operator

from serifos.facts import cluster as cl
from serifos.plan.hot import beam
from serifos.plan.hot import rounds
from serifos.plan import limits as lm
from serifos.plan import plan as pl
from serifos.plan import predictions as pr
from serifos.plan import problem as pm
from serifos.plan import promises
from serifos.plan import state as st
from serifos.plan import summary

SMALL = 20
"""Pools of a small cloud, at most."""

MAX_MOVES = 4
"""Moves of a plan on a small cloud where the limits name none."""


def plan(cluster: cl.Cluster, models: pr.Predictions, limits: lm.Limits
         ) -> pl.Plan:
    """Moves that keep promises and relieve hot pools.

    The plan is truncated where planning from the state that it leads to,
    with the space that its moves free, finds another move.

    :param models: predictions for the pools in the cluster's order
    """
    first = st.State.of(pm.Problem.of(cluster, models, limits))
    found = _best(first)
    truncated = bool(found.steps) and bool(_eased_last(
        _Found(found.state.carried_out()), once=True).steps)
    return summary.plan('relieve', first, found.state, found.steps,
                        truncated, found.why)


@dataclasses.dataclass(frozen=True, eq=False)
class _Found:
    """Moves, and where they lead.

    :param why: the reason of each, None for one that its figures tell
    """

    state: st.State
    steps: tuple[promises.Step, ...] = ()
    why: tuple[str | None, ...] = ()

    def then(self, steps: Sequence[promises.Step], why: Sequence[str | None],
             state: st.State) -> _Found:
        return _Found(state, (*self.steps, *steps), (*self.why, *why))

    @property
    def harm(self) -> tuple[int, float, int]:
        """Broken promises, µs beyond them, and moves."""
        beyond = self.state.beyond_us
        return (int((beyond > 0).sum()), float(beyond.sum()),
                len(self.steps))

    @property
    def left(self) -> int | None:
        """How many more moves a small cloud's plan may have; None if large."""
        most = self.state.problem.limits.max_moves or MAX_MOVES
        return most - len(self.steps) if self.small else None

    @property
    def small(self) -> bool:
        return len(self.state.room) <= SMALL

    def promises(self, easing: bool, once: bool = False) -> _Found:
        """With moves off pools with broken promises."""
        return self.then(*promises.steps(
            self.state, 1 if once else self.left, easing))

    def hot(self, once: bool = False) -> _Found:
        """With moves off hot pools."""
        steps, then = [], self.state
        if self.small:
            steps, then = beam.steps(self.state, self.left)
        if not steps:
            steps, then = rounds.steps(self.state, self.left, once)
        return self.then(steps, [None] * len(steps), then)


def _best(state: st.State) -> _Found:
    """Of two orders the one that leaves fewer promises broken.

    Of equals that which exceeds them by less, then that with fewer moves.
    """
    found = _eased_last(_Found(state))
    if not len(promises.broken(found.state)):
        return found
    return min(found, _Found(state).promises(easing=True).hot(),
               key=operator.attrgetter('harm'))


def _eased_last(found: _Found, once: bool = False) -> _Found:
    """Promises that a move keeps, hot pools, promises that moves ease.

    :param once: whether one move is enough to know
    """
    found = found.promises(easing=False, once=once)
    if not (once and found.steps):
        found = found.hot(once)
    if not (once and found.steps):
        found = found.promises(easing=True, once=once)
    return found
