# SPDX-License-Identifier: Apache-2.0
"""Fit of a tree with linear leaves (M5), or a committee of them (Cubist).

A tree is that of section 3.4 of [1]_ of :mod:`serifos.lab.regression.tree`, in
:mod:`.growth`; smoothed, which the paper leaves out, and split by lines where
cross-validation finds that better. A committee is that of section 3.5: each
tree is fitted to 2 y - f(x), f the tree before it; their mean is corrected by
the nearest runs by Cubist's rule, :class:`.neighbours.Neighbours`. The paper's
formula, distances as shares of the range and without an end, is not offered,
since Cubist itself does not follow it.

Neither amount of smoothing suits all runs: the leaves of noisy ones need much,
which spoils those of exact ones; and a split by lines follows a bent surface
where one by the deviation follows steps. Smoothing is that of [2]_: on the way
from a leaf up to the root, its line is mixed with that of each node above,
(n f + k g) / (n + k), f the line so far, n the runs of the node that it comes
from, g the line of the node above. A mix of lines is a line, so the leaf keeps
the last one.

.. [2] Quinlan: Learning with continuous classes, 5th Australian Joint
   Conference on Artificial Intelligence, 1992, section 3.4; k is 15 there.
"""

from __future__ import annotations

from collections.abc import Mapping
from collections.abc import Sequence
import dataclasses
import functools
from typing import Any
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from serifos.facts.workload import Load
from serifos.lab.regression import growth
from serifos.lab.regression import inputs
from serifos.lab.regression.neighbours import distances
from serifos.lab.regression import tree
from serifos.model.conditions import Conditions
from serifos.model import quality

_DEVIATIONS, _LEAST_UNIT = 5, 1e-9
_BEYOND = 0.05  # of the range measured, how far a neighbour may correct
_ANYWHERE = (-np.inf, np.inf)  # corrections may be negative

Floats = npt.NDArray[np.float64]
Nodes = list[dict[str, Any]]
"""A tree as a model file has it."""

SMOOTHINGS = (0.0, 5.0, 15.0, 45.0, 150.0, 500.0)
"""The k to choose from: none, and each about three times the last."""

_BY_DEVIATION, _BY_LINES = 0.0, 1.0
_LOWER = 0.9
"""The greatest share of the squared error of M5 for splits by lines.

Folds cannot distinguish less."""

_MAY_BE_WORSE = 1
"""Folds in which lines may be worse: one wild run decides a single one."""

_FOLDS, _SEED = 5, 0
_REMEMBERED = 32  # more than the folds of a search for settings


def fit(loads: Sequence[Load], y: Floats, nsplits: float = 100,
        ntrees: float = 1, ninstances: float = 0,
        smoothing: float = tree.CHOSEN, linear_splits: float = tree.CHOSEN,
        conditions: Conditions | None = None) -> dict[str, Any]:
    """The parameters of an m5 or a cubist model.

    :param nsplits: splits of each tree in the forward step, at most
    :param ntrees: trees of the committee
    :param ninstances: nearest runs that correct a prediction
    :param smoothing: k, chosen by cross-validation unless it is given
    :param linear_splits: 1 where splits are by lines, see :mod:`.growth`;
        where either is to be chosen, what a single tree needs is that of
        them all
    :param conditions: of the runs, where they vary
    """
    x = inputs.of_runs(loads, conditions)
    method = chosen(x, y, int(nsplits), linear_splits, smoothing)
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


class Method(NamedTuple):
    """The way to grow a tree.

    :param linear_splits: 1 where splits are by lines, else 0
    :param smoothing: k
    """

    linear_splits: float
    smoothing: float

    def nodes(self, x: growth.Floats, y: growth.Floats,
              nsplits: int) -> Nodes:
        """A tree, for float[n, 5] and float[n]."""
        return nodes(
            growth.grown(x, y, nsplits, bool(self.linear_splits)),
            self.smoothing)


