# SPDX-License-Identifier: Apache-2.0
"""Fit of one linear model for every count, weighted by queue depth.

latency = b0 + Σ over the active workloads of
q (b1 r + b2 w + b3 s r + b4 s w), with q outstanding I/Os, w the share of
writes, r = 1 - w and s the block size in KiB. No coefficient is negative,
so no prediction is, and none falls when load is added. It is fitted for
*relative* error, the sum of squares of (predicted - measured) / measured:
ordinary least squares follows the large latencies and misses small blocks.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
from scipy import optimize

from serifos.facts.workload import Load
from serifos.model.linear import predict as linear


def fit(loads: Sequence[Load],
        y: npt.NDArray[np.float64]) -> dict[str, float]:
    """The parameters of a model file: term → coefficient.

    :param loads: the Loads of n runs
    :param y: float[n], what the runs measured, positive
    """
    terms = linear.TERMS['outstanding']
    rows = np.array([[1.0 if term == linear.INTERCEPT
                      else getattr(load, term) for term in terms]
                     for load in loads]) / y[:, None]
    scale = np.maximum(rows.max(axis=0), 1e-300)
    least, _ = optimize.nnls(rows / scale, np.ones(len(y)))
    return {term: float(b) for term, b in zip(terms, least / scale)}
