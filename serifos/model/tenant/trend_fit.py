# SPDX-License-Identifier: Apache-2.0
"""Fit of the trend of a tenant model.

By nonlinear least squares in log latency, from several starts, with a prior
about a nominal device for each coefficient.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from scipy import optimize

from serifos.model.tenant import arithmetic
from serifos.model.tenant import trend

Floats = npt.NDArray[np.float64]

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


def fit(sums: Floats, logs: Floats,
        rng: np.random.Generator) -> dict[str, float]:
    """The coefficients of the trend, of six digits as a file states them.

    :param sums: of :data:`.trend.FIELDS`, float[n, 8]
    :param logs: of what n runs measured, float[n]
    :param rng: of the starts of the search
    """
    nominal, arrays = _nominal(sums, logs), arithmetic.arrays()
    leeway = np.array([_LEEWAY[name] for name in trend.TREND])

    def coefficients(steps: Floats) -> dict[str, float]:
        values = nominal * np.exp(np.clip(steps * leeway, -20, 20))
        return {**dict(zip(trend.TREND, values.tolist())),
                'sharpness': 1 + float(values[-1])}

    def wrong(steps: Floats) -> Floats:
        return np.concatenate([
            trend.log_us(coefficients(steps), sums.T, arrays) - logs,
            _PRIOR * steps])
    starts = [np.zeros(len(leeway)), *rng.normal(
        0, 0.5, (_STARTS - 1, len(leeway)))]
    found = [optimize.least_squares(wrong, start, max_nfev=60)
             for start in starts]
    best = min(found, key=lambda one: one.cost)
    return {name: float(f'{value:.6g}')
            for name, value in coefficients(best.x).items()}


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
    return np.array([of[name] for name in trend.TREND])
