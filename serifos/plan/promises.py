# SPDX-License-Identifier: Apache-2.0
"""Latency promises (``serifos:max_latency_us``) that a move would break.

SerifosFilter keeps them when Cinder places a volume: a move that breaks one
would be refused there, or harm another tenant.
"""

from __future__ import annotations

import numpy as np

from serifos.plan.problem import Floats
from serifos.plan.problem import Ints
from serifos.plan import state as st


def broken(before: st.State, volume: int, target: int,
           after: st.State | None = None) -> int | None:
    """The first volume whose promise a move to ``target`` breaks, or None.

    Volumes on the target's device count, the moved one included. A promise
    that was not kept before does not, or an overloaded cluster could not be
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
    was, then = (_latencies(state, near) for state in (before, after))
    least = problem.promise_us[near]
    worse = near[(then > least) & ~(was > least)]
    return int(worse[0]) if len(worse) else None


def _latencies(state: st.State, volumes: Ints) -> Floats:
    """µs[volumes], NaN where the pool is unknown or has no model."""
    home = state.home[volumes]
    return np.where(home >= 0, state.latency_us[home], np.nan)
