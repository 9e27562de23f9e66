# SPDX-License-Identifier: Apache-2.0
"""Outlook of a plan: pools before and after, and volumes that stay.

All of it is computed from the observation that was planned for, the models,
and the plan; words are made of it elsewhere. Volumes that stay are counted by
the kind of their reason; each kind has its example on the slowest pool, the
volume there that has the most requests outstanding.
"""

from __future__ import annotations

import collections
from collections.abc import Iterable
from collections.abc import Mapping
import dataclasses
import functools

import numpy as np

from serifos.facts.cluster import Pool
from serifos.facts.cluster import Volume
from serifos.facts.hot_by import LATENCY
from serifos.facts import refusals
from serifos.facts.refusals import Code
from serifos.plan.hot import hot_pools
from serifos.plan.limits import Limits
from serifos.plan import permits
from serifos.plan.plan import Plan
from serifos.plan.plan import Refusal
from serifos.plan.problem import Bools
from serifos.plan.problem import Floats
from serifos.plan.problem import Ints
from serifos.plan.problem import Problem
from serifos.plan.state import State
from serifos.plan import violations


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
    return _by_kind(state, [
        (place[refusal.volume], refusal.reason) for refusal in refused
        if refusal.volume in place], rank)


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


def _by_kind(state: State, said: Iterable[tuple[int, str]],
             rank: Mapping[str, int]) -> tuple[Staying, ...]:
    problem, queued = state.problem, outstanding(state.problem)
    last = len(rank)

    def slowest(one: tuple[int, str]) -> tuple[int, float, int]:
        volume, _ = one
        return (rank.get(problem.volumes[volume].pool, last),
                -queued[volume], volume)

    kinds: dict[tuple[str, str], list[tuple[int, str]]] = {}
    for one in sorted(said, key=slowest):
        kinds.setdefault((refusals.kind(one[1]), refusals.remedy(one[1])),
                         []).append(one)
    total = float(queued.sum()) or 1.0
    found = [Staying(
        kind, remedy, refusals.code(its[0][1]), len(its),
        float(sum(queued[v] for v, _ in its)) / total,
        tuple(dict.fromkeys(problem.volumes[v].pool for v, _ in its)),
        problem.volumes[its[0][0]], its[0][1])
        for (kind, remedy), its in kinds.items()]
    return tuple(sorted(found, key=lambda each: (
        rank.get(each.pools[0], last), -each.share, -each.volumes)))


def outstanding(problem: Problem) -> Floats:
    """The outstanding I/Os of each volume, over slots as their figures."""
    return problem.queued(problem.loads)


@dataclasses.dataclass(frozen=True, slots=True)
class Expected:
    """The interval that a model predicts for a pool.

    :param low_us: of the 90 % interval
    :param outside: whether its Load is beyond what the model was trained on:
        pools are compared by the upper end of the interval
    """

    low_us: float
    high_us: float
    outside: bool


@dataclasses.dataclass(frozen=True, slots=True)
class Side:
    """A pool before the plan, or after it.

    :param latency_us: expected, the mean over its active volumes; None
        without a model
    :param figure_us: the planning figure of its device
    :param violated: SLOs of its volumes that are measured to be violated;
        afterwards those of them that are predicted to stay so
    :param forecast: the others that are predicted to be violated
    :param free_gib: that plans may fill
    """

    latency_us: float | None
    figure_us: float | None
    hot: bool
    violated: int
    forecast: int
    free_gib: float
    expected: Expected | None = None

    @property
    def broken(self) -> int:
        """SLOs that are violated, measured and forecast."""
        return self.violated + self.forecast


