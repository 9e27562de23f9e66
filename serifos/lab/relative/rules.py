# SPDX-License-Identifier: Apache-2.0
"""The trees of a relation in words. Standard library only."""

from __future__ import annotations

from collections.abc import Iterator
from collections.abc import Mapping
import math

from serifos.lab.relative import relation as rl
from serifos.report import table


def rules(tree: rl.Tree, questions: float = math.inf
          ) -> Iterator[tuple[str, list[float]]]:
    """The branches of a tree, from the least of its first input.

    Of the conditions on one input the narrowest remain.

    :param questions: asked at the most, from the root
    :returns: for each branch its conditions, and the values of its leaves
    """
    todo: list[tuple[rl.Tree, int, dict[tuple[str, str], float]]] = [
        (tree, 0, {})]
    while todo:
        node, depth, where = todo.pop()
        if isinstance(node, Mapping) and depth < questions:
            todo += [(node[branch], depth + 1, {
                **where, (node['input'], sign): node['at_most']})
                for branch, sign in (('else', '>'), ('then', '<='))]
        else:
            yield ' and '.join(
                f'{name} {sign} {table.shown(float(value))}'
                for (name, sign), value in where.items()) or 'always', [
                    *values(node)]


def values(tree: rl.Tree) -> Iterator[float]:
    """The values of its leaves."""
    todo = [tree]
    while todo:
        node = todo.pop()
        if isinstance(node, Mapping):
            todo += [node['else'], node['then']]
        else:
            yield float(node)
