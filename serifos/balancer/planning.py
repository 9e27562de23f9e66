# SPDX-License-Identifier: Apache-2.0
"""Make plans of an observation: models, corrections, planners."""

from __future__ import annotations

from collections.abc import Callable
from collections.abc import Mapping
import dataclasses
import functools
import os
import types
import uuid

import numpy as np

from serifos.facts.cluster import Cluster
from serifos.facts.cluster import Pool
from serifos.facts.cluster import TOUCHED
from serifos.facts.cluster import Volume
from serifos.facts.hot_by import BUSY
from serifos.facts.hot_by import LATENCY
from serifos.facts.hot_by import TAILS
from serifos.facts.inventory import Record
from serifos.facts import pool_errors
from serifos.files import documents
from serifos.model.model import LIGHT
from serifos.model.model import Model
from serifos.model import pool_busy
from serifos.model import pool_models
from serifos.plan import bfd
from serifos.plan import hot
from serifos.plan.limits import left_out
from serifos.plan.limits import Limits
from serifos.plan.limits import not_up
from serifos.plan.limits import target_refusal
from serifos.plan import outlook as outlooks
from serifos.plan.plan import Move
from serifos.plan.plan import Plan
from serifos.plan import predictions
from serifos.plan.problem import Problem
from serifos.plan.problem import QUEUED
from serifos.plan import recent
from serifos.plan import relieve
from serifos.plan.slots import planned
from serifos.plan.slots import present
from serifos.plan.slots import Slots
from serifos.plan.state import State
from serifos.plan import violations
from serifos import plugins

PAPER = 'bfd --paper'
PLANNERS = {'bfd': bfd.of, 'relieve': relieve.of,
            PAPER: functools.partial(bfd.of, paper=True)}
"""Those of serifos itself, of a problem."""


def read_models(cluster: Cluster, directory: str | os.PathLike[str],
                say: Callable[[str], None],
                hot_by: str = LATENCY) -> dict[str, Model]:
    """The models that the pools name, as far as they can be read.

    :param say: is called with a sentence for each other, and for those that
        lack what pools are compared by
    :param hot_by: what that is
    """
    found, broken = documents.latency_models(
        directory, {pool.model for pool in cluster.pools if pool.model})
    for stem, why in {**broken, **lacking(found, hot_by)}.items():
        pools = [pool.name for pool in cluster.pools if pool.model == stem]
        more = f' and {len(pools) - 3} more' if len(pools) > 3 else ''
        say(f'{why} Left out with it: {", ".join(pools[:3])}{more}.')
    return found


def lacking(found: Mapping[str, Model], hot_by: str) -> dict[str, str]:
    """The models that lack what pools are compared by, with a sentence."""
    tail = TAILS.get(hot_by)
    return {} if tail is None else {
        stem: f'Model {stem} says nothing of {tail}, by which [balancer] '
        f'hot_by = {hot_by} compares pools; fit it again with serifos-model '
        'fit --tails.' for stem, model in found.items()
        if tail not in model.tails}


def hot_by(limits: Limits, slots: Slots | None) -> str:
    """Figure by which pools are compared.

    :param slots: what volumes did; None for the present, in which no pool is
        reported as busy
    """
    return BUSY if slots is not None and slots.busy else limits.hot_by


def warn_of_strays(cluster: Cluster, say: Callable[[str], None]) -> None:
    """Reports the volumes that are in pools that the cluster does not list."""
    listed = {pool.name for pool in cluster.pools}
    strays = [each for each in cluster.volumes if each.pool not in listed]
    if len(strays) == 1:
        say(f'Volume {strays[0].id} is in pool {strays[0].pool}, which the '
            'cluster does not list: it is not planned for.')
    elif strays:
        say(f'{len(strays)} volumes are in pools that the cluster does not '
            f'list, such as {strays[0].id} in {strays[0].pool}: they are not '
            'planned for.')


