# SPDX-License-Identifier: Apache-2.0
"""The runs that are nearest to an input, as Cubist's program meets them.

Standard library only: cinder-scheduler loads this module. Runs lie in a tree
that halves them at the mean of an input, again and again, and a search goes
first to the side on which its input is. That order decides which runs count
where many are equally far, and what is beyond a far mean is not met at all;
so the tree is the program's, found from what it predicts.
"""

from __future__ import annotations

import bisect
from collections.abc import Iterable
from collections.abc import Sequence
import dataclasses
import math

MOST = 20
"""Runs that correct one prediction: of those as far as the last one, the
search forgets what it met first."""

STEPS = 16
"""Of a distance, in a distance of 1."""

_HALF = 0.5

Vector = Sequence[float]


@dataclasses.dataclass(frozen=True)
class Node:
    """A split of runs at the mean of an input, or a leaf.

    :param sides: the nodes of the runs up to the mean and above it
    :param runs: of a leaf, which they are
    """

    input: int = 0
    mean: float = 0.0
    sides: tuple[int, int] = (0, 0)
    runs: tuple[int, ...] = ()


def total(values: Iterable[float]) -> float:
    found = 0.0  # not sum(), which rounds otherwise than numpy
    for value in values:
        found += value
    return found


def in_steps(far: float) -> float:
    return math.floor(far * STEPS + _HALF) / STEPS


def distance(x: Vector, run: Vector, units: Vector) -> float:
    return in_steps(total(min(1.0, abs(a - b) / unit)
                          for a, b, unit in zip(x, run, units)))


def tree(runs: Sequence[Vector], units: Vector) -> list[Node]:
    """The nodes, the root first; a loop, since a file may nest deeply."""
    nodes = [Node()]
    todo = [(0, list(range(len(runs))))]
    while todo:
        index, these = todo.pop()
        column, mean = _widest([runs[i] for i in these], units)
        sides = _parted(these, [runs[i][column] <= mean for i in these])
        if not all(sides):
            nodes[index] = Node(runs=tuple(these))
            continue
        low, high = len(nodes), len(nodes) + 1
        nodes[index] = Node(column, mean, (low, high))
        nodes += [Node(), Node()]
        todo += zip((low, high), sides)
    return nodes


def _widest(rows: Sequence[Vector], units: Vector) -> tuple[int, float]:
    """The input that deviates most from its mean, in units, and the mean."""
    means = [total(row[column] for row in rows) / len(rows)
             for column in range(len(units))]
    deviations = [total(abs(row[column] - mean) / unit for row in rows)
                  for column, (mean, unit) in enumerate(zip(means, units))]
    column = deviations.index(max(deviations))
    return column, means[column]


def _parted(these: Sequence[int], low: Sequence[bool]
            ) -> tuple[list[int], list[int]]:
    """The runs of either side, the high ones in the order of swaps."""
    made, many = list(these), 0
    for i, is_low in enumerate(low):
        if is_low:
            made[i], made[many] = made[many], made[i]
            many += 1
    return made[:many], made[many:]


def search(nodes: Sequence[Node], runs: Sequence[Vector], units: Vector,
           x: Vector, nearest: int, furthest: float
           ) -> list[tuple[float, int]]:
    """(distance, run) of those up to the last of the nearest, the near first.

    :param nearest: how many are sought; more are found where they are as far
        as the last, fewer where there are no more up to ``furthest``
    """
    met: list[tuple[float, int, int]] = []  # distance, -number of visit, run
    last, visits = furthest, 0
    todo = [(0, (0.0,) * len(units))]  # node, how far it is by each input
    while todo:
        index, away = todo.pop()
        if in_steps(total(away)) > last:
            continue
        node = nodes[index]
        for run in node.runs:
            visits += 1
            far = distance(x, runs[run], units)
            if far <= last:
                bisect.insort(met, (far, -visits, run))
                del met[MOST:]
                if len(met) >= nearest:
                    last = met[nearest - 1][0]
        if not node.runs:
            todo += _sides(node, x, units, away)
    return [(far, run) for far, _, run in met if far <= last]


def _sides(node: Node, x: Vector, units: Vector, away: tuple[float, ...]
           ) -> list[tuple[int, tuple[float, ...]]]:
    """The side that is to be searched last, and the one where x is."""
    here = node.input
    beyond = abs(x[here] - node.mean) / units[here]  # above 1, too
    low, high = node.sides
    near, other = (low, high) if x[here] <= node.mean else (high, low)
    return [(other, (*away[:here], beyond, *away[here + 1:])), (near, away)]
