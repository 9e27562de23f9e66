# SPDX-License-Identifier: Apache-2.0
"""Which trend and which residual describe the runs of a device?

The trend is fitted by nonlinear least squares in log latency, from several
starts, each coefficient held near a nominal device where the runs say
nothing of it. What it leaves goes to a Gaussian process on few points
[1]_, whose scales maximise the marginal likelihood with priors. Its weights
are the most likely ones under which a Load never sees less latency than any
part of it (:mod:`serifos.model.hybrid.monotone`).

.. [1] C. E. Rasmussen, C. K. I. Williams: Gaussian Processes for Machine
   Learning, 2006, sections 5.4 and 8.3.4 (projected process).
"""

from __future__ import annotations

from collections.abc import Mapping
from collections.abc import Sequence
import dataclasses
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import linalg
from scipy import optimize

from serifos.facts import workload as wl
from serifos.model.hybrid import monotone
from serifos.model.hybrid import predict as hybrid

Floats = npt.NDArray[np.float64]

_OF = hybrid.arrays()

_ENOUGH = 400  # runs for all but the residual's weights, which see every run
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

# What the scales are before any run is seen, and by how much they may differ
# (natural logarithms): lengths by coordinate, height, noise.
_LENGTHS = np.array([1.5] + [0.5] * 6)
_HEIGHT, _NOISE = 0.1, 0.05
_WIDTHS = np.array([0.7] * 7 + [0.5, 0.5])
_BENT = 0.9  # no length is much below the one expected: slopes stay checked
_JITTER = 1e-6


