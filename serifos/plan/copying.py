# SPDX-License-Identifier: Apache-2.0
"""The price of a move: what its copy costs the tenants of both pools.

Meanwhile the copy is a tenant more on either pool: a sequential reader on the
source, a sequential writer on the target, at the rate of earlier copies; where
the source is wiped afterwards, there is a writer on it again. A move pays only
where that harm times its minutes is less than the gain afterwards over a
horizon.
"""

from __future__ import annotations

import numpy as np

from serifos.plan import outcomes as oc
from serifos.plan import problem as pm
from serifos.plan.problem import Bools
from serifos.plan.problem import Floats
from serifos.plan.problem import Ints
from serifos.plan import state as st


READER, WRITER = 0, 1
"""Rows of :attr:`.problem.Problem.copies`."""


def at_rate(now_us: Floats, busiest_us: Floats, s_per_gib: Floats) -> Floats:
    """What a pool shows under a copy of a rate, µs[n].

    Its requests are outstanding for the part of the time in which they come
    to that rate, by Little's law.

    :param busiest_us: under a copy whose requests are always outstanding
    """
    per_s = pm.COPY_REQUESTS / np.maximum(s_per_gib, 1e-9)
    share = np.minimum(1.0, per_s * busiest_us / 1e6 / pm.COPY[0].iodepth)
    return now_us + share * (busiest_us - now_us)


def penalty_us(state: st.State, moves: oc.Outcomes) -> Floats:
    """What each move's copy adds to the slower of its two pools, µs[n].

    The mean over the horizon; 0 without one.
    """
    horizon_s = state.problem.limits.horizon_s
    if horizon_s is None:
        return np.zeros(len(moves.volume))
    return _harm_us_s(state, moves) / horizon_s


def pays(state: st.State, moves: oc.Outcomes) -> Bools:
    """bool[n]: whether a move gains more than its copy costs."""
    horizon_s = state.problem.limits.horizon_s
    if horizon_s is None:
        return np.ones(len(moves.volume), bool)
    gain_us = np.maximum(0.0, _now_us(state, moves) - moves.worse_us)
    return _harm_us_s(state, moves) <= gain_us * horizon_s


def why_not(state: st.State, move: oc.Outcomes) -> str | None:
    """Why one move does not pay for its copy, or None where it does."""
    if pays(state, move).all():
        return None
    problem, volume = state.problem, move.volume[0]
    now = _now_us(state, move)[0]
    wiping_s = problem.size_gib[volume] * problem.limits.copying.wiping
    wiped = f' and wiping its source {duration(wiping_s)}' if wiping_s else ''
    return (f'copying it takes {duration(problem.copy_s[volume])}{wiped}, in '
            'which the slower of both pools shows '
            f'{_during_us(state, move)[0] / 1e3:.3g} ms, not '
            f'{now / 1e3:.3g}; that outweighs a gain of '
            f'{max(0.0, now - move.worse_us[0]) / 1e3:.3g} ms over '
            f'{duration(problem.limits.horizon_s)}')


def _now_us(state: st.State, moves: oc.Outcomes) -> Floats:
    """The figure of the slower pool before each move."""
    there = state.figure_us[state.problem.device[moves.target]]
    return np.maximum(moves.before_us, there)


def _harm_us_s(state: st.State, moves: oc.Outcomes) -> Floats:
    """By how much the slower pool is slower, times how long: µs s[n]."""
    problem = state.problem
    source = problem.device[state.home[moves.volume]]
    now, wiping = _now_us(state, moves), problem.limits.copying.wiping
    harm = np.maximum(0.0, _during_us(state, moves) - now) * problem.copy_s[
        moves.volume]
    if wiping:
        harm += problem.size_gib[moves.volume] * wiping * np.maximum(
            0.0, _shown_us(state, source, WRITER, wiping) - now)
    return harm


def _during_us(state: st.State, moves: oc.Outcomes) -> Floats:
    """µs[n] that the slower pool shows while a volume is copied."""
    problem = state.problem
    source = problem.device[state.home[moves.volume]]
    rate = np.array(problem.limits.copying.s_per_gib)[
        problem.attached[moves.volume]]
    return np.maximum(
        _shown_us(state, source, READER, rate),
        _shown_us(state, problem.device[moves.target], WRITER, rate))


def _shown_us(state: st.State, devices: Ints, copy: int,
              s_per_gib: Floats) -> Floats:
    """The figure of devices under the reader or writer of a copy."""
    problem = state.problem
    return at_rate(state.figure_us[devices], problem.figure_us(
        devices, state.loads[devices] + problem.copies[copy]), s_per_gib)


def duration(seconds: float) -> str:
    """A time in words: 40 s, 12 min, 5.5 h."""
    for unit, name in (3600.0, 'h'), (60.0, 'min'):
        if seconds >= 2 * unit:
            return f'{seconds / unit:.3g} {name}'
    return f'{seconds:.3g} s'
