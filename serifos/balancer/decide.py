# SPDX-License-Identifier: Apache-2.0
"""Decide what a round moves: smoothed observations, history, plan.

Volumes count with their mean over the last observations; pools have to stay
hot, and SLOs violated, for as many rounds. Where there is a history, pools
are judged by it: what is hot for minutes only is nothing to move for, what is
hot by the figures of days is. An SLO that is violated at present, as measured
and not only as predicted, is restored first where a move can and the settings
say so.
"""

from __future__ import annotations

from collections.abc import Mapping
from collections.abc import Sequence
import dataclasses
import functools

import numpy as np
import numpy.typing as npt

from serifos.balancer import batch
from serifos.balancer.observe import Observation
from serifos.balancer import planning
from serifos.balancer.settings import BalancerSettings
from serifos.facts import activity
from serifos.facts.activity import History
from serifos.facts.cluster import Cluster
from serifos.facts.history import FIGURES
from serifos.facts.history import Series
from serifos.model.model import Model
from serifos.plan.limits import Limits
from serifos.plan.plan import Move
from serifos.plan.plan import Plan
from serifos.plan.problem import Problem
from serifos.plan.recent import filled
from serifos.plan.recent import Recent
from serifos.plan.recent import Round
from serifos.plan.slots import Slots


READ_AT_ONCE = 1 << 26
"""Numbers of a history that are read at once, 256 MiB."""

REACHES, REACHES_BUSY = 0.9, 0.25
"""How far back a history has to reach, as a part of what is planned by.

Until then the present is a better guide than a few hours of a night or a
morning. Where pools are compared by how busy they are, some hours are better:
what is outstanding at present is no rate.
"""

REDUCED_AT_ONCE = 1 << 20
"""Numbers of a history that are reduced at once."""


@dataclasses.dataclass(frozen=True, eq=False)
class Basis:
    """The basis of a plan: cluster, limits, models and history.

    :param cluster: in which volumes too large for the pace of rounds stay
    :param limits: with the pools that were hot for long enough
    :param problem: of the cluster and its history
    :param present: of the cluster without its history; None where that does
        not count
    :param violated: the volumes whose SLOs were violated for long enough;
        None where moves for SLOs wait for nothing
    :param slots: what volumes did over days; None for the present
    """

    cluster: Cluster
    limits: Limits
    models: Mapping[str, Model]
    problem: Problem
    present: Problem | None = None
    violated: frozenset[str] | None = None
    slots: Slots | None = None

    @classmethod
    def of(cls, settings: BalancerSettings, cluster: Cluster, limits: Limits,
           models: Mapping[str, Model], slots: Slots | None = None) -> Basis:
        """The basis of a plan by one observation, for which nothing lasts."""
        cluster = settings.planned(cluster)
        return cls(
            cluster, limits, models,
            planning.problem_of(cluster, limits, models, slots),
            planning.problem_of(cluster, limits, models)
            if slots is not None and settings.fix_at_once else None,
            slots=slots)

    def too_early(self, move: Move) -> str | None:
        """The reason for which a move for an SLO waits, or None."""
        if self.violated is None or not move.for_slo or (
                self._devices.get(move.source) in self._violated_devices):
            return None
        return (f'no SLO on {move.source} was violated by the mean in each '
                'of the last rounds')

    @functools.cached_property
    def _devices(self) -> dict[str, str]:
        return batch.devices_of(self.cluster)

    @functools.cached_property
    def _violated_devices(self) -> set[str | None]:
        return {self._devices.get(volume.pool)
                for volume in self.cluster.volumes
                if volume.id in (self.violated or ())}


