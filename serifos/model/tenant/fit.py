# SPDX-License-Identifier: Apache-2.0
"""Fit of a tenant model: networks that rise with their inputs.

Each network is the most likely one, given normal priors of its slopes and
weights, those of which none is negative cut off at 0, and errors of log
latency of a Huber-like distribution; the runs are continued, with little
weight, to other depths by the trend. Each sees the runs in weights drawn from
a gamma distribution (a Bayesian bootstrap [1]_), so that how far the networks
are apart tells where the runs say little. Every
other network reads what is outstanding where writes are slow in place of
what is outstanding where reads and writes take equally long.

.. [1] D. B. Rubin: The Bayesian bootstrap, The Annals of Statistics 9,
   1981.
"""

from __future__ import annotations

from collections.abc import Sequence
import dataclasses
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import optimize

from serifos import errors
from serifos.facts.workload import Load
from serifos.facts.workload import Workload
from serifos.model import kinds
from serifos.model.tenant import inputs
from serifos.model.tenant import parameters
from serifos.model.tenant.rows import Rows
from serifos.model.tenant import trend
from serifos.model.tenant import trend_fit

Floats = npt.NDArray[np.float64]

_ENOUGH = 1000  # runs; of more, evenly many are read
_STEPS = 400

_ERROR = 0.1  # of a log latency, from which on errors count less

# Standard deviations of the priors.
_SLOPE, _WEIGHT, _OFFSET, _PART = 0.3, 0.5, 1.5, 2.0
_UNIT_SLOPE = 0.5
# Nominal: of the log of a part along that of the trend, and of the log of what
# a tenant's own queue takes below the other parts.
_TREND, _QUEUED = 0.3, 3.5
_LARGEST = 25.0  # the log of a part in µs