def fit(loads: Sequence[wl.Load], y: Floats,
        points: float = 16, seed: int = 0) -> dict[str, Any]:
    """The parameters of a model file.

    :param loads: the Loads of n runs
    :param y: float[n], what the runs measured, positive
    :param points: of the Gaussian process
    :param seed: of the starts of the search, and of the Loads at which the
        prediction is made to rise
    """
    sums = np.column_stack(hybrid.met(np.array([
        [getattr(load, name) for load in loads]
        for name in hybrid.FIELDS]), _OF))
    few = np.arange(0, len(y), -(-len(y) // _ENOUGH))
    trend, covariance = _trend(sums[few], np.log(y[few]),
                               np.random.default_rng(seed))
    trend = dict(zip(trend, _short(list(trend.values())).tolist()))
    where = _where(trend, sums)
    process = _Process.of(where, np.log(y) - where[:, 0], few, int(points))
    weights = monotone.weights(trend, process.bells, process.precision,
                               process.weights, sums[few],
                               np.random.default_rng(seed))
    return {'trend': trend, 'covariance': covariance, 'residual': {
        'height': process.height, 'noise': process.noise,
        **{name: dict(zip(hybrid.COORDINATES, values.tolist()))
           for name, values in (('lengths', process.lengths),
                                ('least', process.least),
                                ('greatest', process.greatest))},
        'points': process.points.tolist(), 'weights': weights.tolist(),
        'certainty': process.certainty.tolist()}}


def _short(values: npt.ArrayLike) -> Floats:
    """Six digits of each: a model file is for people, too."""
    return np.vectorize(lambda value: float(f'{value:.6g}'))(values)


def _where(trend: Mapping[str, float], sums: Floats) -> Floats:
    return np.column_stack(hybrid.coordinates(trend, sums.T, _OF))


def _trend(sums: Floats, logs: Floats, rng: np.random.Generator
           ) -> tuple[dict[str, float], list[list[float]]]:
    """Its coefficients, and the covariance of their logarithms."""
    nominal = _nominal(sums, logs)
    leeway = np.array([_LEEWAY[name] for name in hybrid.TREND])

    def trend(steps: Floats) -> dict[str, float]:
        values = nominal * np.exp(np.clip(steps * leeway, -20, 20))
        return {**dict(zip(hybrid.TREND, values.tolist())),
                'sharpness': 1 + float(values[-1])}

    def wrong(steps: Floats) -> Floats:
        return np.concatenate(
            [hybrid.coordinates(trend(steps), sums.T, _OF)[0] - logs,
             _PRIOR * steps])
    starts = [np.zeros(len(leeway)), *rng.normal(
        0, 0.5, (_STARTS - 1, len(leeway)))]
    found = [optimize.least_squares(wrong, start, max_nfev=60)
             for start in starts]
    best = min(found, key=lambda one: one.cost)
    spread = linalg.inv(best.jac.T @ best.jac) * max(_PRIOR ** 2, np.mean(
        best.fun[:len(logs)] ** 2))
    return trend(best.x), _short(
        spread * np.outer(leeway, leeway)).tolist()


def _nominal(sums: Floats, logs: Floats) -> Floats:
    """A device of one bus and few dies, as fast as this one."""
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
    return np.array([of[name] for name in hybrid.TREND])


def _bells(a: Floats, b: Floats, lengths: Floats) -> Floats:
    apart = (a[:, None, :] - b[None]) / lengths
    return np.exp(-0.5 * (apart ** 2).sum(axis=2))


@dataclasses.dataclass(frozen=True)
class _Process:
    """A Gaussian process on few points, given what a trend leaves.

    :param precision: of the weights given the runs, float[m, m]
    :param weights: the most likely, float[m]
    """

    height: float
    noise: float
    lengths: Floats
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
        lengths, height, noise = _scales(some, left[few])
        chosen = _short(
            some[_spread_out(_bells(some, some, lengths), points)])
        bells = _bells(where, chosen, lengths)
        own = _bells(chosen, chosen, lengths) + _JITTER * np.eye(len(chosen))
        precision = own / height ** 2 + bells.T @ bells / noise ** 2
        return cls(height, noise, lengths, where.min(axis=0),
                   where.max(axis=0), chosen, precision, linalg.solve(
                       precision, bells.T @ left / noise ** 2,
                       assume_a='pos'))

    @property
    def certainty(self) -> Floats:
        own = _bells(self.points, self.points, self.lengths)
        own += _JITTER * np.eye(len(own))
        found = self.height ** 2 * linalg.inv(own) - linalg.inv(
            self.precision)
        return (found + found.T) / 2

    def bells(self, where: Floats) -> Floats:
        return _bells(np.clip(where, self.least, self.greatest),
                      self.points, self.lengths)


def _scales(where: Floats, left: Floats) -> tuple[Floats, float, float]:
    """The bells' lengths, the process's height, and the noise."""
    n, k = where.shape
    squares = (where[:, None, :] - where[None]) ** 2

    def unlikely(logs: Floats) -> tuple[float, Floats]:
        inverse = np.exp(-2 * logs[:k]) / _LENGTHS ** 2
        bells = (_HEIGHT * np.exp(logs[k])) ** 2 * np.exp(
            -0.5 * squares @ inverse)
        noise = (_NOISE * np.exp(logs[k + 1])) ** 2
        lower = linalg.cholesky(bells + noise * np.eye(n), lower=True)
        back = linalg.cho_solve((lower, True), np.eye(n))
        alpha = back @ left
        pull = back - np.outer(alpha, alpha)
        by_bells = pull * bells
        slope = np.concatenate([
            0.5 * inverse * np.einsum('ij,ijk->k', by_bells, squares),
            [by_bells.sum(), noise * np.trace(pull)]])
        return (0.5 * left @ alpha + np.log(np.diag(lower)).sum()
                + 0.5 * (logs / _WIDTHS) @ (logs / _WIDTHS),
                slope + logs / _WIDTHS ** 2)
    found = optimize.minimize(
        unlikely, np.zeros(k + 2), jac=True, method='L-BFGS-B',
        bounds=[(-_BENT, 3)] * k + [(-3, 3)] * 2,
        options={'maxiter': 50}).x
    return (_LENGTHS * np.exp(found[:k]),
            float(_HEIGHT * np.exp(found[k])),
            float(_NOISE * np.exp(found[k + 1])))


def _spread_out(bells: Floats, number: int) -> list[int]:
    """Rows of which each is the least certain, given those before it."""
    left, chosen, parts = np.ones(len(bells)), [], []
    for _ in range(min(number, len(bells))):
        best = int(np.argmax(left))
        if left[best] < 1e-4:
            break
        row = bells[best] - sum(part[best] * part for part in parts)
        parts.append(row / np.sqrt(left[best]))
        left = left - parts[-1] ** 2
        chosen.append(best)
    return chosen
