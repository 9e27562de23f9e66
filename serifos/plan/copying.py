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
from serifos.plan.problem import Floats
from serifos.plan.problem import Ints
from serifos.plan import state as st


def penalty_us(state: st.State, moves: oc.Outcomes) -> Floats:
    """What each move's copy adds to the slower of its two pools, µs[moves].

    The mean over the horizon; 0 without one.
    """
    horizon_s = state.problem.limits.horizon_s
    if horizon_s is None:
        return np.zeros(len(moves.volume))
    return _harm_us_s(state, moves.volume, moves.target) / horizon_s


def outweighs(before: st.State, volume: int, target: int,
              after: st.State | None = None) -> str | None:
    """Why a move does not pay for its copy, or None where it does.

    :param after: the state after the move, where it is known already
    """
    problem, horizon_s = before.problem, before.problem.limits.horizon_s
    if horizon_s is None:
        return None
    one = np.array([volume]), np.array([target])
    pair = [before.home[volume], target]
    after = after or before.moved(volume, target)
    now = max(before.latency_us[pair])
    gain_us = max(0.0, now - max(after.latency_us[pair]))
    if _harm_us_s(before, *one)[0] <= gain_us * horizon_s:
        return None
    wiping_s = problem.size_gib[volume] * problem.limits.copying.wiping
    wiped = f' and wiping its source {duration(wiping_s)}' if wiping_s else ''
    return (f'copying it takes {duration(problem.copy_s[volume])}{wiped}, in '
            'which the slower of both pools shows '
            f'{_during_us(before, *one)[0] / 1e3:.3g} ms, not '
            f'{now / 1e3:.3g}; that outweighs a gain of {gain_us / 1e3:.3g} '
            f'ms over {duration(horizon_s)}')


def _harm_us_s(state: st.State, volumes: Ints, targets: Ints) -> Floats:
    """By how much the slower pool is slower, times how long: µs s[moves]."""
    problem, source = state.problem, state.home[volumes]
    now = np.maximum(state.latency_us[source], state.latency_us[targets])
    wiped = np.maximum(state.wiped_us[source], state.latency_us[targets])
    wiping_s = problem.size_gib[volumes] * problem.limits.copying.wiping
    return (
        np.maximum(0.0, _during_us(state, volumes, targets) - now)
        * problem.copy_s[volumes] + np.maximum(0.0, wiped - now) * wiping_s)


def _during_us(state: st.State, volumes: Ints, targets: Ints) -> Floats:
    """µs[moves] that the slower pool shows while a volume is copied."""
    attached = state.problem.attached[volumes]
    return np.maximum(state.copied_us[attached, 0, state.home[volumes]],
                      state.copied_us[attached, 1, targets])


def duration(seconds: float) -> str:
    """A time in words: 40 s, 12 min, 5.5 h."""
    for unit, name in (3600.0, 'h'), (60.0, 'min'):
        if seconds >= 2 * unit:
            return f'{seconds / unit:.3g} {name}'
    return f'{seconds:.3g} s'
