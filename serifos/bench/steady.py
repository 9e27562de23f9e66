# SPDX-License-Identifier: Apache-2.0
"""The rule by which a device counts as in steady state.

SNIA's Solid State Storage Performance Test Specification: over the last
five rounds the excursion stays within 20 % of their mean, and the
least-squares line through them changes by no more than 10 % of it.
"""

from __future__ import annotations

from collections.abc import Sequence
import dataclasses
import statistics

WINDOW = 5
EXCURSION = 0.20
SLOPE = 0.10


@dataclasses.dataclass(frozen=True)
class Steadiness:
    """Fractions of the window's mean, and the verdict.

    :param excursion: greatest minus least
    :param slope: what the fitted line changes by over the window
    """

    excursion: float
    slope: float
    ok: bool


def steady(values: Sequence[float]) -> Steadiness:
    """The verdict on the last rounds; not settled before there are five.

    :param values: one figure a round, such as IOPS, all positive
    """
    window = values[-WINDOW:]
    if len(window) < WINDOW or not sum(window) > 0:
        return Steadiness(float('inf'), float('inf'), False)
    mean = statistics.fmean(window)
    excursion = (max(window) - min(window)) / mean
    line = statistics.linear_regression(range(WINDOW), window)
    slope = abs(line.slope) * (WINDOW - 1) / mean
    return Steadiness(excursion, slope,
                      excursion <= EXCURSION and slope <= SLOPE)
