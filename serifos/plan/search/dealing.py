# SPDX-License-Identifier: Apache-2.0
"""Targets for the volumes of many devices at once, no two sharing a device.

So the moves of a round can all be made: none changes what another was priced
with.
"""

from __future__ import annotations

import numpy as np

from serifos.plan.problem import Bools
from serifos.plan.problem import Ints
from serifos.plan.problem import Problem
from serifos.plan.state import State

GIB = 30.0
"""What a move costs beside its GiB, in GiB: request, snapshot and wait."""

_EACH = 2
"""Targets of each model that a device is priced with in a round."""


def coolest(state: State, group: int, devices: Bools) -> Ints:
    """The pools of devices that a group may be on, the coolest first.

    Of each device the one with the most room.

    :param devices: bool[devices], those to consider
    """
    problem = state.problem
    pools = np.flatnonzero(problem.open[group])
    pools = pools[np.argsort(-state.room[pools], kind='stable')]
    pools = pools[np.sort(np.unique(
        problem.device[pools], return_index=True)[1])]
    pools = pools[devices[problem.device[pools]]]
    return pools[np.lexsort((pools, state.figure_us[problem.device[pools]]))]


def dealt(problem: Problem, targets: Ints, most: int) -> Ints:
    """int[number, n]: the targets of each of a number of devices, -1 for none.

    Of each model as many, the coolest to the first device.

    :param targets: the coolest first
    :param most: devices that ask
    """
    names: dict[str | None, int] = {}
    model = np.array([
        names.setdefault(problem.cluster.pools[target].model, len(names))
        for target in targets.tolist()], np.intp)
    number = max(1, min(most, len(targets) // (
        _EACH * max(1, len(names)))))
    found = [np.full((number, 0), -1)]
    for one in names.values():
        these = targets[model == one][:_EACH * number]
        some = np.full(_EACH * number, -1)
        some[:len(these)] = these
        found.append(some.reshape(_EACH, number).T)
    return np.concatenate(found, axis=1)
