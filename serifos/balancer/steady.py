# SPDX-License-Identifier: Apache-2.0
"""Smooth recent observations before planning.

What volumes do in the mean, corrected predictions, pools that stay hot, and
SLOs that stay violated. Where days are planned for, pools are hot and
SLOs violated by what volumes did over days; SLOs by the present, too,
unless they are to wait for that, where it is measured and not only predicted.
"""

from __future__ import annotations

from collections.abc import Mapping
import dataclasses
import functools

from serifos.balancer.moving import batch
from serifos.balancer import observer
from serifos.balancer import planning
from serifos.facts.cluster import Cluster
from serifos.model.model import Model
from serifos.plan.limits import Limits
from serifos.plan.loads.slots import Slots
from serifos.plan.plan import Move
from serifos.plan.recent import filled
from serifos.plan.recent import Recent


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
