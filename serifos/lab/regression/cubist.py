# SPDX-License-Identifier: Apache-2.0
"""Fit of a committee of M5 trees, corrected by the nearest runs.

As section 3.5 of [1]_ of :mod:`serifos.lab.regression.tree`: each tree is
fitted to 2 y - f(x), f the tree before it; their mean is corrected by the
nearest runs with weights 1 / (Manhattan distance + 0.5).
"""

from __future__ import annotations

from collections.abc import Sequence
import dataclasses
from typing import Any

import numpy as np
import numpy.typing as npt

from serifos.facts import workload as wl
from serifos.lab.regression import inputs
from serifos.lab.regression import m5
from serifos.lab.regression import tree

_ANYWHERE = (-np.inf, np.inf)  # corrections may be negative

Floats = npt.NDArray[np.float64]


def fit(loads: Sequence[wl.Load], y: Floats, nsplits: float = 100,
        ntrees: float = 1, ninstances: float = 0) -> dict[str, Any]:
    """The parameters of a cubist model.

    :param nsplits: splits of each tree in the forward step, at most
    :param ntrees: trees of the committee
    :param ninstances: nearest runs that correct a prediction
    """
    x = np.array([inputs.of(load) for load in loads])
    trees: list[list[dict[str, Any]]] = []
    target = y
    for _ in range(int(ntrees)):
        trees.append(m5.grow(x, target, int(nsplits)))
        alone = tree.from_parameters(
            'cubist', {'trees': [trees[-1]], 'within': [0.0, 0.0]})
        target = 2 * y - dataclasses.replace(alone, within=_ANYWHERE).on(x)
    found: dict[str, Any] = {'trees': trees, 'within': m5.within(y)}
    if ninstances:
        found['neighbours'] = _neighbours(
            x, y - tree.from_parameters('cubist', found).on(x),
            int(ninstances))
    return found


def _neighbours(x: Floats, left: Floats, nearest: int) -> dict[str, Any]:
    """Each distinct run once, with its mean residual."""
    runs, where = np.unique(x, axis=0, return_inverse=True)
    where = where.reshape(-1)
    mean = np.bincount(where, left) / np.bincount(where)
    span = np.ptp(runs, axis=0)
    return {'nearest': min(nearest, len(runs)),
            'units': np.where(span > 0, span, 1.0).tolist(),
            'runs': np.column_stack([runs, mean]).tolist()}