def corrected_fleet(
        cluster: Cluster, found: Mapping[str, Model], floor: float,
        hot_by: str = LATENCY) -> predictions.Predictions:
    """The corrected predictions for each pool; none without its model.

    :param found: the models by their names
    :param floor: outstanding I/Os below which a workload is idle
    :param hot_by: what pools are compared by
    """
    fleet = uncorrected_fleet(cluster, found, floor, hot_by)
    factors = np.array([pool.correction for pool in cluster.pools])
    return predictions.Corrected(fleet, factors, np.where(
        factors == 1, 1.0, _above(cluster, fleet))) if (
            factors != 1).any() else fleet


def _above(cluster: Cluster, fleet: pool_models.Fleet) -> predictions.Floats:
    """By what planning is above predictions at present, float[pools]."""
    keys = {pool.device_key: i for i, pool in enumerate(cluster.pools)}
    device = {pool.name: keys[pool.device_key] for pool in cluster.pools}
    here = [volume for volume in cluster.volumes if volume.pool in device]
    loads = np.zeros((len(cluster.pools), fleet.features))
    np.add.at(loads, [device[volume.pool] for volume in here],
              fleet.loads(present(here)))
    return fleet.above(np.arange(len(loads)), loads[
        [device[pool.name] for pool in cluster.pools]])


def uncorrected_fleet(
        cluster: Cluster, found: Mapping[str, Model], floor: float,
        hot_by: str = LATENCY) -> pool_models.Fleet:
    """The same without corrections, as of :func:`corrected_fleet`."""
    its = [found.get(pool.model or '') for pool in cluster.pools]
    if hot_by in TAILS:
        return pool_models.TailFleet(its, hot_by, floor)
    kind = pool_busy.BusyFleet if hot_by == BUSY else pool_models.Fleet
    return kind(its, floor)


def as_printed(found: Mapping[str, Model]) -> dict[str, Model]:
    """The models as the paper predicts: alike within their range and beyond.

    Without a training range, no upper end of an interval is planned with.
    """
    return {name: dataclasses.replace(model, range={})
            for name, model in found.items()}


def model_checks(cluster: Cluster, limits: Limits,
                 found: Mapping[str, Model]) -> dict[str, pool_errors.Check]:
    """Pool → what its tenants see, held against what its model predicts.

    Of the pools of which both are known; by the model's interval at the Load
    that there is.
    """
    fleet = uncorrected_fleet(cluster, found, limits.active_floor)
    its = {name: one for name, one in recent.achieved(Problem.of(
        cluster, fleet, limits)).items()
        if one.seen_us > 0 and one.predicted_us > 0}
    if not its:
        return {}
    place = {pool.name: i for i, pool in enumerate(cluster.pools)}
    pools = np.array([place[name] for name in its])
    loads = np.array([one.load for one in its.values()])
    return {name: pool_errors.Check.of(one.seen_us, one.predicted_us / above,
                                       interval,
                                       float(one.load[QUEUED]))
            for (name, one), above, interval in zip(
                its.items(), fleet.above(pools, loads).tolist(),
                fleet.intervals(pools, loads).tolist())}


def measured(cluster: Cluster, limits: Limits,
             found: Mapping[str, Model],
             hours: pool_errors.Hours = types.MappingProxyType({}),
             checks: Mapping[str, pool_errors.Check] | None = None
             ) -> Cluster:
    """The cluster, in which predictions are corrected by what is measured.

    The level of a pool is what its tenants see, as far as that is surer than
    its model, which predicts the change; all of it where the pool does not fit
    its model. What a volume with an SLO sees is what it measures. Nothing
    is corrected where the models are trusted, nor on a device that is copied
    to or from: it shows more than its tenants make. Of a pool of fewer than
    :data:`.model.LIGHT` requests outstanding, bursts make more than its load,
    and say little of what it would show under more: it is not corrected, and
    does not fit its model only if it is slow beside others, too.

    :param hours: the last ones of each pool, the oldest first
    :param checks: of :func:`model_checks`, where they are known already
    """
    if checks is None:
        checks = model_checks(cluster, limits, found)
    copied = {pool.device_key for pool in cluster.pools if pool.copies_gib}
    checks = {pool.name: checks[pool.name] for pool in cluster.pools
              if pool.name in checks and pool.device_key not in copied}
    slow_us = (1 + limits.hot_ratio) * sum(
        check.seen_us for check in checks.values()) / max(1, len(checks))

    def judged(pool: Pool) -> Pool:
        check = checks.get(pool.name)
        tells = check is not None and (
            check.outstanding >= LIGHT
            or bool(check.far) and check.seen_us > slow_us)
        return dataclasses.replace(
            pool, unexplained=check.clause if tells and check.far else None,
            correction=check.correction(pool_errors.spread(hours.get(pool.name,
                                                                     ())))
            if tells and not limits.trust_models else 1.0)

    cluster = dataclasses.replace(
        cluster, pools=tuple(map(judged, cluster.pools)))
    return _with_tenants(cluster, limits, found, {} if (
        limits.trust_models) else checks)


