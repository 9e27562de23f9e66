# SPDX-License-Identifier: Apache-2.0
"""One assignment of volumes to pools, with Loads, space and latencies.

Frozen: ``state.after(...)`` is the state after moves. Everything in it is
computed from the assignment, so that a state reached by moves equals, to the
last bit, the one computed afresh.
"""

from __future__ import annotations

import dataclasses
import functools

import numpy as np
import numpy.typing as npt

from serifos.plan.problem import Bools
from serifos.plan.problem import Floats
from serifos.plan.problem import Ints
from serifos.plan.problem import Problem
from serifos.plan.slots import pieces


@dataclasses.dataclass(frozen=True, slots=True)
class Score:
    """The objectives of planning, over the pools with a model.

    :param max_us: the worst latency, µs
    :param mean_us: µs
    :param variance_us2: the population variance, µs²
    """

    max_us: float
    mean_us: float
    variance_us2: float

    @classmethod
    def of(cls, latency_us: Floats) -> Score:
        """The score of µs[pools]; NaN is a pool without a model."""
        figures = latency_us[~np.isnan(latency_us)]
        if not figures.size:
            return cls(0.0, 0.0, 0.0)
        return cls(*map(float, (
            np.max(figures), np.mean(figures), np.var(figures))))


@dataclasses.dataclass(frozen=True, eq=False)
class State:
    """One assignment of the volumes.

    :param home: int[volumes], the pool of each, -1 where it is unknown
    :param loads: float[devices, slots, features]
    :param figure_us: µs[devices], see :meth:`.problem.Problem.figure_us`;
        NaN where no pool of a device has a model
    :param copied_us: the same with a copy that reads from it, and with one
        that writes to it, µs[2, devices]; NaN where copies are not priced
    :param room: GiB[pools] that the plan may still fill: what was free, up
        to max_fill and less its own growth, less what the plan placed there
    :param free: GiB[pools] that another plan could fill when this one was
        carried out
    """

    problem: Problem
    home: Ints
    loads: Floats
    figure_us: Floats
    copied_us: Floats
    room: Floats
    free: Floats

    @classmethod
    def of(cls, problem: Problem) -> State:
        """The cluster as it was observed."""
        free = np.array([problem.limits.room_gib(pool)
                         for pool in problem.cluster.pools], float)
        loads = problem.device_loads(problem.home)
        figures = np.full((3, len(loads)), np.nan)
        known = np.flatnonzero(problem.predicted)
        figures[:, known] = _figures(problem, known, loads[known])
        return cls(problem, problem.home, loads, figures[0], figures[1:],
                   free, free)

    def moved(self, volumes: npt.ArrayLike, targets: npt.ArrayLike) -> State:
        """The state with volumes on other pools; one volume, or several."""
        problem = self.problem
        volumes, targets = np.atleast_1d(volumes), np.atleast_1d(targets)
        sources, size = self.home[volumes], problem.size_gib[volumes]
        home, loads, figure, copied, room, free = (
            each.copy() for each in (self.home, self.loads, self.figure_us,
                                     self.copied_us, self.room, self.free))
        home[volumes] = targets
        np.add.at(free, sources, size)
        np.subtract.at(free, targets, size)
        np.subtract.at(room, targets, size)
        touched = np.unique(problem.device[np.concatenate([
            sources, targets])])
        loads[touched] = problem.device_loads(home, touched)
        known = touched[problem.predicted[touched]]
        figure[known], copied[0, known], copied[1, known] = _figures(
            problem, known, loads[known])
        return State(problem, home, loads, figure, copied, room, free)

    def after(self, volumes: npt.ArrayLike, targets: npt.ArrayLike) -> State:
        """The state after moves, each with all that moves with its volume."""
        every, there, _ = self.problem.bonds.expanded(volumes, targets)
        return self.moved(every, there)

    def carried_out(self) -> State:
        """This state once its moves are made: from here they begin anew."""
        return dataclasses.replace(
            self, room=self.free,
            problem=dataclasses.replace(self.problem, home=self.home))

    @functools.cached_property
    def able(self) -> Bools:
        """bool[volumes]: those to move that did not move yet.

        A plan moves no volume twice: each move is carried out from where its
        volume was observed.
        """
        return self.problem.movers & (self.home == self.problem.home)

    @functools.cached_property
    def gib_share(self) -> Floats:
        """float[volumes]: of the GiB of its device what moves with each."""
        problem, here = self.problem, self.home >= 0
        device = np.where(here, problem.device[self.home], 0)
        total = np.bincount(device[here], problem.size_gib[here],
                            len(self.loads))
        return problem.carried_gib / np.maximum(total[device], 1e-9)

    @functools.cached_property
    def gib_left(self) -> float:
        """GiB that the plan may still move."""
        most = self.problem.limits.max_gib_per_plan
        return np.inf if most is None else most - float(
            self.problem.size_gib[self.home != self.problem.home].sum())

    def affordable(self, volumes: Ints) -> Bools:
        """bool[n]: the first of these that may be moved one by one."""
        return np.cumsum(self.problem.carried_gib[volumes]) <= self.gib_left

    @functools.cached_property
    def latency_us(self) -> Floats:
        """The latency for planning, µs[pools]; NaN without a model."""
        device = self.problem.device
        return self.problem.models.latency(
            np.arange(len(device)), self.loads[device])

    @functools.cached_property
    def mean_us(self) -> Floats:
        """The latency that is expected, µs[pools]; NaN without a model."""
        device = self.problem.device
        return self.problem.models.mean(
            np.arange(len(device)), self.loads[device])

    @functools.cached_property
    def queued(self) -> Floats:
        """The outstanding I/Os, n[devices]."""
        return self.problem.queued(self.loads)

    @functools.cached_property
    def beyond_us(self) -> Floats:
        """µs[slos] that tenants see beyond their SLOs, 0 if kept."""
        problem = self.problem
        found = np.zeros(len(problem.slos.volumes))
        home = self.home[problem.slos.volumes]
        here = np.flatnonzero(home >= 0)
        found[here] = problem.slos.beyond_us(
            here, home[here], self.loads, problem.device[home[here]])
        return found

    @functools.cached_property
    def level_us(self) -> Floats:
        """µs[groups]: the mean figure of the pools that a group may be on.

        Infinite for a group that may be on none.
        """
        may = self.problem.lives
        total = np.where(may, self.figure_us[self.problem.device], 0).sum(1)
        return np.where(may.any(1), total / np.maximum(1, may.sum(1)), np.inf)

    @functools.cached_property
    def score(self) -> Score:
        return Score.of(self.mean_us)


def _figures(problem: Problem, devices: Ints, loads: Floats) -> Floats:
    """The figures of devices, and under either copy: µs[3, n].

    :param loads: float[n, slots, features], of these devices
    """
    found = np.full((3, len(devices)), np.nan)
    copies = [np.zeros(problem.copies.shape[1])]
    if problem.limits.horizon_s is not None:
        copies += [*problem.copies]
    for piece in pieces(len(devices), loads.shape[1]):
        own = np.tile(loads[piece], (len(copies), 1, 1))
        found[:len(copies), piece] = problem.figure_us(
            np.tile(devices[piece], len(copies)), np.concatenate([
                loads[piece] + copy for copy in copies]), own
        ).reshape(len(copies), -1)
    return found
