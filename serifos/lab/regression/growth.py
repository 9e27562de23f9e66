# SPDX-License-Identifier: Apache-2.0
"""Growth of a regression tree, with a linear model in every node or a mean.

As section 3.4 of [1]_ of :mod:`serifos.lab.regression.tree`: the best splits
first, a linear model in every node, then coefficients are left
out and nodes collapsed where the criterion c, the mean absolute error times
(n + p) / (n - p), falls. The paper leaves open when to stop before: at leaves
of ten runs, where leaves of four fit the noise, and at a standard deviation
below 5 % of that of all.

M5 and the paper split where the standard deviation falls most, as if leaves
were constant; where the figure rises evenly over an input, that halves a slope
which one line would have followed. By lines, the split is the one that lets
the two lines of its sides leave least [2]_, with M5's own factor
(n + p) / (n - p) on what a line of p coefficients leaves of n runs.

A tree of means (CART) is grown by scikit-learn and pruned by cost and
complexity; with ``ccp_alpha = cp · var(y)`` and leaves of
``round(minsplit / 3)`` runs at least it is the tree that R's rpart finds,
whose settings the paper uses (section 3.3).

.. [2] Karalič: Employing linear regression in regression tree leaves, 10th
   European Conference on Artificial Intelligence, 1992.
"""

from __future__ import annotations

from collections.abc import Callable
from collections.abc import Sequence
import dataclasses
import functools
import heapq
import math
from typing import Any
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from serifos.facts.workload import Load
from serifos.lab.regression import inputs
from serifos.model.conditions import Conditions

Floats = npt.NDArray[np.float64]

LEAST_RUNS = 2 * len(inputs.PLAIN)
"""Runs of a leaf, at least: two for each input that all datasets have."""

_ALIKE = 0.05
_ROUNDING = 1e-7  # of the standard deviation: no gain at all
_REACH = 2.0
_DEEPEST = 30  # of a tree of means, as rpart has it

