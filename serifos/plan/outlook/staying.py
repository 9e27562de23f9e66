# SPDX-License-Identifier: Apache-2.0
"""Volumes that stay, counted by the kind of reason.

Each kind has its example on the slowest pool, the volume there that has the
most requests outstanding; kinds are ordered by that pool, then by what they
hold.
"""

from __future__ import annotations

from collections.abc import Iterable
from collections.abc import Mapping
import dataclasses

import numpy as np

from serifos.facts.cluster import Volume
from serifos.facts import refusals
from serifos.facts.refusals import Code
from serifos.plan.affinity import permits
from serifos.plan.plan import Refusal
from serifos.plan.problem import Bools
from serifos.plan.problem import Floats
from serifos.plan.problem import Ints
from serifos.plan.problem import Problem
from serifos.plan.state import State


@dataclasses.dataclass(frozen=True, slots=True)
class Staying:
    """The volumes that stay for one kind of reason.

    :param kind: of the reasons, see :func:`.refusals.kind`
    :param code: None where that is not known
    :param share: of the outstanding I/Os of all volumes, 0 to 1
    :param pools: where they are, the slowest first
    :param example: one of them, and the reason of it
    """

    kind: str
    remedy: str
    code: str | None
    volumes: int
    share: float
    pools: tuple[str, ...]
    example: Volume
    reason: str


def refused(state: State, refused: Iterable[Refusal],
            rank: Mapping[str, int]) -> tuple[Staying, ...]:
    """The refusals of a plan.

    :param rank: of each pool, 0 for the slowest
    """
    place = {volume.id: i for i, volume in enumerate(state.problem.volumes)}
    return _counted(state, [
        (place[refusal.volume], refusal.reason) for refusal in refused
        if refusal.volume in place], rank)


def immovable(state: State, rank: Mapping[str, int]) -> tuple[Staying, ...]:
    """Those of :func:`held`.

    :param rank: of each pool, 0 for the slowest
    """
    return _counted(state, held(state).items(), rank)


def held(state: State) -> dict[int, str]:
    """Why volumes may not move anywhere: active and unknown ones.

    For what they are themselves, or since rules and bonds leave them no pool
    of another device; that those have no space is no reason.
    """
    problem = state.problem
    why = {volume: problem.refusal(volume)
           for volume in range(len(problem.volumes))}
    free = np.array([volume for volume, reason in why.items()
                     if reason is None], np.intp)
    why.update((volume, (
        Code.NO_OTHER_POOL if _models_elsewhere(problem, volume)
        else Code.NO_OTHER_MODEL).of())
               for volume in free[~_goes(state, free)].tolist())
    return {volume: reason for volume, reason in why.items() if reason}


def _goes(state: State, volumes: Ints) -> Bools:
    """bool[n]: whether rules and bonds leave each a pool elsewhere."""
    problem = state.problem
    pairs, which = np.unique(
        np.stack([problem.group[volumes],
                  problem.device[state.home[volumes]]]),
        axis=1, return_inverse=True)
    found = (problem.open[pairs[0]] & (
        problem.device != pairs[1][:, None])).any(1)[which.reshape(-1)]
    for row in np.flatnonzero(problem.bonds.bound[volumes]).tolist():
        pools = permits.pools(state, int(volumes[row]))
        found[row] = (pools & (problem.device != problem.device[
            state.home[volumes[row]]])).any()
    return found


def _models_elsewhere(problem: Problem, volume: int) -> bool:
    return bool((problem.modelled & (
        problem.device != problem.device[problem.home[volume]])).any())


def _counted(state: State, said: Iterable[tuple[int, str]],
             rank: Mapping[str, int]) -> tuple[Staying, ...]:
    problem, queued = state.problem, outstanding(state.problem)
    last = len(rank)

    def slowest(one: tuple[int, str]) -> tuple[int, float, int]:
        volume, _ = one
        return (rank.get(problem.volumes[volume].pool, last),
                -queued[volume], volume)

    by_kind: dict[tuple[str, str], list[tuple[int, str]]] = {}
    for one in sorted(said, key=slowest):
        by_kind.setdefault((refusals.kind(one[1]), refusals.remedy(one[1])),
                           []).append(one)
    total = float(queued.sum()) or 1.0
    found = [Staying(
        kind, remedy, refusals.code(its[0][1]), len(its),
        float(sum(queued[v] for v, _ in its)) / total,
        tuple(dict.fromkeys(problem.volumes[v].pool for v, _ in its)),
        problem.volumes[its[0][0]], its[0][1])
        for (kind, remedy), its in by_kind.items()]
    return tuple(sorted(found, key=lambda each: (
        rank.get(each.pools[0], last), -each.share, -each.volumes)))


def outstanding(problem: Problem) -> Floats:
    """The outstanding I/Os of each volume, over slots as their figures."""
    return problem.queued(problem.loads)
