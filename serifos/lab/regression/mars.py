# SPDX-License-Identifier: Apache-2.0
"""Fit of multivariate adaptive regression splines (MARS).

Friedman's algorithm [2]_: pairs of hinge functions are added, each the one
with the least residual, then terms are removed until the generalised
cross-validation (GCV) is least. The settings are the paper's, see [1]_ of
:mod:`serifos.lab.regression.splines`, section 3.2. The best pair is sought at
all knots of an input at once, in
:mod:`serifos.lab.regression.hinge_search`.

.. [2] Friedman: Multivariate Adaptive Regression Splines, Annals of
   Statistics 19 (1991) 1-67.
"""

from __future__ import annotations

from collections.abc import Sequence
import dataclasses
import math
from typing import Any

import numpy as np
import numpy.typing as npt

from serifos.facts.workload import Load
from serifos.lab.regression import hinge_search
from serifos.lab.regression import inputs
from serifos.lab.regression import lrm
from serifos.lab.regression import splines
from serifos.model.conditions import Conditions

Floats = npt.NDArray[np.float64]

_WORST = -10.0  # of 1 - GCV / GCV of the mean, beyond which no term helps


@dataclasses.dataclass(frozen=True)
class FittedSplines:
    """The splines found.

    :param products: of the terms, the constant's first
    :param rss: the residual sum of squares
    :param gcv: the generalised cross-validation
    """

    products: tuple[splines.Product, ...]
    coefficients: Floats
    rss: float
    gcv: float


def fit(loads: Sequence[Load], y: Floats, nnodes: float = 21,
        threshold: float = 0.001, nprune: float = 800,
        degree: float = 2,
        conditions: Conditions | None = None) -> dict[str, Any]:
    """The parameters of a mars model.

    :param nnodes: terms of the forward pass at most; a pair counts as two,
        also where one of them is redundant
    :param threshold: the forward pass ends where a pair explains less of
        the variance than this, or all but this is explained
    :param nprune: terms that are left at most
    :param degree: factors of a term at most: 1 is without interactions
    :param conditions: of the runs, where they vary
    """
    x = inputs.of_runs(loads, conditions)
    found = splines_of(x, y, int(nnodes), threshold, int(nprune),
                       int(degree))
    return {**inputs.named(conditions), **splines.to_parameters(
        found.products, found.coefficients)}


def splines_of(x: Floats, y: Floats, nnodes: int = 21,
               threshold: float = 0.001, nprune: int = 800, degree: int = 2,
               spans: hinge_search.Spans = hinge_search.Spans()
               ) -> FittedSplines:
    """The splines of any columns.

    :param x: float[n, k]; constant columns are skipped
    :param y: float[n]
    :param spans: how far knots are apart, and from the ends
    """
    products = _grow(x, y, (nnodes - 1) // 2, threshold, degree, spans)
    terms = np.column_stack([splines.values(one, x) for one in products])
    best = _prune(terms, y, nprune, penalty(degree))
    coefficients = lrm.least_squares(terms[:, best], y)
    rss = float(((y - terms[:, best] @ coefficients) ** 2).sum())
    return FittedSplines(tuple(products[i] for i in best), coefficients, rss,
                         gcv(rss, len(y), len(best), penalty(degree)))


def penalty(degree: int) -> float:
    """The cost of a knot in coefficients: Friedman's 2, 3 with products."""
    return 3.0 if degree > 1 else 2.0


def gcv(rss: float, runs: int, terms: int, penalty: float) -> float:
    """Eq. 30 and 32 of [2]_; infinite without degrees of freedom."""
    spent = terms + penalty * (terms - 1) / 2
    return rss / runs / (1 - spent / runs) ** 2 if spent < runs else math.inf


def _grow(x: Floats, y: Floats, pairs: int, threshold: float, degree: int,
          spans: hinge_search.Spans) -> list[splines.Product]:
    """The forward pass."""
    products: list[splines.Product] = [()]
    space = hinge_search.HingeSearch(x, y, degree, spans)
    total = rss = space.rss
    worst = 1 - _WORST
    while (pairs and rss > total * threshold
           and len(products) < len(y)):
        gain, found = space.best(products)
        if gain <= max(threshold, hinge_search.NOTHING) * total:
            break
        added = [one for one in found if space.add(one)]
        spent = gcv(space.rss, len(y), len(products) + len(added),
                    penalty(degree))
        if not added or spent > worst * gcv(total, len(y), 1,
                                            penalty(degree)):
            break  # without the pair that goes too far
        products += added
        rss, pairs = space.rss, pairs - 1
    return products


def _prune(terms: Floats, y: Floats, nprune: int,
           penalty: float) -> list[int]:
    """The backward pass: the columns of the least GCV.

    The inverse of the normal equations gives the cost of each removal, and
    is updated when a column is removed.
    """
    scale = np.sqrt((terms ** 2).sum(axis=0))
    q, r = np.linalg.qr(terms / scale)
    half = np.linalg.inv(r)
    inverse, coefficients = half @ half.T, half @ (q.T @ y)
    left = y - q @ (q.T @ y)
    rss = float(left @ left)
    alive = list(range(len(scale)))
    best, least = alive, math.inf
    # The first terms as they came, too, as R's earth does: backwards, one
    # that would be among the best few is often gone early.
    first = np.cumsum((q.T @ y)[::-1] ** 2)[::-1] + rss
    for number in range(1, min(nprune + 1, len(scale))):
        now = gcv(float(first[number]), len(y), number, penalty)
        if now < least:
            best, least = alive[:number], now
    while True:
        now = gcv(rss, len(y), len(alive), penalty)
        if len(alive) <= nprune and now <= least:
            best, least = [*alive], now
        if len(alive) == 1:
            return best
        its = np.array(alive[1:])  # the constant stays
        cost = coefficients[its] ** 2 / inverse[its, its]
        gone = int(its[cost.argmin()])
        rss += float(cost.min())
        column = inverse[:, gone] / inverse[gone, gone]
        coefficients = coefficients - column * coefficients[gone]
        inverse = inverse - np.outer(column, inverse[gone])
        alive.remove(gone)
