# SPDX-License-Identifier: Apache-2.0
"""The figures of the Serifos paper [1]_, and devices fitted to them.

The paper reports no measurements, only the models fitted to them (Table 6): a
device is compared with, and fitted to, their predictions on the training
vectors of Eq. 15-16.

.. [1] Yao, Papapanagiotou, Griffith: Serifos: Workload Consolidation and
   Load Balancing for SSD Based Cloud Storage Systems.
"""

from __future__ import annotations

from collections.abc import Sequence
import dataclasses

import numpy as np
import numpy.typing as npt
from scipy import optimize

from serifos.design import design
from serifos.design import full
from serifos.lab.sim.device import SimulatedDevice
from serifos.lab.sim import ssd as ssds

CONSOLIDATION = {
    'SSD1': {'1': (113.44, 0, 22.135), '2': (0, 0, 24.497),
             '3': (0, 0, 24.714), '4': (81.969, 0, 23.587),
             '5': (0, 0.578, 23.919), '5+': (0, 0.646, 23.913)},
    'SSD2': {'1': (216.51, -1.19, 19.628), '2': (42.669, 0, 20.691),
             '3': (-86.634, 0.533, 21.339), '4': (-188.26, 0.907, 21.729),
             '5': (-133.83, 0.519, 21.906), '5+': (-137.81, 0.597, 21.821)},
}
"""Table 6: µs, µs per summed write percent, µs per summed KiB."""

MRE = {
    'SSD1': {'1': 0.07, '2': 0.12, '3': 0.12, '4': 0.10, '5': 0.09,
             '5+': 0.16},
    'SSD2': {'1': 0.05, '2': 0.07, '3': 0.07, '4': 0.05, '5': 0.10,
             '5+': 0.08},
}
"""Table 7, as fractions: 100 tests of each count, 200 of 6 to 10."""

RESIDUALS_US = {'SSD1': (-50.0, 200.0), 'SSD2': (-50.0, 100.0)}
"""Section 6.1: where the middle half of Figure 2's residuals lies, about."""

REDUCTION = {
    'variance_us2': 0.82, 'max_us': 0.52, 'p99_read_variance_us2': 0.71,
    'p99_write_variance_us2': 0.84, 'slo_us': 0.43, 'slo_read_us': 0.32,
    'slo_write_us': 0.63,
}
"""Section 6.2: the fraction by which balancing lowered each figure."""

SIZES_GIB = (30, 60, 90, 120)             # Eq. 19
WORKLOADS = (10, 16)                      # section 6.2, a case's count

_IOS, _FIT_IOS = 2000, 600
_RUN_S = 60.0
_OF_A_COUNT = 30

_FITTED = ('read_us', 'write_us', 'bus_read_us_per_kib',
           'bus_write_us_per_kib', 'program_us_per_kib')
_STEPS = (0.7, 0.7, 0.1, 0.1, 1.5)  # of their logarithms, at first
_BUS_US_PER_KIB = {'SSD1': 3.04, 'SSD2': 2.69}  # at first


def latency_us(device: str, count: int, sum_write_pct: float,
               sum_block_kib: float) -> float:
    """The prediction of Table 6, µs (Eq. 14 of [1]_)."""
    table = CONSOLIDATION[device]
    intercept, write, block = table.get(str(count), table['5+'])
    return intercept + write * sum_write_pct + block * sum_block_kib


def training_sets(of_a_count: int, seed: int = 0) -> list[design.Run]:
    """A random choice of the paper's training sets, of each count."""
    rng = np.random.default_rng(seed)
    every = [*full.sets(full.TRAINING)]
    chosen = []
    for count in full.TRAINING.counts:
        own = [run for run in every if len(run) == count]
        chosen += [own[i] for i in rng.choice(
            len(own), min(of_a_count, len(own)), replace=False)]
    return chosen


def mismatch(ssd: ssds.Ssd, like: str,
             of_a_count: int = _OF_A_COUNT) -> dict[str, float]:
    """The mean relative error against Table 6, by count and in all.

    :param like: the paper's device, SSD1 or SSD2
    """
    runs = training_sets(of_a_count, seed=1)
    wrong = _errors(ssd, like, runs, _IOS)
    counts = np.array([len(run) for run in runs])
    return {**{str(n): float(wrong[counts == n].mean())
               for n in full.TRAINING.counts},
            'all': float(wrong.mean())}


def fitted(like: str, of_a_count: int = _OF_A_COUNT,
           tries: int = 250) -> ssds.Ssd:
    """A bus and 64 dies of the least mean relative error against Table 6.

    By the Nelder-Mead method, on other training vectors than those of
    :func:`mismatch`; costs are rounded to four digits.

    :param like: the paper's device, SSD1 or SSD2
    :param tries: devices that are simulated at the most
    """
    bus = _BUS_US_PER_KIB[like]
    start = ssds.Ssd(
        like, dies=64, read_us=130, write_us=130, bus_read_us_per_kib=bus,
        bus_write_us_per_kib=bus, program_us_per_kib=0.05, noise_cv=0.5)
    runs = training_sets(of_a_count)

    def device(logs: npt.NDArray[np.float64]) -> ssds.Ssd:
        return dataclasses.replace(
            start, **dict(zip(_FITTED, np.exp(logs).tolist())))

    first = np.log([getattr(start, name) for name in _FITTED])
    best = device(optimize.minimize(
        lambda logs: _errors(device(logs), like, runs, _FIT_IOS).mean(),
        first, method='Nelder-Mead', options={
            'maxfev': tries, 'xatol': 1e-3, 'fatol': 1e-5,
            'initial_simplex': np.vstack([first, first + np.diag(_STEPS)])}
    ).x)
    return dataclasses.replace(best, **{
        name: float(f'{getattr(best, name):.4g}') for name in _FITTED})


def _errors(ssd: ssds.Ssd, like: str, runs: Sequence[design.Run],
            ios: int) -> npt.NDArray[np.float64]:
    """|simulated - Table 6's| / Table 6's latency of n runs, float[n]."""
    expected = np.array([latency_us(
        like, len(run), sum(w.write_pct for w in run),
        sum(w.block_kib for w in run)) for run in runs])
    seen = np.array([
        SimulatedDevice(ssd, np.random.default_rng(1), ios).measure(
            run, _RUN_S).latency_us for run in runs])
    return np.abs(seen - expected) / expected
