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

from serifos.facts import cluster as cl
from serifos.facts import reason as rs
from serifos.plan.affinity import torn
from serifos.plan import eligibility
from serifos.plan import limits as lm
from serifos.plan.loads import slots as sl
from serifos.plan import plan as pl
from serifos.plan import predictions as pr
from serifos.plan import problem as pm
from serifos.plan import refusals
from serifos.plan import state as st
from serifos.plan import summary

NAME = 'undo'

UNDER_WAY = rs.Reason('its migration is under way still',
                      rs.Code.UNDER_WAY)


@dataclasses.dataclass(frozen=True, slots=True)
class Made:
    """A move that was carried out.

    :param ended: whether its migration has
    """

    volume: str
    source: str
    target: str
    ended: bool = True


def plan(cluster: cl.Cluster, models: pr.Predictions, limits: lm.Limits,
         made: Sequence[Made], slots: sl.Slots | None = None) -> pl.Plan:
    """The moves back, as far as they are possible.

    :param made: in the order in which they ended
    :param slots: as of :meth:`.problem.Problem.of`
    """
    cluster = released(cluster, {each.volume for each in made})
    parted: dict[str, str] = {}
    while True:
        found = _once(cluster, models, limits, made, slots, parted)
        more = torn.of(cluster, found.moves)
        if not more:
            return found
        parted.update(more)


def _once(cluster: cl.Cluster, models: pr.Predictions, limits: lm.Limits,
          made: Sequence[Made], slots: sl.Slots | None,
          parted: Mapping[str, str]) -> pl.Plan:
    """The same, where some moves back are known to break a bond.

    :param parted: volume → which
    """
    first = state = st.State.of(pm.Problem.of(cluster, models, limits, slots))
    place = {volume.id: i for i, volume in enumerate(first.problem.volumes)}
    pools = {pool.name: i for i, pool in enumerate(cluster.pools)}
    moves: list[pl.Move] = []
    refused: list[pl.Refusal] = []
    for each in reversed(made):
        volume, target = place.get(each.volume), pools.get(each.source)
        why = _gone(each, cluster, volume, target) or _barred(
            state, place[each.volume], pools[each.source]) or parted.get(
                each.volume)
        if why is not None:
            refused.append(pl.Refusal(each.volume, why))
            continue
        moves.append(summary.move(
            state, volume, target, f'back to {each.source}'))
        state = state.moved(volume, target)
    return summary.figures(
        NAME, first, state, moves, refused, truncated=any(
            each.code == rs.Code.NO_SPACE_YET for each in refused))


def _gone(made: Made, cluster: cl.Cluster, volume: int | None,
          target: int | None) -> str | None:
    """Why a move is no longer there to be taken back, or None."""
    if not made.ended:
        return UNDER_WAY
    if volume is None:
        return rs.Reason('it is no longer there', rs.Code.VOLUME_GONE)
    at = cluster.volume(made.volume).pool
    if at == made.source:
        return rs.Reason(f'it is on {at}, where it came from',
                         rs.Code.WHERE_IT_WAS)
    if at != made.target:
        return rs.Reason(f'it was moved on since, to {at}',
                         rs.Code.MOVED_ON)
    if target is None:
        return rs.Reason(f'there is no pool {made.source}',
                         rs.Code.POOL_GONE)
    return None


def _barred(state: st.State, volume: int, target: int) -> str | None:
    """Why a volume may not go back, or None."""
    problem, home = state.problem, int(state.home[volume])
    movable, pool = problem.volumes[volume].movable, problem.cluster.pools[
        target]
    if movable is not True:
        return movable or 'not movable'
    if home < 0:
        return lm.unlisted(problem.volumes[volume])
    here = problem.cluster.pools[home]
    if here.state in ('down', cl.TOUCHED):
        return lm.not_up(here)
    if not here.balance:
        return lm.left_out(here)
    return refusals.barred(state, volume, target) or (
        None if problem.modelled[target] else lm.unmodelled(pool))


def released(cluster: cl.Cluster, volumes: Collection[str]) -> cl.Cluster:
    """The cluster, in which these volumes do not cool down."""
    return dataclasses.replace(cluster, volumes=tuple(
        dataclasses.replace(volume, movable=True)
        if volume.id in volumes and eligibility.cools_down(volume.movable)
        else volume for volume in cluster.volumes))
