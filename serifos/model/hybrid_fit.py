# SPDX-License-Identifier: Apache-2.0
"""Which trend and which residual describe the runs of a device?

The trend is fitted by nonlinear least squares in log latency, from several
starts, each coefficient held near a nominal device where the runs say
nothing of it. What it leaves goes to a Gaussian process on few points
[1]_, whose scales maximise the marginal likelihood with priors. Its weights
are the most likely ones under which a Load never sees less latency than any
part of it: small steps along the edges of the cone of all workloads are
held to that at many Loads of the whole box, as linear constraints.

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

from serifos.model import hybrid
from serifos.model import parameter as pm
from serifos import workload as wl

Floats = npt.NDArray[np.float64]

SETTINGS = (pm.Parameter('points', 16, 1, 100),)
"""How many points the residual stands on."""

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

_SMALLEST_KIB, _LARGEST_KIB = 4.0, 1024.0
_MOST, _DEEPEST = 20, 64.0
_BASES, _MIXES = 100, (1, 2, 3, 6)
_STEP, _TINY = 0.01, 1e-6
_MARGIN = 0.1
_WORST, _NEAR = 25, 8
_ROUNDS, _AT_A_TIME = 12, 60


def fit(loads: Sequence[wl.Load], y: Floats,
        points: float = 16) -> dict[str, Any]:
    """The parameters of a model file.

    :param loads: the Loads of n runs
    :param y: float[n], what the runs measured, positive
    :param points: of the Gaussian process
    """
    sums = np.array([[getattr(load, name) for name in hybrid.FIELDS]
                     for load in loads])
    few = np.arange(0, len(y), -(-len(y) // _ENOUGH))
    trend, covariance = _trend(sums[few], np.log(y[few]))
    trend = dict(zip(trend, _short(list(trend.values())).tolist()))
    where = _where(trend, sums)
    process = _Process.of(where, np.log(y) - where[:, 0], few, int(points))
    weights = _monotone(trend, process, sums[few])
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


def _trend(sums: Floats, logs: Floats
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
    rng = np.random.default_rng(0)
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


def _monotone(trend: Mapping[str, float], process: _Process,
              runs: Floats) -> Floats:
    """The most likely weights with which adding load lowers nothing.

    Loads where it would are looked for near those where it nearly does,
    round after round.
    """
    rng = np.random.default_rng(0)
    root = linalg.cholesky(process.precision, lower=True)
    weights, most = process.weights, 1 - _MARGIN
    loads = np.vstack([runs, *(_random_loads(rng, of) for of in _MIXES)])
    slopes = _slopes(trend, process, loads)
    held = np.empty((0, len(weights)))
    for _ in range(_ROUNDS):
        falls = (-slopes @ weights).max(axis=1)
        worst = np.argsort(falls)[-_WORST:]
        near = _near(rng, np.repeat(loads[worst], _NEAR, axis=0))
        found = _slopes(trend, process, near)
        loads, slopes = np.vstack([loads, near]), np.vstack([slopes, found])
        rows = slopes.reshape(-1, len(weights))
        falls = -rows @ weights
        broken = np.argsort(falls)[-_AT_A_TIME:]
        broken = broken[falls[broken] > most + 1e-6]
        if len(broken):
            held = np.vstack([held, rows[broken]])
            weights = process.weights + linalg.solve_triangular(
                root.T, _least(
                    linalg.solve_triangular(root, held.T, lower=True).T,
                    -most - held @ process.weights))
    return weights / max(1.0, float((-slopes @ weights).max()) / most)


def _slopes(trend: Mapping[str, float], process: _Process,
            loads: Floats) -> Floats:
    """What each bell rises by with the trend: float[n, fields, points].

    Along each field of a Load; a step that moves nothing has no slope.
    """
    edges = np.eye(len(hybrid.FIELDS))
    edges[[4, 5], [0, 1]] = 1  # a random request is one more of its kind
    after = (loads[:, None, :] + (_STEP * loads + _TINY)[:, :, None]
             * edges).reshape(-1, len(edges))
    was, now = _where(trend, loads), _where(trend, after)
    rises = now[:, 0].reshape(len(loads), -1) - was[:, :1]
    bells = (process.bells(now).reshape(*rises.shape, -1)
             - process.bells(was)[:, None, :])
    moves = rises > 1e-12
    return np.where(moves[:, :, None], bells, 0.0) / np.where(
        moves, rises, 1.0)[:, :, None]


def _near(rng: np.random.Generator, loads: Floats) -> Floats:
    """Loads a little different from these."""
    found = loads * np.exp(0.4 * rng.standard_normal(loads.shape))
    found[:, 4:6] = np.minimum(found[:, 4:6], found[:, :2])
    return found


def _least(rows: Floats, bounds: Floats) -> Floats:
    """The least x with rows x >= bounds (Lawson and Hanson's LDP)."""
    scale = np.maximum(np.abs(rows).max(axis=1), 1e-12)
    matrix = np.vstack([(rows / scale[:, None]).T, bounds / scale])
    target = np.zeros(len(matrix))
    target[-1] = 1.0
    dual, _ = optimize.nnls(matrix, target, maxiter=10 * matrix.shape[1])
    short = matrix @ dual - target
    return -short[:-1] / short[-1]


def _random_loads(rng: np.random.Generator, workloads: int) -> Floats:
    """Loads of the box, at its corners one time in two: float[n, 8]."""
    shape = _BASES, workloads

    def between(least: float, most: float) -> Floats:
        inside = least * (most / least) ** rng.random(shape)
        return np.where(rng.random(shape) < 0.5, inside,
                        rng.choice([least, most], shape))
    q = between(0.05, _MOST * _DEEPEST / workloads)
    s = between(_SMALLEST_KIB, _LARGEST_KIB)
    w, x = (np.clip(rng.uniform(-0.5, 1.5, shape), 0, 1) for _ in range(2))
    r, s2 = 1 - w, (s / 64) ** 2
    return np.stack([q * r, q * w, q * s * r, q * s * w, q * r * x,
                     q * w * x, q * s2 * r, q * s2 * w]).sum(axis=2).T
