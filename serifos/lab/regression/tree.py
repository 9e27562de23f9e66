# SPDX-License-Identifier: Apache-2.0
"""What do regression trees, one or a committee of them, say of a Load?

Standard library only: cinder-scheduler loads this module. The kinds cart,
m5 and cubist share it [1]_. A tree is a flat list of nodes, its root the
first; a split names two later nodes, so no file can nest deeply or go in
circles. A leaf is an intercept and, unless the kind is cart, a coefficient
for each input of :data:`.inputs.INPUTS` that it reads::

    {"input": "block_kib", "at_most": 24.0, "then": 1, "else": 2}
    {"intercept": 1200.5, "block_kib": 22.1}

A prediction is the arithmetic mean of the trees, corrected by what the
nearest runs left of it where the file has neighbours, and kept ``within``
what the fit thought possible.

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
import heapq
from typing import Any
from typing import TYPE_CHECKING

from serifos import errors
from serifos.facts import workload as wl
from serifos.lab.regression import inputs
from serifos.model import kinds
from serifos.model import parameter as pm

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

INTERCEPT = 'intercept'
HALF = 0.5
"""What is added to a distance before a weight is its reciprocal [1]_."""

_WIDTH = len(inputs.INPUTS)
_GREATEST, _LEAST_UNIT = 1e30, 1e-9  # what is made of them is finite
_ROWS_AT_ONCE = 512  # of distances to every run
_SPLIT = {'input', 'at_most', 'then', 'else'}
_LEAF = (INTERCEPT, *inputs.INPUTS)

Vector = Sequence[float]


@dataclasses.dataclass(frozen=True)
class Node:
    """A split where ``then`` is not 0, else a leaf.

    :param row: a leaf's intercept and coefficients of the inputs
    """

    input: int = 0
    at_most: float = 0.0
    then: int = 0
    other: int = 0
    row: tuple[float, ...] = (0.0,) * (1 + _WIDTH)


Tree = tuple[Node, ...]


@dataclasses.dataclass(frozen=True)
class Neighbours:
    """The runs by which a prediction is corrected.

    :param nearest: how many are asked
    :param units: of each input, what counts as a distance of 1
    :param runs: inputs of each, and what the trees left of it
    """

    nearest: int
    units: tuple[float, ...]
    runs: tuple[tuple[float, ...], ...]

    def correction(self, x: Vector) -> float:
        """Mean of what was left, weighted by 1 / (Manhattan + 0.5)."""
        near = heapq.nsmallest(self.nearest, (
            (sum(abs(a - b) / unit for a, b, unit
                 in zip(x, run, self.units)), i)
            for i, run in enumerate(self.runs)))
        weights = [1 / (distance + HALF) for distance, _ in near]
        return sum(weight * self.runs[i][_WIDTH] for weight, (_, i)
                   in zip(weights, near)) / sum(weights)

    def corrections(self, x: npt.NDArray[np.float64]
                    ) -> npt.NDArray[np.float64]:
        """The same for float[n, 5]."""
        import numpy as np  # the scheduler, which has none, never calls this
        runs = np.array(self.runs)
        found = np.empty(len(x))
        for start in range(0, len(x), _ROWS_AT_ONCE):
            part = x[start:start + _ROWS_AT_ONCE]
            far = np.zeros((len(part), len(runs)))
            for column, unit in enumerate(self.units):
                far += abs(part[:, column, None] - runs[:, column]) / unit
            order = far.argsort(axis=1, kind='stable')[:, :self.nearest]
            total, weights = np.zeros(len(part)), np.zeros(len(part))
            for near in order.T:
                weight = 1 / (far[np.arange(len(part)), near] + HALF)
                total += weight * runs[near, _WIDTH]
                weights += weight
            found[start:start + _ROWS_AT_ONCE] = total / weights
        return found


@dataclasses.dataclass(frozen=True)
class Forest:
    """A committee of trees, often of a single one."""

    trees: tuple[Tree, ...]
    within: tuple[float, float]
    neighbours: Neighbours | None = None

    def predict(self, load: wl.Load) -> float:
        """The prediction for a Load, never negative; 0 for a count of 0."""
        if load.count == 0:
            return 0.0
        x = inputs.of(load)
        found = sum(_value(tree, x) for tree in self.trees) / len(self.trees)
        if self.neighbours:
            found += self.neighbours.correction(x)
        least, greatest = self.within
        return min(max(found, least), greatest)

    def many(self, loads: npt.NDArray[np.float64]
             ) -> npt.NDArray[np.float64]:
        """float[n, k] → float[n], as :meth:`.kinds.Form.many` says."""
        import numpy as np  # the scheduler, which has none, never calls this
        return np.where(loads[:, 0] == 0, 0.0,
                        self.on(inputs.of_many(loads)))

    def on(self, x: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
        """Predictions for inputs: float[n, 5] → float[n]."""
        import numpy as np  # the scheduler, which has none, never calls this
        found = np.zeros(len(x))
        for splits, rows in self._arrays:
            found += _values(splits, rows, x)
        found /= len(self.trees)
        if self.neighbours:
            found += self.neighbours.corrections(x)
        return np.clip(found, *self.within)

    @functools.cached_property
    def _arrays(self) -> list[tuple[Any, ...]]:
        return [_arrays(tree) for tree in self.trees]

    def work(self, load: wl.Load) -> float:
        return self._work

    @functools.cached_property
    def _work(self) -> float:
        near = len(self.neighbours.runs) if self.neighbours else 0
        return 10.0 + 7 * near + sum(
            2 * _WIDTH + len(tree).bit_length() for tree in self.trees)

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
                 for rule, says in _rules(tree)]
        if self.neighbours:
            found.append((
                'corrected by', f'the nearest {self.neighbours.nearest} of '
                f'{len(self.neighbours.runs)} runs'))
        return found


def _value(tree: Tree, x: Vector) -> float:
    node = tree[0]
    while node.then:
        node = tree[node.then if x[node.input] <= node.at_most
                    else node.other]
    return node.row[0] + sum(a * b for a, b in zip(node.row[1:], x))


def _arrays(tree: Tree) -> tuple[Any, Any]:
    import numpy as np  # the scheduler, which has none, never calls this
    splits = [np.array([getattr(node, name) for node in tree])
              for name in ('input', 'at_most', 'then', 'other')]
    return splits, np.array([node.row for node in tree])


def _values(splits: Sequence[Any], rows: Any, x: Any) -> Any:
    import numpy as np  # the scheduler, which has none, never calls this
    column, at_most, then, other = splits
    each, node = np.arange(len(x)), np.zeros(len(x), int)
    while then[node].any():
        left = x[each, column[node]] <= at_most[node]
        node = np.where(then[node] > 0,
                        np.where(left, then[node], other[node]), node)
    linear = rows[node, 1] * x[:, 0]
    for i in range(1, _WIDTH):
        linear += rows[node, 1 + i] * x[:, i]
    return rows[node, 0] + linear


def _rules(tree: Tree) -> Iterator[tuple[str, str]]:
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
                _formula(node.row))


def _formula(row: Vector) -> str:
    found = [f'{value:.5g} {name}'.strip() for value, name
             in zip(row, ('', *inputs.INPUTS)) if value]
    return ' + '.join(found).replace('+ -', '- ') or '0'


def from_parameters(kind: str, parameters: Mapping[str, Any]) -> Forest:
    """The form that a model file's ``parameters`` describe.

    :raises FormatError: where they are no trees, or say nonsense
    """
    def check(fine: bool, what: str) -> None:
        if not fine:
            raise errors.FormatError(
                f'{what} in the parameters of a {kind} model; fit it again '
                'with serifos-model fit.')

    trees, within = parameters.get('trees'), parameters.get('within')
    check(isinstance(trees, list) and bool(trees) and all(
        isinstance(tree, list) and tree for tree in trees),
        'There is no list of trees, each a list of nodes,')
    check(_numbers(within, 2) and 0 <= within[0] <= within[1],
          'There are no two ends "within", neither negative,')
    for number, tree in enumerate(trees, 1):
        for index, node in enumerate(tree):
            check(_is_node(node, index, len(tree)),
                  f'Node {index} of tree {number} is no split and no leaf')
    about = parameters.get('neighbours')
    if about is not None:
        check(_is_neighbours(about), 'There is no list of runs, their '
              'units and how many are nearest in the neighbours')
        about = Neighbours(about['nearest'], tuple(map(float, about['units'])),
                           tuple(tuple(map(float, run))
                                 for run in about['runs']))
    return Forest(tuple(tuple(map(_node, tree)) for tree in trees),
                  (float(within[0]), float(within[1])), about)


def _number(value: object) -> bool:
    return (isinstance(value, int | float) and not isinstance(value, bool)
            and abs(value) <= _GREATEST)  # NaN is not


def _numbers(values: object, many: int) -> bool:
    return (isinstance(values, list) and len(values) == many
            and all(map(_number, values)))


def _is_node(node: object, index: int, many: int) -> bool:
    if not isinstance(node, dict):
        return False
    if INTERCEPT in node:
        return set(node) <= set(_LEAF) and all(map(_number, node.values()))
    return (set(node) == _SPLIT and node['input'] in inputs.INPUTS
            and _number(node['at_most']) and all(
                type(node[side]) is int and index < node[side] < many
                for side in ('then', 'else')))


def _is_neighbours(about: object) -> bool:
    return (isinstance(about, dict)
            and type(about.get('nearest')) is int
            and _numbers(about.get('units'), _WIDTH)
            and all(unit >= _LEAST_UNIT for unit in about['units'])
            and isinstance(about.get('runs'), list)
            and 0 < about['nearest'] <= len(about['runs'])
            and all(_numbers(run, _WIDTH + 1) for run in about['runs']))


def _node(node: Mapping[str, Any]) -> Node:
    if INTERCEPT in node:
        return Node(row=tuple(float(node.get(name, 0)) for name in _LEAF))
    return Node(inputs.INPUTS.index(node['input']), float(node['at_most']),
                node['then'], node['else'])


_NSPLITS = pm.Parameter('nsplits', 100, 2, 400)

CART = kinds.Kind(from_parameters, 'serifos.lab.regression.cart:fit',
                  (pm.Parameter('minsplit', 20, 2, 400),
                   pm.Parameter('cp', 0.01, 0, 0.999, whole=False)))
M5 = kinds.Kind(from_parameters, 'serifos.lab.regression.m5:fit', (_NSPLITS,))
CUBIST = kinds.Kind(from_parameters, 'serifos.lab.regression.cubist:fit',
                    (_NSPLITS, pm.Parameter('ntrees', 1, 1, 100),
                     pm.Parameter('ninstances', 0, 0, 9)))
