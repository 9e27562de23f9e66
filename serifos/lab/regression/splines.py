# SPDX-License-Identifier: Apache-2.0
"""Prediction of a Load by products of inputs, or of hinges of them.

Standard library only: cinder-scheduler loads this module. The kinds lrm and
mars share it [1]_. A prediction is a sum of terms, and a term a coefficient
times factors, each of an input of :data:`.inputs.INPUTS` of its own; a term
without factors is the constant. A factor is the input itself, or of mars a
hinge function, too: how far the input is above a knot, or below it, and 0 on
the other side::

    {"coefficient": 3.2, "factors": [{"input": "block_kib", "above": 16.0},
                                     {"input": "count", "below": 4.0}]}
    {"coefficient": 0.5, "factors": [{"input": "iodepth"}]}

.. [1] Noorshams, Bruhn, Kounev, Reussner: Predictive Performance Modeling
   of Virtualized Storage Systems using Optimized Statistical Regression
   Techniques, ICPE 2013, sections 3.1 and 3.2.
"""

from __future__ import annotations

from collections.abc import Iterable
from collections.abc import Mapping
from collections.abc import Sequence
import dataclasses
import functools
from typing import Any
from typing import TYPE_CHECKING

from serifos import errors
from serifos.facts import fields
from serifos.facts.workload import Load
from serifos.lab.regression import inputs
from serifos.model import kinds

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

ABOVE, BELOW = 'above', 'below'

HINGES = {'lrm': (None,), 'mars': (None, ABOVE, BELOW)}
"""Kind → the sides of a knot on which its factors may be; None is no knot."""

_GREATEST = 1e12  # a product of five factors can still be squared


@dataclasses.dataclass(frozen=True)
class Factor:
    """An input (side is None), or its distance to a knot on one side.

    :param input: an index of :data:`.inputs.INPUTS`, or of any other columns
    """

    input: int
    side: str | None = None
    knot: float = 0.0

    def of(self, value: float) -> float:
        if self.side is None:
            return value
        return max(0.0, value - self.knot if self.side == ABOVE
                   else self.knot - value)

    def of_many(self, values: npt.NDArray[np.float64]
                ) -> npt.NDArray[np.float64]:
        """float[n] → float[n]"""
        import numpy as np  # the scheduler, which has none, never calls this
        if self.side is None:
            return values
        return np.maximum(0.0, values - self.knot if self.side == ABOVE
                          else self.knot - values)

    def __str__(self) -> str:
        name, knot = inputs.INPUTS[self.input], f'{self.knot:.6g}'
        return {None: name, ABOVE: f'max(0, {name} - {knot})',
                BELOW: f'max(0, {knot} - {name})'}[self.side]


Product = tuple[Factor, ...]
"""The factors of a term; the constant has none."""


@dataclasses.dataclass(frozen=True)
class Term:
    """A coefficient and its factors."""

    coefficient: float
    factors: Product = ()

    def __str__(self) -> str:
        return ' '.join([f'{self.coefficient:.5g}', *map(str, self.factors)])


@dataclasses.dataclass(frozen=True)
class Splines:
    """A sum of terms.

    :param at: the condition under which it predicts
    :param says: that for people
    """

    sum_of: tuple[Term, ...]
    at: inputs.At = ()
    says: tuple[tuple[str, str], ...] = ()

    def predict(self, load: Load) -> float:
        """The prediction for a Load, never negative; 0 for a count of 0."""
        if load.count == 0:
            return 0.0
        x = inputs.of(load, self.at)
        total = 0.0
        for term in self.sum_of:
            value = term.coefficient
            for factor in term.factors:
                value *= factor.of(x[factor.input])
            total += value
        return max(0.0, total)

    def many(self, loads: npt.NDArray[np.float64]
             ) -> npt.NDArray[np.float64]:
        """float[n, k] → float[n], as :meth:`.kinds.Predictor.many` says."""
        import numpy as np  # the scheduler, which has none, never calls this
        x = inputs.of_many(loads, self.at)
        total = np.zeros(len(x))
        for term in self.sum_of:
            total += values(term.factors, x, term.coefficient)
        return np.where(loads[:, 0] == 0, 0.0, np.maximum(total, 0.0))

    def work(self, load: Load) -> float:
        return 10.0 + self._work

    @functools.cached_property
    def _work(self) -> float:
        return sum(1.0 + 2 * len(term.factors) for term in self.sum_of)

    @property
    def terms(self) -> int:
        return sum(bool(term.factors) for term in self.sum_of)

    def lines(self) -> list[tuple[str, str]]:
        """Such as ('term 1', '113.4'), ('term 2', '22.1 block_kib')."""
        return [*self.says, *((f'term {number}', str(term))
                              for number, term in enumerate(self.sum_of, 1))]


