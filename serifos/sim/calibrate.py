# SPDX-License-Identifier: Apache-2.0
"""Which simulated device comes closest to one of the paper's two SSDs?

The paper reports no measurements, only the models fitted to them (Table 6),
so a truth is fitted to their predictions on the training vectors of
Eq. 15-16. ``python -m serifos.sim.calibrate`` makes the fit again and
prints what :mod:`serifos.sim.truths` holds.
"""

from __future__ import annotations

import dataclasses

import numpy as np
import numpy.typing as npt
from scipy import optimize

from serifos.design import combinations
from serifos.design import design
from serifos.sim import device as dev
from serifos.sim import paper

_FITTED = ('read_us', 'write_us', 'bus_read_us_per_kib',
           'bus_write_us_per_kib', 'program_us_per_kib')
_START = {
    'SSD1': dev.Truth('SSD1', 64, 130, 130, 3.04, 3.04, 0.05, noise_cv=0.5),
    'SSD2': dev.Truth('SSD2', 64, 130, 130, 2.69, 2.69, 0.05, noise_cv=0.5),
}
_STEPS = np.diag([0.7, 0.7, 0.1, 0.1, 1.5])  # of the logarithms
_OF_A_COUNT = 30
_FIT_IOS, _CHECK_IOS = 600, 2000
_RUN_S = 60.0


def training_sets(of_a_count: int, seed: int = 0) -> list[design.Run]:
    """Sets of the paper's training vectors, at most so many of a count."""
    rng = np.random.default_rng(seed)
    every = [*combinations.sets(combinations.TRAINING)]
    chosen = []
    for count in combinations.TRAINING.counts:
        own = [run for run in every if len(run) == count]
        chosen += [own[i] for i in rng.choice(
            len(own), min(of_a_count, len(own)), replace=False)]
    return chosen


def errors_of(truth: dev.Truth, runs: list[design.Run], like: str,
              ios: int) -> npt.NDArray[np.float64]:
    """|simulated - Table 6's| / Table 6's latency of each run, fractions.

    :param like: the paper's device, SSD1 or SSD2
    """
    expected = np.array([paper.latency_us(
        like, len(run), sum(w.write_pct for w in run),
        sum(w.block_kib for w in run)) for run in runs])
    seen = np.array([dev.Device(truth, np.random.default_rng(1), ios).measure(
        run, _RUN_S).latency_us for run in runs])
    return np.abs(seen - expected) / expected


def mismatch(truth: dev.Truth, like: str,
             of_a_count: int = _OF_A_COUNT) -> dict[str, float]:
    """The mean relative error against Table 6, by count and in all."""
    runs = training_sets(of_a_count, seed=1)
    wrong = errors_of(truth, runs, like, _CHECK_IOS)
    counts = np.array([len(run) for run in runs])
    return {**{str(n): float(wrong[counts == n].mean())
               for n in combinations.TRAINING.counts},
            'all': float(wrong.mean())}


def fit(like: str) -> dev.Truth:
    """The truth of the least mean relative error against Table 6."""
    runs, start = training_sets(_OF_A_COUNT), _START[like]

    def truth(logs: npt.NDArray[np.float64]) -> dev.Truth:
        return dataclasses.replace(start, **dict(zip(
            _FITTED, np.exp(logs).tolist())))

    origin = np.log([getattr(start, name) for name in _FITTED])
    found = optimize.minimize(
        lambda logs: errors_of(truth(logs), runs, like, _FIT_IOS).mean(),
        origin, method='Nelder-Mead', options={
            'maxfev': 250, 'xatol': 1e-3, 'fatol': 1e-5,
            'initial_simplex': np.vstack([origin, origin + _STEPS])})
    best = truth(found.x)
    return dataclasses.replace(best, **{
        name: float(f'{getattr(best, name):.4g}') for name in _FITTED})


if __name__ == '__main__':
    for _like in _START:
        _truth = fit(_like)
        print(_truth)
        print({count: round(error, 3)
               for count, error in mismatch(_truth, _like).items()})
