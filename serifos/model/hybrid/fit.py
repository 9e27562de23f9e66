# SPDX-License-Identifier: Apache-2.0
"""Fit of a hybrid model: its trend, then the process of its residual.

The trend is fitted by nonlinear least squares in log latency, from several
starts, with a prior about a nominal device for each coefficient. Its
residual is fitted by a sparse Gaussian process, squared-exponential kernel,
inducing points [1]_, whose scales maximise the marginal likelihood with
priors. The weights are the most likely ones with which latency rises with
load (:mod:`serifos.model.hybrid.monotone`).

.. [1] C. E. Rasmussen, C. K. I. Williams: Gaussian Processes for Machine
   Learning, 2006, sections 5.4 and 8.3.4 (projected process).
"""

from __future__ import annotations

from collections.abc import Sequence
import dataclasses
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import linalg
from scipy import optimize

from serifos.facts import workload as wl
from serifos.model.hybrid import monotone
from serifos.model.hybrid import trend as tr

Floats = npt.NDArray[np.float64]

_OF = tr.arrays()

_ENOUGH = 400  # runs for all but the residual's weights, which use every run
_STARTS = 4
_PRIOR = 0.1
# Natural logarithms: by how much a coefficient may differ from a nominal
# device's before that costs as much as an error of _PRIOR in one run.
_LEEWAY = {'floor_us': 1.0, 'read_floor_us': 1.5, 'write_floor_us': 1.5,
           'half_q': 0.7, 'read_us': 1.5, 'write_us': 1.5,
           'read_own_us': 2.0, 'write_own_us': 2.0,
           'read_us_per_kib': 1.0, 'write_us_per_kib': 1.0, 'drain_us': 2.0,
           'drain_us_per_kib': 2.0, 'drain_read_us_per_kib': 2.0,
           'sequential': 0.5, 'sharpness': 0.7}

# The prior of the scales: its median and its widths (natural logarithms) of
# the length scales by coordinate, the height, the noise.
_LENGTH_SCALES = np.array([1.5] + [0.5] * 6)
_HEIGHT, _NOISE = 0.1, 0.05
_WIDTHS = np.array([0.7] * 7 + [0.5, 0.5])
_BENT = 0.9  # no length scale is far below its prior: the slopes stay bounded
_JITTER = 1e-6


