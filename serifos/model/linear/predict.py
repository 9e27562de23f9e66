# SPDX-License-Identifier: Apache-2.0
"""Prediction of a Load by a linear model.

Standard library only: cinder-scheduler loads this module. A predictor is a
table of coefficients over the fields of a Load, one row for each count of
active workloads and one for every other count.
"""

from __future__ import annotations

from collections.abc import Mapping
import dataclasses
from typing import TYPE_CHECKING

from serifos import errors
from serifos.facts import fields
from serifos.facts import workload
from serifos.model import kinds

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

INTERCEPT = 'intercept_us'

TERMS = {
    'consolidation': (INTERCEPT, 'sum_write_pct', 'sum_block_kib'),
    'outstanding': (INTERCEPT, 'sum_q_r', 'sum_q_w', 'sum_q_s_r',
                    'sum_q_s_w'),
}
"""The terms that a kind may use, in the order in which they are shown."""

REST = '5+'
"""The row of the consolidation table for every count without its own."""

_MOST = 1e12
_MOST_COUNT = 1000

Coefficients = Mapping[str, float]

SYMBOLS = {INTERCEPT: '',
           'sum_write_pct': 'Σ write_pct', 'sum_block_kib': 'Σ block_kib',
           'sum_q_r': 'Σ q·r', 'sum_q_w': 'Σ q·w',
           'sum_q_s_r': 'Σ q·s·r', 'sum_q_s_w': 'Σ q·s·w'}
"""The terms as they are shown to people."""


@dataclasses.dataclass(frozen=True)
class Linear:
    """A row of coefficients for each count, and one for all the others."""

    by_count: Mapping[int, Coefficients]
    rest: Coefficients

    def row(self, count: int) -> Coefficients:
        return self.by_count.get(count, self.rest)

    def predict(self, load: workload.Load) -> float:
        """The prediction for a Load, never negative; 0 for a count of 0."""
        if load.count == 0:
            return 0.0
        return max(0.0, sum(
            value if term == INTERCEPT else value * getattr(load, term)
            for term, value in self.row(int(load.count)).items()))

    def many(self, loads: npt.NDArray[np.float64]
             ) -> npt.NDArray[np.float64]:
        """float[n, k] → float[n], as :meth:`.kinds.Predictor.many` says."""
        import numpy as np  # the scheduler, which has none, never calls this
        count = loads[:, 0]
        last = max(self.by_count, default=0) + 1
        rows = [self.row(number) for number in range(last + 1)]
        which = np.minimum(count, last).astype(np.intp)
        found = np.array([row.get(INTERCEPT, 0.0) for row in rows])[which]
        for column, name in enumerate(workload.FEATURES[:loads.shape[1]]):
            values = np.array([row.get(name, 0.0) for row in rows])
            if values.any():
                found += values[which] * loads[:, column]
        return np.where(count == 0, 0.0, np.maximum(found, 0.0))

    def work(self, load: workload.Load) -> float:
        return 10.0

    @property
    def terms(self) -> int:
        return max(sum(term != INTERCEPT for term in row)
                   for row in (self.rest, *self.by_count.values()))

    def lines(self) -> list[tuple[str, str]]:
        """Such as ('count 5+', '113.44 + 22.135 Σ block_kib')."""
        rest = REST if self.by_count else 'any'
        return [(f'count {count}', kinds.formula(
            (value, SYMBOLS[term]) for term, value in row.items()))
            for count, row in (*sorted(self.by_count.items()),
                               (rest, self.rest))]


def from_parameters(kind: str, parameters: Mapping[str, object]) -> Linear:
    """The predictor that a model file's ``parameters`` describe.

    :raises FormatError: where a row or a term is none of the kind's
    """
    if kind == 'outstanding':
        return Linear({}, _coefficients(kind, parameters))
    if REST not in parameters:
        raise errors.FormatError(
            f'A consolidation model needs a "{REST}" row in its parameters; '
            'fit it again with serifos-model fit.')
    rows = {label: _coefficients(kind, row, label)
            for label, row in parameters.items()}
    return Linear({int(label): row for label, row in rows.items()
                   if label != REST}, rows[REST])


def _coefficients(kind: str, row: object,
                  label: str = REST) -> Coefficients:
    if not _is_label(label) or not isinstance(
            row, Mapping) or any(isinstance(v, Mapping)
                                 for v in row.values()):
        raise errors.FormatError(
            f'The row {label} of the parameters is not a row of a {kind} '
            'model; fit it again with serifos-model fit.')
    unknown = sorted(set(row) - set(TERMS[kind]))
    if unknown:
        raise errors.FormatError(
            f'A model of kind {kind} has no term {unknown[0]}; it may use '
            f'{", ".join(TERMS[kind])}.')
    for term, value in row.items():
        if not fields.is_number(value, -_MOST, _MOST):
            raise errors.FormatError(
                f'The coefficient {term} of the row {label} is {value!r}; it '
                f'must be a number from {-_MOST:g} to {_MOST:g}: fit the '
                'model again with serifos-model fit.')
    return {term: float(row[term]) for term in TERMS[kind] if row.get(term)}


def _is_label(label: str) -> bool:
    return label == REST or label in map(str, range(1, _MOST_COUNT + 1))


CONSOLIDATION = kinds.Kind(
    from_parameters, 'serifos.model.linear.fit:fit_consolidation')


OUTSTANDING = kinds.Kind(
    from_parameters, 'serifos.model.linear.fit:fit_outstanding')
