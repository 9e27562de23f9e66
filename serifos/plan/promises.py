# SPDX-License-Identifier: Apache-2.0
"""Would a move break what a volume type promised, and was kept until now?

``serifos:max_latency_us`` of a type is what SerifosFilter keeps when Cinder
places a volume. A move that breaks it would be refused there, or make things
worse for a tenant who was promised better.
"""

from __future__ import annotations

import numpy as np

from serifos.plan.problem import Floats
from serifos.plan.problem import Ints
from serifos.plan import state as st


def broken(before: st.State, volume: int, target: int,
           after: st.State | None = None) -> int | None:
    """The first volume whose promise a move to ``target`` breaks, or None.

    It shares the target's device, the mover included. A promise that was
    not kept before is not broken, or a cluster that keeps none could not be
    relieved.

    :param after: the state after the move, where it is known already
    """
    problem = before.problem
    promised = problem.promised
    if not len(promised):
        return None
    after = after or before.moved(volume, target)
    home = after.home[promised]
    near = promised[(home >= 0) & (
        problem.device[home] == problem.device[target])]
    was, then = (_felt(state, near) for state in (before, after))
    least = problem.promise_us[near]
    worse = near[(then > least) & ~(was > least)]
    return int(worse[0]) if len(worse) else None


def _felt(state: st.State, volumes: Ints) -> Floats:
    """µs[volumes], NaN where the pool is unknown or has no model."""
    home = state.home[volumes]
    return np.where(home >= 0, state.latency_us[home], np.nan)
