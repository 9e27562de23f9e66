# SPDX-License-Identifier: Apache-2.0
"""The latency that a model predicts for a Load with expected volumes."""

from __future__ import annotations

from collections.abc import Callable
from collections.abc import Mapping
import dataclasses
import math
from typing import NamedTuple

from serifos.facts import workload as wl
from serifos.model import model as mm


class Prediction(NamedTuple):
    """Latency and the model's mean absolute error at it, both µs."""

    latency_us: float
    error_us: float


Several = Mapping[wl.Workload, int]
"""Workloads and how many of each there are."""

Own = Callable[[wl.Workload], wl.Load]
"""Workload → its Load for one model."""


def prediction(model: mm.Model, load: wl.Load) -> Prediction | None:
    """The latency that planning uses; None where it is not finite."""
    latency = _latency_us(model, load)
    if not math.isfinite(latency):
        return None
    return Prediction(latency, latency * model.quality.get('mre', 0.0))


def _latency_us(model: mm.Model, load: wl.Load) -> float:
    """NaN where the model fails, as one beyond its range may."""
    try:
        return model.plan(load)
    except (ArithmeticError, ValueError):
        return math.nan


def with_added(model: mm.Model, own: Own, load: wl.Load,
               several: Several) -> wl.Load:
    """A Load and the workloads that are expected to come to it.

    Where QoS limits a workload to so many requests per second, no more are
    outstanding than pass in the latency that it would see at full depth
    (Little's law; at its own depth it sees no more than that).
    """
    for workload, count in several.items():
        each = own(workload)
        added = each if count == 1 else _times(each, count)
        if workload.iops is not None and each.count:
            passing = workload.iops * _latency_us(model, load + added) / 1e6
            added = _times(own(dataclasses.replace(
                workload, iodepth=min(workload.iodepth, passing),
                iops=None)), count)
        load += added
    return load


def _times(load: wl.Load, count: int) -> wl.Load:
    return wl.Load(*(count * figure for figure in load.vector))
