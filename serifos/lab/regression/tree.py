# SPDX-License-Identifier: Apache-2.0
"""Prediction of a Load by regression trees, one or a committee of them.

Standard library only: cinder-scheduler loads this module. The kinds cart,
m5 and cubist share it [1]_. A tree is a flat list of nodes, its root the
first; a split names two later nodes, so no file can nest deeply or go in
circles. A leaf is an intercept and, unless the kind is cart, a coefficient
for each input of :data:`.inputs.INPUTS` that it reads::

    {"input": "block_kib", "at_most": 24.0, "then": 1, "else": 2}
    {"intercept": 1200.5, "block_kib": 22.1}

A prediction is the arithmetic mean of the trees, corrected by the residuals
of the nearest runs where the file has neighbours, and clipped to ``within``.

.. [1] Noorshams, Bruhn, Kounev, Reussner: Predictive Performance Modeling
   of Virtualized Storage Systems using Optimized Statistical Regression
   Techniques, ICPE 2013, sections 3.3 to 3.5.
"""

from __future__ import annotations

from collections.abc import Iterator
from collections.abc import Mapping
from collections.abc import Sequence
import dataclasses
import functools
from typing import Any
from typing import TYPE_CHECKING

from serifos import errors
from serifos.facts import fields
from serifos.facts.workload import Load
from serifos.lab.regression import inputs
from serifos.lab.regression.neighbours import Neighbours
from serifos.model import kinds

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

CHOSEN = -1
"""As a setting of a fit: that of the least cross-validated error."""

_GREATEST, _LEAST_UNIT = 1e30, 1e-9  # what is computed of them is finite
_SPLIT = {'input', 'at_most', 'then', 'else'}


@dataclasses.dataclass(frozen=True)
class TreeNode:
    """A split where ``then`` is not 0, else a leaf.

    :param row: a leaf's intercept and coefficients of the inputs
    """

    input: int = 0
    at_most: float = 0.0
    then: int = 0
    other: int = 0
    row: tuple[float, ...] = (0.0,) * (1 + len(inputs.INPUTS))

    @classmethod
    def of(cls, node: Mapping[str, Any]) -> TreeNode:
        """The node as a model file has it."""
        if inputs.INTERCEPT in node:
            return cls(row=tuple(float(node.get(name, 0))
                                 for name in inputs.ROW))
        return cls(inputs.INPUTS.index(node['input']),
                   float(node['at_most']), node['then'], node['else'])


Tree = tuple[TreeNode, ...]


def value(tree: Tree, x: Sequence[float]) -> float:
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


