# SPDX-License-Identifier: Apache-2.0
"""The price of a move: what its copy costs the tenants of both pools.

A volume is copied as fast as it goes, by Cinder or by Nova. Meanwhile the copy
is a tenant more on either pool: a sequential reader on the source, a
sequential writer on the target. A move pays only where that harm times its
minutes is less than the gain afterwards over a horizon.
"""

from __future__ import annotations

import numpy as np

from serifos.plan import outcomes as oc
from serifos.plan.problem import Floats
from serifos.plan import state as st


def penalty_us(state: st.State, moves: oc.Outcomes) -> Floats:
    """What each move's copy adds to the worse of its two pools, µs[moves].

    The mean over the horizon; 0 without one.
    """
    problem, limits = state.problem, state.problem.limits
    if limits.horizon_s is None:
        return np.zeros(len(moves.volume))
    source, target = state.home[moves.volume], moves.target
    during = np.maximum(state.reading_us[source], state.writing_us[target])
    now = np.maximum(state.latency_us[source], state.latency_us[target])
    seconds = problem.size_gib[moves.volume] * limits.copy_s_per_gib
    return np.maximum(0.0, during - now) * seconds / limits.horizon_s


def outweighs(before: st.State, volume: int, target: int,
              after: st.State | None = None) -> str | None:
    """Why a move does not pay for its copy, or None where it does.

    :param after: the state after the move, where it is known already
    """
    problem, limits = before.problem, before.problem.limits
    if limits.horizon_s is None:
        return None
    pair = [int(before.home[volume]), target]
    after = after or before.moved(volume, target)
    now = max(before.latency_us[pair])
    during = max(before.reading_us[pair[0]], before.writing_us[target])
    gain_us = now - max(after.latency_us[pair])
    seconds = float(problem.size_gib[volume]) * limits.copy_s_per_gib
    if (during - now) * seconds <= max(0.0, gain_us * limits.horizon_s):
        return None
    return (f'copying it takes {duration(seconds)}, in which the slower of '
            f'both pools shows {during / 1e3:.3g} ms, not {now / 1e3:.3g}; '
            f'that outweighs a gain of {max(0.0, gain_us) / 1e3:.3g} ms over '
            f'{duration(limits.horizon_s)}')


def duration(seconds: float) -> str:
    """A time in words: 40 s, 12 min, 5.5 h."""
    for unit, name in (3600.0, 'h'), (60.0, 'min'):
        if seconds >= 2 * unit:
            return f'{seconds / unit:.3g} {name}'
    return f'{seconds:.3g} s'