def fit(loads: Sequence[wl.Load], y: Floats,
        points: float = 16, seed: int = 0) -> dict[str, Any]:
    """The parameters of a model file.

    :param loads: the Loads of n runs
    :param y: float[n], what the runs measured, positive
    :param points: inducing points of the Gaussian process
    :param seed: of the starts of the search, and of the Loads at which
        slopes are bounded
    """
    sums = np.column_stack(tr.at_least_one(np.array([
        [getattr(load, name) for load in loads]
        for name in tr.FIELDS]), _OF))
    few = np.arange(0, len(y), -(-len(y) // _ENOUGH))
    trend, covariance = trend_of(sums[few], np.log(y[few]),
                                 np.random.default_rng(seed))
    where = monotone.coordinates(trend, sums)
    process = _Process.of(where, np.log(y) - where[:, 0], few, int(points))
    weights = monotone.weights(trend, process.kernel, process.precision,
                               process.weights, sums[few],
                               np.random.default_rng(seed))
    return {'trend': trend, 'covariance': covariance, 'residual': {
        'height': process.height, 'noise': process.noise,
        **{name: dict(zip(tr.COORDINATES, values.tolist()))
           for name, values in (('lengths', process.length_scales),
                                ('least', process.least),
                                ('greatest', process.greatest))},
        'points': process.points.tolist(), 'weights': weights.tolist(),
        'certainty': process.certainty.tolist()}}


def _short(values: npt.ArrayLike) -> Floats:
    """The values to six digits, as a model file states them."""
    return np.vectorize(lambda value: float(f'{value:.6g}'))(values)


def trend_of(sums: Floats, logs: Floats, rng: np.random.Generator
             ) -> tuple[dict[str, float], list[list[float]]]:
    """The coefficients of the trend, and the covariance of their logs.

    :param sums: of ``tr.FIELDS``, float[n, 8]
    :param logs: of what n runs measured, float[n]
    :param rng: of the starts of the search
    """
    nominal = _nominal(sums, logs)
    leeway = np.array([_LEEWAY[name] for name in tr.TREND])

    def trend(steps: Floats) -> dict[str, float]:
        values = nominal * np.exp(np.clip(steps * leeway, -20, 20))
        return {**dict(zip(tr.TREND, values.tolist())),
                'sharpness': 1 + float(values[-1])}

    def wrong(steps: Floats) -> Floats:
        return np.concatenate(
            [tr.coordinates(trend(steps), sums.T, _OF)[0] - logs,
             _PRIOR * steps])
    starts = [np.zeros(len(leeway)), *rng.normal(
        0, 0.5, (_STARTS - 1, len(leeway)))]
    found = [optimize.least_squares(wrong, start, max_nfev=60)
             for start in starts]
    best = min(found, key=lambda one: one.cost)
    covariance = linalg.inv(best.jac.T @ best.jac) * max(
        _PRIOR ** 2, np.mean(best.fun[:len(logs)] ** 2))
    found_trend = trend(best.x)
    return dict(zip(found_trend, _short(
        list(found_trend.values())).tolist())), _short(
        covariance * np.outer(leeway, leeway)).tolist()


def _nominal(sums: Floats, logs: Floats) -> Floats:
    """The coefficients of a device of one bus and few dies, scaled to y."""
    floor = float(np.exp(logs.min()))
    kib = sums[:, 2] + sums[:, 3]
    per_kib = float(np.exp(np.median(logs - np.log(kib))))
    of = {'floor_us': floor / 2, 'read_floor_us': floor / 2,
          'write_floor_us': floor / 4, 'half_q': 3.0, 'read_us': floor / 30,
          'write_us': floor / 30, 'read_own_us': 20 * per_kib,
          'write_own_us': 20 * per_kib, 'read_us_per_kib': per_kib,
          'write_us_per_kib': per_kib, 'drain_us': 2 * per_kib,
          'drain_us_per_kib': per_kib / 2,
          'drain_read_us_per_kib': per_kib / 20, 'sequential': 0.7,
          'sharpness': 1.5}
    return np.array([of[name] for name in tr.TREND])


def _kernel(a: Floats, b: Floats, length_scales: Floats) -> Floats:
    distance = (a[:, None, :] - b[None]) / length_scales
    return np.exp(-0.5 * (distance ** 2).sum(axis=2))


def _of_points(points: Floats, length_scales: Floats) -> Floats:
    """The kernel of the inducing points, made invertible."""
    return _kernel(points, points, length_scales) + _JITTER * np.eye(
        len(points))


@dataclasses.dataclass(frozen=True)
class _Process:
    """A sparse Gaussian process, given the residuals of a trend.

    :param precision: of the weights given the runs, float[m, m]
    :param weights: the most likely, float[m]
    """

    height: float
    noise: float
    length_scales: Floats
    least: Floats
    greatest: Floats
    points: Floats
    precision: Floats
    weights: Floats

    @classmethod
    def of(cls, where: Floats, left: Floats, few: npt.NDArray[np.intp],
           points: int) -> _Process:
        """:param few: the runs among which scales and points are sought"""
        some = where[few]
        length_scales, height, noise = _scales(some, left[few])
        chosen = _short(some[_spread_out(
            _kernel(some, some, length_scales), points)])
        cross = _kernel(where, chosen, length_scales)
        precision = (_of_points(chosen, length_scales) / height ** 2
                     + cross.T @ cross / noise ** 2)
        return cls(height, noise, length_scales, where.min(axis=0),
                   where.max(axis=0), chosen, precision, linalg.solve(
                       precision, cross.T @ left / noise ** 2,
                       assume_a='pos'))

    @property
    def certainty(self) -> Floats:
        found = self.height ** 2 * linalg.inv(_of_points(
            self.points, self.length_scales)) - linalg.inv(self.precision)
        return (found + found.T) / 2

    def kernel(self, where: Floats) -> Floats:
        return _kernel(np.clip(where, self.least, self.greatest),
                       self.points, self.length_scales)


def _scales(where: Floats, left: Floats) -> tuple[Floats, float, float]:
    """The kernel's length scales and height, and the noise."""
    n, k = where.shape
    squares = (where[:, None, :] - where[None]) ** 2

    def unlikely(logs: Floats) -> tuple[float, Floats]:
        inverse = np.exp(-2 * logs[:k]) / _LENGTH_SCALES ** 2
        kernel = (_HEIGHT * np.exp(logs[k])) ** 2 * np.exp(
            -0.5 * squares @ inverse)
        noise = (_NOISE * np.exp(logs[k + 1])) ** 2
        lower = linalg.cholesky(kernel + noise * np.eye(n), lower=True)
        back = linalg.cho_solve((lower, True), np.eye(n))
        alpha = back @ left
        pull = back - np.outer(alpha, alpha)
        by_kernel = pull * kernel
        slope = np.concatenate([
            0.5 * inverse * np.einsum('ij,ijk->k', by_kernel, squares),
            [by_kernel.sum(), noise * np.trace(pull)]])
        return (0.5 * left @ alpha + np.log(np.diag(lower)).sum()
                + 0.5 * (logs / _WIDTHS) @ (logs / _WIDTHS),
                slope + logs / _WIDTHS ** 2)
    found = optimize.minimize(
        unlikely, np.zeros(k + 2), jac=True, method='L-BFGS-B',
        bounds=[(-_BENT, 3)] * k + [(-3, 3)] * 2,
        options={'maxiter': 50}).x
    return (_LENGTH_SCALES * np.exp(found[:k]),
            float(_HEIGHT * np.exp(found[k])),
            float(_NOISE * np.exp(found[k + 1])))


def _spread_out(kernel: Floats, number: int) -> list[int]:
    """Rows each of the greatest variance, given those before it."""
    left, chosen, parts = np.ones(len(kernel)), [], []
    for _ in range(min(number, len(kernel))):
        best = int(np.argmax(left))
        if left[best] < 1e-4:
            break
        row = kernel[best] - sum(part[best] * part for part in parts)
        parts.append(row / np.sqrt(left[best]))
        left = left - parts[-1] ** 2
        chosen.append(best)
    return chosen
