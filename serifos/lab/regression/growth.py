# SPDX-License-Identifier: Apache-2.0
"""Growth of a regression tree with a linear model in every node.

As section 3.4 of [1]_ of :mod:`serifos.lab.regression.tree`: the best split of
:mod:`.splits` first, a linear model in every node, then coefficients are left
out and nodes collapsed where the criterion c, the mean absolute error times
(n + p) / (n - p), falls. The paper leaves open when to stop before: at leaves
of ten runs, where leaves of four fit the noise, and at a standard deviation
below 5 % of that of all.
"""

from __future__ import annotations

import dataclasses
import functools
import heapq
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from serifos.lab.regression import inputs
from serifos.lab.regression import splits

LEAST_RUNS = 2 * len(inputs.PLAIN)
"""Runs of a leaf, at least: two for each input that all datasets have."""

_ALIKE = 0.05
_ROUNDING = 1e-7  # of the standard deviation: no gain at all
_REACH = 2.0

Floats = npt.NDArray[np.float64]


def within(y: Floats) -> list[float]:
    """Half of the least value measured, and twice the greatest.

    Linear leaves are unbounded where nothing was measured.
    """
    return [float(y.min()) / _REACH, float(y.max()) * _REACH]


@dataclasses.dataclass
class Branch:
    """A node while it is grown: its runs, and its best split.

    :param runs: int[n], which they are
    :param sides: the two below, at most ``at_most`` and above; none of a leaf
    :param row: float[1 + inputs], intercept and coefficients of its line
    """

    runs: npt.NDArray[np.intp]
    gain: float = 0.0
    column: int = 0
    at_most: float = 0.0
    sides: tuple[Branch, ...] = ()
    row: Floats = dataclasses.field(default_factory=lambda: np.zeros(0))


def grown(x: Floats, y: Floats, nsplits: int,
          linear_splits: bool = False) -> Branch:
    """The root of the simplified tree, for float[n, inputs] and float[n].

    :param nsplits: splits before it is simplified, at most
    :param linear_splits: whether splits are by lines, see :mod:`.splits`
    """
    criterion = splits.by_lines if linear_splits else splits.by_deviation
    root = _branch(np.arange(len(y)), x, y, 0.0, criterion)
    enough = _ALIKE * float(y.std())
    order, number = [(-root.gain, 0, root)], 0
    while order and number < 2 * nsplits:
        gain, _, branch = heapq.heappop(order)
        if gain >= 0:
            break
        left = x[branch.runs, branch.column] <= branch.at_most
        branch.sides = tuple(
            _branch(branch.runs[side], x, y, enough, criterion)
            for side in (left, ~left))
        for side in branch.sides:
            number += 1
            heapq.heappush(order, (-side.gain, number, side))
    _simplify(root, x, y)
    return root


def _branch(runs: npt.NDArray[np.intp], x: Floats, y: Floats,
            enough: float, criterion: splits.Criterion) -> Branch:
    """A branch of the best split of some runs."""
    best = criterion(x[runs], y[runs], LEAST_RUNS, enough)
    return (Branch(runs, best.gain, best.column, best.at_most) if best
            else Branch(runs))


def _simplify(root: Branch, x: Floats, y: Floats) -> None:
    """Gives each node its linear model, and splits only where c falls."""
    branches = [root]
    for branch in branches:  # grows as it is read: parents come first
        branches.extend(branch.sides)
    cost: dict[int, float] = {}
    rounding = _ROUNDING * float(y.std())
    for branch in reversed(branches):
        own, branch.row = linear(x[branch.runs], y[branch.runs])
        below = sum(len(side.runs) * cost[id(side)] for side in branch.sides)
        if branch.sides and below / len(branch.runs) < own - rounding:
            own = below / len(branch.runs)
        else:
            branch.sides = ()
        cost[id(branch)] = own


def linear(x: Floats, y: Floats) -> tuple[float, Floats]:
    """(c, row): the linear model whose c is least.

    From all inputs, the one goes whose absence makes c the least, as long
    as that does not rise. The models of all subsets are solved at once.

    :returns: c, and float[1 + inputs], the intercept and the coefficients
    """
    n, mean = len(y), float(y.mean())
    used, middle, std, scaled = splits.scaled(x)
    own, kept = y - mean, _subsets(len(used))
    gram = scaled.T @ scaled
    gram.flat[::len(used) + 1] += n * splits.RIDGE
    slopes = np.linalg.solve(gram * kept.both + kept.others, (
        kept.inputs * (own @ scaled))[:, :, None])[:, :, 0]
    error = np.add.reduce(abs(own - slopes @ scaled.T), axis=1).tolist()
    cost = [one / n * (n + p) / (n - p) if n > p else np.inf
            for one, p in zip(error, kept.terms)]
    best = len(cost) - 1  # bit i of its number is input i
    while best:
        fewer = min(kept.fewer[best], key=error.__getitem__)
        if cost[fewer] > cost[best]:
            break
        best = fewer
    row = np.zeros(1 + x.shape[1])
    row[1 + used] = slopes[best] / std
    row[0] = mean - float(row[1 + used] @ middle)
    return cost[best], row


class _Subsets(NamedTuple):
    """Each subset of k inputs.

    :param inputs: float[2^k, k], 1 of its inputs
    :param both: float[2^k, k, k], 1 of two of its inputs
    :param others: float[2^k, k, k], 1 in the diagonal of the others
    :param terms: of a linear model of it
    :param fewer: the subsets without one of its inputs
    """

    inputs: Floats
    both: Floats
    others: Floats
    terms: list[int]
    fewer: list[list[int]]


@functools.cache
def _subsets(inputs: int) -> _Subsets:
    kept = np.array([[number >> i & 1 for i in range(inputs)]
                     for number in range(1 << inputs)], float)
    return _Subsets(
        kept, kept[:, :, None] * kept[:, None, :],
        (1 - kept)[:, :, None] * np.eye(inputs),
        (1 + kept.sum(axis=1)).astype(int).tolist(),
        [[number & ~(1 << i) for i in range(inputs) if number >> i & 1]
         for number in range(len(kept))])
