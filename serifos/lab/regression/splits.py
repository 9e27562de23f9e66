# SPDX-License-Identifier: Apache-2.0
"""The best split of a node of a tree with linear leaves, by two criteria.

M5 and the paper [1]_ of :mod:`serifos.lab.regression.tree` split where the
standard deviation falls most, as if leaves were constant; where the figure
rises evenly over an input, that halves a slope which one line would have
followed. By lines, the split is the one that lets the two lines of its sides
leave least [2]_, with M5's own factor (n + p) / (n - p) on what a line of p
coefficients leaves of n runs.

.. [2] Karalič: Employing linear regression in regression tree leaves, 10th
   European Conference on Artificial Intelligence, 1992.
"""

from __future__ import annotations

from collections.abc import Callable
import dataclasses
import functools
import math
from typing import Any

import numpy as np
import numpy.typing as npt

_ROUNDING = 1e-9  # of what is left: no gain at all
_NO_LINE = 1e-7  # of the deviation of all: what a line leaves by rounding
_AT_ONCE = 512  # runs, whose moments a cache holds
RIDGE = 1e-9
"""Of a correlation: what makes collinear inputs solvable."""

Floats = npt.NDArray[np.float64]


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
    if not gain > _ROUNDING * whole:
        return None
    low, high = beside
    middle = (low + high) / 2
    return Split(gain, int(column),
                 float(middle if middle < high else low))