_NO_GAIN = 1e-9  # of what is left: no gain at all
_NO_LINE = 1e-7  # of the deviation of all: what a line leaves by rounding
_AT_ONCE = 512  # runs, whose moments a cache holds
RIDGE = 1e-9
"""Of a correlation: what makes collinear inputs solvable."""


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
    :param linear_splits: whether splits are by lines
    """
    criterion = by_lines if linear_splits else by_deviation
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
            enough: float, criterion: Criterion) -> Branch:
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
    used, middle, std, evened = scaled(x)
    own, kept = y - mean, _subsets(len(used))
    gram = evened.T @ evened
    gram.flat[::len(used) + 1] += n * RIDGE
    slopes = np.linalg.solve(gram * kept.both + kept.others, (
        kept.inputs * (own @ evened))[:, :, None])[:, :, 0]
    error = np.add.reduce(abs(own - slopes @ evened.T), axis=1).tolist()
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


@dataclasses.dataclass(frozen=True)
class Split:
    """A split of some runs.

    :param gain: n times the deviation that it removes
    :param column: of the input
    :param at_most: values of the input on its first side
    """

    gain: float
    column: int
    at_most: float


Criterion = Callable[[Floats, Floats, int, float], Split | None]
"""float[n, 5], float[n], the least runs of a side, what deviation is too
small to split → the best split, or None where there is none that gains."""


def scaled(x: Floats) -> tuple[npt.NDArray[np.intp], Floats, Floats, Floats]:
    """(used, mean, deviation, scaled) of the inputs that vary.

    :param x: float[n, 5]
    :returns: int[k], which they are, float[k] of each, and float[n, k],
        without their mean in units of their deviation
    """
    middle = np.add.reduce(x, axis=0) / len(x)
    far = x - middle
    std = np.sqrt(np.add.reduce(far * far, axis=0) / len(x))
    used = np.flatnonzero(std > 1e-9 * (1 + abs(middle)))
    return used, middle[used], std[used], far[:, used] / std[used]


def by_deviation(x: Floats, y: Floats, least: int, enough: float
                 ) -> Split | None:
    """n · Δe of every input and place at once."""
    n, own = len(y), y - y.mean()
    deviation = float(own.std())
    if n < 2 * least or deviation <= enough or deviation == 0:
        return None
    order = x.argsort(axis=0, kind='stable')
    values, sorted_y = np.take_along_axis(x, order, 0), own[order]
    sums = np.cumsum(sorted_y, axis=0)[:-1]
    squares = np.cumsum(sorted_y ** 2, axis=0)
    left, total = np.arange(1, n)[:, None], squares[-1]
    squares = squares[:-1]
    # n σ of a side is √(n Σy² - (Σy)²), and the sides' Σy are opposite.
    sides = (np.sqrt(np.maximum(left * squares - sums ** 2, 0))
             + np.sqrt(np.maximum((n - left) * (total - squares)
                                  - sums ** 2, 0)))
    sides[(values[1:] <= values[:-1]) | (left < least)
          | (left > n - least)] = np.inf
    place, column = np.unravel_index(sides.argmin(), sides.shape)
    return _split(n * deviation, sides[place, column], column,
                  values[place:place + 2, column])


def by_lines(x: Floats, y: Floats, least: int, enough: float
             ) -> Split | None:
    """The residual of one line less that of a line on each side.

    Some inputs at once, as many as a cache holds the sums of.
    """
    n = len(y)
    if n < 2 * least:
        return None
    used, *_, rest = scaled(x)
    if not len(used):
        return None
    x, own = x[:, used], y - y.mean()
    order = x.argsort(axis=0, kind='stable').T
    values = x[order, np.arange(len(used))[:, None]]
    differ = values[:, least:n - least + 1] > values[:, least - 1:n - least]
    rows = np.vstack([np.ones(n), rest.T, own])
    some = max(1, _AT_ONCE // n)
    found = [_of_sides(rows[:, order[start:start + some]], least,
                       differ[start:start + some])
             for start in range(0, len(used), some)]
    sides, whole = np.vstack([its for its, _ in found]), found[0][1]
    if whole <= n * max(enough, _NO_LINE * float(own.std())) ** 2:
        return None
    place, column = np.unravel_index(sides.T.argmin(), sides.T.shape)
    after = least + place
    return _split(math.sqrt(n * whole) * float(_factor(n, len(rows) - 1)),
                  sides[column, place], used[column],
                  values[column, after - 1:after + 1])


def _of_sides(rows: Floats, least: int, differ: npt.NDArray[np.bool_]
              ) -> tuple[Floats, float]:
    """The residual of both lines, for a split after each of some runs.

    :param rows: float[q, k, n], a constant, the inputs and the figure, in
        the order of each of k inputs
    :param least: the number of runs until the first of m
    :param differ: bool[k, m], whether the input changes after the run
    :returns: float[k, m], infinite where it does not; and what a line leaves
        of all
    """
    sums, n = _sums(rows), rows.shape[2]
    column, place = np.nonzero(differ)
    many, here = least + place, len(place)
    moments = np.empty((len(sums), 2 * here + 1))
    moments[:, :here] = sums[:, column, many - 1]
    moments[:, -1] = sums[:, 0, -1]
    np.subtract(sums[:, column, -1], moments[:, :here],
                out=moments[:, here:-1])
    left = _left(moments, len(rows))
    runs = np.concatenate([many, n - many])
    both = np.sqrt(runs * left[:-1]) * _factor(runs, len(rows) - 1)
    sides = np.full(differ.shape, np.inf)
    sides[column, place] = both[:here] + both[here:]
    return sides, float(left[-1])


def _sums(rows: Floats) -> Floats:
    """Sums over the first i runs, of the products of any two of q rows.

    :param rows: float[q, k, n]
    :returns: float[q (q + 1) / 2, k, n], as the upper triangle has them
    """
    begin = _begin(len(rows))
    found = np.empty((begin[-1], *rows.shape[1:]))
    for i, row in enumerate(rows):
        np.multiply(row, rows[i:], out=found[begin[i]:begin[i + 1]])
    return np.add.accumulate(found, axis=2, out=found)


def _left(moments: Floats, q: int) -> Floats:
    """The residual sums of squares of lines, by elimination in place.

    :param moments: float[q (q + 1) / 2, n], the upper triangles of the
        inner products of the inputs and of the figure, the last of q
    """
    begin = _begin(q)
    diagonal = begin[:q - 1]
    moments[diagonal] += RIDGE * moments[diagonal].sum(axis=0)
    for i in range(q - 1):
        row = moments[begin[i]:begin[i + 1]]
        share = row[1:] / row[0]
        for j in range(1, q - i):
            moments[begin[i + j]:begin[i + j + 1]] -= share[j - 1] * row[j:]
    return np.maximum(moments[-1], 0)


@functools.cache
def _begin(q: int) -> list[int]:
    """The beginning and end of each row of an upper triangle."""
    return [i * q - i * (i - 1) // 2 for i in range(q + 1)]


def _factor(n: int | npt.NDArray[np.intp], p: int) -> Any:
    return (n + p) / np.maximum(n - p, 0.5)


def _split(whole: float, sides: float, column: int, beside: Floats
           ) -> Split | None:
    """A split, where it gains.

    :param whole: n times the deviation of all runs
    :param sides: n times those of both sides
    :param beside: float[2], the values of the input next to it
    """
    gain = float(whole - sides)
    if not gain > _NO_GAIN * whole:
        return None
    low, high = beside
    middle = (low + high) / 2
    return Split(gain, int(column),
                 float(middle if middle < high else low))


def fit_means(loads: Sequence[Load], y: npt.NDArray[np.float64],
              minsplit: float = 20, cp: float = 0.01,
              conditions: Conditions | None = None) -> dict[str, Any]:
    """The parameters of a cart model.

    :param minsplit: runs below which a node is not split
    :param cp: the share of the total variance by which a split must reduce
        what is left
    :param conditions: of the runs, where they vary
    """
    from sklearn.tree import DecisionTreeRegressor  # takes half a second
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