def smoothed(settings: BalancerSettings, seen: Observation,
             limits: Limits, recent: Recent, now: float,
             slots: Slots | None = None) -> tuple[Basis, Recent]:
    """The basis of a plan by an observation and those before it.

    :param now: seconds of the epoch
    :param slots: what volumes did over days; None for the present
    :returns: the observations for the next round as well
    """
    newest, cluster = seen.cluster, recent.smoothed(seen.cluster, now)
    if any(volume.workload is None for volume in newest.volumes):
        newest = planning.measured(
            filled(newest, cluster), limits, seen.models, seen.hours)
    hot = planning.hot_pools(planning.problem_of(
        newest, limits, seen.models, slots))
    basis = Basis.of(settings, planning.measured(
        cluster, limits, seen.models, seen.hours), limits, seen.models, slots)
    recent = recent.after(Round(
        now, seen.cluster, hot, violated(basis)))
    return dataclasses.replace(
        basis, limits=dataclasses.replace(limits, held=recent.hot),
        violated=recent.violated), recent


def violated(basis: Basis) -> frozenset[str]:
    """The volumes whose SLOs count as violated by an observation."""
    found = planning.violated_slos(basis.problem)
    if basis.slots is not None:
        found -= _met(basis.cluster)
    if basis.present is not None:
        found |= planning.violated_slos(
            basis.present) - _met(basis.cluster, idle=True)
    return found


def plan(settings: BalancerSettings, basis: Basis) -> Plan:
    """The plan of a round, not yet issued."""
    if basis.present is not None:
        restoring = planning.restoring(basis.present, basis.limits)
        if any(basis.too_early(move) is None for move in restoring.moves):
            return restoring
    found = planning.make_plan(
        settings.planner, basis.cluster, basis.limits, basis.models,
        basis.slots, basis.problem)
    return found if basis.slots is None else dataclasses.replace(
        found, window_s=settings.history_s)


def _met(cluster: Cluster, idle: bool = False) -> frozenset[str]:
    """The volumes that meet their SLO, as measured.

    Whatever is predicted for them: by a model that is wrong about a pool,
    volumes would leave it that are well there.

    :param idle: whether those count that have no requests
    """
    return frozenset(
        volume.id for volume in cluster.volumes for seen in [volume.workload]
        if seen is not None and seen.latency_us is not None
        and volume.max_latency_us is not None
        and seen.latency_us <= volume.max_latency_us
        and (idle or seen.is_active()))


def slots(history: History | None,
          places: Sequence[activity.MeasuredVolume], now: float,
          settings: BalancerSettings) -> Slots | None:
    """Workloads of volumes by their history; None for the present.

    By the last whole slots of the history, up to now, once it reaches back
    far enough.

    :param now: seconds of the epoch
    :raises SerifosError: where the history cannot be read
    """
    if history is None or not settings.history_s:
        return None
    step_s = settings.demand.step_s
    count = max(1, round(settings.history_s / step_s))
    end = int(now // step_s) * step_s
    each = count * len(FIGURES)
    seen = np.zeros(count, dtype=bool)
    found: list[Slots] = []
    for some in _pieces(places, READ_AT_ONCE // each):
        read = history.read(some, end - count * step_s, end, step_s)
        seen |= (read.seconds > 0).any(axis=1)
        found += [settings.demand.of(part)
                  for part in _parts(read, REDUCED_AT_ONCE // each)]
    reaches = REACHES_BUSY if settings.demand.busy else REACHES
    if count - _first(seen) < reaches * count or not any(
            part.known for part in found):
        return None
    return Slots(
        tuple(volume for part in found for volume in part.volumes),
        np.concatenate([part.patterns for part in found]),
        found[0].busy)


def _first(seen: npt.NDArray[np.bool_]) -> int:
    """The first that is true; their number where none is."""
    return int(seen.argmax()) if seen.any() else len(seen)


def _pieces(places: Sequence[activity.MeasuredVolume], most: int
            ) -> list[Sequence[activity.MeasuredVolume]]:
    step = max(1, most)
    return [places[first:first + step]
            for first in range(0, len(places), step)]


def _parts(read: Series, most: int) -> list[Series]:
    """The same, so many volumes each."""
    step = max(1, most)
    return [dataclasses.replace(
        read, volumes=read.volumes[first:first + step],
        sums=read.sums[:, :, first:first + step])
        for first in range(0, len(read.volumes), step)]
