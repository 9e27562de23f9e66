# SPDX-License-Identifier: Apache-2.0
"""Weights of a hybrid model's residual that keep it rising with load.

The slope of the residual over that of the trend, along each field of a
Load, is held above -1 by linear constraints at many Loads, those near the
worst ones first, and at last by scaling. That is a search with a margin,
not a proof; ``serifos-sim kinds`` counts the Loads where it fails.
"""

from __future__ import annotations

from collections.abc import Callable
from collections.abc import Mapping

import numpy as np
import numpy.typing as npt
from scipy import linalg
from scipy import optimize

from serifos.model.hybrid import trend as tr

Floats = npt.NDArray[np.float64]
Kernel = Callable[[Floats], Floats]

_SMALLEST_KIB, _LARGEST_KIB = 4.0, 1024.0
_MOST, _DEEPEST = 20, 64.0
_BASES, _MIXES = 100, (1, 2, 3, 6)
_STEP, _TINY = 0.01, 1e-6
_MARGIN = 0.1
_WORST, _NEAR = 25, 8
_ROUNDS, _AT_A_TIME = 12, 60


def weights(trend: Mapping[str, float], kernel: Kernel, precision: Floats,
            likely: Floats, runs: Floats,
            rng: np.random.Generator) -> Floats:
    """The most likely weights with which latency rises with load.

    :param kernel: coordinates float[n, k] → float[n, points]
    :param precision: of the weights given the runs, float[points, points]
    :param likely: the most likely weights without constraints, float[points]
    :param runs: the Loads measured, float[n, 8] of ``tr.FIELDS``
    """
    root = linalg.cholesky(precision, lower=True)
    found, most = likely, 1 - _MARGIN
    loads = np.vstack([runs, *(_random_loads(rng, of) for of in _MIXES)])
    slopes = _slopes(trend, kernel, loads)
    held = np.empty((0, len(likely)))
    for _ in range(_ROUNDS):
        falls = (-slopes @ found).max(axis=1)
        worst = np.argsort(falls)[-_WORST:]
        near = _near(rng, np.repeat(loads[worst], _NEAR, axis=0))
        loads, slopes = np.vstack([loads, near]), np.vstack([
            slopes, _slopes(trend, kernel, near)])
        rows = slopes.reshape(-1, len(likely))
        falls = -rows @ found
        broken = np.argsort(falls)[-_AT_A_TIME:]
        broken = broken[falls[broken] > most + 1e-6]
        if len(broken):
            held = np.vstack([held, rows[broken]])
            found = likely + linalg.solve_triangular(
                root.T, _least(
                    linalg.solve_triangular(root, held.T, lower=True).T,
                    -most - held @ likely))
    return found / max(1.0, float((-slopes @ found).max()) / most)


def coordinates(trend: Mapping[str, float], sums: Floats) -> Floats:
    """:func:`.trend.coordinates` of many Loads: float[n, 8] → float[n, 7]."""
    return np.column_stack(tr.coordinates(trend, sums.T, tr.arrays()))


def _slopes(trend: Mapping[str, float], kernel: Kernel,
            loads: Floats) -> Floats:
    """Slopes of the kernel over the trend: float[n, fields, points].

    Along each field of a Load; 0 where a step does not move the trend.
    """
    edges = np.eye(len(tr.FIELDS))
    edges[[4, 5], [0, 1]] = 1  # a random request is one more of its kind
    after = (loads[:, None, :] + (_STEP * loads + _TINY)[:, :, None]
             * edges).reshape(-1, len(edges))
    was, now = coordinates(trend, loads), coordinates(trend, after)
    rises = now[:, 0].reshape(len(loads), -1) - was[:, :1]
    higher = (kernel(now).reshape(*rises.shape, -1)
              - kernel(was)[:, None, :])
    moves = rises > 1e-12
    return np.where(moves[:, :, None], higher, 0.0) / np.where(
        moves, rises, 1.0)[:, :, None]


def _near(rng: np.random.Generator, loads: Floats) -> Floats:
    """The Loads, each field changed at random by some 40 %."""
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
    """Random Loads of the space, half at its corners: float[n, 8]."""
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
