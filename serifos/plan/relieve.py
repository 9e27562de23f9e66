# SPDX-License-Identifier: Apache-2.0
"""The default planner: SLOs, pools that fill up, hot pools, then nothing.

SLOs that are violated are restored where a move can
(:mod:`.search.slo_moves`); pools that their own growth fills are left
(:mod:`.search.filling`); then hot pools are relieved, on small clouds by the
best of many sequences of moves (:mod:`.search.beam`), on large ones and for
pools of many small volumes in rounds (:mod:`.search.relief`). SLOs that are
still violated are eased at the end. Moves that keep one may take the space by
which others could be eased, and moves off hot pools may keep several; so,
where any is left broken, easing at the beginning is tried as well.
"""

from __future__ import annotations

from collections.abc import Sequence
import dataclasses
import operator

from serifos.facts.cluster import Cluster
from serifos.plan.limits import Limits
from serifos.plan.outcomes import Step
from serifos.plan.plan import Plan
from serifos.plan.predictions import Predictions
from serifos.plan.problem import Problem
from serifos.plan.quota import Quota
from serifos.plan.search import beam
from serifos.plan.search import filling
from serifos.plan.search import relief
from serifos.plan.search import slo_moves
from serifos.plan.slots import Slots
from serifos.plan.state import State
from serifos.plan import summary
from serifos.plan import violations

MAX_MOVES = 4
"""Moves of a plan on a small cloud where the limits name none."""


def plan(cluster: Cluster, models: Predictions, limits: Limits,
         slots: Slots | None = None) -> Plan:
    """As :func:`of`, for a cluster.

    :param models: predictions for the pools in the cluster's order
    :param slots: as of :meth:`.problem.Problem.of`
    """
    return of(Problem.of(cluster, models, limits, slots))


def of(problem: Problem) -> Plan:
    """Moves that meet SLOs, free space and relieve hot pools.

    The plan is truncated where planning from the state that it leads to,
    with the space that its moves free, finds another move.
    """
    first = State.of(problem)
    quota = Quota.of(first.problem, MAX_MOVES)
    found = _best(_Found(first, quota))
    truncated = bool(found.steps) and bool(_eased_last(
        _Found(found.state.carried_out(), quota), once=True).steps)
    return summary.plan('relieve', first, found.state, found.steps,
                        truncated, found.why, found.quota)


@dataclasses.dataclass(frozen=True, eq=False)
class _Found:
    """Moves, and where they lead.

    :param why: the reason of each, None for one that its figures tell
    """

    state: State
    quota: Quota
    steps: tuple[Step, ...] = ()
    why: tuple[str | None, ...] = ()

    def then(self, steps: Sequence[Step], why: Sequence[str | None],
             state: State, quota: Quota) -> _Found:
        return _Found(state, quota, (*self.steps, *steps), (*self.why, *why))

    @property
    def harm(self) -> tuple[int, float, int]:
        """Violated SLOs, µs beyond them, and moves."""
        violations = self.state.beyond_us
        return (int((violations > 0).sum()), float(violations.sum()),
                len(self.steps))

    def slos(self, easing: bool) -> _Found:
        """With moves off pools with violated SLOs."""
        made = slo_moves.steps(self.state, self.quota, easing)
        return self.then(made.steps, made.why, made.state, made.quota)

    def filling(self) -> _Found:
        """With moves off pools that their own growth fills."""
        return self.then(*filling.steps(self.state, self.quota))

    def hot(self, once: bool = False) -> _Found:
        """With moves off hot pools."""
        if not self.quota.each and self.quota.left:
            steps, state = beam.steps(
                self.state, 1 if once else int(self.quota.left))
            if steps:
                left = self.state.home[[volume for volume, _ in steps]]
                return self.then(steps, [None] * len(steps), state,
                                 self.quota.after(
                                     state.problem.device[left]))
        steps, state, quota = relief.steps(self.state, self.quota, once)
        return self.then(steps, [None] * len(steps), state, quota)


def _best(start: _Found) -> _Found:
    """Of two orders the one that leaves fewer SLOs violated.

    Of equals that which exceeds them by less, then that with fewer moves. On
    a large cloud, where it would be one of hundreds, only the first is tried.
    """
    found = _eased_last(start)
    if start.quota.each or not len(violations.broken(found.state)):
        return found
    return min(found, start.slos(easing=True).filling().hot(),
               key=operator.attrgetter('harm'))


def _eased_last(found: _Found, once: bool = False) -> _Found:
    """SLOs that a move restores, space, hot pools, SLOs that it eases.

    :param once: whether one move is enough to know
    """
    for longer in (lambda: found.slos(easing=False),
                   lambda: found.filling(),
                   lambda: found.hot(once),
                   lambda: found.slos(easing=True)):
        found = longer()
        if once and found.steps:
            break
    return found