def values(product: Product, x: npt.NDArray[np.float64],
           coefficient: float = 1.0) -> npt.NDArray[np.float64]:
    """A term for many rows of inputs: float[n, k] → float[n]."""
    import numpy as np  # the scheduler, which has none, never calls this
    found = np.full(len(x), coefficient)
    for factor in product:
        found *= factor.of_many(x[:, factor.input])
    return found


def to_parameters(products: Iterable[Product],
                  coefficients: Iterable[float]) -> dict[str, Any]:
    """The parameters of a model file, for :func:`from_parameters`."""
    return {'terms': [
        {'coefficient': float(coefficient),
         'factors': [{'input': inputs.INPUTS[factor.input],
                      **({factor.side: float(factor.knot)}
                         if factor.side else {})} for factor in product]}
        for product, coefficient in zip(products, coefficients)]}


def from_parameters(kind: str, parameters: Mapping[str, Any]) -> Splines:
    """The predictor that a model file's ``parameters`` describe.

    :raises FormatError: where they are not terms that can be used
    """
    terms = parameters.get('terms')
    if not isinstance(terms, list) or not terms:
        raise _error(kind, 'There is no list of terms')
    at = inputs.at(kind, parameters)
    return Splines(tuple(_term(kind, number, term, inputs.allowed(parameters))
                         for number, term in enumerate(terms, 1)),
                   at, tuple(inputs.lines(parameters, at)))


def _error(kind: str, what: str) -> errors.FormatError:
    return errors.FormatError(f'{what} in the parameters of a {kind} model; '
                              'fit it again with serifos-model fit.')


def _number(value: object) -> bool:
    return fields.is_number(value, -_GREATEST, _GREATEST)


def _term(kind: str, number: int, term: object,
          names: Sequence[str]) -> Term:
    if not (isinstance(term, dict) and set(term) == {'coefficient', 'factors'}
            and _number(term['coefficient'])
            and isinstance(term['factors'], list)):
        raise _error(kind, f'Term {number} is not a coefficient with factors')
    factors = [_factor(kind, number, factor, names)
               for factor in term['factors']]
    if len({factor.input for factor in factors}) < len(factors):
        raise _error(kind, f'Term {number} has an input twice')
    return Term(float(term['coefficient']), tuple(factors))


def _factor(kind: str, number: int, factor: object,
            names: Sequence[str]) -> Factor:
    rest: Sequence[Any] = ()
    if isinstance(factor, dict):
        rest = [key for key in factor if key != 'input'] or [None]
    if (len(rest) != 1 or rest[0] not in HINGES[kind]
            or factor.get('input') not in names
            or rest[0] and not _number(factor[rest[0]])):
        raise _error(kind, f'Term {number} has a factor that is not '
                     f'{"a hinge of " if kind == "mars" else ""}an input')
    side = rest[0]
    return Factor(inputs.INPUTS.index(factor['input']), side,
                  float(factor[side]) if side else 0.0)


LRM = kinds.Kind(from_parameters, 'serifos.lab.regression.lrm:fit',
                 conditions=True)
MARS = kinds.Kind(
    from_parameters, 'serifos.lab.regression.mars:fit',
    (kinds.Parameter('nnodes', 21, 3, 800),
     kinds.Parameter('threshold', 0.001, 0, 0.999, whole=False),
     kinds.Parameter('nprune', 800, 2, 800),
     kinds.Parameter('degree', 2, 1, 2)), method=2,
    conditions=True)
"""An nprune of 800 is as many as nnodes: there never are more."""
