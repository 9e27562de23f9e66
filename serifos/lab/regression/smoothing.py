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

from typing import Any

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


def _mixed(path: tuple[growth.Branch, ...], smoothing: float
           ) -> growth.Floats:
    """The row of a leaf, from the path up to the root."""
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
