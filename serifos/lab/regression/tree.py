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

from collections.abc import Mapping
import dataclasses
import functools
from typing import Any
from typing import TYPE_CHECKING

from serifos.facts.workload import Load
from serifos.lab.regression import inputs
from serifos.lab.regression.neighbours import Neighbours
from serifos.lab.regression.node import arrays
from serifos.lab.regression.node import rules
from serifos.lab.regression.node import Tree
from serifos.lab.regression.node import TreeNode
from serifos.lab.regression.node import value
from serifos.lab.regression.node import values
from serifos.lab.regression import tree_parameters
from serifos.model import kinds
from serifos.model import parameter

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

CHOSEN = -1
"""As a setting of a fit: that of the least cross-validated error."""

_WIDTH = len(inputs.PLAIN)


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
    tree_parameters.check(kind, parameters)
    about = parameters.get('neighbours')
    at = inputs.at(kind, parameters)
    return Forest(
        tuple(tuple(map(TreeNode.of, tree))
              for tree in parameters['trees']),
        tuple(map(float, parameters['within'])),
        about and Neighbours.of(about),
        at, tuple(inputs.lines(parameters, at)))


_NSPLITS = parameter.Parameter('nsplits', 100, 2, 400)
_SMOOTHING = parameter.Parameter('smoothing', CHOSEN, CHOSEN, 1000,
                                 searched=False)  # each fit chooses
_LINEAR_SPLITS = parameter.Parameter('linear_splits', CHOSEN, CHOSEN, 1,
                                     searched=False)

CART = kinds.Kind(from_parameters, 'serifos.lab.regression.cart:fit',
                  (parameter.Parameter('minsplit', 20, 2, 400),
                   parameter.Parameter('cp', 0.01, 0, 0.999, whole=False)),
                  conditions=True)
M5 = kinds.Kind(from_parameters, 'serifos.lab.regression.m5:fit',
                (_NSPLITS, _SMOOTHING, _LINEAR_SPLITS), method=3,
                conditions=True)
CUBIST = kinds.Kind(from_parameters, 'serifos.lab.regression.cubist:fit',
                    (_NSPLITS, parameter.Parameter('ntrees', 1, 1, 100),
                     parameter.Parameter('ninstances', 0, 0, 9), _SMOOTHING,
                     _LINEAR_SPLITS), method=4, conditions=True)
