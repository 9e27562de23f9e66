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

from serifos.balancer.moving import batch
from serifos.balancer import observer
from serifos.balancer import planning
from serifos.balancer.settings import BalancerSettings
from serifos.facts import activity
from serifos.facts.cluster import Cluster
from serifos.facts.history import FIGURES
from serifos.facts.history import History
from serifos.facts.history import Series
from serifos.model.model import Model
from serifos.plan.limits import Limits
from serifos.plan.loads.slots import Slots
from serifos.plan.plan import Move
from serifos.plan.plan import Plan
from serifos.plan.recent import filled
from serifos.plan.recent import Recent


READ_AT_ONCE = 1 << 26
"""Numbers of a history that are read at once, 256 MiB."""

REACHES, REACHES_BUSY = 0.9, 0.25
"""How far back a history has to reach, as a part of what is planned by.

Until then the present tells more than the few hours of a night or a morning.
Where pools are compared by how busy they are, some hours tell more: what is
outstanding at present is no rate.
"""

REDUCED_AT_ONCE = 1 << 20
"""Numbers of a history that are reduced at once."""


def plan(settings: BalancerSettings, cluster: Cluster,
         steady: Steady, models: Mapping[str, Model]) -> Plan:
    """The plan of a round, not yet issued.

    :param cluster: that of ``steady``, with what the pace forbids
    """
    if steady.slots is not None and settings.mend_at_once:
        mended = planning.kept_again(cluster, steady.limits, models)
        if any(steady.too_early(move) is None for move in mended.moves):
            return mended
    found = planning.plan(settings.planner, cluster, steady.limits, models,
                          steady.slots)
    return found if steady.slots is None else dataclasses.replace(
        found, window_s=settings.history_s)


@dataclasses.dataclass(frozen=True)
class Steady:
    """An observation by those before it.

    :param limits: with the pools that were hot for long enough
    :param late: volumes whose SLOs were violated for long enough; None
        where one observation counts
    :param slots: what volumes did over days; None for the present
    """

    cluster: Cluster
    limits: Limits
    late: frozenset[str] | None = None
    slots: Slots | None = None

    def too_early(self, move: Move) -> str | None:
        """The reason for which a move for an SLO waits, or None."""
        if self.late is None or not move.for_slo or (
                self._devices.get(move.source) in self._late_devices):
            return None
        return (f'no SLO on {move.source} was violated by the mean in each '
                'of the last rounds')

    @functools.cached_property
    def _devices(self) -> dict[str, str]:
        return batch.devices_of(self.cluster)

    @functools.cached_property
    def _late_devices(self) -> set[str | None]:
        return {self._devices.get(volume.pool)
                for volume in self.cluster.volumes
                if volume.id in (self.late or ())}


def steady(seen: observer.Observation, limits: Limits,
           recent: Recent | None, now: float,
           slots: Slots | None = None, mend: bool = True) -> Steady:
    """What an observation says with those before it.

    :param now: seconds of the epoch
    :param slots: what volumes did over days; None for the present
    :param mend: whether SLOs count that only the present breaks
    """
    if recent is None:
        return Steady(seen.cluster, limits, slots=slots)
    cluster = recent.smoothed(seen.cluster, now)
    alone, cluster = (planning.measured(
        each, limits, seen.models, seen.hours) for each in (
            filled(seen.cluster, cluster), cluster))
    hot = planning.hot_pools(alone, limits, seen.models, slots)
    late = _late(cluster, limits, seen.models, slots, mend)
    return Steady(cluster, dataclasses.replace(
        limits, held=recent.held(hot, now)), recent.late(late, now), slots)


def once(cluster: Cluster, limits: Limits,
         models: Mapping[str, Model], slots: Slots | None = None,
         mend: bool = True) -> Steady:
    """The same of one observation only, for which nothing has to last.

    :param slots: as of :func:`steady`
    :param mend: as of :func:`steady`
    """
    return Steady(cluster, limits, None if slots is None else _late(
        cluster, limits, models, slots, mend), slots)


def _late(cluster: Cluster, limits: Limits,
          models: Mapping[str, Model], slots: Slots | None,
          mend: bool) -> frozenset[str]:
    """The volumes whose SLOs count as violated."""
    late = planning.violated_slos(cluster, limits, models, slots)
    if slots is not None:
        late -= _keeping(cluster)
    if slots is not None and mend:
        late |= planning.violated_slos(
            cluster, limits, models) - _keeping(cluster, idle=True)
    return late


def _keeping(cluster: Cluster, idle: bool = False) -> frozenset[str]:
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
    """What volumes are planned as; None for what they do at present.

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
