# SPDX-License-Identifier: Apache-2.0
"""Fit of a simulated device to one of the paper's two SSDs.

The paper reports no measurements, only the models fitted to them (Table 6):
a device is compared with, and fitted to, their predictions on the training
vectors of Eq. 15-16.
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
from serifos.lab.sim import paper
from serifos.lab.sim import ssd as ssds

_IOS, _FIT_IOS = 2000, 600
_RUN_S = 60.0
_OF_A_COUNT = 30

_FITTED = ('read_us', 'write_us', 'bus_read_us_per_kib',
           'bus_write_us_per_kib', 'program_us_per_kib')
_STEPS = (0.7, 0.7, 0.1, 0.1, 1.5)  # of their logarithms, at first
_BUS_US_PER_KIB = {'SSD1': 3.04, 'SSD2': 2.69}  # at first


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
    expected = np.array([paper.latency_us(
        like, len(run), sum(w.write_pct for w in run),
        sum(w.block_kib for w in run)) for run in runs])
    seen = np.array([
        SimulatedDevice(ssd, np.random.default_rng(1), ios).measure(
            run, _RUN_S).latency_us for run in runs])
    return np.abs(seen - expected) / expected
