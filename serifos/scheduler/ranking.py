# SPDX-License-Identifier: Apache-2.0
"""The weights and the order of candidates, from their predictions."""

from __future__ import annotations

from collections.abc import Iterable
from collections.abc import Sequence
import statistics

from serifos.scheduler import predict

NEUTRAL = 1.0
"""The weight of every candidate where there is no opinion.

Not 0: a lottery by weight, Cinder's StochasticHostWeightHandler, would
always draw the first of those.
"""


def weights(predictions: Iterable[predict.Prediction | None]
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


def ranks(predictions: Sequence[predict.Prediction | None]) -> list[int]:
    """The rank of each candidate, 0 for the best; equal ones share a rank.

    From the best on, those are equal to the first of a rank whose latency
    differs from its by less than the greater of both models' errors. One
    without a prediction gets the median latency.
    """
    found = [p for p in predictions if p is not None]
    if not found:
        return [0] * len(predictions)
    middle = predict.Prediction(
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
