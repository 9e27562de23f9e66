# SPDX-License-Identifier: Apache-2.0
"""Which latency will each candidate have once the newcomer lives there?"""

from __future__ import annotations

from collections.abc import Callable
from collections.abc import Iterable
from collections.abc import Mapping
from collections.abc import Sequence
import dataclasses
import math
import statistics
from typing import NamedTuple

from serifos.model import model as mm
from serifos import workload as wl

NEUTRAL = 1.0
"""The weight of every candidate where there is no opinion.

Not 0: a lottery by weight, Cinder's StochasticHostWeightHandler, would
always draw the first of those.
"""


class Candidate(NamedTuple):
    """A pool that a volume may be placed in.

    :param model: the stem of its model's file
    :param allocated_gib: what Cinder says is allocated there, None where
        it says no figure
    """

    pool: str
    model: str
    allocated_gib: float | None = None


class Prediction(NamedTuple):
    """µs, and how far from it measurements are on average, µs."""

    latency_us: float
    error_us: float


Several = Mapping[wl.Workload, int]
"""Workloads and how many of each there are."""

Own = Callable[[wl.Workload], wl.Load]
"""Workload → its Load in the eyes of a model."""


def prediction(model: mm.Model, load: wl.Load) -> Prediction | None:
    """What planning takes for this Load; None where that is no figure."""
    latency = _plan(model, load)
    if not math.isfinite(latency):
        return None
    return Prediction(latency, latency * model.quality.get('mre', 0.0))


def _plan(model: mm.Model, load: wl.Load) -> float:
    """As the model says; NaN where it fails, as one beyond its range may."""
    try:
        return model.plan(load)
    except (ArithmeticError, ValueError):
        return math.nan


def with_added(model: mm.Model, own: Own, load: wl.Load,
               several: Several) -> wl.Load:
    """A Load and the workloads that are expected to come to it."""
    for workload, count in several.items():
        load += _added(model, own, load, workload, count)
    return load


def _added(model: mm.Model, own: Own, load: wl.Load, workload: wl.Workload,
           count: int) -> wl.Load:
    """What so many expected workloads add to a Load.

    Where their QoS bounds each to so many requests per second, no more are
    outstanding than pass in the latency that they would see at full depth
    (Little's law; at its own depth it sees no more than that).
    """
    each = own(workload)
    added = each if count == 1 else times(each, count)
    if workload.iops is None or not each.count:
        return added
    passing = workload.iops * _plan(model, load + added) / 1e6
    return times(own(dataclasses.replace(
        workload, iodepth=min(workload.iodepth, passing), iops=None)), count)


def times(load: wl.Load, count: int) -> wl.Load:
    """The Load of so many alike."""
    return wl.Load(*(count * figure for figure in load.vector))


def weights(predictions: Iterable[Prediction | None]) -> list[float]:
    """The worst latency less each one's own: finite, never negative.

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


def bands(predictions: Sequence[Prediction | None]) -> list[int]:
    """The place of each candidate, 0 for the best; equals share theirs.

    From the best on, those are equal to a band's first whose latency
    differs from its by less than the models' own error, the greater of the
    two. One without a prediction stands where the median stands.
    """
    found = [p for p in predictions if p is not None]
    if not found:
        return [0] * len(predictions)
    middle = Prediction(
        statistics.median(p.latency_us for p in found), 0.0)
    filled = [p or middle for p in predictions]
    order = sorted(range(len(filled)), key=lambda i: filled[i].latency_us)
    places, first, place = [0] * len(filled), filled[order[0]], 0
    for index in order:
        this = filled[index]
        apart = this.latency_us - first.latency_us
        if apart and apart >= max(first.error_us, this.error_us):
            first, place = this, place + 1
        places[index] = place
    return places
