# SPDX-License-Identifier: Apache-2.0
"""Least squares with backward elimination, and type-III ANOVA.

The only importer of statsmodels, which takes a second and 120 MB to load:
fitting needs it, predicting never does.
"""

from __future__ import annotations

from collections.abc import Mapping
from collections.abc import Sequence
import dataclasses

import numpy as np
import numpy.typing as npt
import statsmodels.api
from statsmodels.formula import api as smf

Floats = npt.NDArray[np.float64]

ALPHA = 0.05
_NOTHING = 1e-9


def eliminate(columns: Mapping[str, Floats], y: Floats,
              alpha: float = ALPHA) -> dict[str, float]:
    """Least squares after backward elimination.

    Takes the term with the largest p-value off, one at a time and the
    intercept like any other, while that p-value exceeds ``alpha``; the last
    term stays. A term that only repeats others (all runs write 50 %, say)
    goes first, and so does one that a perfect fit leaves at nothing.

    :param columns: term → float[n]; the intercept is a column of ones
    :returns: term → coefficient, of the terms that stayed
    """
    names = _independent(columns)
    while True:
        fit = statsmodels.api.OLS(y, np.column_stack([columns[n]
                                                      for n in names])).fit()
        worth = {n: np.abs(b * columns[n]).max()
                 for n, b in zip(names, fit.params)}
        p = {n: 1.0 if worth[n] <= _NOTHING * np.abs(y).max() else p_value
             for n, p_value in zip(names, np.nan_to_num(fit.pvalues))}
        worst = max(names, key=lambda n: p[n])
        if len(names) == 1 or p[worst] <= alpha:
            return dict(zip(names, map(float, fit.params)))
        names.remove(worst)


def _independent(columns: Mapping[str, Floats]) -> list[str]:
    kept: list[str] = []
    for name in columns:
        matrix = np.column_stack([columns[n] for n in [*kept, name]])
        scale = np.abs(matrix).max(axis=0)
        if scale[-1] and np.linalg.matrix_rank(matrix / scale) > len(kept):
            kept.append(name)
    return kept or list(columns)[:1]


@dataclasses.dataclass(frozen=True)
class Anova:
    """A fitted model's terms with their type-III p-values."""

    coefficients: Mapping[str, float]
    p_values: Mapping[str, float]
    adj_r2: float


def anova(y: Floats, factors: Mapping[str, Floats],
          terms: Sequence[str]) -> Anova:
    """Least squares with an intercept, and its type-III ANOVA.

    Type III tests each term by what it adds to all the others, so the order
    of the terms plays no role (it does in type I).

    :param factors: one-letter name → float[n]
    :param terms: such as 'W', 'W:X' (an interaction), 'W^2' (a square)
    """
    formula = 'y ~ ' + ' + '.join(map(_patsy, terms))
    fit = smf.ols(formula, {'y': y, **factors}).fit()
    p = statsmodels.api.stats.anova_lm(fit, typ=3)['PR(>F)']
    names = {'INTCP': 'Intercept', **{t: _patsy(t) for t in terms}}
    return Anova({name: float(fit.params[ours])
                  for name, ours in names.items()},
                 {name: float(p[ours]) for name, ours in names.items()},
                 float(fit.rsquared_adj))


def separate_p(y: Floats, restricted: Mapping[str, Floats],
               separate: Mapping[str, Floats]) -> float:
    """The p-value of the F test of a linear model against one within it.

    Small where the separate factors explain more than the restricted ones,
    such as their sums, by more than noise would.

    :param restricted: name → float[n], linear combinations of ``separate``
    :param separate: name → float[n]
    """
    greater, less = (
        statsmodels.api.OLS(y, statsmodels.api.add_constant(
            np.column_stack([*its.values()]))).fit()
        for its in (separate, restricted))
    return float(greater.compare_f_test(less)[1])


def _patsy(term: str) -> str:
    factor, square, _ = term.partition('^2')
    return f'I({factor} ** 2)' if square else factor
