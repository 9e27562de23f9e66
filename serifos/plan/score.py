# SPDX-License-Identifier: Apache-2.0
"""Worst, mean and variance of latency over pools."""

from __future__ import annotations

import dataclasses

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]


@dataclasses.dataclass(frozen=True, slots=True)
class Score:
    """The objectives of planning, over the pools with a model.

    :param max_us: the worst latency, µs
    :param mean_us: µs
    :param variance_us2: the population variance, µs²
    """

    max_us: float
    mean_us: float
    variance_us2: float

    @classmethod
    def of(cls, latency_us: Floats) -> Score:
        """The score of µs[pools]; NaN is a pool without a model."""
        figures = latency_us[~np.isnan(latency_us)]
        if not figures.size:
            return cls(0.0, 0.0, 0.0)
        return cls(*map(float, (
            np.max(figures), np.mean(figures), np.var(figures))))