def fit(loads: Sequence[Load], y: Floats,
        seen: Sequence[Sequence[tuple[Workload, kinds.Seen]]] = (),
        predicts: str = 'latency_us', units: float = 10,
        members: float = 6, seed: int = 0) -> dict[str, Any]:
    """The parameters of a model file.

    :param loads: the Loads of n runs
    :param y: float[n], the mean of each run over its tenants, positive
    :param seen: for each run its tenants and what they saw, where known
    :param seed: of the starts of the search, and of the runs' weights
    :raises InputError: where ``predicts`` is not a latency of tenants
    """
    figure = parameters.figure_of(predicts)
    if figure is None:
        raise errors.InputError(
            'A model of kind tenant predicts the latency of tenants, not '
            f'{predicts}; choose another kind.')
    few = range(0, len(y), -(-len(y) // _ENOUGH))
    rows = Rows.of([loads[i] for i in few], y[list(few)],
                   [seen[i] for i in few] if seen else [], figure)
    rng = np.random.default_rng(seed)
    coefficients = trend_fit.fit(
        rows.sums[:, :len(trend.FIELDS)], np.log(y[list(few)]), rng)
    values = rows.values(coefficients)
    centre = values.mean(axis=0)
    more = rows.at_other_depths(coefficients)
    every = more.values(coefficients) - centre
    networks = [_Network.fitted(
        more, every, int(units), rng, np.resize(
            rng.gamma(2.0, 0.5, len(few)) if members > 1 else 1.0,
            len(every)), i % 2 == 1) for i in range(int(members))]
    return {'figure': figure, 'trend': coefficients,
            'noise': _noise(rows, values - centre, networks),
            'members': [one.document(centre) for one in networks]}


def _noise(rows: Rows, values: Floats,
           networks: Sequence[_Network]) -> float:
    """The standard deviation of log latency about the mean network."""
    found = np.mean([np.exp(one.parts_of(values)) for one in networks],
                    axis=0)
    wrong = np.log((found[rows.run] * rows.own).sum(axis=1)) - rows.logs
    few = rows.weights >= 1
    return float(f'{max(1e-3, np.sqrt(np.mean(wrong[few] ** 2))):.6g}')


@dataclasses.dataclass(frozen=True)
class _Network:
    """The slopes and weights of a member as arrays.

    :param units: slopes of the units, float[units, inputs]
    :param starts: offsets of the units, float[units]
    :param offsets: of the parts, float[parts]
    :param slopes: of the parts, float[parts, inputs]
    :param weights: of the units in the parts, float[parts, units]
    """

    units: Floats
    starts: Floats
    offsets: Floats
    slopes: Floats
    weights: Floats
    loss: float = 0.0

    @classmethod
    def fitted(cls, rows: Rows, values: Floats, units: int,
               rng: np.random.Generator, of_run: Floats,
               without_plain: bool = False) -> _Network:
        """The most likely network.

        :param values: the inputs about their means, float[n, inputs]
        :param of_run: weights of the runs, float[n]
        :param without_plain: whether :data:`.inputs.PLAIN` are left out
        """
        k, (_, d) = len(inputs.OWN), values.shape
        shapes = (units, d), (units,), (k,), (k, d), (k, units)
        cuts = np.cumsum([int(np.prod(shape)) for shape in shapes])
        nominal = _nominal(rows)
        begin = np.concatenate([
            (np.abs(rng.normal(0, 0.4, shapes[0]))
             * (rng.random(shapes[0]) < 0.5)).ravel(),
            rng.normal(0, 1, units), nominal, np.full(k * d, 0.05),
            np.abs(rng.normal(0, 0.2, k * units))])
        middle = np.zeros_like(begin)
        middle[cuts[1]:cuts[2]] = nominal
        for start in middle, begin:
            slopes = start[cuts[2]:cuts[3]].reshape(k, d)
            slopes[:inputs.QUEUE.start, -1] = _TREND
        unread = np.isin(inputs.INPUTS, inputs.PLAIN) & without_plain
        shut = np.zeros(len(begin), bool)
        for first, last, rows_of in ((0, cuts[0], units),
                                     (cuts[2], cuts[3], k)):
            shut[first:last].reshape(rows_of, d)[:, unread] = True
        begin[shut] = 0.0
        spread = np.repeat([_UNIT_SLOPE, _OFFSET, _PART, _SLOPE, _WEIGHT],
                           np.diff(cuts, prepend=0))
        free = np.repeat([False, True, True, False, False],
                         np.diff(cuts, prepend=0))
        weights = rows.weights * of_run[rows.run] / _ERROR ** 2

        def of(flat: Floats) -> _Network:
            return cls(*(part.reshape(shape) for part, shape in zip(
                np.split(flat, cuts[:-1]), shapes)))

        def unlikely(flat: Floats) -> tuple[float, Floats]:
            loss, slope = of(flat).wrong(rows, values, weights)
            off = (flat - middle) / spread
            return loss + 0.5 * off @ off, slope + off / spread
        found = optimize.minimize(
            unlikely, begin, jac=True, method='L-BFGS-B',
            bounds=[(None if each else 0.0, 0.0 if no else None)
                    for each, no in zip(free, shut)],
            options={'maxiter': _STEPS, 'maxfun': 2 * _STEPS})
        return dataclasses.replace(of(found.x), loss=float(found.fun))

    def lifted(self, values: Floats) -> tuple[Floats, Floats]:
        """The values of the units, and their slopes: float[n, units]."""
        found = values @ self.units.T + self.starts
        bent, bounded = found[:, ::2], np.tanh(found[:, 1::2])
        lifted, steep = np.empty_like(found), np.empty_like(found)
        lifted[:, ::2] = np.logaddexp(0.0, bent)
        lifted[:, 1::2] = bounded
        steep[:, ::2] = 0.5 * (1 + np.tanh(bent / 2))
        steep[:, 1::2] = 1 - bounded ** 2
        return lifted, steep

    def parts_of(self, values: Floats) -> Floats:
        """The logs of the parts: float[n, inputs] → float[n, parts]."""
        lifted, _ = self.lifted(values)
        return np.clip(self.offsets + values @ self.slopes.T
                       + lifted @ self.weights.T, -_LARGEST, _LARGEST)

    def wrong(self, rows: Rows, values: Floats,
              weights: Floats) -> tuple[float, Floats]:
        """The loss, and its slope along every number of the network."""
        lifted, steep = self.lifted(values)
        parts = np.exp(np.clip(
            self.offsets + values @ self.slopes.T + lifted @ self.weights.T,
            -_LARGEST, _LARGEST))[rows.run] * rows.own
        whole = parts.sum(axis=1)
        error = (np.log(whole) - rows.logs) / (2 * _ERROR)
        root = np.sqrt(1 + error ** 2)
        loss = float(weights @ (root - 1)) * (2 * _ERROR) ** 2
        by_part = np.add.reduceat(
            parts * (weights * 2 * _ERROR * error / root / whole)[:, None],
            rows.first)
        by_unit = by_part @ self.weights * steep
        return loss, np.concatenate([
            (by_unit.T @ values).ravel(), by_unit.sum(axis=0),
            by_part.sum(axis=0), (by_part.T @ values).ravel(),
            (by_part.T @ lifted).ravel()])

    def document(self, centre: Floats) -> dict[str, Any]:
        """The member of a model file; numbers of six digits, no zeros."""
        every = [*inputs.INPUTS, *(str(i) for i in range(len(self.units)))]
        sums = np.hstack([self.slopes, self.weights])
        return {
            'units': [parameters.document(
                start - slopes @ centre, zip(inputs.INPUTS, slopes))
                for start, slopes in zip(self.starts, self.units)],
            'parts': {name: parameters.document(
                offset - row[:len(centre)] @ centre, zip(every, row))
                for name, offset, row in zip(
                    inputs.OWN, self.offsets, sums)}}


def _nominal(rows: Rows) -> Floats:
    """The logs of the parts, of the same size each in the median."""
    middle = np.median(rows.logs)
    sizes = rows.own.sum(axis=0) / np.maximum(
        (rows.own > 0).sum(axis=0), 1)
    found = middle - np.log(np.maximum(sizes, 1e-3)) - np.log(3.0)
    found[inputs.QUEUE] -= _QUEUED
    return found
