# SPDX-License-Identifier: Apache-2.0
"""Moves off hot devices of a large cloud, or of many small volumes.

They are made in :mod:`.rounds`, the hottest devices first. A device that
received a volume is none that another leaves in the same plan.

On a device of more than 2 / min_gain active volumes, none of which reaches
min_gain by itself, several moves count as one, also against max_moves: each
keeps its target cool, and the rounds begin again without them unless together
they reach it.
"""

from __future__ import annotations

from collections.abc import Collection

import numpy as np

from serifos.plan import acceptance
from serifos.plan.outcomes import Outcomes
from serifos.plan.outcomes import Step
from serifos.plan.problem import Bools
from serifos.plan.problem import Floats
from serifos.plan.problem import Ints
from serifos.plan.quota import Quota
from serifos.plan.search import rounds
from serifos.plan.state import State

_NEARLY = 0.8  # relief is ranked once; it shrinks as its device is relieved


def steps(state: State, quota: Quota, once: bool = False
          ) -> tuple[list[Step], State, Quota]:
    """Moves off hot devices.

    :param once: whether to stop as soon as a move is accepted
    :returns: the moves, where they lead, and what is left of the quota
    """
    found: list[Step] = []
    came = np.zeros(len(state.figure_us), bool)
    while True:
        single: set[int] = set()
        while short := (sweep := _done(
                Sweep(state, quota, came, single), once)).short:
            single |= short
        found += sweep.steps
        state, quota, came = sweep.state, sweep.quota, sweep.came
        if once or not sweep.steps:
            return found, state, quota


def _done(sweep: Sweep, once: bool = False) -> Sweep:
    """A sweep, carried out; to its first move if that is enough."""
    for group in range(len(sweep.state.problem.open)):
        if not (once and len(sweep.steps) > len(sweep.begun)):
            rounds.drain(_HotDevices(sweep, group, once))
    return sweep


class Sweep:
    """One pass over all hot devices, until none has a volume left to try.

    :param came: bool[devices] that received a volume: no sources any more
    :param single: devices off which each move has to count by itself
    :ivar steps: volume and target of each move
    :ivar gave: bool[devices] that a volume left: no targets
    :ivar begun: device → its figure before the first move of its bundle
    """

    def __init__(self, state: State, quota: Quota, came: Bools,
                 single: set[int]) -> None:
        self.state, self.quota = state, quota
        self.came, self.single = came.copy(), single
        self.steps: list[Step] = []
        self.gave = np.zeros(len(came), bool)
        self.begun: dict[int, float] = {}

    @property
    def short(self) -> set[int]:
        """The devices whose bundles fell short of min_gain."""
        return acceptance.short(self.state, self.begun)

    def full(self, device: int) -> bool:
        """Whether no more moves may leave a device; a bundle is one."""
        return device not in self.begun and self.quota.full(device)

    def make(self, moves: Outcomes, single: Bools) -> None:
        """Makes the moves of a round, each off a device of its own."""
        device = self.state.problem.device
        source = device[self.state.home[moves.volume]]
        counts = ~np.isin(source, list(self.begun))
        made = (~counts | (np.cumsum(counts) <= self.quota.left)
                ) & self.state.affordable(moves.volume)
        moves, source, single = moves[made], source[made], single[made]
        self.quota = self.quota.after(source[counts[made]])
        for at in source[~single].tolist():
            self.begun.setdefault(at, float(self.state.figure_us[at]))
        self.steps += zip(moves.volume.tolist(), moves.target.tolist())
        self.gave[source] = True
        self.came[device[moves.target]] = True
        self.state = self.state.after(moves.volume, moves.target)


