# SPDX-License-Identifier: Apache-2.0
"""Moves for a small cloud: a beam search over accepted moves.

Each step of a sequence is a move that the local rule accepts where it is
made. Of all sequences the :data:`WIDE` best are followed, judged by the
power mean of the devices' figures, which the hottest decide, with the price
of the copies added and, of equals, fewer GiB. A longer sequence is taken
where it lowers that, over the devices that either changes, by a part of
``min_gain``, :data:`STEP`.
"""

from __future__ import annotations

from collections.abc import Iterator
import dataclasses

import numpy as np

from serifos.plan import acceptance
from serifos.plan import copying
from serifos.plan.hot import is_hot
from serifos.plan import limits
from serifos.plan import outcomes
from serifos.plan.problem import Floats
from serifos.plan.problem import Ints
from serifos.plan.problem import Problem
from serifos.plan.state import State

WIDE = 20
STEP = 0.2
POWER = 8


@dataclasses.dataclass(frozen=True, eq=False)
class _Sequence:
    """Steps from the first state, and what they lead to.

    :param value: the power mean with the price of its copies, µs
    :param price_us: of all copies
    """

    state: State
    value: float = np.inf
    price_us: float = 0.0
    gib: float = 0.0
    steps: tuple[outcomes.Step, ...] = ()


def steps(state: State, most: int) -> tuple[list[outcomes.Step], State]:
    """At most so many moves, and the state that they lead to."""
    best = _Sequence(state)
    beam, figures = [best], _Figures(state.problem)
    for _ in range(most):
        beam = _widest(beam, figures)
        if not beam or not _gains(state, best, beam[0]):
            break
        best = beam[0]
    return list(best.steps), best.state


def _gains(first: State, best: _Sequence, longer: _Sequence) -> bool:
    """Whether a longer sequence is worth its further step."""
    was, then = (np.nan_to_num(one.state.figure_us) for one in (best, longer))
    start = np.nan_to_num(first.figure_us)
    changed = (was != start) | (then != start)
    least = max(STEP * first.problem.limits.min_gain, limits.LEAST_GAIN)
    return _power_mean(then[changed]) <= (1 - least) * _power_mean(
        was[changed])


class _Figures:
    """The figures of devices by the volumes that live there, each once.

    Most sequences have most devices in common.
    """

    def __init__(self, problem: Problem) -> None:
        self.problem = problem
        self.known: dict[tuple[int, frozenset[int]], float] = {}

    def changed_us(self, state: State, devices: Ints, volumes: Ints,
                   sign: int) -> Floats:
        """As :meth:`.problem.Problem.changed_us`."""
        first, then = self.problem.home, state.home
        moved: dict[int, set[int]] = {}  # device → what came or left
        for volume in np.flatnonzero(then != first).tolist():
            for pool in first[volume], then[volume]:
                moved.setdefault(int(self.problem.device[pool]), set()).add(
                    volume)
        keys = [(device, frozenset(moved.get(device, set()) ^ {volume}))
                for device, volume in zip(
                    devices.tolist(), volumes.tolist())]
        new = [row for row, key in enumerate(keys) if key not in self.known]
        self.known.update(zip((keys[row] for row in new), (
            self.problem.changed_us(devices[new], state.loads, volumes[new],
                                    sign)).tolist()))
        return np.array([self.known[key] for key in keys], float)

    def worthy(self, state: State) -> outcomes.Outcomes:
        """The moves that rules allow off hot devices, by enough."""
        problem, volumes = self.problem, np.flatnonzero(state.able)
        volumes = volumes[is_hot(state, volumes)]
        source = problem.device[state.home[volumes]]
        before = state.figure_us[source]
        left = self.changed_us(state, source, volumes, -1)
        fine = left <= before * problem.thresholds.keeps[volumes]
        row, target = np.nonzero(
            outcomes.allowed(state, volumes) & fine[:, None])
        return outcomes.Outcomes(
            volumes[row], target, before[row], left[row], self.changed_us(
                state, problem.device[target], volumes[row], 1))


def _widest(beam: list[_Sequence], figures: _Figures) -> list[_Sequence]:
    """The best sequences with one step more, the best first."""
    found = sorted((each for one in beam for each in _longer(one, figures)),
                   key=lambda each: each[:2])
    chosen: dict[frozenset[outcomes.Step], _Sequence] = {}
    for value, gib, one, volume, target, price_us in found:
        steps = *one.steps, (volume, target)
        if frozenset(steps) not in chosen:
            chosen[frozenset(steps)] = _Sequence(
                one.state.after(volume, target), value, price_us, gib, steps)
        if len(chosen) == WIDE:
            break
    return [*chosen.values()]


def _longer(one: _Sequence, figures: _Figures) -> Iterator[tuple[
        float, float, _Sequence, int, int, float]]:
    """(value, GiB, sequence, volume, target, price) of its best steps."""
    state, problem = one.state, one.state.problem
    found = figures.worthy(state)
    found = found[acceptance.accepted(state, found)]
    price = one.price_us + copying.penalty_us(state, found)
    value = _values(state, found) + price
    value = np.array([float(f'{each:.10g}') for each in value])
    gib = one.gib + problem.carried_gib[found.volume]
    for i in np.lexsort((found.target, found.volume, gib, value))[:WIDE]:
        yield (value[i], gib[i], one, int(found.volume[i]),
               int(found.target[i]), price[i])


def _power_mean(figure_us: Floats) -> float:
    return float(np.mean(figure_us ** POWER) ** (1 / POWER))


def _values(state: State, found: outcomes.Outcomes) -> Floats:
    """The power mean after each move."""
    problem = state.problem
    figure = state.figure_us[problem.predicted]
    there = state.figure_us[problem.device[found.target]]
    total = np.sum(figure ** POWER) - found.before_us ** POWER - there ** POWER
    total = (np.maximum(total, 0.0) + found.left_us ** POWER
             + found.came_us ** POWER)
    return (total / len(figure)) ** (1 / POWER)
