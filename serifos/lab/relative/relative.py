# SPDX-License-Identifier: Apache-2.0
"""Prediction of one device's figures from those of another.

Relative fitness [1]_, by regression trees (CART) as in the paper:

``CM``, the conventional model, is trained on the characteristics of
workloads on device B, and predicts from those on A. ``ARF`` is trained on
those on A to predict a figure of B; ``SRF`` to predict the figure's factor,
B over A. A relation has trees of SRF that read what telemetry has of a volume
(section 5.3); :func:`pruned` grows short ones for people.

.. [1] Mesnier, Wachs, Ganger: Modeling the relative fitness of storage
   devices, sections 5 and 6.
"""

from __future__ import annotations

from collections.abc import Callable
from collections.abc import Iterator
from collections.abc import Mapping
from collections.abc import Sequence
import dataclasses
import functools
import itertools
import statistics
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn import tree as cart

from serifos import errors
from serifos.facts import dataset
from serifos.lab.relative import common
from serifos.lab.relative.relation import DeviceFactor
from serifos.lab.relative.relation import FIGURES
from serifos.lab.relative.relation import INPUTS
from serifos.lab.relative.relation import Relation
from serifos.lab.relative.relation import rules
from serifos.lab.relative.relation import Tree
from serifos.model import quality

Floats = npt.NDArray[np.float64]

LEAF = 2
"""Runs that a leaf of a tree holds at least."""

Way = tuple[str, str]
"""A technique and its inputs."""

TECHNIQUES = ('CM', 'ARF', 'SRF')


@dataclasses.dataclass(frozen=True)
class Predicted:
    """Predictions of a figure, from one device to another, by technique.

    :param seen: float[n], the figure of each run on the source
    :param measured: float[n], the same on the target
    :param by: (technique, inputs) → float[n], predicted of the target by
        trees that were not fitted on the run
    """

    source: str
    target: str
    figure: str
    seen: Floats
    measured: Floats
    by: Mapping[Way, Floats]

    @functools.cached_property
    def medians(self) -> dict[Way, float]:
        """The median relative error of each technique and its inputs."""
        return self._errors(np.median)

    @functools.cached_property
    def means(self) -> dict[Way, float]:
        """The mean relative error."""
        return self._errors(np.mean)

    def _errors(self, middle: Callable[[Floats], Any]) -> dict[Way, float]:
        return {way: float(middle(quality.relative_errors(
            self.measured, predicted))) for way, predicted in self.by.items()}


def evaluate(devices: common.Devices, seed: int = 0) -> list[Predicted]:
    """Every figure from every device to every device, itself among them.

    As in the paper one half of the runs trains the trees and the other one
    tests them; then the halves change places.

    :param seed: of the choice of the halves
    """
    return [_predicted(devices, devices, a, b, figure,
                       lambda x, y, ask: crossed(x, y, ask, seed))
            for a, b in itertools.product(range(len(devices.names)), repeat=2)
            for figure in devices.figures]


def unseen(devices: common.Devices,
           others: common.Devices) -> list[Predicted]:
    """The figures of runs of another kind, from each device to each other.

    Section 6.2 of the paper: the trees are fitted on all runs of devices.

    :param others: the same devices on the runs to predict
    :raises InputError: where the devices are not the same
    """
    for name, own, its in zip(others.names, devices.headers, others.headers):
        apart = dataset.differences(own.device, its.device,
                                    ('model', 'serial', 'target'))
        if apart:
            raise errors.InputError(
                f'{name} is of another device than the dataset in its place '
                f'({"; ".join(apart)}); give those of --test in the order of '
                'the others.')
    both = set(devices.columns[0]) & set(others.columns[0])
    fits, asks = devices.known(both), others.known(both)
    return [_predicted(fits, asks, a, b, figure,
                       lambda x, y, ask: fitted(x, y).predict(ask))
            for a, b in itertools.permutations(range(len(fits.names)), 2)
            for figure in fits.figures if figure in asks.figures]


def _predicted(fits: common.Devices, asks: common.Devices, a: int, b: int,
               figure: str, predict: Callable[[Floats, Floats, Floats], Floats]
               ) -> Predicted:
    """From device a to b.

    :param predict: (inputs and targets of a fit, inputs to ask) → predicted
    """
    on_a, on_b, asked = fits.columns[a], fits.columns[b], asks.columns[a]
    y, seen, by = on_b[figure], asked[figure], {}
    for what in common.INPUTS:
        names = fits.inputs(what)
        x, ask = matrix(on_a, names), matrix(asked, names)
        if what in (common.AVERAGE, common.WC):
            by['CM', what] = predict(matrix(on_b, names), y, ask)
        by['ARF', what] = predict(x, y, ask)
        by['SRF', what] = seen * predict(x, y / on_a[figure], ask)
    return Predicted(fits.names[a], fits.names[b], figure, seen,
                     asks.columns[b][figure], by)


def mean(found: Sequence[Mapping[Way, float]]) -> dict[Way, float]:
    """The mean of errors, over pairs, figures or both."""
    return {way: statistics.fmean(one[way] for one in found)
            for way in found[0]}


