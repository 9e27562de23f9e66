# SPDX-License-Identifier: Apache-2.0
"""The local rule: which moves are accepted, and the figures they leave.

A device is hot for a volume where its planning figure is over 1 + hot_ratio
of the mean over the pools that the volume may live on. A move off it is
accepted where the greater figure of its two devices falls by min_gain; both
are those of :mod:`.hot.thresholds`. What the rest of the cluster does is not
asked. Every accepted move lowers the greater of two figures and touches no
other, so planning ends.
"""

from __future__ import annotations

import numpy as np

from serifos.plan import copying
from serifos.plan import limits
from serifos.plan.outcomes import Outcomes
from serifos.plan.problem import Bools
from serifos.plan.problem import Ints
from serifos.plan.slo import beyond
from serifos.plan.state import State


def hot(state: State, volumes: Ints, part: float = 1.0) -> Bools:
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
    found[state.home[here[hot(state, here)]]] = True
    return found


def many(state: State, device: int) -> bool:
    """Whether a device has so many volumes that several moves may be one.

    Of more than 2 / min_gain that are active in the same slot.
    """
    return bool(state.loads[device, :, 0].max()
                * state.problem.limits.min_gain > 2)


def of_several(state: State, found: Outcomes) -> Bools:
    """bool[n]: whether a move may be one of several that count as one.

    It lowers its source by its share of min_gain, that of its GiB in those of
    its device, and leaves its target under that or nearly at the
    mean. Together they have to reach min_gain, which is not looked at here;
    a volume whose type asks for more than that counts by itself.
    """
    problem, thresholds = state.problem, state.problem.thresholds
    level = state.level_us[problem.group[found.volume]] * (
        1 + thresholds.nearly(problem.device[state.home[found.volume]],
                              problem.device[found.target]))
    least = problem.limits.min_gain * state.gib_share[found.volume]
    fine = (found.came_us <= np.maximum(found.left_us, level)) & (
        found.left_us <= found.before_us * limits.keeps(least)) & (
        thresholds.min_gain[found.volume] <= problem.limits.min_gain)
    fine[fine] = ~beyond.breaks(state, found[fine])
    fine[fine] = copying.pays(state, found[fine])
    return fine


def accepted(state: State, found: Outcomes) -> Bools:
    """bool[n]: whether a move is worth making by itself, if space is free."""
    fine = found.worse_us <= (
        found.before_us * state.problem.thresholds.keeps[found.volume])
    fine[fine] = hot(state, found.volume[fine])
    fine[fine] = ~beyond.breaks(state, found[fine])
    fine[fine] = copying.pays(state, found[fine])
    return fine
