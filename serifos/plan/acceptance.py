# SPDX-License-Identifier: Apache-2.0
"""The rule by which a move is accepted.

A move off a device that is hot (:mod:`.hot`) is accepted where the greater
figure of its two devices falls by min_gain, that of
:class:`.problem.Thresholds`. What the rest of the cluster does is not asked.
It violates no SLO (:mod:`.violations`) and pays for its copy
(:mod:`.copying`). Every accepted move lowers the greater of two figures and
touches no other, so planning ends. :mod:`.refusals` asks the same in the same
order, for the reason of each move that is not accepted.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from serifos.plan import copying
from serifos.plan.hot import is_hot
from serifos.plan import limits
from serifos.plan.outcomes import Outcomes
from serifos.plan.problem import Bools
from serifos.plan.state import State
from serifos.plan import violations


def many(state: State, device: int) -> bool:
    """Whether a device has so many volumes that several moves may be one.

    Of more than 2 / min_gain that are active in the same slot.
    """
    return bool(state.loads[device, :, 0].max()
                * state.problem.limits.min_gain > 2)


def short(state: State, begun: Mapping[int, float]) -> set[int]:
    """The devices whose several moves fell short of min_gain.

    :param begun: device → its figure before the first of them
    """
    keeps = state.problem.limits.keeps
    return {device for device, was in begun.items()
            if state.figure_us[device] > was * keeps}


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
    fine[fine] = ~violations.breaks(state, found[fine])
    fine[fine] = copying.pays(state, found[fine])
    return fine


def accepted(state: State, found: Outcomes) -> Bools:
    """bool[n]: whether a move is worth making by itself, if space is free."""
    fine = found.worse_us <= (
        found.before_us * state.problem.thresholds.keeps[found.volume])
    fine[fine] = is_hot(state, found.volume[fine])
    fine[fine] = ~violations.breaks(state, found[fine])
    fine[fine] = copying.pays(state, found[fine])
    return fine
