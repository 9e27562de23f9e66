# SPDX-License-Identifier: Apache-2.0
"""Prediction of one device's figures from those of another.

Relative fitness [1]_, by regression trees (CART) as in the paper:

``CM``, the conventional model, is trained on the characteristics of
workloads on device B, and predicts from those on A. ``ARF`` is trained on
those on A to predict a figure of B; ``SRF`` to predict the figure's factor,
B over A.

.. [1] Mesnier, Wachs, Ganger: Modeling the relative fitness of storage
   devices, sections 5 and 6.
"""

from __future__ import annotations

from collections.abc import Iterator
from collections.abc import Mapping
from collections.abc import Sequence
import dataclasses
import itertools
import statistics

import numpy as np
import numpy.typing as npt
from sklearn import tree as cart

from serifos.lab.relative import common
from serifos.lab.relative import relation as rl
from serifos.model import quality

Floats = npt.NDArray[np.float64]

LEAF = 2
"""Runs that a leaf of a tree holds at least."""

TECHNIQUES = ('CM', 'ARF', 'SRF')
INPUTS = common.INPUTS


@dataclasses.dataclass(frozen=True)
class Errors:
    """The errors of the techniques for a figure, one device to another.

    :param medians: (technique, inputs) → median relative error over the
        runs, each predicted by trees of the half that it is not in
    """

    source: str
    target: str
    figure: str
    medians: Mapping[tuple[str, str], float]


def evaluate(devices: common.Devices, seed: int = 0) -> list[Errors]:
    """Every figure from every device to every device, itself among them.

    As in the paper one half of the runs trains the trees and the other one
    tests them; then the halves change places.

    :param seed: of the choice of the halves
    """
    return [Errors(source, target, figure,
                   dict(_medians(devices, a, b, figure, seed)))
            for a, source in enumerate(devices.names)
            for b, target in enumerate(devices.names)
            for figure in devices.figures]


def _medians(devices: common.Devices, a: int, b: int, figure: str, seed: int
             ) -> Iterator[tuple[tuple[str, str], float]]:
    on_a, on_b = devices.columns[a], devices.columns[b]
    measured = on_b[figure]
    for what in INPUTS:
        x = _matrix(on_a, devices.inputs(what))
        found = {'ARF': crossed(x, measured, x, seed),
                 'SRF': on_a[figure] * crossed(
                     x, measured / on_a[figure], x, seed)}
        if what in (common.AVERAGE, common.WC):
            its = _matrix(on_b, devices.inputs(what))
            found['CM'] = crossed(its, measured, x, seed)
        for technique, predicted in found.items():
            yield (technique, what), float(np.median(
                quality.relative_errors(measured, predicted)))


def mean(found: Sequence[Errors]) -> dict[tuple[str, str], float]:
    """The mean of median errors, over pairs, figures or both."""
    return {key: statistics.fmean(one.medians[key] for one in found)
            for key in found[0].medians}


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


def fitted(x: Floats, y: Floats,
           weights: Floats | None = None) -> cart.DecisionTreeRegressor:
    """A regression tree; a single leaf without inputs."""
    return cart.DecisionTreeRegressor(
        min_samples_leaf=LEAF, random_state=0).fit(x, y, weights)


def _matrix(columns: Mapping[str, Floats], names: Sequence[str]) -> Floats:
    if not names:
        return np.zeros((len(columns['iops']), 1))
    return np.column_stack([columns[name] for name in names])


def relation(devices: common.Devices, seed: int = 0) -> rl.Relation:
    """From the first device to the second, fitted on all common runs.

    Its trees are of scaled relative fitness and read the figures that
    telemetry has of a volume (:data:`.relation.INPUTS`), of each workload of
    a run by itself.

    :param seed: of the halves by which its errors are told
    """
    on_a, on_b = devices.tenants[:2]
    x = _matrix(on_a, rl.INPUTS)
    factors = {}
    for figure in rl.FIGURES:
        ratio, measured = on_b[figure] / on_a[figure], on_b[figure]
        held_out = on_a[figure] * crossed(x, ratio, x, seed, on_a['run'])
        factors[figure] = rl.DeviceFactor(
            _plain(fitted(x, ratio)),
            float(np.median(quality.relative_errors(measured, held_out))),
            quality.interval(measured, held_out))
    ours, theirs = devices.headers[:2]
    return rl.Relation(dict(ours.device), dict(theirs.device), devices.runs,
                       factors, _response(x, on_a, on_b))


def _response(x: Floats, on_a: Mapping[str, Floats],
              on_b: Mapping[str, Floats]) -> rl.Tree:
    """A tree of shares w, by least squares of 1 / iops factor in each leaf.

    1 / g = 1 - w + w f is linear in w: each run gives w = (1 / g - 1) /
    (f - 1), with the weight (f - 1)².
    """
    slower = on_b['latency_us'] / on_a['latency_us'] - 1
    fewer = on_a['iops'] / on_b['iops'] - 1
    says = slower != 0
    if not says.any():
        return 1.0
    tree = fitted(x[says], fewer[says] / slower[says], slower[says] ** 2)
    return _plain(tree, 0.0, 1.0)


def _plain(fit: cart.DecisionTreeRegressor, least: float = 0.0,
           greatest: float = np.inf) -> rl.Tree:
    """A fitted tree as a relation's file has it."""
    its = fit.tree_

    def node(i: int) -> rl.Tree:
        if its.children_left[i] < 0:
            return min(max(float(its.value[i, 0, 0]), least), greatest)
        return {'input': rl.INPUTS[its.feature[i]],
                'at_most': float(its.threshold[i]),
                'then': node(its.children_left[i]),
                'else': node(its.children_right[i])}
    return node(0)


@dataclasses.dataclass(frozen=True)
class Likeness:
    """Whether two devices may share a model of latency.

    :param factor: median of latency on the second over the first
    :param interval: the 5 % and 95 % quantile of it over the runs
    :param error: mean relative error of either's latency taken for the
        other's, the worse of both ways
    """

    first: str
    second: str
    factor: float
    interval: tuple[float, float]
    error: float

    def alike(self, within: float) -> bool:
        """The factor 1 is in the interval, and the error small enough."""
        low, high = self.interval
        return low <= 1 <= high and self.error <= within


def likenesses(devices: common.Devices) -> list[Likeness]:
    """Of each two devices, in their order."""
    found = []
    for a, b in itertools.combinations(range(len(devices.names)), 2):
        here, there = (devices.columns[i]['latency_us'] for i in (a, b))
        low, high = quality.interval(there, here)
        found.append(Likeness(
            devices.names[a], devices.names[b],
            float(np.median(there / here)), (1 + low, 1 + high),
            max(quality.mre(here, there), quality.mre(there, here))))
    return found
