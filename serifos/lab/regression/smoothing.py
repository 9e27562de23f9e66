# SPDX-License-Identifier: Apache-2.0
"""Smoothing of a tree's leaves.

On the way from a leaf up to the root, its line is mixed with that of each
node above [1]_: (n f + k g) / (n + k), f the line so far, n the runs of the
node that it comes from, g the line of the node above. A mix of lines is a
line, so the leaf keeps the last one.

The leaves of noisy runs follow their noise and need much of it; those of exact
runs are spoilt by any: :mod:`.choice`.

.. [1] Quinlan: Learning with continuous classes, 5th Australian Joint
   Conference on Artificial Intelligence, 1992, section 3.4; k is 15 there.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from serifos.lab.regression import growth
from serifos.lab.regression import inputs

Nodes = list[dict[str, Any]]
"""A tree as a model file has it."""


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
    """What a tree says of some runs with each of several smoothings.

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
