# SPDX-License-Identifier: Apache-2.0
"""Rounds in which many devices make the best of a few moves at once.

In a round the worst devices are each priced with their best volumes, by what
their leaving does a GiB, and with the coolest pools of each model, dealt out
so that no two devices share one. So no move of a round changes what another
was priced with: all of them are exact, are made at once, and cost two calls
of the models. Which devices ask, and which of their moves are made, is the
aim's: :mod:`.relief` and :mod:`.slo_moves`.
"""

from __future__ import annotations

from collections.abc import Collection
from collections.abc import Sequence
from typing import Protocol

import numpy as np

from serifos.plan import outcomes
from serifos.plan.problem import Bools
from serifos.plan.problem import Ints
from serifos.plan.problem import Problem
from serifos.plan.state import State

BEST = 6
"""Volumes of a device that are priced in a round."""

GIB = 30.0
"""What a move costs beside its GiB, in GiB: request, snapshot and wait."""

_EACH = 2
"""Targets of each model that a device is priced with in a round."""


class Aim(Protocol):
    """The aim of rounds, for volumes that the rules treat alike.

    :ivar left: device → its volumes that are left to try, the best first
    :ivar anew: whether a device's volumes are ranked anew after a move
    :ivar enough: whether no further round is wanted
    """

    group: int
    left: dict[int, list[int]]
    anew: bool
    enough: bool

    @property
    def state(self) -> State:
        """The state that the moves so far lead to."""

    def asking(self) -> list[int]:
        """The devices that moves may leave, the worst first."""

    def rank(self, devices: list[int]) -> None:
        """Sets ``left`` of devices."""

    def some(self, device: int) -> list[int]:
        """Those of ``left`` that are priced in this round."""

    def targets(self, asking: list[int]) -> Bools:
        """bool[devices]: those that volumes may come to."""

    def make(self, found: outcomes.Outcomes, rank: Ints) -> Collection[int]:
        """Makes the best move of each rank; returns the volumes chosen."""


def drain(aim: Aim) -> None:
    """Rounds until no device has a volume left to try."""
    tired: set[int] = set()
    while (asking := _asking(aim)) and not aim.enough:
        dealt = dealt_targets(aim, asking, len(asking))
        some = {device: aim.some(device) for device in asking[:len(dealt)]}
        chosen = aim.make(*priced(aim.state, [*some.values()], dealt))
        for rank, (device, volumes) in enumerate(some.items()):
            gone = [volume for volume in volumes if volume in chosen]
            if gone and aim.anew:
                del aim.left[device]
            elif gone:
                aim.left[device].remove(gone[0])
            elif rank == 0 or device in tired:
                # Not even the coolest pools take them.
                tired.discard(device)
                aim.left[device] = [volume for volume in aim.left[device]
                                    if volume not in volumes]
            else:
                tired.add(device)


def _asking(aim: Aim) -> list[int]:
    """The devices that have a volume to try, the worst first."""
    devices = aim.asking()
    aim.rank([device for device in devices if device not in aim.left])
    return [device for device in devices if aim.some(device)]


def priced(state: State, some: Sequence[Sequence[int]],
           dealt: Ints) -> tuple[outcomes.Outcomes, Ints]:
    """The moves of each device's volumes to the targets dealt to it.

    :returns: with the rank of its device for each
    """
    rank = np.repeat(np.arange(len(some)), [len(each) for each in some])
    volumes = np.array([volume for each in some for volume in each], np.intp)
    row, column = np.nonzero(dealt[rank] >= 0)
    target = dealt[rank[row], column]
    fits = outcomes.fits(state, volumes[row], target)
    row, target = row[fits], target[fits]
    return outcomes.outcomes(state, volumes[row], target), rank[row]


def by_device(devices: Ints, volumes: Ints) -> dict[int, list[int]]:
    """Device → its volumes, in the order given."""
    found: dict[int, list[int]] = {}
    for device, volume in zip(devices.tolist(), volumes.tolist()):
        found.setdefault(device, []).append(volume)
    return found


def dealt_targets(aim: Aim, asking: list[int], most: int) -> Ints:
    """int[number, n]: the targets of each of a number of devices, -1 for none.

    :param most: devices that ask
    """
    return _dealt(aim.state.problem, _coolest(
        aim.state, aim.group, aim.targets(asking)), most)


def _coolest(state: State, group: int, devices: Bools) -> Ints:
    """The pools of devices that a group may be on, the coolest first.

    Of each device the one with the most room.
    """
    problem = state.problem
    pools = np.flatnonzero(problem.open[group])
    pools = pools[np.argsort(-state.room[pools], kind='stable')]
    pools = pools[np.sort(np.unique(
        problem.device[pools], return_index=True)[1])]
    pools = pools[devices[problem.device[pools]]]
    return pools[np.lexsort((pools, state.figure_us[problem.device[pools]]))]


def _dealt(problem: Problem, targets: Ints, most: int) -> Ints:
    """Of each model as many to each device, the coolest to the first."""
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
