# SPDX-License-Identifier: Apache-2.0
"""Difference of a simulated device from one of the paper's two SSDs.

The paper reports no measurements, only the models fitted to them (Table 6):
a device is compared with their predictions on the training vectors of
Eq. 15-16.
"""

from __future__ import annotations

import numpy as np

from serifos.design import design
from serifos.design import full
from serifos.lab.sim import device as dev
from serifos.lab.sim import paper
from serifos.lab.sim import ssd as ssds

_IOS = 2000
_RUN_S = 60.0


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
             of_a_count: int = 30) -> dict[str, float]:
    """The mean relative error against Table 6, by count and in all.

    :param like: the paper's device, SSD1 or SSD2
    """
    runs = training_sets(of_a_count, seed=1)
    expected = np.array([paper.latency_us(
        like, len(run), sum(w.write_pct for w in run),
        sum(w.block_kib for w in run)) for run in runs])
    seen = np.array([dev.Device(ssd, np.random.default_rng(1), _IOS).measure(
        run, _RUN_S).latency_us for run in runs])
    wrong = np.abs(seen - expected) / expected
    counts = np.array([len(run) for run in runs])
    return {**{str(n): float(wrong[counts == n].mean())
               for n in full.TRAINING.counts},
            'all': float(wrong.mean())}
