# SPDX-License-Identifier: Apache-2.0
"""Fit of multivariate adaptive regression splines (MARS).

Friedman's algorithm [2]_: pairs of hinge functions are added, each the one
with the least residual, then terms are removed until the generalised
cross-validation (GCV) is least. The settings are the paper's, see [1]_ of
:mod:`serifos.lab.regression.splines`, section 3.2.

The best pair is sought at all knots of an input at once. For a term b that is
there already, an input x and a knot t, the pair b · max(0, x - t) and
b · max(0, t - x) spans, beside b, what b · x and b · max(0, x - t) span. Inner
products of the latter with anything are, for all knots at once, differences of
two sums over the runs above the knot; so each term that joins costs one pass
over the runs for each b and x, in which the lengths that are left by all
earlier terms (Gram-Schmidt) are corrected. This does for every knot what the
updates of [2]_, section 3.9, do one by one.

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
from serifos.lab.regression import inputs
from serifos.lab.regression import lrm
from serifos.lab.regression import splines
from serifos.model.conditions import Conditions

Floats = npt.NDArray[np.float64]
Flags = npt.NDArray[np.bool_]

NOTHING = 1e-10
"""The share of a squared length that may be rounding."""

_ALPHA = 0.05

_WORST = -10.0  # of 1 - GCV / GCV of the mean, beyond which no term helps


@dataclasses.dataclass(frozen=True)
class Spans:
    """The number of runs between knots, and beyond the outermost ones.

    Counted are the runs where the term that the hinge multiplies is not 0.
    The standard is Friedman's, by which a run of noise in one direction
    makes no knot and the ends stay straight: a hinge that rests on a run or
    two is wild beyond them, and a product of hinges more so. All are 1 where
    every run may be a knot.

    :param least: a knot is at every so many runs; None is Eq. 43 of [2]_
    :param end: runs beyond the knots; None is Eq. 45
    :param products: how many times as many runs are beyond the knots of a
        hinge that multiplies another; 3 is the standard of R's earth
    """

    least: int | None = None
    end: int | None = None
    products: int = 3

    def allowed(self, active: Flags, inputs: int, factors: int) -> Flags:
        """The places where knots may be.

        :param active: bool[n], whether the term that the hinge multiplies
            is not 0, of the runs in ascending order of the input
        :param inputs: how many vary
        :param factors: of the term with the hinge
        :returns: bool[n]
        """
        runs = np.flatnonzero(active)
        least, end = self.least, self.end
        if least is None:
            least = max(1, math.floor(-math.log2(-math.log(1 - _ALPHA) / (
                inputs * max(len(runs), 1))) / 2.5))
        if end is None:
            end = math.floor(3 - math.log2(_ALPHA / inputs))
        if factors > 1:
            end *= self.products
        found = np.zeros(len(active), bool)
        found[runs[end:max(end, len(runs) - end):least]] = True
        return found


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
               spans: Spans = Spans()
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
          spans: Spans) -> list[splines.Product]:
    """The forward pass."""
    products: list[splines.Product] = [()]
    space = HingeSearch(x, y, degree, spans)
    total = rss = space.rss
    worst = 1 - _WORST
    while (pairs and rss > total * threshold
           and len(products) < len(y)):
        gain, found = space.best(products)
        if gain <= max(threshold, NOTHING) * total:
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


class HingeSearch:
    """The terms that there are, and what each further pair would do."""

    def __init__(self, x: Floats, y: Floats, degree: int,
                 spans: Spans) -> None:
        self._x, self._degree = x, degree
        width = np.ptp(x, axis=0)
        self._inputs = [
            _Input(column, (x[:, column] - x[:, column].min())
                   / width[column], spans, int(np.count_nonzero(width)))
            for column in np.flatnonzero(width)]
        self._basis = np.full((len(y), 1), 1 / math.sqrt(len(y)))
        self._left = y - y.mean()
        self._join((), np.ones(len(y)))

    @property
    def rss(self) -> float:
        return float(self._left @ self._left)

    def best(self, products: Sequence[splines.Product]
             ) -> tuple[float, list[splines.Product]]:
        """By how much the best pair reduces the rss, and its terms.

        One term alone where the other is redundant, or a straight line.
        """
        best, terms = 0.0, []
        for its in self._inputs:
            if its.parents:
                gain, parent, knot, sides = its.best(self._left)
                if gain > best:
                    best, terms = gain, [
                        (*its.parents[parent], splines.Factor(
                            its.column, side,
                            float(self._x[knot, its.column]) if side
                            else 0.0)) for side in sides]
        return best, terms

    def add(self, product: splines.Product) -> bool:
        """Adds a term, unless it is a sum of others."""
        term = splines.values(product, self._x)
        q, new = lrm.beside(self._basis, term)
        if new <= math.sqrt(NOTHING):
            return False
        q /= new
        for its in self._inputs:
            its.project(q)
        self._basis = np.column_stack([self._basis, q])
        self._left = self._left - q * (q @ self._left)
        self._join(product, term / np.abs(term).max())
        return True

    def _join(self, product: splines.Product, term: Floats) -> None:
        """Lets a term be multiplied by the inputs that it has not."""
        if len(product) < self._degree:
            used = {factor.input for factor in product}
            for its in self._inputs:
                if its.column not in used:
                    its.join(product, term, self._basis)


class _Input:
    """An input in ascending order, and each term b that it may multiply.

    With u = b · x and c = b · max(0, x - t), both without what the terms
    that are there explain: ``uu`` float[p] = u · u; ``uc`` and ``cc``
    float[n, p], for the knot t at each run.
    """

    def __init__(self, column: int, x: Floats, spans: Spans,
                 inputs: int) -> None:
        self.column, self.parents = int(column), []
        self._spans, self._inputs = spans, inputs
        self._order = np.argsort(x, kind='stable')
        self._t = x[self._order][:, None]
        none = np.empty((len(x), 0))
        self._b = self._uc = self._cc = self._least = none
        self._knots = none.astype(bool)
        self._uu = self._uu_least = np.empty(0)

    def join(self, product: splines.Product, term: Floats,
             basis: Floats) -> None:
        self.parents.append(product)
        b, t = term[self._order][:, None], self._t
        s0, s1, s2 = _above(b ** 2), _above(b ** 2 * t), _above((b * t) ** 2)
        cc, uc, uu = s2 - 2 * t * s1 + t ** 2 * s0, s2 - t * s1, s2[0]
        qb = basis[self._order] * b
        qc, qu = _above(qb * t) - t * _above(qb), (qb * t).sum(axis=0)
        self._knots = np.column_stack([self._knots, self._spans.allowed(
            b[:, 0] > 0, self._inputs, len(product) + 1)])
        self._b = np.hstack([self._b, b])
        self._least = np.hstack([self._least, NOTHING * cc])
        self._cc = np.hstack([self._cc, cc - (qc ** 2).sum(
            axis=1, keepdims=True)])
        self._uc = np.hstack([self._uc, uc - (qc @ qu)[:, None]])
        self._uu = np.append(self._uu, uu - qu @ qu)
        self._uu_least = np.append(self._uu_least, NOTHING * uu)

    def project(self, q: Floats) -> None:
        """Takes a new direction out of every u and c."""
        qc, qu = self._with(q)
        self._cc -= qc ** 2
        self._uc -= qc * qu
        self._uu -= qu ** 2

    def _with(self, vector: Floats) -> tuple[Floats, Floats]:
        """Its inner products with c, float[n, p], and with u, float[p]."""
        weighted = self._b * vector[self._order][:, None]
        first = _above(weighted * self._t)
        return first - self._t * _above(weighted), first[0]

    def best(self, left: Floats) -> tuple[float, int, int,
                                          tuple[str | None, ...]]:
        """(gain, which parent, the run of the knot, sides of it)

        The side of a straight line, which has no knot, is None.
        """
        rc, ru = self._with(left)
        new = self._uu > self._uu_least  # b · x adds something
        share = np.where(new, self._uc / np.where(new, self._uu, 1.0), 0.0)
        straight = np.where(new, ru ** 2 / np.where(new, self._uu, 1.0), 0.0)
        width = self._cc - share * self._uc
        bent = self._knots & (width > self._least)
        more = np.where(bent, (rc - share * ru) ** 2
                        / np.where(bent, width, 1.0), 0.0)
        knot, parent = np.unravel_index(
            np.argmax(straight + more), more.shape)
        gain = float(straight[parent] + more[knot, parent])
        if more[knot, parent] <= NOTHING * float(left @ left):
            sides: tuple[str | None, ...] = (None,)
        else:
            sides = ((splines.ABOVE, splines.BELOW) if new[parent]
                     else (splines.ABOVE,))
        return gain, int(parent), int(self._order[knot]), sides


def _above(values: Floats) -> Floats:
    """Sums over each run and all above it: float[n, p] → float[n, p]."""
    return values[::-1].cumsum(axis=0)[::-1]