class _HotDevices:
    """The :class:`.rounds.Aim` of relief, for one group of volumes."""

    anew = False

    def __init__(self, sweep: Sweep, group: int, once: bool) -> None:
        self.sweep, self.group, self.once = sweep, group, once
        self.left: dict[int, list[int]] = {}
        self.enough = False
        problem, home = sweep.state.problem, sweep.state.home
        mine = np.flatnonzero(sweep.state.able & (problem.group == group))
        mine = mine[problem.held[home[mine]]]
        device = problem.device[home[mine]]
        order = np.argsort(device, kind='stable')
        self.volumes, self.of = mine[order], device[order]
        self.sources = np.unique(device)
        self.relief = np.zeros(len(problem.volumes))

    @property
    def state(self) -> State:
        return self.sweep.state

    def asking(self) -> list[int]:
        """The hot devices, the hottest first."""
        state, sweep = self.state, self.sweep
        figure, level = state.figure_us, state.level_us[self.group]
        devices = self.sources[~sweep.came[self.sources]]
        begun = np.isin(devices, list(sweep.begun))
        ratio = state.problem.thresholds.hot_ratio[devices]
        devices = devices[figure[devices] > level * (
            1 + np.where(begun, ratio / 2, ratio))]
        devices = devices[np.argsort(-figure[devices], kind='stable')]
        return [d for d in devices.tolist() if not sweep.full(d)]

    def rank(self, devices: list[int]) -> None:
        """Sorts the volumes of devices by their relief a GiB."""
        if not devices:
            return
        state, problem = self.state, self.state.problem
        mine = np.isin(self.of, devices)
        volumes, of = self.volumes[mine], self.of[mine]
        relief = state.figure_us[of] - problem.changed_us(
            of, state.loads, volumes, -1)
        self.relief[volumes] = relief
        order = np.lexsort((
            -relief / (rounds.GIB + problem.carried_gib[volumes]), of))
        order = order[relief[order] > 0]
        self.left.update({device: [] for device in devices}
                         | rounds.by_device(of[order], volumes[order]))

    def some(self, device: int) -> list[int]:
        """The best volumes of a device that are left to try."""
        volumes, state = self.left[device], self.state
        if self._many(device):
            return volumes[:rounds.BEST]
        least = _NEARLY * state.figure_us[device]
        gain = state.problem.thresholds.min_gain
        return [v for v in volumes
                if self.relief[v] >= least * gain[v]][:rounds.BEST]

    def _many(self, device: int) -> bool:
        """Whether several moves off a device count as one."""
        state, left = self.state, self.left[device]
        if device in self.sweep.begun or device in self.sweep.single:
            return device in self.sweep.begun
        return acceptance.many(state, device) and bool((
            self.relief[left] < state.problem.thresholds.min_gain[left]
            * state.figure_us[device]).all())

    def targets(self, asking: list[int]) -> Bools:
        """Devices under the mean that no volume left."""
        return ~self.sweep.gave & (
            self.state.figure_us < self.state.level_us[self.group])

    def make(self, found: Outcomes, rank: Ints) -> Collection[int]:
        """Makes the best move of each device."""
        state, problem = self.state, self.state.problem
        single = acceptance.accepted(state, found)
        source = problem.device[state.home[found.volume]]
        many = np.isin(source, [device for device in np.unique(
            source).tolist() if self._many(device)])
        good = single | (many & acceptance.of_several(state, found))
        value = np.where(good, self._value(found), -np.inf)
        order = np.lexsort((found.came_us, -value, rank))
        order = order[np.diff(rank[order], prepend=-1) != 0]
        order = order[good[order]]
        if len(order):
            self.sweep.make(found[order], single[order])
        self.enough = self.once and bool(single[order].any())
        return set(found.volume[order].tolist())

    def _value(self, found: Outcomes) -> Floats:
        """What a move takes off both devices above the mean, a GiB."""
        state, problem = self.state, self.state.problem

        def over(figure: Floats) -> Floats:
            return np.maximum(figure - state.level_us[self.group], 0.0) ** 2

        there = state.figure_us[problem.device[found.target]]
        return (over(found.before_us) - over(found.left_us) + over(there)
                - over(found.came_us)) / (
                    rounds.GIB + problem.carried_gib[found.volume])
