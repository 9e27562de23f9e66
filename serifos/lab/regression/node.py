# SPDX-License-Identifier: Apache-2.0
"""One regression tree: its nodes, its value, its rules.

Standard library only: cinder-scheduler loads this module.
"""

from __future__ import annotations

from collections.abc import Iterator
from collections.abc import Mapping
from collections.abc import Sequence
import dataclasses
from typing import Any

from serifos.lab.regression import inputs
from serifos.model import kinds

_WIDTH = len(inputs.INPUTS)

Vector = Sequence[float]


@dataclasses.dataclass(frozen=True)
class TreeNode:
    """A split where ``then`` is not 0, else a leaf.

    :param row: a leaf's intercept and coefficients of the inputs
    """

    input: int = 0
    at_most: float = 0.0
    then: int = 0
    other: int = 0
    row: tuple[float, ...] = (0.0,) * (1 + _WIDTH)

    @classmethod
    def of(cls, node: Mapping[str, Any]) -> TreeNode:
        """The node as a model file has it."""
        if inputs.INTERCEPT in node:
            return cls(row=tuple(float(node.get(name, 0))
                                 for name in inputs.ROW))
        return cls(inputs.INPUTS.index(node['input']),
                   float(node['at_most']), node['then'], node['else'])


Tree = tuple[TreeNode, ...]


def value(tree: Tree, x: Vector) -> float:
    """The value of the leaf that inputs lead to."""
    node = tree[0]
    while node.then:
        node = tree[node.then if x[node.input] <= node.at_most
                    else node.other]
    return node.row[0] + sum(a * b for a, b in zip(node.row[1:], x))


def arrays(tree: Tree) -> tuple[Any, Any]:
    """The splits and the rows of the leaves, for :func:`values`."""
    import numpy as np  # the scheduler, which has none, never calls this
    splits = [np.array([getattr(node, name) for node in tree])
              for name in ('input', 'at_most', 'then', 'other')]
    return splits, np.array([node.row for node in tree])


def values(splits: Sequence[Any], rows: Any, x: Any) -> Any:
    """:func:`value` for many inputs: float[n, inputs] → float[n]."""
    import numpy as np  # the scheduler, which has none, never calls this
    column, at_most, then, other = splits
    each, node = np.arange(len(x)), np.zeros(len(x), int)
    while then[node].any():
        left = x[each, column[node]] <= at_most[node]
        node = np.where(then[node] > 0,
                        np.where(left, then[node], other[node]), node)
    linear = rows[node, 1] * x[:, 0]
    for i in range(1, x.shape[1]):
        linear += rows[node, 1 + i] * x[:, i]
    return rows[node, 0] + linear


def rules(tree: Tree) -> Iterator[tuple[str, str]]:
    """Each leaf: the narrowest conditions that lead to it, its formula."""
    todo = [(0, {})]  # node, (input, whether it is above) → threshold
    while todo:
        index, where = todo.pop()
        node = tree[index]
        if node.then:
            todo += [(node.other, {**where, (node.input, True): node.at_most}),
                     (node.then, {**where, (node.input, False): node.at_most})]
            continue
        yield ' and '.join(
            f'{inputs.INPUTS[i]} {">" if above else "<="} {value:.6g}'
            for (i, above), value in sorted(where.items())) or 'always', (
                kinds.formula(zip(node.row, ('', *inputs.INPUTS))))