@dataclasses.dataclass(frozen=True)
class Forest:
    """A committee of trees, often of a single one.

    :param at: the condition under which it predicts
    :param says: that for people
    """

    trees: tuple[Tree, ...]
    within: tuple[float, float]
    neighbours: Neighbours | None = None
    at: inputs.At = ()
    says: tuple[tuple[str, str], ...] = ()

    def predict(self, load: Load) -> float:
        """The prediction for a Load, never negative; 0 for a count of 0."""
        if load.count == 0:
            return 0.0
        x = inputs.of(load, self.at)
        found = sum(value(tree, x) for tree in self.trees) / len(self.trees)
        least, greatest = self.within
        if self.neighbours:
            found = self.neighbours.corrected(
                x, min(max(found, least), greatest))
        return min(max(found, least), greatest)

    def many(self, loads: npt.NDArray[np.float64]
             ) -> npt.NDArray[np.float64]:
        """float[n, k] → float[n], as :meth:`.kinds.Predictor.many` says."""
        import numpy as np  # the scheduler, which has none, never calls this
        return np.where(loads[:, 0] == 0, 0.0,
                        self.on(inputs.of_many(loads, self.at)))

    def on(self, x: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
        """Predictions for inputs: float[n, inputs] → float[n]."""
        import numpy as np  # the scheduler, which has none, never calls this
        found = np.zeros(len(x))
        for splits, rows in self._arrays:
            found += values(splits, rows, x)
        found /= len(self.trees)
        if self.neighbours:
            found = self.neighbours.all_corrected(
                x, np.clip(found, *self.within))
        return np.clip(found, *self.within)

    @functools.cached_property
    def _arrays(self) -> list[tuple[Any, ...]]:
        return [arrays(tree) for tree in self.trees]

    def work(self, load: Load) -> float:
        return self._work

    @functools.cached_property
    def _work(self) -> float:
        near = len(self.neighbours.runs) if self.neighbours else 0
        return 10.0 + 7 * near + sum(
            2 * len(inputs.PLAIN) + len(tree).bit_length()
            for tree in self.trees)

    @property
    def terms(self) -> int:
        return sum(sum(map(bool, node.row[1:])) + 1
                   for tree in self.trees for node in tree
                   if not node.then) - 1

    def lines(self) -> list[tuple[str, str]]:
        """Such as ('block_kib <= 24 and count > 3', '1200.5')."""
        found = [(f'tree {number}: {rule}' * (len(self.trees) > 1) or rule,
                  says)
                 for number, tree in enumerate(self.trees, 1)
                 for rule, says in rules(tree)]
        if self.neighbours:
            found.append((
                'corrected by', f'the nearest {self.neighbours.nearest} of '
                f'{len(self.neighbours.runs)} runs'))
        return [*self.says, *found]


def from_parameters(kind: str, parameters: Mapping[str, Any]) -> Forest:
    """The predictor that a model file's ``parameters`` describe.

    :raises FormatError: where they are not trees that can be used
    """
    _check(kind, parameters)
    about = parameters.get('neighbours')
    at = inputs.at(kind, parameters)
    return Forest(
        tuple(tuple(map(TreeNode.of, tree))
              for tree in parameters['trees']),
        tuple(map(float, parameters['within'])),
        about and Neighbours.of(about),
        at, tuple(inputs.lines(parameters, at)))


def _check(kind: str, parameters: Mapping[str, Any]) -> None:
    """:raises FormatError: where they are not trees that can be used"""
    def need(fine: bool, what: str) -> None:
        if not fine:
            raise errors.FormatError(
                f'{what} in the parameters of a {kind} model; fit it again '
                'with serifos-model fit.')

    names = inputs.allowed(parameters)
    trees, within = parameters.get('trees'), parameters.get('within')
    need(isinstance(trees, list) and bool(trees) and all(
        isinstance(tree, list) and tree for tree in trees),
        'There is no list of trees, each a list of nodes,')
    need(_numbers(within, 2) and 0 <= within[0] <= within[1],
         'There are no two ends "within", neither negative,')
    for number, tree in enumerate(trees, 1):
        for index, node in enumerate(tree):
            need(_is_node(node, index, len(tree), names),
                 f'Node {index} of tree {number} is no split and no leaf')
    about = parameters.get('neighbours')
    need(about is None or _is_neighbours(about, len(names)),
         'There is no list of runs, their units, the bounds between which '
         'they may correct, how far they may be and how many are nearest in '
         'the neighbours')


def _number(value: object) -> bool:
    return fields.is_number(value, -_GREATEST, _GREATEST)


def _numbers(values: object, many: int) -> bool:
    return (isinstance(values, list) and len(values) == many
            and all(map(_number, values)))


def _is_node(node: object, index: int, many: int,
             names: Sequence[str]) -> bool:
    if not isinstance(node, dict):
        return False
    if inputs.INTERCEPT in node:
        return (set(node) <= {inputs.INTERCEPT, *names}
                and all(map(_number, node.values())))
    return (set(node) == _SPLIT and node['input'] in names
            and _number(node['at_most']) and all(
                type(node[side]) is int and index < node[side] < many
                for side in ('then', 'else')))


def _is_neighbours(about: object, width: int) -> bool:
    return (isinstance(about, dict)
            and type(about.get('nearest')) is int
            and _number(about.get('furthest', 0))
            and about.get('furthest', 0) >= 0
            and _numbers(about.get('units'), width)
            and all(unit >= _LEAST_UNIT for unit in about['units'])
            and _numbers(about.get('between'), 2)
            and 0 <= about['between'][0] <= about['between'][1]
            and isinstance(about.get('runs'), list)
            and 0 < about['nearest'] <= len(about['runs'])
            and all(_numbers(run, width + 1) for run in about['runs']))


_NSPLITS = kinds.Parameter('nsplits', 100, 2, 400)
_SMOOTHING = kinds.Parameter('smoothing', CHOSEN, CHOSEN, 1000,
                             searched=False)  # each fit chooses
_LINEAR_SPLITS = kinds.Parameter('linear_splits', CHOSEN, CHOSEN, 1,
                                 searched=False)

CART = kinds.Kind(from_parameters, 'serifos.lab.regression.growth:fit_means',
                  (kinds.Parameter('minsplit', 20, 2, 400),
                   kinds.Parameter('cp', 0.01, 0, 0.999, whole=False)),
                  conditions=True)
M5 = kinds.Kind(from_parameters, 'serifos.lab.regression.cubist:fit',
                (_NSPLITS, _SMOOTHING, _LINEAR_SPLITS), method=3,
                conditions=True)
CUBIST = kinds.Kind(from_parameters, 'serifos.lab.regression.cubist:fit',
                    (_NSPLITS, kinds.Parameter('ntrees', 1, 1, 100),
                     kinds.Parameter('ninstances', 0, 0, 9), _SMOOTHING,
                     _LINEAR_SPLITS), method=4, conditions=True)
