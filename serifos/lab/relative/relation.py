# SPDX-License-Identifier: Apache-2.0
"""Prediction of a workload on device B from its observation on A.

A relation from device A to device B: trees of relative fitness [1]_, which
read the observations on A and give a factor, and the same in words. Standard
library only; the
trees are fitted by :mod:`serifos.lab.relative.relative`.

.. [1] Mesnier, Wachs, Ganger: Modeling the relative fitness of storage
   devices, section 5.3.
"""

from __future__ import annotations

from collections.abc import Iterator
from collections.abc import Mapping
from collections.abc import Sequence
import dataclasses
import math
from typing import Any

from serifos import errors
from serifos.facts import fields
from serifos.facts.workload import Workload
from serifos.lab.relative import characteristics
from serifos.report import table

RELATION_SCHEMA = 'serifos-relation/1'

INPUTS = ('inter_arrival_us', 'write_pct', 'block_kib', 'random_pct',
          *characteristics.SERVICE)
"""The inputs of a relation's trees: figures that telemetry has, which knows
no size of reads from one of writes."""

FIGURES = ('latency_us', 'iops', 'bandwidth_kib_s')
"""The figures for which a relation has a factor."""

Tree = float | Mapping[str, Any]
"""A leaf's value, or ``{"input", "at_most", "then", "else"}``."""

_MOST_NODES = 100_000
_MOST_FACTOR = 1e9
_MOST_FIGURE = 1e30

_DIGITS = 3
"""Of a number in a rule, unless more are needed."""


@dataclasses.dataclass(frozen=True)
class DeviceFactor:
    """The factor of a figure from A to B.

    :param tree: gives figure on B / figure on A
    :param error: median relative error of the predicted figure, a fraction,
        on the runs of the half that the trees were not fitted on
    :param interval: the 5 % and 95 % quantile of (measured - predicted) /
        predicted there
    """

    tree: Tree
    error: float
    interval: tuple[float, float]


@dataclasses.dataclass(frozen=True)
class Relation:
    """From device A to device B; a ``serifos-relation/1`` file.

    :param source: device A, as its dataset's header names it
    :param target: device B
    :param runs: runs that both were measured on
    :param factors: of each of :data:`FIGURES`
    :param response: a tree, see :meth:`share`
    """

    source: Mapping[str, Any]
    target: Mapping[str, Any]
    runs: int
    factors: Mapping[str, DeviceFactor]
    response: Tree

    def factor(self, figure: str, workload: Workload) -> float:
        """The figure on B over that on A of a workload observed on A.

        In the company that the runs of the datasets gave it on both.

        :param workload: its iops and latency_us as observed on A
        :raises InputError: where they are unknown
        """
        return leaf(self.factors[figure].tree,
                    characteristics.of_workload(workload))

    def share(self, workload: Workload) -> float:
        """The share of its time that a workload waits for the device.

        1 is a closed loop, which sends its next request when one ends; 0 is
        an open one, whose rate does not depend on the device.

        :raises InputError: where the workload was not observed
        """
        return leaf(self.response, characteristics.of_workload(workload))

    @classmethod
    def from_json(cls, doc: Mapping[str, Any]) -> Relation:
        """A validated ``serifos-relation/1`` document.

        :raises FormatError: where a factor or an input is missing or unknown
        """
        lacking = [name for name in FIGURES if name not in doc['factors']]
        if lacking:
            raise errors.FormatError(
                f'The relation has no factor of {lacking[0]}; make it again '
                'by serifos-model relate --out.')
        factors = {
            name: DeviceFactor(_checked(doc['factors'][name]['tree']),
                               doc['factors'][name]['error'],
                               tuple(doc['factors'][name]['interval']))
            for name in FIGURES}
        return cls(fields.plain(doc['from']), fields.plain(doc['to']),
                   doc['runs'], factors,
                   _checked(doc['response'], 1.0))

    def to_json(self) -> dict[str, Any]:
        return {'schema': RELATION_SCHEMA, 'from': dict(self.source),
                'to': dict(self.target), 'runs': self.runs,
                'factors': {name: {**dataclasses.asdict(factor),
                                   'interval': list(factor.interval)}
                            for name, factor in self.factors.items()},
                'response': self.response}


def leaf(tree: Tree, values: Mapping[str, float]) -> float:
    """The value at the end of the branch that the values take."""
    while isinstance(tree, Mapping):
        below = values[tree['input']] <= tree['at_most']
        tree = tree['then' if below else 'else']
    return float(tree)


def _checked(tree: Any, most: float = _MOST_FACTOR) -> Tree:
    """:raises FormatError: where it is not a tree of leaves from 0 to most"""
    nodes = [tree]
    for number, node in enumerate(nodes):
        if isinstance(node, Mapping):
            if (node.get('input') not in INPUTS or number > _MOST_NODES
                    or not fields.is_number(node.get('at_most'),
                                            -_MOST_FIGURE, _MOST_FIGURE)):
                raise errors.FormatError(
                    'A branch of the relation reads '
                    f'{node.get("input")!r}, or has no number; this serifos '
                    f'knows {", ".join(INPUTS)}.')
            nodes += [node.get('then'), node.get('else')]
        elif not fields.is_number(node, 0, most):
            raise errors.FormatError(
                f'A leaf of the relation is {node!r}, which is not a number '
                f'from 0 to {most:g}; make it again by serifos-model relate '
                '--out.')
    return tree


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
