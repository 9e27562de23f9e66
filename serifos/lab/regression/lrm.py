# SPDX-License-Identifier: Apache-2.0
"""Fit of a linear model with interactions (LRM).

Least squares over the inputs and their products, in which no input occurs
twice: see [1]_ of :mod:`serifos.lab.regression.splines`, section 3.1.
"""

from __future__ import annotations

from collections.abc import Sequence
import itertools
import math
from typing import Any

import numpy as np
import numpy.typing as npt

from serifos.facts.workload import Load
from serifos.lab.regression import inputs
from serifos.lab.regression import splines
from serifos.model.conditions import Conditions

Floats = npt.NDArray[np.float64]

RUNS_A_TERM = 2
"""Runs for each term, below which products of so many inputs are left out:
as many terms as runs would overfit."""

_ALIASED = 1e-7  # of a term's length is new, as R's lm has it


def fit(loads: Sequence[Load], y: Floats,
        conditions: Conditions | None = None) -> dict[str, Any]:
    """The parameters of an lrm model.

    All products of a number of inputs are used, or none of them.

    :param conditions: of the runs, where they vary
    """
    x = inputs.of_runs(loads, conditions)
    return {**inputs.named(conditions),
            **splines.to_parameters(*interactions(x, y))}


def interactions(x: Floats, y: Floats) -> tuple[list[splines.Product],
                                                Floats]:
    """Products of columns, and their coefficients.

    :param x: float[n, k]; constant columns are skipped
    :param y: float[n]
    """
    products = [tuple(map(splines.Factor, chosen))
                for chosen in _chosen(np.flatnonzero(np.ptp(x, axis=0)),
                                      len(x))]
    terms = np.column_stack([splines.values(one, x) for one in products])
    kept = independent(terms)
    return [products[i] for i in kept], least_squares(terms[:, kept], y)


def _chosen(columns: npt.NDArray[np.intp],
            runs: int) -> list[tuple[int, ...]]:
    """No column, one, two ...: as many as the runs allow, but one."""
    found: list[tuple[int, ...]] = []
    for order in range(len(columns) + 1):
        more = math.comb(len(columns), order)
        if order > 1 and RUNS_A_TERM * (len(found) + more) > runs:
            break
        found += itertools.combinations(map(int, columns), order)
    return found


def independent(terms: Floats) -> list[int]:
    """The linearly independent columns, in their order."""
    basis = np.zeros_like(terms)
    kept: list[int] = []
    for i, column in enumerate(terms.T):
        left, new = beside(basis, column)
        if new > _ALIASED and len(kept) < len(terms):
            basis[:, i] = left / new
            kept.append(i)
    return kept


def beside(basis: Floats, column: Floats) -> tuple[Floats, float]:
    """The part of a column orthogonal to a basis, and its length.

    Both as shares of the column's length (Gram-Schmidt).
    """
    length = math.sqrt(column @ column)
    left = column / (length or 1.0)
    for _ in range(2):  # once more for what rounding left
        left = left - basis @ (left @ basis)
    return left, math.sqrt(left @ left)


def least_squares(terms: Floats, y: Floats) -> Floats:
    """The coefficients of independent columns: float[n, m] → float[m]."""
    scale = np.sqrt((terms ** 2).sum(axis=0))
    return np.linalg.lstsq(terms / scale, y, rcond=None)[0] / scale
