# SPDX-License-Identifier: Apache-2.0
"""The moves back of a plan that was carried out.

In the reverse order of the moves, each volume to the pool that it came from,
by the rules of any plan: pools that are up and modelled, zones, backends,
types, space. No gain is asked for, and SLOs that would be violated are
counted in the plan's figures and refuse nothing: a person decides.

That a volume was just moved does not hold it back. The cool-down keeps the
balancer from moving a volume to and fro at every change of the load; it is
not there to keep a person from taking a move back. Volumes that are moved
back cool down anew.
"""

from __future__ import annotations

from collections.abc import Collection
from collections.abc import Mapping
from collections.abc import Sequence
import dataclasses

from serifos.facts.cluster import Cluster
from serifos.facts.cluster import TOUCHED
from serifos.facts.refusals import Code
from serifos.plan import affinity
from serifos.plan import eligibility
from serifos.plan.limits import left_out
from serifos.plan.limits import Limits
from serifos.plan.limits import not_up
from serifos.plan.limits import unlisted
from serifos.plan.limits import unmodelled
from serifos.plan.plan import Cause
from serifos.plan.plan import Move
from serifos.plan.plan import Plan
from serifos.plan.plan import Refusal
from serifos.plan.predictions import Predictions
from serifos.plan.problem import Problem
from serifos.plan import refusals
from serifos.plan.slots import Slots
from serifos.plan.state import State
from serifos.plan import summary

NAME = 'undo'


@dataclasses.dataclass(frozen=True, slots=True)
class Made:
    """A move that was carried out.

    :param ended: whether its migration has
    """

    volume: str
    source: str
    target: str
    ended: bool = True


def plan(cluster: Cluster, models: Predictions, limits: Limits,
         made: Sequence[Made], slots: Slots | None = None) -> Plan:
    """The moves back, as far as they are possible.

    :param made: in the order in which they ended
    :param slots: as of :meth:`.problem.Problem.of`
    """
    cluster = released(cluster, {each.volume for each in made})
    first = State.of(Problem.of(cluster, models, limits, slots))
    parted: dict[str, str] = {}
    while True:
        found = _once(first, made, parted)
        more = affinity.against(cluster, found.moves)
        if not more:
            return found
        parted.update(more)


def _once(first: State, made: Sequence[Made],
          parted: Mapping[str, str]) -> Plan:
    """The same, where some moves back are known to break a bond.

    :param parted: volume → which
    """
    state, cluster = first, first.problem.cluster
    place = {volume.id: i for i, volume in enumerate(first.problem.volumes)}
    pools = {pool.name: i for i, pool in enumerate(cluster.pools)}
    moves: list[Move] = []
    refused: list[Refusal] = []
    for each in reversed(made):
        volume, target = place.get(each.volume), pools.get(each.source)
        why = _gone(each, cluster, volume, target) or _barred(
            state, place[each.volume], pools[each.source]) or parted.get(
                each.volume)
        if why is not None:
            refused.append(Refusal(each.volume, why))
            continue
        moves.append(summary.move(
            state, volume, target, Cause.UNDONE.of(pool=each.source)))
        state = state.moved(volume, target)
    return summary.figures(
        NAME, first, state, moves, refused, truncated=any(
            each.code == Code.NO_SPACE_YET for each in refused))


def _gone(made: Made, cluster: Cluster, volume: int | None,
          target: int | None) -> str | None:
    """Why a move is no longer there to be taken back, or None."""
    if not made.ended:
        return Code.UNDER_WAY.of()
    if volume is None:
        return Code.VOLUME_GONE.of()
    at = cluster.volume(made.volume).pool
    if at == made.source:
        return Code.WHERE_IT_WAS.of(pool=at)
    if at != made.target:
        return Code.MOVED_ON.of(pool=at)
    if target is None:
        return Code.POOL_GONE.of(pool=made.source)
    return None


def _barred(state: State, volume: int, target: int) -> str | None:
    """Why a volume may not go back, or None."""
    problem, home = state.problem, int(state.home[volume])
    movable, pool = problem.volumes[volume].movable, problem.cluster.pools[
        target]
    if movable is not True:
        return movable or 'not movable'
    if home < 0:
        return unlisted(problem.volumes[volume])
    here = problem.cluster.pools[home]
    if here.state in ('down', TOUCHED):
        return not_up(here)
    if not here.balance:
        return left_out(here)
    return refusals.barred(state, volume, target) or (
        None if problem.modelled[target] else unmodelled(pool))


def released(cluster: Cluster, volumes: Collection[str]) -> Cluster:
    """The cluster, in which these volumes do not cool down."""
    return dataclasses.replace(cluster, volumes=tuple(
        dataclasses.replace(volume, movable=True)
        if volume.id in volumes and eligibility.cools_down(volume.movable)
        else volume for volume in cluster.volumes))
