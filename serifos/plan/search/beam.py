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
    beam = [best]
    for _ in range(most):
        beam = _widest(beam)
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


def _widest(beam: list[_Sequence]) -> list[_Sequence]:
    """The best sequences with one step more, the best first."""
    found = sorted((each for one in beam for each in _longer(one)),
                   key=lambda each: each[:2])
    chosen: dict[bytes, _Sequence] = {}
    for value, gib, one, volume, target, price_us in found:
        state = one.state.after(volume, target)
        chosen.setdefault(state.home.tobytes(), _Sequence(
            state, value, price_us, gib, (*one.steps, (volume, target))))
        if len(chosen) == WIDE:
            break
    return [*chosen.values()]


def _longer(one: _Sequence) -> Iterator[tuple[
        float, float, _Sequence, int, int, float]]:
    """(value, GiB, sequence, volume, target, price) of its best steps."""
    state, problem = one.state, one.state.problem
    volumes = np.flatnonzero(state.able)
    volumes = volumes[is_hot(state, volumes)]
    found = outcomes.every(state, volumes)
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
