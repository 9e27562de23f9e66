# SPDX-License-Identifier: Apache-2.0
"""Fit of a tree with linear leaves (M5), or a committee of them (Cubist).

A tree is that of section 3.4 of [1]_ of :mod:`serifos.lab.regression.tree`, in
:mod:`.growth`; smoothed, which the paper leaves out, and split by lines where
:mod:`.choice` finds that better. A committee is that of section 3.5: each tree
is fitted to 2 y - f(x), f the tree before it; their mean is corrected by the
nearest runs by Cubist's rule, :class:`.neighbours.Neighbours`. The paper's
formula, distances as shares of the range and without an end, is not offered,
since Cubist itself does not follow it.
"""

from __future__ import annotations

from collections.abc import Sequence
import dataclasses
from typing import Any

import numpy as np
import numpy.typing as npt

from serifos.facts.workload import Load
from serifos.lab.regression import choice
from serifos.lab.regression import growth
from serifos.lab.regression import inputs
from serifos.lab.regression.neighbours import distances
from serifos.lab.regression import tree
from serifos.model.conditions import Conditions

_DEVIATIONS, _LEAST_UNIT = 5, 1e-9
_BEYOND = 0.05  # of the range measured, how far a neighbour may correct
_ANYWHERE = (-np.inf, np.inf)  # corrections may be negative

Floats = npt.NDArray[np.float64]


def fit(loads: Sequence[Load], y: Floats, nsplits: float = 100,
        ntrees: float = 1, ninstances: float = 0,
        smoothing: float = tree.CHOSEN, linear_splits: float = tree.CHOSEN,
        conditions: Conditions | None = None) -> dict[str, Any]:
    """The parameters of an m5 or a cubist model.

    :param nsplits: splits of each tree in the forward step, at most
    :param ntrees: trees of the committee
    :param ninstances: nearest runs that correct a prediction
    :param smoothing: k of :mod:`.choice`
    :param linear_splits: 1 where splits are by lines, see :mod:`.splits`;
        where either is to be chosen, what a single tree needs is that of
        them all
    :param conditions: of the runs, where they vary
    """
    x = inputs.of_runs(loads, conditions)
    method = choice.chosen(x, y, int(nsplits), linear_splits, smoothing)
    trees: list[list[dict[str, Any]]] = []
    about = inputs.named(conditions)
    target = y
    for _ in range(int(ntrees)):
        if trees:
            last = tree.from_parameters('cubist', {
                **about, 'trees': [trees[-1]], 'within': [0.0, 0.0]})
            target = 2 * y - dataclasses.replace(last, within=_ANYWHERE).on(x)
        trees.append(method.nodes(x, target, int(nsplits)))
    found: dict[str, Any] = {**about, 'trees': trees,
                             'within': growth.within(y)}
    if ninstances:
        found['neighbours'] = neighbours(
            x, y, y - tree.from_parameters('cubist', found).on(x),
            int(ninstances))
    return found


def neighbours(x: Floats, y: Floats, left: Floats, nearest: int
               ) -> dict[str, Any]:
    """The runs and their residuals, as Cubist's program weighs them.

    :param x: float[n, inputs]
    :param y: float[n], measured
    :param left: float[n], residuals of the trees
    :returns: of a model file, for :class:`.neighbours.Neighbours`
    """
    units = _units(x)
    beyond = _BEYOND * float(np.ptp(y))
    return {'nearest': min(nearest, len(x)),
            'furthest': _furthest(x, units),
            'units': units,
            'between': [max(0.0, float(y.min()) - beyond),
                        float(y.max()) + beyond],
            'runs': np.column_stack([x, left]).tolist()}


def _units(x: Floats) -> list[float]:
    """Five deviations of each input; they have seven digits in Cubist."""
    deviation = x.std(axis=0, ddof=1) if len(x) > 1 else np.zeros(x.shape[1])
    return [_DEVIATIONS * float(f'{one:.7g}') if one > _LEAST_UNIT else 1.0
            for one in deviation]


def _furthest(x: Floats, units: list[float]) -> float:
    """The mean distance of two runs, to a tenth.

    Cubist's program takes the mean of pairs that it draws.
    """
    far = sum(float(distances(row[None], x, units).sum()) for row in x)
    return round(far / max(1, len(x) * (len(x) - 1)), 1)
