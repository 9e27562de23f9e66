# SPDX-License-Identifier: Apache-2.0
"""Predict latencies of pools with new volumes, and rank the pools.

Pools are compared by what all tenants of the cloud would see there in the
mean: a newcomer raises it, whereas any mean over a pool's own tenants falls
when one of small blocks joins. Where a model does not tell tenants apart,
everyone sees the latency of the pool.
"""

from __future__ import annotations

from collections.abc import Callable
from collections.abc import Iterable
from collections.abc import Mapping
from collections.abc import Sequence
import dataclasses
import math
import operator
import statistics
from typing import NamedTuple

from serifos.facts.workload import Load
from serifos.facts.workload import Workload
from serifos.model.model import Model
from serifos.model.pool_sums import seen_us

_LEAST_US = 1e-9

Several = Mapping[Workload, int]
"""Workloads and how many of each there are."""

Own = Callable[[Workload], Load]
"""Workload → its Load for one model."""

NEUTRAL = 1.0
"""The weight of every candidate where there is no opinion.

Not 0: a lottery by weight, Cinder's StochasticHostWeightHandler, would
always draw the first of those.
"""


class Slo(NamedTuple):
    """A latency, µs, that is the SLO of a volume.

    :param own: its Load; without a count, what all tenants see counts
    :param volume: its id, '' of one that is on its way
    """

    own: Load
    latency_us: float
    volume: str = ''


class Prediction(NamedTuple):
    """Predicted latency of a pool with the newcomers.

    :param latency_us: what all tenants of the cloud would see, in the mean
    :param error_us: the model's mean absolute error at it
    :param own_us: what the first newcomer sees
    :param strain: what a volume there sees, by its SLO; the
        greatest of them, so over 1 where an SLO is violated
    :param strained: the SLO of that volume
    """

    latency_us: float
    error_us: float
    own_us: float = 0.0
    strain: float = 0.0
    strained: Slo | None = None


def prediction(model: Model, load: Load, everyone: Load,
               newcomer: Load, slos: Sequence[Slo] = (),
               correction: float = 1.0) -> Prediction | None:
    """What is predicted of a Load; None where it is not finite.

    :param everyone: the sum of the Loads of all tenants of the cloud
    :param newcomer: the Load of one, which ``load`` includes
    :param slos: of the volumes there
    :param correction: what all that is predicted is multiplied by
    """
    figure, own, *others = (correction * us for us in seen_us(
        model, load, everyone,
        (newcomer, *(slo.own for slo in slos))))
    return prediction_of(figure, model, own, others, slos) if (
        math.isfinite(figure)) else None


def prediction_of(latency_us: float, model: Model, own_us: float,
                  seen: Iterable[float], slos: Iterable[Slo]) -> Prediction:
    """A Prediction of these latencies, µs.

    :param seen: by the volumes of ``slos``
    """
    strain, strained = max(
        ((us / max(slo.latency_us, _LEAST_US), slo)
         for us, slo in zip(seen, slos)),
        key=operator.itemgetter(0), default=(0.0, None))
    return Prediction(latency_us, latency_us * model.quality.get('mre', 0.0),
                      own_us, strain, strained)


def with_added(model: Model, own: Own, load: Load,
               several: Several) -> Load:
    """A Load and the workloads that are expected to come to it.

    Where QoS limits a workload to so many requests per second, no more are
    outstanding than pass in the latency that it would see at full depth
    (Little's law; at its own depth it sees no more than that).
    """
    for workload, count in several.items():
        each = own(workload)
        added = each if count == 1 else _times(each, count)
        if workload.iops is not None and each.count:
            _, latency_us = seen_us(model, load + added, each, (each,))
            passing = workload.iops * latency_us / 1e6
            added = _times(own(dataclasses.replace(
                workload, iodepth=min(workload.iodepth, passing),
                iops=None)), count)
        load += added
    return load


def total(own: Own, load: Load, several: Several) -> Load:
    """A Load and those of workloads, whatever limits them."""
    return sum((_times(own(workload), count)
                for workload, count in several.items()), load)


def _times(load: Load, count: int) -> Load:
    return Load(*(count * figure for figure in load.vector))


def weights(predictions: Iterable[Prediction | None]
            ) -> list[float]:
    """The worst latency minus that of each: finite, never negative.

    One without a prediction gets the median of the others; where all are
    equal, or none has a prediction, all are :data:`NEUTRAL`.
    """
    latencies = [p and p.latency_us for p in predictions]
    found = [latency for latency in latencies if latency is not None]
    if not found or min(found) == max(found):
        return [NEUTRAL] * len(latencies)
    worst = max(found)
    middle = worst - statistics.median(found)
    return [middle if latency is None else worst - latency
            for latency in latencies]


def demoted(found: Sequence[float],
            barred: Sequence[str | None]) -> list[float]:
    """The weights, in which those that are barred weigh less than the rest.

    :param barred: why each is; empty where none is
    """
    if not any(barred) or all(barred):
        return [*found]
    span = max(found) or NEUTRAL
    return [0.0 if why else weight + span
            for weight, why in zip(found, barred)]


def ranks(predictions: Sequence[Prediction | None]) -> list[int]:
    """The rank of each candidate, 0 for the best; equal ones share a rank.

    From the best on, those are equal to the first of a rank whose latency
    differs from its by less than the greater of both models' errors. One
    without a prediction gets the median latency.
    """
    found = [p for p in predictions if p is not None]
    if not found:
        return [0] * len(predictions)
    middle = Prediction(
        statistics.median(p.latency_us for p in found), 0.0)
    filled = [p or middle for p in predictions]
    order = sorted(range(len(filled)), key=lambda i: filled[i].latency_us)
    found, first, rank = [0] * len(filled), filled[order[0]], 0
    for index in order:
        this = filled[index]
        difference = this.latency_us - first.latency_us
        if difference and difference >= max(first.error_us, this.error_us):
            first, rank = this, rank + 1
        found[index] = rank
    return found
