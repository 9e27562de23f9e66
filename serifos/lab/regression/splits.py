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

import numpy as np
import numpy.typing as npt

_ROUNDING = 1e-9  # of what is left: no gain at all
_NO_LINE = 1e-7  # of the deviation of all: what a line leaves by rounding
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
    return _best(values, sides, n * deviation, least)


def by_lines(x: Floats, y: Floats, least: int, enough: float
             ) -> Split | None:
    """What a line leaves of all, less what one of each side leaves."""
    n, std = len(y), x.std(axis=0)
    used = np.flatnonzero(std > 1e-9 * (1 + abs(x.mean(axis=0))))
    own = y - y.mean()
    if n < 2 * least or not len(used):
        return None
    scaled = np.column_stack(
        [np.ones(n), (x[:, used] - x[:, used].mean(axis=0)) / std[used]])
    whole, = _left(*(one[-1:] for one in _moments(scaled, own)))
    deviation = float(np.sqrt(whole / n))
    if deviation <= max(enough, _NO_LINE * float(own.std())):
        return None
    order = x.argsort(axis=0, kind='stable')
    sides = np.full((n - 1, x.shape[1]), np.inf)
    for column in used:
        sides[:, column] = _of_sides(scaled[order[:, column]],
                                     own[order[:, column]], least)
    all_left = n * deviation * _factor(np.array(n), scaled.shape[1])
    return _best(np.take_along_axis(x, order, 0), sides, float(all_left),
                 least)


def _of_sides(scaled: Floats, own: Floats, least: int) -> Floats:
    """For a split after each run but the last: what both lines leave."""
    n, p = scaled.shape
    sides = np.full(n - 1, np.inf)
    many = np.arange(least, n - least + 1)
    sums = _moments(scaled, own)
    below = tuple(one[many - 1] for one in sums)
    above = tuple(one[-1] - part for one, part in zip(sums, below))
    sides[many - 1] = sum(
        np.sqrt(runs * _left(*part)) * _factor(runs, p)
        for runs, part in ((many, below), (n - many, above)))
    return sides


def _moments(scaled: Floats, own: Floats) -> tuple[Floats, Floats, Floats]:
    """Sums over the first i runs: x x', x y and y²."""
    return (np.cumsum(scaled[:, :, None] * scaled[:, None, :], axis=0),
            np.cumsum(scaled * own[:, None], axis=0), np.cumsum(own ** 2))


def _left(gram: Floats, right: Floats, squares: Floats) -> Floats:
    """The residual sums of squares of lines."""
    p = gram.shape[-1]
    ridge = (RIDGE * np.trace(gram, axis1=1, axis2=2))[:, None, None]
    slopes = np.linalg.solve(gram + ridge * np.eye(p), right[:, :, None])
    return np.maximum(squares - (slopes[:, :, 0] * right).sum(axis=1), 0)


def _factor(n: npt.NDArray[np.intp], p: int) -> Floats:
    return (n + p) / np.maximum(n - p, 0.5)


def _best(values: Floats, sides: Floats, whole: float, least: int
          ) -> Split | None:
    """The split of the least sides.

    :param values: float[n, 5], each input sorted
    :param sides: float[n - 1, 5], n times the deviations of both sides
    """
    n, left = len(values), np.arange(1, len(values))[:, None]
    sides[(values[1:] <= values[:-1]) | (left < least)
          | (left > n - least)] = np.inf
    place, column = np.unravel_index(sides.argmin(), sides.shape)
    gain = float(whole - sides[place, column])
    if not gain > _ROUNDING * whole:
        return None
    low, high = values[place:place + 2, column]
    middle = (low + high) / 2
    return Split(gain, int(column),
                 float(middle if middle < high else low))