def _with_tenants(cluster: Cluster, limits: Limits,
                  found: Mapping[str, Model],
                  checks: Mapping[str, pool_errors.Check]) -> Cluster:
    """The cluster, in which volumes with an SLO see what they measure.

    :param checks: of the pools that are corrected
    """
    cluster = dataclasses.replace(cluster, volumes=tuple(
        volume if volume.correction == 1
        else dataclasses.replace(volume, correction=1.0)
        for volume in cluster.volumes))
    seen = {volume.id: volume.workload.latency_us
            for volume in cluster.volumes
            if volume.max_latency_us is not None and volume.pool in checks
            and volume.workload is not None and volume.workload.latency_us
            and volume.workload.is_active(limits.active_floor)}
    if not seen:
        return cluster
    first = state(cluster, limits, found)
    slos = first.problem.slos
    which = np.flatnonzero(first.home[slos.volumes] >= 0)
    home = first.home[slos.volumes[which]]
    foretold = slos.sees_us(
        which, home, first.loads, first.problem.device[home])
    factors = {name: seen[name] / us for volume, us in zip(
        slos.volumes[which].tolist(), foretold.tolist())
        if (name := first.problem.volumes[volume].id) in seen and us > 0}
    return dataclasses.replace(cluster, volumes=tuple(
        dataclasses.replace(volume, correction=factors[volume.id])
        if volume.id in factors else volume for volume in cluster.volumes))


def state(cluster: Cluster, limits: Limits,
          found: Mapping[str, Model],
          slots: Slots | None = None) -> State:
    """The cluster as it is shown beside a plan.

    :param slots: what the volumes did; None for what the cluster says
    """
    return State.of(Problem.of(cluster, predictions_of(
        cluster, limits, found, slots), limits, slots))


def problem_of(cluster: Cluster, limits: Limits,
               found: Mapping[str, Model],
               slots: Slots | None = None) -> Problem:
    """The cluster as plans are made of it.

    Its volumes do what they do in the mean over slots.

    :param slots: what the volumes did; None for what the cluster says
    """
    return Problem.of(
        cluster if slots is None else planned(cluster, slots),
        predictions_of(cluster, limits, found, slots), limits, slots)


def predictions_of(cluster: Cluster, limits: Limits,
                   found: Mapping[str, Model], slots: Slots | None
                   ) -> predictions.Predictions:
    """The predictions for each pool, as plans compare pools.

    :param found: the models by their names
    :param slots: as of :func:`hot_by`
    """
    return corrected_fleet(cluster, found, limits.active_floor,
                           hot_by(limits, slots))


def hot_pools(problem: Problem) -> frozenset[str]:
    """The names of the pools that are hot."""
    return frozenset(
        pool.name for pool, its in zip(
            problem.cluster.pools, hot.hot_pools(State.of(problem))) if its)


def violated_slos(problem: Problem) -> frozenset[str]:
    """The volumes that exceed their SLO."""
    if not len(problem.slos.volumes):
        return frozenset()
    return frozenset(problem.volumes[volume].id
                     for volume in violations.broken(State.of(problem)))


