# SPDX-License-Identifier: Apache-2.0
"""Fit of a regression tree (CART).

Scikit-learn grows it and prunes it by cost and complexity; with
``ccp_alpha = cp · var(y)`` and leaves of ``round(minsplit / 3)`` runs at
least it is the tree that R's rpart finds, whose settings the paper uses:
see [1]_ of :mod:`serifos.lab.regression.tree`, section 3.3.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.tree import DecisionTreeRegressor

from serifos.facts.workload import Load
from serifos.lab.regression import inputs
from serifos.model.conditions import Conditions

_DEEPEST = 30  # as rpart has it


def fit(loads: Sequence[Load], y: npt.NDArray[np.float64],
        minsplit: float = 20, cp: float = 0.01,
        conditions: Conditions | None = None) -> dict[str, Any]:
    """The parameters of a cart model.

    :param minsplit: runs below which a node is not split
    :param cp: the share of the total variance by which a split must reduce
        what is left
    :param conditions: of the runs, where they vary
    """
    grown = DecisionTreeRegressor(
        max_depth=_DEEPEST, min_samples_split=int(minsplit),
        min_samples_leaf=max(1, round(minsplit / 3)),
        ccp_alpha=cp * float(np.var(y)), random_state=0)
    return {**inputs.named(conditions), **plain(
        grown.fit(inputs.of_runs(loads, conditions), y).tree_, y)}


def plain(grown: Any, y: npt.NDArray[np.float64]) -> dict[str, Any]:
    """Scikit-learn's tree as the parameters of a model file."""
    nodes: list[dict[str, Any]] = [
        {inputs.INTERCEPT: float(value)} if then < 0 else
        {'input': inputs.INPUTS[column], 'at_most': float(at_most),
         'then': int(then), 'else': int(other)}
        for value, column, at_most, then, other in zip(
            grown.value[:, 0, 0], grown.feature, grown.threshold,
            grown.children_left, grown.children_right)]
    return {'trees': [nodes], 'within': [0.0, float(y.max())]}
