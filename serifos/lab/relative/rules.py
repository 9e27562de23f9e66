# SPDX-License-Identifier: Apache-2.0
"""Trees of a relation in words. Standard library only."""

from __future__ import annotations

from collections.abc import Iterator
from collections.abc import Mapping
from collections.abc import Sequence
import math

from serifos.lab.relative.relation import Tree
from serifos.report import table

_DIGITS = 3
"""Of a number in a rule, unless more are needed."""


def rules(tree: Tree, questions: float = math.inf
          ) -> Iterator[tuple[str, list[float]]]:
    """The branches of a tree, from the least of its first input.

    Of the conditions on one input the narrowest remain. A threshold has as
    many digits as tell it from every other one of its input.

    :param questions: asked at the most, from the root
    :returns: for each branch its conditions, and the values of its leaves
    """
    words = _thresholds(tree)
    todo: list[tuple[Tree, int, dict[tuple[str, str], float]]] = [
        (tree, 0, {})]
    while todo:
        node, depth, where = todo.pop()
        if isinstance(node, Mapping) and depth < questions:
            todo += [(node[branch], depth + 1, {
                **where, (node['input'], sign): node['at_most']})
                for branch, sign in (('else', '>'), ('then', '<='))]
        else:
            yield ' and '.join(
                f'{name} {sign} {words[name, float(value)]}'
                for (name, sign), value in where.items()) or 'always', [
                    *values(node)]


def _thresholds(tree: Tree) -> dict[tuple[str, float], str]:
    """(input, threshold) → the threshold as it is written."""
    found: dict[str, set[float]] = {}
    for node in _nodes(tree):
        if isinstance(node, Mapping):
            found.setdefault(node['input'], set()).add(float(node['at_most']))
    return {(name, value): text for name, several in found.items()
            for value, text in _told_apart(sorted(several))}


def _told_apart(several: Sequence[float]) -> Iterator[tuple[float, str]]:
    """Each of the numbers with a text that no other one of them has."""
    texts, digits = [table.shown(value) for value in several], _DIGITS
    while len({*texts}) < len(texts):
        digits += 1
        texts = [f'{value:.{digits}g}' for value in several]
    yield from zip(several, texts)


def values(tree: Tree) -> Iterator[float]:
    """The values of its leaves."""
    return (float(node) for node in _nodes(tree)
            if not isinstance(node, Mapping))


def _nodes(tree: Tree) -> Iterator[Tree]:
    todo = [tree]
    while todo:
        node = todo.pop()
        yield node
        if isinstance(node, Mapping):
            todo += [node['else'], node['then']]
