# SPDX-License-Identifier: Apache-2.0
"""Best fit decreasing over the whole cluster, Algorithm 1 of [1]_.

The volumes are tried by decreasing block size, of equal ones that with fewer
GiB, each on the host with the least planning figure. A move must be one that
:mod:`.acceptance` accepts, by itself or as one of several off a host of many
volumes, and passes repeat until a whole one moves nothing.

``paper`` makes it Algorithm 1 to the letter: one pass by decreasing block
size, in which each volume goes to the host with the least predicted latency,
the first of equal ones, whatever it gains. Predictions are the formulas of
the models, also where these were not trained. There is one deviation: read
literally, the algorithm adds a volume to its own host a second time when it
prices staying, and never settles; here a volume is lifted off its host first.
The paper leaves open how hosts and volumes of equal block size are ordered
(here as observed), and what a scheduled migration changes for later volumes
(here the sums of both hosts and the free space of the target; the space that
is freed is for the next plan).

.. [1] Z. Yao, I. Papapanagiotou, R. Griffith, Serifos: Workload
   Consolidation and Load Balancing for SSD Based Cloud Storage Systems.
"""

from __future__ import annotations

import numpy as np

from serifos.facts.cluster import Cluster
from serifos.plan import acceptance
from serifos.plan.hot import is_hot
from serifos.plan.limits import Limits
from serifos.plan import outcomes
from serifos.plan.plan import Cause
from serifos.plan.plan import Plan
from serifos.plan.predictions import Predictions
from serifos.plan.problem import Ints
from serifos.plan.problem import Problem
from serifos.plan.quota import Quota
from serifos.plan.slots import Slots
from serifos.plan.state import State
from serifos.plan import summary


def plan(cluster: Cluster, models: Predictions, limits: Limits,
         paper: bool = False, slots: Slots | None = None) -> Plan:
    """As :func:`of`, for a cluster.

    :param models: predictions for the pools in the cluster's order
    :param slots: as of :meth:`.problem.Problem.of`
    """
    return of(Problem.of(
        cluster, models, limits, None if paper else slots), paper)


def of(problem: Problem, paper: bool = False) -> Plan:
    """Best fit decreasing until a pass over all volumes moves nothing.

    :param paper: Algorithm 1 as printed, for a problem without slots
    """
    first = State.of(problem)
    make = _as_printed if paper else _steps
    steps, last, quota = make(first, Quota.of(first.problem))
    truncated = bool(steps) and bool(make(
        last.carried_out(), Quota.of(first.problem))[0]) and (
            not paper or quota.reached)
    return summary.plan(
        'bfd --paper' if paper else 'bfd', first, last, steps, truncated,
        [Cause.FASTEST.of()] * len(steps) if paper else (), quota)


def _as_printed(state: State, quota: Quota
                ) -> tuple[list[outcomes.Step], State, Quota]:
    """``load_balance`` of Algorithm 1; as :func:`_steps`."""
    found: list[outcomes.Step] = []
    place = {volume.id: at for at, volume in enumerate(state.problem.volumes)}
    for volume in sorted(
            (volume for volume in state.problem.cluster.volumes
             if state.able[place[volume.id]]),
            key=lambda volume: -volume.workload.block_kib):
        at = place[volume.id]
        home = int(state.home[at])
        device = int(state.problem.device[home])
        if quota.full(device):
            continue
        best = _best_host(state, at)
        if best != home:
            found.append((at, best))
            state, quota = state.after(at, best), quota.after(device)
    return found, state, quota


def _best_host(state: State, volume: int) -> int:
    """The first pool of the least predicted latency with a volume there."""
    problem, home = state.problem, state.home[volume]
    may = outcomes.allowed(state, np.array([volume]))[0]
    may[home] = True
    pools = np.flatnonzero(may)
    loads = state.loads[problem.device[pools]]
    loads[pools != home] += problem.carried[volume]
    return int(pools[problem.models.models.printed(
        pools, loads[:, 0]).argmin()])


def _steps(state: State, quota: Quota
           ) -> tuple[list[outcomes.Step], State, Quota]:
    """The moves, the state that they lead to, and how they count."""
    found: list[outcomes.Step] = []
    while True:
        single: set[int] = set()
        while short := (passes := _Passes(state, quota, single)).short:
            single |= short
        found, state, quota = found + passes.steps, passes.state, passes.quota
        if not passes.steps:
            return found, state, quota


class _Passes:
    """Passes over all volumes until one moves nothing.

    :param single: devices off which each move has to count by itself
    :ivar begun: device → its figure before the first of several moves off it
        that count as one
    """

    def __init__(self, state: State, quota: Quota,
                 single: set[int]) -> None:
        self.state, self.quota, self.single = state, quota, single
        self.begun: dict[int, float] = {}
        self.steps: list[outcomes.Step] = []
        volumes = np.flatnonzero(state.able)
        block = [state.problem.volumes[v].workload.block_kib for v in volumes]
        order = np.lexsort((state.problem.carried_gib[volumes],
                            np.negative(block)))
        moved = True
        while moved:
            moved = False
            for volume in volumes[order].tolist():
                device = self._device(volume)
                begun = device in self.begun
                target = self._target(volume) if (
                    self.state.able[volume]) else None
                if target is not None:
                    if not begun:
                        self.quota = self.quota.after(device)
                    self.steps.append((volume, target))
                    self.state = self.state.after(volume, target)
                    moved = True

    @property
    def short(self) -> set[int]:
        """The devices whose several moves fell short of min_gain."""
        return acceptance.short(self.state, self.begun)

    def _device(self, volume: int) -> int:
        return int(self.state.problem.device[self.state.home[volume]])

    def _target(self, volume: int) -> int | None:
        """The pool with the least figure for a volume, where it moves.

        A tie stays, and of several pools the first wins.
        """
        state, problem = self.state, self.state.problem
        one = np.array([volume])
        device = self._device(volume)
        if device not in self.begun and self.quota.full(device):
            return None
        part = 0.5 if device in self.begun else 1.0
        if not is_hot(state, one, part)[0]:
            return None
        pools = np.flatnonzero(outcomes.allowed(state, one)[0])
        if not len(pools):
            return None
        there = problem.device[pools]
        price = problem.figure_us(
            there, state.loads[there] + problem.carried[volume])
        best = pools[[price.argmin()]]
        return int(best[0]) if price.min() < state.figure_us[device] and (
            self._accepted(one, best)) else None

    def _accepted(self, one: Ints, target: Ints) -> bool:
        found = outcomes.outcomes(self.state, one, target)
        device = self._device(one[0])
        if device not in self.begun and acceptance.accepted(
                self.state, found)[0]:
            return True
        if device in self.single or not (
                device in self.begun or self._many(device)):
            return False
        fine = bool(acceptance.of_several(self.state, found)[0])
        if fine:
            self.begun.setdefault(device, float(found.before_us[0]))
        return fine

    def _many(self, device: int) -> bool:
        """Whether no volume of a device with many reaches min_gain."""
        state, problem = self.state, self.state.problem
        if not acceptance.many(state, device):
            return False
        here = np.flatnonzero(state.able & (
            problem.device[state.home] == device))
        left = problem.changed_us(
            np.full(len(here), device), state.loads, here, -1)
        return bool((left > problem.thresholds.keeps[here]
                     * state.figure_us[device]).all())
