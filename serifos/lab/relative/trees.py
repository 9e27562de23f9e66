# SPDX-License-Identifier: Apache-2.0
"""Fit of the trees of a relation, and of short ones for people.

.. [1] Mesnier, Wachs, Ganger: Modeling the relative fitness of storage
   devices, sections 5.2 and 5.3.
"""

from __future__ import annotations

from collections.abc import Iterator
from collections.abc import Mapping
from collections.abc import Sequence

import numpy as np
from sklearn import tree as cart

from serifos.lab.relative import common
from serifos.lab.relative.relation import DeviceFactor
from serifos.lab.relative.relation import FIGURES
from serifos.lab.relative.relation import INPUTS
from serifos.lab.relative.relation import Relation
from serifos.lab.relative.relation import Tree
from serifos.lab.relative import relative
from serifos.lab.relative import rules
from serifos.model import quality


def relation(devices: common.Devices, seed: int = 0) -> Relation:
    """From the first device to the second, fitted on all common runs.

    Its trees are of scaled relative fitness and read the figures that
    telemetry has of a volume (:data:`.relation.INPUTS`), of each workload of
    a run by itself.

    :param seed: of the halves that its errors are estimated by
    """
    on_a, on_b = devices.tenants[:2]
    x = relative.matrix(on_a, INPUTS)
    factors = {}
    for figure in FIGURES:
        ratio, measured = on_b[figure] / on_a[figure], on_b[figure]
        held_out = on_a[figure] * relative.crossed(
            x, ratio, x, seed, on_a['run'])
        factors[figure] = DeviceFactor(
            plain(relative.fitted(x, ratio), INPUTS),
            float(np.median(quality.relative_errors(measured, held_out))),
            quality.interval(measured, held_out))
    ours, theirs = devices.headers[:2]
    return Relation(dict(ours.device), dict(theirs.device), devices.runs,
                    factors, _response(x, on_a, on_b))


def _response(x: relative.Floats, on_a: Mapping[str, relative.Floats],
              on_b: Mapping[str, relative.Floats]) -> Tree:
    """A tree of shares w, by least squares of 1 / iops factor in each leaf.

    1 / g = 1 - w + w f is linear in w: each run gives w = (1 / g - 1) /
    (f - 1), with the weight (f - 1)².
    """
    slower = on_b['latency_us'] / on_a['latency_us'] - 1
    fewer = on_a['iops'] / on_b['iops'] - 1
    says = slower != 0
    if not says.any():
        return 1.0
    tree = relative.fitted(
        x[says], fewer[says] / slower[says], slower[says] ** 2)
    return plain(tree, INPUTS, 0.0, 1.0)


def pruned(devices: common.Devices, source: int, target: int, figure: str,
           scaled: bool, depth: int) -> Tree:
    """A tree of a few questions, fitted on all runs (Figures 3 and 4 of [1]_).

    :param source: the number of the device that it reads, by WC+SO
    :param scaled: whether it gives the factor, target over source
    :param depth: questions from its root to a leaf
    """
    on_a, on_b = devices.columns[source], devices.columns[target]
    names = devices.inputs(common.BOTH)
    return plain(relative.fitted(
        relative.matrix(on_a, names),
        on_b[figure] / on_a[figure] if scaled else on_b[figure],
        depth=depth), names)


def leaves(tree: Tree) -> Iterator[tuple[str, float]]:
    """Each leaf: its conditions, its value."""
    for where, (value,) in rules.rules(tree):
        yield where, value


def plain(fit: cart.DecisionTreeRegressor, names: Sequence[str],
          least: float = 0.0, greatest: float = np.inf) -> Tree:
    """A fitted tree as a relation's file has it.

    :param names: of its inputs
    """
    its = fit.tree_

    def node(i: int) -> Tree:
        if its.children_left[i] < 0:
            return min(max(float(its.value[i, 0, 0]), least), greatest)
        return {'input': names[its.feature[i]],
                'at_most': float(its.threshold[i]),
                'then': node(its.children_left[i]),
                'else': node(its.children_right[i])}
    return node(0)