def make_plan(planner: str, cluster: Cluster, limits: Limits,
              found: Mapping[str, Model],
              slots: Slots | None = None,
              problem: Problem | None = None) -> Plan:
    """A plan by one of the :data:`PLANNERS`, or of another package.

    :param slots: what the volumes did, of which a planner of another
        package gets the mean; None for what the cluster says
    :param problem: of this cluster and these slots, where it is built
        already, whatever its limits
    :raises InputError: where that cannot be loaded
    """
    if planner == PAPER and slots is not None:
        problem = problem_of(planned(cluster, slots), limits, found)
    if planner in PLANNERS:
        problem = problem or problem_of(cluster, limits, found, slots)
        made = PLANNERS[planner](dataclasses.replace(problem, limits=limits))
    else:
        made = installed(planner)(
            cluster if slots is None else planned(cluster, slots),
            corrected_fleet(cluster, found, limits.active_floor), limits)
    return made if slots is None else dataclasses.replace(
        made, moves=tuple(_as_measured(move, cluster) for move in made.moves))


def installed(planner: str) -> Callable[..., Plan]:
    """The planner of another package.

    :raises InputError: where it cannot be loaded
    """
    return plugins.load(plugins.PLANNERS, planner)


def restoring(problem: Problem, limits: Limits) -> Plan:
    """A plan of only the moves that restore violated SLOs.

    :param problem: of the present, whatever its limits
    """
    return relieve.of(dataclasses.replace(
        problem, limits=dataclasses.replace(
            limits, held=frozenset(), capacity_horizon_s=None)))


def _as_measured(move: Move, cluster: Cluster) -> Move:
    """The move with the latency that its volume has at present.

    It stands beside the one that QEMU sees at present.
    """
    if move.qemu_us is None:
        return move
    seen = cluster.volume(move.volume).workload
    return dataclasses.replace(move, volume_us=seen and seen.latency_us)


def issued(made: Plan, now: float, ttl_s: float) -> Plan:
    """The plan with a new id, valid for ``ttl_s``."""
    return made.issued(str(uuid.uuid4()), now, ttl_s)


def outdated(move: Move,
             found: Volume | Record | None) -> str | None:
    """Why a move does not fit its volume, as that is found now, or None."""
    if found is None:
        return 'it is no longer there'
    if found.pool != move.source:
        return f'it is on {found.pool} now'
    return None


def changed(move: Move, cluster: Cluster,
            limits: Limits) -> str | None:
    """Why a planned move is no longer possible, or None."""
    volume = next((v for v in cluster.volumes if v.id == move.volume), None)
    target = next((p for p in cluster.pools if p.name == move.target), None)
    why = outdated(move, volume)
    if why is not None:
        return why
    if volume.movable is not True:
        return str(volume.movable)
    source = cluster.pool(volume.pool)
    if source.state == TOUCHED:
        return not_up(source)
    if not source.balance:
        return left_out(source)
    if target is None:
        return f'there is no pool {move.target}'
    why = target_refusal(source.zone, volume.required_backend_name,
                         volume.volume_type, target)
    why = why or limits.unexplained(target)
    room_gib = limits.room_gib(target)
    if why is None and volume.size_gib > room_gib:
        return limits.no_room(target, room_gib, volume.size_gib)
    return why


def outlook(plan: Plan, first: State,
            found: Mapping[str, Model]) -> outlooks.Outlook:
    """The outlook of a plan by the models of its pools.

    :param first: what it begins with, of :func:`.planning.state`
    :param found: the models by their names
    """
    last = outlooks.carried_out(first, plan)
    return outlooks.of(plan, first, last, *(
        expected(each, found) for each in (first, last)))


def expected(state: State,
             found: Mapping[str, Model]) -> dict[str, outlooks.Expected]:
    """Pool → what its model expects, corrected; none without a model.

    The mean of the intervals of its slots: what makes a model err on a pool
    in one of them does so in the others.

    :param found: the models by their names
    """
    cluster = state.problem.cluster
    fleet = uncorrected_fleet(
        cluster, found, state.problem.limits.active_floor,
        state.problem.hot_by)
    pools = np.flatnonzero(state.problem.modelled)
    loads = state.loads[state.problem.device[pools]]
    slots = loads.shape[1]
    low, high, outside = (each.reshape(-1, slots) for each in fleet.expected(
        np.repeat(pools, slots), loads.reshape(-1, loads.shape[2])))
    return {pool.name: outlooks.Expected(
        pool.correction * least, pool.correction * most, beyond)
        for pool, least, most, beyond in zip(
            [cluster.pools[at] for at in pools], low.mean(1).tolist(),
            high.mean(1).tolist(), outside.any(1).tolist())}
