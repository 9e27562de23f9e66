# SPDX-License-Identifier: Apache-2.0
"""Rounds of moves for the volumes that the rules treat alike.

In a round the hottest devices are each priced with their :data:`BEST`
volumes by relief a GiB and with the coolest pools of each model, dealt out
so that no two share a device.
"""

from __future__ import annotations

import numpy as np

from serifos.plan import acceptance
from serifos.plan import outcomes
from serifos.plan.problem import Bools
from serifos.plan.problem import Floats
from serifos.plan.problem import Ints
from serifos.plan.search import dealing
from serifos.plan.search.sweep import Sweep

BEST = 6
_NEARLY = 0.8  # relief is ranked once; it shrinks as its device is relieved


class Group:
    """The hot devices of volumes that the rules treat alike."""

    def __init__(self, sweep: Sweep, group: int) -> None:
        self.sweep, self.group = sweep, group
        problem, home = sweep.state.problem, sweep.state.home
        mine = np.flatnonzero(sweep.state.able & (problem.group == group))
        mine = mine[problem.held[home[mine]]]
        device = problem.device[home[mine]]
        order = np.argsort(device, kind='stable')
        self.volumes, self.of = mine[order], device[order]
        self.sources = np.unique(device)
        self.relief = np.zeros(len(problem.volumes))
        self.tried: dict[int, list[int]] = {}
        self.tired: set[int] = set()

    def drain(self, once: bool) -> None:
        """Rounds until no hot device has a volume left to try."""
        sweep = self.sweep
        while len(hot := self._hot()):
            dealt = dealing.dealt(
                sweep.state.problem, self._targets(), len(hot))
            number = len(dealt)
            hot = hot[:number]
            some = [self._some(device) for device in hot]
            moves, single = self._chosen(
                np.repeat(np.arange(number), [len(vs) for vs in some]),
                np.array([v for vs in some for v in vs], np.intp), dealt)
            gone = set(sweep.state.problem.device[
                sweep.state.home[moves.volume]].tolist())
            for rank, (device, vs) in enumerate(zip(hot, some)):
                self._forget(device, vs if device not in gone else [],
                             rank == 0)
            for volume in moves.volume.tolist():
                self.tried[int(sweep.state.problem.device[
                    sweep.state.home[volume]])].remove(volume)
            if len(moves.volume):
                sweep.make(moves, single)
                if once and single.any():
                    return

    def _forget(self, device: int, volumes: list[int], coolest: bool) -> None:
        """Leaves volumes alone that even the coolest pools do not take."""
        if volumes and not coolest and device not in self.tired:
            self.tired.add(device)
        elif volumes:
            self.tired.discard(device)
            self.tried[device] = [
                v for v in self.tried[device] if v not in volumes]

    def _hot(self) -> list[int]:
        """The hot devices that have a volume to try, the hottest first."""
        state, sweep = self.sweep.state, self.sweep
        figure, level = state.figure_us, state.level_us[self.group]
        devices = self.sources[~sweep.came[self.sources]]
        begun = np.isin(devices, list(sweep.begun))
        ratio = state.problem.thresholds.hot_ratio[devices]
        devices = devices[figure[devices] > level * (
            1 + np.where(begun, ratio / 2, ratio))]
        devices = devices[np.argsort(-figure[devices], kind='stable')]
        self._rank([d for d in devices.tolist() if d not in self.tried])
        return [d for d in devices.tolist()
                if not sweep.full(d) and self._some(d)]

    def _rank(self, devices: list[int]) -> None:
        """Sorts the volumes of devices by their relief a GiB."""
        if not devices:
            return
        state, problem = self.sweep.state, self.sweep.state.problem
        mine = np.isin(self.of, devices)
        volumes, of = self.volumes[mine], self.of[mine]
        relief = state.figure_us[of] - problem.changed_us(
            of, state.loads, volumes, -1)
        self.relief[volumes] = relief
        order = np.lexsort((
            -relief / (dealing.GIB + problem.carried_gib[volumes]), of))
        order = order[relief[order] > 0]
        self.tried.update((device, []) for device in devices)
        for device, volume in zip(of[order].tolist(),
                                  volumes[order].tolist()):
            self.tried[device].append(volume)

    def _some(self, device: int) -> list[int]:
        """The best volumes of a device that are left to try."""
        volumes, state = self.tried[device], self.sweep.state
        if self._many(device):
            return volumes[:BEST]
        least = _NEARLY * state.figure_us[device]
        gain = state.problem.thresholds.min_gain
        return [v for v in volumes
                if self.relief[v] >= least * gain[v]][:BEST]

    def _many(self, device: int) -> bool:
        """Whether several moves off a device count as one."""
        state, tried = self.sweep.state, self.tried[device]
        if device in self.sweep.begun or device in self.sweep.alone:
            return device in self.sweep.begun
        return acceptance.many(state, device) and bool((
            self.relief[tried] < state.problem.thresholds.min_gain[tried]
            * state.figure_us[device]).all())

    def _targets(self) -> Ints:
        """The pools under the mean, the coolest first, one a device."""
        sweep = self.sweep
        return dealing.coolest(sweep.state, self.group, ~sweep.gave & (
            sweep.state.figure_us < sweep.state.level_us[self.group]))

    def _chosen(self, rank: Ints, volumes: Ints,
                dealt: Ints) -> tuple[outcomes.Outcomes, Bools]:
        """The best move of each device, and whether it counts by itself."""
        state, problem = self.sweep.state, self.sweep.state.problem
        row, column = np.nonzero(dealt[rank] >= 0)
        target = dealt[rank[row], column]
        fits = outcomes.fits(state, volumes[row], target)
        row, target = row[fits], target[fits]
        found = outcomes.outcomes(state, volumes[row], target)
        single = acceptance.accepted(state, found)
        many = np.array([self._many(int(device)) for device in problem.device[
            state.home[volumes]]], bool)[row]
        good = single | (many & acceptance.of_several(state, found))
        value = np.where(good, self._value(found), -np.inf)
        order = np.lexsort((found.came_us, -value, rank[row]))
        order = order[np.diff(rank[row][order], prepend=-1) != 0]
        order = order[good[order]]
        return found[order], single[order]

    def _value(self, found: outcomes.Outcomes) -> Floats:
        """What a move takes off both devices above the mean, a GiB."""
        state, problem = self.sweep.state, self.sweep.state.problem

        def over(figure: Floats) -> Floats:
            return np.maximum(figure - state.level_us[self.group], 0.0) ** 2

        there = state.figure_us[problem.device[found.target]]
        return (over(found.before_us) - over(found.left_us) + over(there)
                - over(found.came_us)) / (
                    dealing.GIB + problem.carried_gib[found.volume])
