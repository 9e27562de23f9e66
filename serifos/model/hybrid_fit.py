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

SETTINGS = (pm.Parameter('points', 24, 1, 100),
            pm.Parameter('monotone', 1, 0, 1))
"""How many points the residual stands on, and whether (1) or not (0) a
Load must never see less latency than a part of it."""

_OF = hybrid.arrays()

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
_JITTER = 1e-6

_SMALLEST_KIB, _LARGEST_KIB = 4.0, 1024.0
_MOST, _DEEPEST = 20, 64.0
_BASES = 500
_STEP = 0.05
_MARGIN = 0.1
_ROUNDS, _AT_A_TIME = 12, 200


def fit(loads: Sequence[wl.Load], y: Floats, points: float = 24,
        monotone: float = 1) -> dict[str, Any]:
    """The parameters of a model file.

    :param loads: the Loads of n runs
    :param y: float[n], what the runs measured, positive
    :param points: of the Gaussian process
    :param monotone: 1 where no Load may see less than a part of it
    """
    sums = np.array([[getattr(load, name) for name in hybrid.FIELDS]
                     for load in loads])
    trend, covariance = _trend(sums, np.log(y))
    where = _where(trend, sums)
    process = _Process.of(where, np.log(y) - where[:, 0], int(points))
    weights = _monotone(trend, process, sums) if monotone else process.weights
    return {'trend': trend, 'covariance': covariance, 'residual': {
        'height': process.height, 'noise': process.noise,
        **{name: dict(zip(hybrid.COORDINATES, values.tolist()))
           for name, values in (('lengths', process.lengths),
                                ('least', process.least),
                                ('greatest', process.greatest))},
        'points': process.points.tolist(), 'weights': weights.tolist(),
        'certainty': process.certainty.tolist()}}


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
    return trend(best.x), (spread * np.outer(leeway, leeway)).tolist()


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
    def of(cls, where: Floats, left: Floats, points: int) -> _Process:
        lengths, height, noise = _scales(where, left)
        chosen = where[_spread_out(_bells(where, where, lengths), points)]
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
        bounds=[(-3, 3)] * (k + 2), options={'maxiter': 50}).x
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
    """The most likely weights with which adding load lowers nothing."""
    before, after = (_where(trend, sums) for sums in _steps(runs))
    rises = after[:, 0] - before[:, 0]
    moves = rises > 1e-12
    slopes = ((process.bells(after) - process.bells(before))[moves]
              / rises[moves, None])
    root = linalg.cholesky(process.precision, lower=True)
    weights, held = process.weights, np.zeros(len(slopes), bool)
    for _ in range(_ROUNDS):
        slope = 1 - _MARGIN + slopes @ weights
        broken = np.flatnonzero((slope < -1e-9) & ~held)
        if not len(broken):
            break
        held[broken[np.argsort(slope[broken])[:_AT_A_TIME]]] = True
        rows = linalg.solve_triangular(root, slopes[held].T, lower=True).T
        weights = process.weights + linalg.solve_triangular(
            root.T, _least(rows, _MARGIN - 1
                           - slopes[held] @ process.weights))
    return weights / max(1.0, float(np.max(-slopes @ weights, initial=0))
                         / (1 - _MARGIN))


def _least(rows: Floats, bounds: Floats) -> Floats:
    """The least x with rows x >= bounds (Lawson and Hanson's LDP)."""
    scale = np.maximum(np.abs(rows).max(axis=1), 1e-12)
    matrix = np.vstack([(rows / scale[:, None]).T, bounds / scale])
    target = np.zeros(len(matrix))
    target[-1] = 1.0
    dual, _ = optimize.nnls(matrix, target, maxiter=10 * matrix.shape[1])
    short = matrix @ dual - target
    return -short[:-1] / short[-1]


def _steps(runs: Floats) -> tuple[Floats, Floats]:
    """Loads, and the same with a little more of a field: float[n, 8]."""
    rng = np.random.default_rng(0)
    loads = np.vstack([runs, [_random_load(rng) for _ in range(_BASES)]])
    # A random request is one more of its kind, too.
    edges = np.eye(len(hybrid.FIELDS))
    edges[[4, 5], [0, 1]] = 1
    before = np.repeat(loads, len(edges), axis=0)
    which = np.tile(np.arange(len(edges)), len(loads))
    step = _STEP * before[np.arange(len(before)), which] + 1e-6
    return before, before + step[:, None] * edges[which]


def _random_load(rng: np.random.Generator) -> Floats:
    n = int(rng.integers(1, _MOST + 1))
    q = _DEEPEST ** rng.random(n)
    s = _SMALLEST_KIB * (_LARGEST_KIB / _SMALLEST_KIB) ** rng.random(n)
    w, x = (np.clip(rng.uniform(-0.3, 1.3, n), 0, 1) for _ in range(2))
    r = 1 - w
    s2 = (s / 64) ** 2
    return np.array([q @ r, q @ w, (q * s) @ r, (q * s) @ w, (q * r) @ x,
                     (q * w) @ x, (q * s2) @ r, (q * s2) @ w])
