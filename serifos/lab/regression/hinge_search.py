# SPDX-License-Identifier: Apache-2.0
"""Search for the pair of hinge functions of the least residual.

For a term b that is there already, an input x and a knot t, the pair
b · max(0, x - t) and b · max(0, t - x) spans, beside b, what b · x and
b · max(0, x - t) span. Inner products of the latter with anything are, for
all knots at once, differences of two sums over the runs above the knot;
so each term that joins costs one pass over the runs for each b and x, in
which the lengths that are left by all earlier terms (Gram-Schmidt) are
corrected. This does for every knot what the updates of [1]_ do one by one.

.. [1] Friedman: Multivariate Adaptive Regression Splines, Annals of
   Statistics 19 (1991), section 3.9.
"""

from __future__ import annotations

from collections.abc import Sequence
import dataclasses
import math

import numpy as np
import numpy.typing as npt

from serifos.lab.regression import lrm
from serifos.lab.regression import splines

Floats = npt.NDArray[np.float64]
Flags = npt.NDArray[np.bool_]

NOTHING = 1e-10
"""The share of a squared length that may be rounding."""

_ALPHA = 0.05


@dataclasses.dataclass(frozen=True)
class Spans:
    """The number of runs between knots, and beyond the outermost ones.

    Counted are the runs where the term that the hinge multiplies is not 0.
    The standard is Friedman's, by which a run of noise in one direction
    makes no knot and the ends stay straight: a hinge that rests on a run or
    two is wild beyond them, and a product of hinges more so. All are 1 where
    every run may be a knot.

    :param least: a knot is at every so many runs; None is Eq. 43 of [1]_
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
