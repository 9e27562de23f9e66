# SPDX-License-Identifier: Apache-2.0
"""Fits of the linear kinds, consolidation and outstanding.

Consolidation is the paper's, Eq. 14 of [1]_: latency = b0 + b1 Σ write_pct
+ b2 Σ block_kib, with terms of p > 0.05 removed (section 5). The extended
model is fitted on the runs of all counts together and serves where a count
has no model of its own.

Outstanding is one model for every count: latency = b0 + Σ over the active
workloads of q (b1 r + b2 w + b3 s r + b4 s w), with q outstanding I/Os, w
the share of writes, r = 1 - w and s the block size in KiB. No coefficient is
negative, so no prediction is, and none falls when load is added.

.. [1] Yao, Papapanagiotou, Griffith: Serifos: Workload Consolidation and
   Load Balancing for SSD Based Cloud Storage Systems.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
from scipy import optimize

from serifos.facts.workload import Load
from serifos.model.linear import ols
from serifos.model.linear import predict as linear

OWN_MODELS = 5
"""Counts up to this one may have a model of their own."""

LEAST_RUNS = 6
"""A count with fewer runs uses the extended model."""


def fit_consolidation(loads: Sequence[Load], y: npt.NDArray[np.float64]
                      ) -> dict[str, dict[str, float]]:
    """The parameters of a model file: count label → coefficients.

    :param loads: the Loads of n runs
    :param y: float[n], what the runs measured
    """
    counts = np.array([load.count for load in loads])
    columns = {
        term: np.array([1.0 if term == linear.INTERCEPT
                        else getattr(load, term) for load in loads])
        for term in linear.TERMS['consolidation']}
    rows = {}
    for count in range(1, OWN_MODELS + 1):
        of_count = counts == count
        if of_count.sum() >= LEAST_RUNS:
            rows[str(count)] = _row(
                {t: c[of_count] for t, c in columns.items()}, y[of_count])
    rows[linear.REST] = _row(columns, y)
    return rows


def _row(columns: dict[str, npt.NDArray[np.float64]],
         y: npt.NDArray[np.float64]) -> dict[str, float]:
    kept = ols.eliminate(columns, y)
    return {term: kept.get(term, 0.0) for term in columns}


def fit_outstanding(loads: Sequence[Load],
                    y: npt.NDArray[np.float64]) -> dict[str, float]:
    """The parameters of a model file: term → coefficient.

    Fitted for *relative* error, the sum of squares of (predicted - measured)
    / measured: ordinary least squares follows the large latencies and misses
    small blocks.

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
