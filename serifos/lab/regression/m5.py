# SPDX-License-Identifier: Apache-2.0
"""Fit of a regression tree with linear leaves (M5).

As section 3.4 of [1]_ of :mod:`serifos.lab.regression.tree`: the split of the
largest expected reduction of the standard deviation first, a linear model
in every node, then coefficients are left out and nodes collapsed where the
criterion c, the mean absolute error times (n + p) / (n - p), falls. The
paper leaves open when to stop before: at leaves of ten runs, where leaves of
four fit the noise, and at a standard deviation below 5 % of that of all.
"""

from __future__ import annotations

from collections.abc import Sequence
import dataclasses
import heapq
from typing import Any

import numpy as np
import numpy.typing as npt

from serifos.facts import workload as wl
from serifos.lab.regression import inputs

LEAST_RUNS = 2 * len(inputs.INPUTS)
"""Runs of a leaf, at least: two for each input."""

_ALIKE = 0.05
_RIDGE = 1e-9  # of a correlation: what makes collinear inputs solvable
_ROUNDING = 1e-7  # of the standard deviation: no gain at all
_REACH = 2.0

Floats = npt.NDArray[np.float64]


def fit(loads: Sequence[wl.Load], y: Floats, nsplits: float = 100
        ) -> dict[str, Any]:
    """The parameters of an m5 model.

    :param nsplits: splits in the forward step, at most
    """
    x = np.array([inputs.of(load) for load in loads])
    return {'trees': [grow(x, y, int(nsplits))], 'within': within(y)}


def within(y: Floats) -> list[float]:
    """Half of the least value measured, and twice the greatest.

    Linear leaves are unbounded where nothing was measured.
    """
    return [float(y.min()) / _REACH, float(y.max()) * _REACH]


@dataclasses.dataclass
class _Branch:
    """A node while it is grown: its runs, and its best split."""

    runs: npt.NDArray[np.intp]
    gain: float = 0.0
    column: int = 0
    at_most: float = 0.0
    sides: tuple[_Branch, ...] = ()


def grow(x: Floats, y: Floats, nsplits: int) -> list[dict[str, Any]]:
    """The nodes of a tree for float[n, 5] and float[n]."""
    root = _branch(np.arange(len(y)), x, y, 0.0)
    enough = _ALIKE * float(y.std())
    order, number = [(-root.gain, 0, root)], 0
    while order and number < 2 * nsplits:
        gain, _, branch = heapq.heappop(order)
        if gain >= 0:
            break
        left = x[branch.runs, branch.column] <= branch.at_most
        branch.sides = tuple(_branch(branch.runs[side], x, y, enough)
                             for side in (left, ~left))
        for side in branch.sides:
            number += 1
            heapq.heappush(order, (-side.gain, number, side))
    return _nodes(root, x, y)


def _branch(runs: npt.NDArray[np.intp], x: Floats, y: Floats,
            enough: float) -> _Branch:
    """Its best split: n · Δe of every input and place at once."""
    n, found = len(runs), _Branch(runs)
    own = y[runs] - y[runs].mean()
    deviation = float(own.std())
    if n < 2 * LEAST_RUNS or deviation <= enough or deviation == 0:
        return found
    order = x[runs].argsort(axis=0, kind='stable')
    values, sorted_y = np.take_along_axis(x[runs], order, 0), own[order]
    sums = np.cumsum(sorted_y, axis=0)[:-1]
    squares = np.cumsum(sorted_y ** 2, axis=0)
    left, total = np.arange(1, n)[:, None], squares[-1]
    squares = squares[:-1]
    # n σ of a side is √(n Σy² - (Σy)²), and the sides' Σy are opposite.
    sides = (np.sqrt(np.maximum(left * squares - sums ** 2, 0))
             + np.sqrt(np.maximum((n - left) * (total - squares)
                                  - sums ** 2, 0)))
    sides[(values[1:] <= values[:-1]) | (left < LEAST_RUNS)
          | (left > n - LEAST_RUNS)] = np.inf
    place, column = np.unravel_index(sides.argmin(), sides.shape)
    gain = n * deviation - sides[place, column]
    if gain > 1e-9 * n * deviation:
        low, high = values[place:place + 2, column]
        middle = (low + high) / 2
        found.gain, found.column = float(gain), int(column)
        found.at_most = float(middle if middle < high else low)
    return found


def _nodes(root: _Branch, x: Floats, y: Floats) -> list[dict[str, Any]]:
    """The simplified tree, in the order of a file."""
    branches = [root]
    for branch in branches:  # grows as it is read: parents come first
        branches.extend(branch.sides)
    cost, leaf = {}, {}
    rounding = _ROUNDING * float(y.std())
    for branch in reversed(branches):
        own, leaf[id(branch)] = linear(x[branch.runs], y[branch.runs])
        below = sum(len(side.runs) * cost[id(side)] for side in branch.sides)
        if branch.sides and below / len(branch.runs) < own - rounding:
            own = below / len(branch.runs)
        else:
            branch.sides = ()
        cost[id(branch)] = own
    found: list[dict[str, Any]] = []
    todo: list[tuple[_Branch, dict[str, Any], str]] = [(root, {}, 'then')]
    while todo:
        branch, parent, side = todo.pop()
        parent[side] = len(found)
        if not branch.sides:
            found.append(leaf[id(branch)])
            continue
        node: dict[str, Any] = {
            'input': inputs.INPUTS[branch.column], 'at_most': branch.at_most}
        found.append(node)
        todo += [(branch.sides[1], node, 'else'),
                 (branch.sides[0], node, 'then')]
    return found


def linear(x: Floats, y: Floats) -> tuple[float, dict[str, float]]:
    """(c, a leaf): the linear model whose c is least.

    From all inputs, the one goes whose absence makes c the least, as long
    as that does not rise.
    """
    n, middle, mean = len(y), x.mean(axis=0), float(y.mean())
    std = x.std(axis=0)
    used = np.flatnonzero(std > 1e-9 * (1 + abs(middle)))
    scaled, own = (x[:, used] - middle[used]) / std[used], y - mean
    gram = scaled.T @ scaled + n * _RIDGE * np.eye(len(used))
    right = scaled.T @ own
    best, kept, slopes = np.inf, np.arange(len(used)), np.zeros(0)
    tried = kept[None, :]
    while True:
        solved = np.linalg.solve(gram[tried[:, :, None], tried[:, None, :]],
                                 right[tried][:, :, None])[:, :, 0]
        error = abs(own - np.einsum('njk,jk->jn', scaled[:, tried],
                                    solved)).mean(axis=1)
        at, p = int(error.argmin()), 1 + tried.shape[1]
        cost = float(error[at]) * (n + p) / (n - p) if n > p else np.inf
        if cost > best:
            break
        best, kept, slopes = cost, tried[at], solved[at]
        if not len(kept):
            break
        tried = np.array([np.delete(kept, i) for i in range(len(kept))])
    coefficients = slopes / std[used[kept]]
    row = {inputs.INTERCEPT: mean - float(coefficients @ middle[used[kept]])}
    row.update((inputs.INPUTS[used[k]], float(value))
               for k, value in zip(kept, coefficients) if value)
    return best, row