def crossed(train: Floats, y: Floats, ask: Floats, seed: int,
            runs: Floats | None = None) -> Floats:
    """The prediction of each half by the tree of the other half.

    :param train: float[n, k], inputs of the fit
    :param y: float[n], the target
    :param ask: float[n, k], inputs of the prediction
    :param runs: float[n], the run of each row, 0 and up, where a run has
        several rows; all of them are in one half
    """
    run = np.arange(len(y)) if runs is None else runs.astype(int)
    order = np.random.default_rng(seed).permutation(run.max() + 1)
    in_first = np.isin(run, order[:len(order) // 2])
    predicted = np.empty(len(y))
    for own in (in_first, ~in_first):
        predicted[~own] = fitted(train[own], y[own]).predict(ask[~own])
    return predicted


def fitted(x: Floats, y: Floats, weights: Floats | None = None,
           depth: int | None = None) -> cart.DecisionTreeRegressor:
    """A regression tree; a single leaf without inputs.

    :param depth: questions from its root to a leaf at the most
    """
    return cart.DecisionTreeRegressor(
        max_depth=depth, min_samples_leaf=LEAF,
        random_state=0).fit(x, y, weights)


def matrix(columns: Mapping[str, Floats], names: Sequence[str]) -> Floats:
    """float[n, names], of one column of zeros where there is no name."""
    if not names:
        return np.zeros((len(columns['iops']), 1))
    return np.column_stack([columns[name] for name in names])


Group = tuple[str, str, Mapping[Way, float]]
"""A table of the paper, a line of it, and the errors of the techniques."""


def groups(found: Sequence[Predicted]) -> Iterator[Group]:
    """Tables 6 to 8, of medians; 7 and 8 of different devices only."""
    for pair, its in _by(found, _pair).items():
        yield 'pairs', pair, _medians(its)
    apart = [one for one in found if one.source != one.target]
    for figure, its in _by(apart, _figure).items():
        yield 'figures', figure, _medians(its)
    yield 'overall', 'all', overall(found)


def tested(found: Sequence[Predicted]) -> Iterator[Group]:
    """Section 6.2, of means: IOPS from device to device; figures, over all.

    :param found: as :func:`unseen` gives it
    """
    for pair, its in _by([one for one in found if one.figure == 'iops'],
                         _pair).items():
        yield 'test iops', pair, mean([one.means for one in its])
    for figure, its in _by(found, _figure).items():
        yield 'test', figure, mean([one.means for one in its])


def overall(found: Sequence[Predicted]) -> dict[Way, float]:
    """Table 8: the mean of the medians over figures, and devices apart."""
    return _medians([one for one in found if one.source != one.target])


def _medians(found: Sequence[Predicted]) -> dict[Way, float]:
    return mean([one.medians for one in found])


def _pair(one: Predicted) -> str:
    return f'{one.source} to {one.target}'


def _figure(one: Predicted) -> str:
    return one.figure


def _by(found: Sequence[Predicted], key: Callable[[Predicted], str]
        ) -> dict[str, list[Predicted]]:
    grouped: dict[str, list[Predicted]] = {}
    for one in found:
        grouped.setdefault(key(one), []).append(one)
    return grouped


def relation(devices: common.Devices, seed: int = 0) -> Relation:
    """From the first device to the second, fitted on all common runs.

    Its trees are of scaled relative fitness and read the figures that
    telemetry has of a volume (:data:`.relation.INPUTS`), of each workload of
    a run by itself.

    :param seed: of the halves that its errors are estimated by
    """
    on_a, on_b = devices.tenants[:2]
    x = matrix(on_a, INPUTS)
    factors = {}
    for figure in FIGURES:
        ratio, measured = on_b[figure] / on_a[figure], on_b[figure]
        held_out = on_a[figure] * crossed(
            x, ratio, x, seed, on_a['run'])
        factors[figure] = DeviceFactor(
            plain(fitted(x, ratio), INPUTS),
            float(np.median(quality.relative_errors(measured, held_out))),
            quality.interval(measured, held_out))
    ours, theirs = devices.headers[:2]
    return Relation(dict(ours.device), dict(theirs.device), devices.runs,
                    factors, _response(x, on_a, on_b))


def _response(x: Floats, on_a: Mapping[str, Floats],
              on_b: Mapping[str, Floats]) -> Tree:
    """A tree of shares w, by least squares of 1 / iops factor in each leaf.

    1 / g = 1 - w + w f is linear in w: each run gives w = (1 / g - 1) /
    (f - 1), with the weight (f - 1)².
    """
    slower = on_b['latency_us'] / on_a['latency_us'] - 1
    fewer = on_a['iops'] / on_b['iops'] - 1
    says = slower != 0
    if not says.any():
        return 1.0
    tree = fitted(
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
    return plain(fitted(
        matrix(on_a, names),
        on_b[figure] / on_a[figure] if scaled else on_b[figure],
        depth=depth), names)


def leaves(tree: Tree) -> Iterator[tuple[str, float]]:
    """Each leaf: its conditions, its value."""
    for where, (value,) in rules(tree):
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
