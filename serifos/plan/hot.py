# SPDX-License-Identifier: Apache-2.0
"""Whether a pool is hot.

A device is hot for a volume where its planning figure is over 1 + hot_ratio
of the mean over the pools that the volume may live on. hot_ratio is that of
:class:`.problem.Thresholds`.
"""

from __future__ import annotations

import numpy as np

from serifos.plan.problem import Bools
from serifos.plan.problem import Ints
from serifos.plan.state import State


def is_hot(state: State, volumes: Ints, part: float = 1.0) -> Bools:
    """bool[volumes]: whether the device of each is hot for it.

    :param part: of hot_ratio, from which on it is
    """
    problem, home = state.problem, state.home[volumes]
    device = problem.device[home]
    return problem.held[home] & (
        state.figure_us[device]
        > (1 + part * problem.thresholds.hot_ratio[device])
        * state.level_us[problem.group[volumes]])


def hot_pools(state: State) -> Bools:
    """bool[pools]: those that are hot for any volume that lives there."""
    found = np.zeros(len(state.room), bool)
    here = np.flatnonzero(state.home >= 0)
    here = here[state.problem.active[here]]
    found[state.home[here[is_hot(state, here)]]] = True
    return found