def chosen(x: growth.Floats, y: growth.Floats, nsplits: int,
           linear_splits: float, smoothing: float) -> Method:
    """The method that is given, for :data:`.tree.CHOSEN` the best one.

    M5's splits and no smoothing where there are too few runs for a split.

    :param x: float[n, 5]
    :param y: float[n]
    """
    enough = len(y) >= 2 * growth.LEAST_RUNS
    tried = tuple(
        Method(by, k)
        for by in _tried(linear_splits, (_BY_DEVIATION, _BY_LINES), enough)
        for k in _tried(smoothing, SMOOTHINGS, enough))
    if len(tried) == 1:
        return tried[0]
    # No tree of these runs has more splits, whatever is asked for.
    return _chosen(x.tobytes(), y.tobytes(),
                   min(nsplits, len(y) // growth.LEAST_RUNS), tried)


def _tried(given: float, all_of_them: Sequence[float], enough: bool
           ) -> Sequence[float]:
    if given != tree.CHOSEN:
        return (given,)
    return all_of_them if enough else all_of_them[:1]


@functools.lru_cache(_REMEMBERED)
def _chosen(x_bytes: bytes, y_bytes: bytes, nsplits: int,
            tried: tuple[Method, ...]) -> Method:
    """Remembered, as a search fits the same runs with many settings."""
    y = np.frombuffer(y_bytes)
    x = np.frombuffer(x_bytes).reshape(len(y), -1)
    errors: dict[Method, list[float]] = {method: [] for method in tried}
    for train, test in quality.splits(list(map(tuple, x)), _SEED, _FOLDS):
        for by in {method.linear_splits for method in tried}:
            root = growth.grown(x[train], y[train], nsplits, bool(by))
            of_it = [method for method in tried
                     if method.linear_splits == by]
            found = np.clip(
                foretold(root, [method.smoothing for method in of_it],
                         x[test]), *growth.within(y[train]))
            for method, its in zip(of_it, found):
                errors[method].append(float(np.sum((its - y[test]) ** 2)))
    return _better(errors)


def _better(errors: Mapping[Method, Sequence[float]]) -> Method:
    """The method of the least errors; by lines only where that is sure."""
    best, *rest = (
        min((method for method in errors if method.linear_splits == by),
            key=lambda method: sum(errors[method]))
        for by in sorted({method.linear_splits for method in errors}))
    for lines in rest:
        ours, theirs = errors[best], errors[lines]
        fewer = sum(b < a for a, b in zip(ours, theirs))
        if (sum(theirs) < _LOWER * sum(ours)
                and fewer >= len(ours) - _MAY_BE_WORSE):
            best = lines
    return best


def nodes(root: growth.Branch, smoothing: float) -> Nodes:
    """The nodes of a tree, its leaves smoothed.

    :param smoothing: k, 0 or more
    """
    found: Nodes = []
    todo: list[tuple[tuple[growth.Branch, ...], dict[str, Any], str]] = [
        ((root,), {}, 'then')]
    while todo:
        path, parent, side = todo.pop()
        branch, parent[side] = path[0], len(found)
        if not branch.sides:
            found.append(_leaf(_mixed(path, smoothing)))
            continue
        node: dict[str, Any] = {
            'input': inputs.INPUTS[branch.column], 'at_most': branch.at_most}
        found.append(node)
        todo += [((branch.sides[1], *path), node, 'else'),
                 ((branch.sides[0], *path), node, 'then')]
    return found


def foretold(root: growth.Branch, smoothings: Sequence[float],
             x: growth.Floats) -> growth.Floats:
    """Predictions of a tree for some runs with each of several smoothings.

    :param smoothings: k of each
    :param x: float[n, 5]
    :returns: float[k, n]
    """
    k = np.array(smoothings)[:, None]
    found = np.empty((len(k), len(x)))
    todo: list[tuple[tuple[growth.Branch, ...], npt.NDArray[np.intp]]] = [
        ((root,), np.arange(len(x)))]
    while todo:
        path, runs = todo.pop()
        if path[0].sides:
            left = x[runs, path[0].column] <= path[0].at_most
            todo += [((side, *path), runs[its]) for side, its in zip(
                path[0].sides, (left, ~left)) if its.any()]
            continue
        rows = np.broadcast_to(_mixed(path, k), (len(k), 1 + x.shape[1]))
        # Not a product of matrices, which rounds equal rows otherwise.
        found[:, runs] = sum(
            (rows[:, 1 + i, None] * x[runs, i] for i in range(x.shape[1])),
            rows[:, :1])
    return found


def _mixed(path: tuple[growth.Branch, ...], smoothing: float | growth.Floats
           ) -> growth.Floats:
    """The row of a leaf, from the path up to the root.

    :param smoothing: k, or float[k, 1] of several
    """
    row = path[0].row
    for below, above in zip(path, path[1:]):
        n = len(below.runs)
        row = (n * row + smoothing * above.row) / (n + smoothing)
    return row


def _leaf(row: growth.Floats) -> dict[str, float]:
    intercept, *coefficients = row.tolist()
    return {inputs.INTERCEPT: intercept, **{
        name: value for name, value in zip(inputs.INPUTS, coefficients)
        if value}}
