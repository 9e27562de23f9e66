# SPDX-License-Identifier: Apache-2.0
"""Which latency will each candidate have once the newcomer lives there?"""

from __future__ import annotations

import collections
from collections.abc import Iterable
from collections.abc import Mapping
from collections.abc import Sequence
import dataclasses
import math
import statistics

from serifos.scheduler import known
from serifos import workload as wl

NEUTRAL = 1.0
"""The weight of every candidate where there is no opinion.

Not 0: a lottery by weight, Cinder's StochasticHostWeightHandler, would
always draw the first of those.
"""


@dataclasses.dataclass(frozen=True, slots=True)
class Candidate:
    """A pool that a volume may be placed in.

    :param model: the stem of its model's file
    :param allocated_gib: what Cinder says is allocated there, None where
        it says no figure
    """

    pool: str
    model: str
    allocated_gib: float | None = None


@dataclasses.dataclass(frozen=True, slots=True)
class Prediction:
    """µs, and how far from it measurements are on average, µs."""

    latency_us: float
    error_us: float


Several = Mapping[wl.Workload, int]
"""Workloads and how many of each there are."""


class Predictor:
    """The predictions of one request.

    :param coming: what is placed, all of it together
    :param standing: device → what is on its way there already
    :param lifted: device → the workload that leaves it for this
    """

    def __init__(self, view: known.View, coming: Sequence[wl.Workload],
                 standing: Mapping[str, Several],
                 lifted: Mapping[str, wl.Workload | None]) -> None:
        self._view = view
        self._devices = view.snapshot.devices
        self._coming = collections.Counter(coming)
        self._standing = standing
        self._lifted = lifted
        self._special = standing.keys() | lifted.keys()
        # Where nothing but what the file says is there, the next request of
        # this kind will be told the same.
        self._usual = view.kept(tuple(coming))

    def __call__(self, candidate: Candidate) -> Prediction | None:
        """None where the pool's load is unknown or it has no model."""
        device = self._devices.get(candidate.pool)
        if device is None or candidate.model not in self._view.models:
            return None
        if device in self._special:
            return self._predict(device, candidate.model)
        key = device, candidate.model
        if key not in self._usual:
            self._usual[key] = self._predict(device, candidate.model)
        return self._usual[key]

    def _predict(self, device: str, stem: str) -> Prediction | None:
        model = self._view.models[stem]
        load = self._view.load(device, stem)
        if device in self._lifted:
            load -= self._view.own(stem, self._lifted[device])
        for several in (self._standing.get(device, {}), self._coming):
            for workload, count in several.items():
                load += self._added(stem, load, workload, count)
        latency = model.plan(load)
        if not math.isfinite(latency):
            return None
        return Prediction(latency, latency * model.quality.get('mre', 0.0))

    def _added(self, stem: str, load: wl.Load, workload: wl.Workload,
               count: int) -> wl.Load:
        """What so many expected workloads add to a Load.

        Where their QoS bounds each to so many requests per second, no more
        are outstanding than pass in the latency that they would see at full
        depth (Little's law; at its own depth it sees no more than that).
        """
        each = self._view.own(stem, workload)
        added = each if count == 1 else times(each, count)
        if workload.iops is None or not each.count:
            return added
        passing = workload.iops * self._view.models[stem].plan(
            load + added) / 1e6
        return times(self._view.own(stem, dataclasses.replace(
            workload, iodepth=min(workload.iodepth, passing), iops=None)),
            count)


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
