# SPDX-License-Identifier: Apache-2.0
"""Best fit decreasing over the whole cluster, Algorithm 1 of [1]_.

The volumes are tried by decreasing block size, of equal ones that with fewer
GiB, each on the host with the least predicted latency. Read literally the
algorithm adds a volume to its own host a second time when it prices staying,
and never settles; here a volume is lifted off first, so that staying costs
what its pool sees now.

As printed it is one pass that looks at the mean latency of the receiving host
alone. Otherwise hosts are compared by their planning figures, a move must be
one that :mod:`.acceptance` accepts, by itself or as one of several off a host
of many volumes, and passes repeat until a whole one moves nothing.

.. [1] Z. Yao, I. Papapanagiotou, R. Griffith, Serifos: Workload
   Consolidation and Load Balancing for SSD Based Cloud Storage Systems.
"""

from __future__ import annotations

import numpy as np

from serifos.facts import cluster as cl
from serifos.plan import acceptance
from serifos.plan import limits as lm
from serifos.plan.loads import slots as sl
from serifos.plan import outcomes as oc
from serifos.plan import plan as pl
from serifos.plan import predictions as pr
from serifos.plan import problem as pm
from serifos.plan import quota as qu
from serifos.plan import state as st
from serifos.plan import summary


def plan(cluster: cl.Cluster, models: pr.Predictions, limits: lm.Limits,
         paper: bool = False, slots: sl.Slots | None = None) -> pl.Plan:
    """Best fit decreasing until a pass over all volumes moves nothing.

    :param models: predictions for the pools in the cluster's order
    :param paper: as printed, one pass without a minimum gain
    :param slots: as of :meth:`.problem.Problem.of`
    """
    first = st.State.of(pm.Problem.of(cluster, models, limits, slots))
    steps, last, quota = _steps(first, qu.Quota.of(first.problem), paper)
    truncated = bool(steps) and bool(_steps(
        last.carried_out(), qu.Quota.of(first.problem), paper)[0]) and (
            not paper or quota.reached)
    return summary.plan(
        'bfd --paper' if paper else 'bfd', first, last, steps, truncated,
        [summary.FASTEST] * len(steps) if paper else (), quota)


def _steps(state: st.State, quota: qu.Quota, paper: bool
           ) -> tuple[list[oc.Step], st.State, qu.Quota]:
    """The moves, the state that they lead to, and how they count."""
    found: list[oc.Step] = []
    while True:
        alone: set[int] = set()
        while short := (passes := _Passes(state, quota, paper, alone)).short:
            alone |= short
        found, state, quota = found + passes.steps, passes.state, passes.quota
        if paper or not passes.steps:
            return found, state, quota


class _Passes:
    """Passes over all volumes until one moves nothing.

    :param alone: devices off which each move has to count by itself
    :ivar begun: device → its figure before the first of several moves off it
        that count as one
    """

    def __init__(self, state: st.State, quota: qu.Quota, paper: bool,
                 alone: set[int]) -> None:
        self.state, self.paper, self.alone = state, paper, alone
        self.quota = quota
        self.begun: dict[int, float] = {}
        self.steps: list[oc.Step] = []
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
                    moved = not paper

    @property
    def short(self) -> set[int]:
        """The devices whose several moves fell short of min_gain."""
        keeps = self.state.problem.limits.keeps
        return {device for device, was in self.begun.items()
                if self.state.figure_us[device] > was * keeps}

    def _device(self, volume: int) -> int:
        return int(self.state.problem.device[self.state.home[volume]])

    def _target(self, volume: int) -> int | None:
        """The pool with the least latency for a volume, where it moves.

        A tie stays, and of several pools the first wins.
        """
        state, problem = self.state, self.state.problem
        one, at = np.array([volume]), state.home[volume]
        device = self._device(volume)
        if device not in self.begun and self.quota.full(device):
            return None
        part = 0.5 if device in self.begun else 1.0
        if not self.paper and not acceptance.hot(state, one, part)[0]:
            return None
        pools = np.flatnonzero(oc.allowed(state, one)[0])
        if not len(pools):
            return None
        there = problem.device[pools]
        loads = state.loads[there] + problem.carried[volume]
        price, stays = (
            problem.models.latency(pools, loads), state.latency_us[at]
        ) if self.paper else (
            problem.figure_us(there, loads), state.figure_us[device])
        best = pools[[price.argmin()]]
        return int(best[0]) if price.min() < stays and (
            self.paper or self._accepted(one, best)) else None

    def _accepted(self, one: pm.Ints, target: pm.Ints) -> bool:
        found = oc.outcomes(self.state, one, target)
        device = self._device(one[0])
        if device not in self.begun and acceptance.accepted(
                self.state, found)[0]:
            return True
        if device in self.alone or not (
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