@dataclasses.dataclass(frozen=True, slots=True)
class PoolOutlook:
    """A pool before the plan and after it.

    :param volumes: in it, before
    :param active: those with a Load, as one is taken of unknown ones
    :param seen_us: what they see, as measured, in the mean; None where that
        is not known of any
    :param immovable: which part of its outstanding I/Os is of volumes that may
        move nowhere, 0 to 1
    """

    pool: Pool
    volumes: int
    active: int
    seen_us: float | None
    immovable: float
    before: Side
    after: Side

    @property
    def planned(self) -> bool:
        """Whether it has a model, and so is in the plan's figures."""
        return self.before.latency_us is not None

    @property
    def latencies_us(self) -> tuple[float, float]:
        """Before and after; 0 without a model."""
        return self.before.latency_us or 0.0, self.after.latency_us or 0.0

    @property
    def within_interval(self) -> bool:
        """Whether what is gained may be an error of the model."""
        was, then = self.latencies_us
        return then < was and self.before.expected is not None and (
            then >= self.before.expected.low_us)


@dataclasses.dataclass(frozen=True)
class Outlook:
    """The outlook of a plan: its pools before and after, and what stays.

    :param pools: of the cluster, the slowest first
    :param volumes: of the moves, as the cluster has them
    :param staying: why volumes stay, as the plan says
    :param immovable: what could move nowhere, whatever the plan
    :param hot_by: what planning figures are of
    :param shared_names: those that several volumes of the cluster have
    """

    plan: Plan
    limits: Limits
    pools: tuple[PoolOutlook, ...]
    volumes: tuple[Volume | None, ...]
    staying: tuple[Staying, ...]
    immovable: tuple[Staying, ...]
    hot_by: str = LATENCY
    shared_names: frozenset[str] = frozenset()

    @functools.cached_property
    def touched(self) -> frozenset[str]:
        """The pools that a move leaves or comes to."""
        return frozenset(name for move in self.plan.moves
                         for name in (move.source, move.target))

    @property
    def relieved(self) -> tuple[PoolOutlook, ...]:
        """The sources that are faster afterwards, the slowest first."""
        sources = {move.source for move in self.plan.moves}
        return tuple(
            each for each in self.pools if each.pool.name in sources
            and each.latencies_us[1] < each.latencies_us[0])

    @property
    def slower(self) -> tuple[PoolOutlook, ...]:
        """The pools that are slower afterwards, the worst loss first."""
        found = [each for each in self.pools
                 if each.latencies_us[1] > each.latencies_us[0] * (1 + 1e-9)]
        return tuple(sorted(found, key=lambda each: (
            each.latencies_us[0] - each.latencies_us[1])))

    @property
    def gib(self) -> float:
        return sum(move.size_gib for move in self.plan.moves)

    @property
    def copy_s(self) -> float | None:
        """How long the copies take one after another, where it is known."""
        each = [move.copy_s for move in self.plan.moves]
        return None if None in each else sum(
            copy_s for copy_s in each if copy_s is not None)

    @property
    def meanwhile_us(self) -> float | None:
        """The most that a pool shows while volumes are copied."""
        return max((latency_us for move in self.plan.moves for latency_us in (
            move.source_during_us, move.target_during_us)
            if latency_us is not None), default=None)


def of(plan: Plan, first: State, last: State,
       was: Mapping[str, Expected], then: Mapping[str, Expected]) -> Outlook:
    """The outlook of a plan for a cluster.

    :param first: the cluster that it is for, as it was planned by
    :param last: that once it is :func:`carried_out`
    :param was: pool → what its model expects before
    :param then: the same after the plan
    """
    cluster = first.problem.cluster
    before, after = (_sides(first, first, was), _sides(first, last, then))
    staying = held(first)
    found = tuple(
        PoolOutlook(pool, *counted, *sides) for pool, counted, *sides
        in zip(cluster.pools, _counted(first, staying), before, after))
    pools = tuple(sorted(found, key=lambda each: (
        -each.latencies_us[0], each.pool.name)))
    known = {volume.id: volume for volume in cluster.volumes}
    rank = {each.pool.name: i for i, each in enumerate(pools)}
    return Outlook(
        plan, first.problem.limits, pools,
        tuple(known.get(move.volume) for move in plan.moves),
        refused(first, plan.refused, rank),
        _by_kind(first, staying.items(), rank), first.problem.hot_by,
        cluster.shared_names)


def carried_out(first: State, plan: Plan) -> State:
    """The state after those moves of a plan that this one knows."""
    place = {volume.id: i for i, volume in enumerate(first.problem.volumes)}
    pools = {pool.name: i
             for i, pool in enumerate(first.problem.cluster.pools)}
    moves = [(place[move.volume], pools[move.target]) for move in plan.moves
             if move.volume in place and move.target in pools]
    return first.moved(*map(list, zip(*moves))) if moves else first


def _sides(first: State, state: State,
           expected: Mapping[str, Expected]) -> list[Side]:
    pools = state.problem.cluster.pools
    violated, forecast = (
        np.bincount(state.home[its], minlength=len(pools))
        for its in (violations.violated(first, state),
                    violations.forecast(first, state)))
    figure_us = state.figure_us[state.problem.device]
    return [Side(_known(latency), _known(figure), bool(hot), int(late),
                 int(foretold), float(free), expected.get(pool.name))
            for pool, latency, figure, hot, late, foretold, free in zip(
                pools, state.mean_us, figure_us,
                hot_pools(state), violated, forecast,
                state.free)]


def _counted(state: State, staying: Mapping[int, str]
             ) -> list[tuple[int, int, float | None, float]]:
    """Of each pool: its volumes, the active ones, what they see, and stay.

    :param staying: the result of :func:`held`
    """
    problem, home = state.problem, state.home
    here, pools = home >= 0, len(problem.cluster.pools)
    seen = np.array([
        volume.workload.latency_us if volume.workload is not None
        and volume.workload.is_active(problem.limits.active_floor)
        and volume.workload.latency_us is not None else np.nan
        for volume in problem.volumes], float)
    some = here & ~np.isnan(seen)
    total = np.bincount(home[some], seen[some], pools)
    number = np.bincount(home[some], minlength=pools)
    q = outstanding(problem)
    stays = np.zeros(len(home), bool)
    stays[[*staying]] = True
    stays &= here
    every, stuck = (np.bincount(home[which], q[which], pools)
                    for which in (here, stays))
    return [(int(volumes), int(active), float(us / n) if n else None,
             float(part / whole) if whole else 0.0)
            for volumes, active, us, n, part, whole in zip(
                np.bincount(home[here], minlength=pools),
                np.bincount(home[here & problem.active], minlength=pools),
                total, number, stuck, every)]


def _known(latency_us: float) -> float | None:
    return None if np.isnan(latency_us) else float(latency_us)


@dataclasses.dataclass(frozen=True, slots=True)
class TypeSlo:
    """The volumes that have one SLO by one type.

    :param violated: of them, that are measured to see more, and those of
        these that are predicted to do so after a plan
    :param forecast: the others that are predicted to, before and after
    """

    volume_type: str
    most_us: float
    volumes: int
    violated: tuple[int, int]
    forecast: tuple[int, int]


def by_type(first: State, last: State) -> tuple[TypeSlo, ...]:
    """Those with most violations first.

    :param last: after the plan
    """
    volumes = first.problem.volumes

    def counted(which: list[int]) -> collections.Counter[tuple[str, float]]:
        return collections.Counter(
            (volumes[each].volume_type or '',
             float(first.problem.slos.us[each])) for each in which)

    every = counted(first.problem.slos.volumes.tolist())
    violated, forecast = (
        [counted(which(first, state).tolist()) for state in (first, last)]
        for which in (violations.violated, violations.forecast))
    return tuple(sorted(
        (TypeSlo(*key, number, *((was[key], then[key])
                                 for was, then in (violated, forecast)))
         for key, number in every.items()),
        key=lambda each: (-each.violated[0], -each.forecast[0],
                          each.most_us, each.volume_type)))
