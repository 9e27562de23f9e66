# SPDX-License-Identifier: Apache-2.0
"""Datasets of simulated devices, as ``serifos-model build`` measures them."""

from __future__ import annotations

from serifos.design import d_optimal
from serifos.design import full
from serifos.design import random_runs
from serifos.facts import dataset as ds
from serifos.lab.sim import modeler
from serifos.lab.sim import ssd as ssds


def short(ssd: ssds.Ssd, number: int, seed: int = 0,
          chance: int = 0) -> ds.Dataset:
    """The short design, ``build --runs``.

    :param seed: of the design
    :param chance: seed of the differences between units, and between runs
    """
    return modeler.dataset(ssd, modeler.Purpose.SHORT,
                           d_optimal.runs(number, seed=seed), chance)


def random(ssd: ssds.Ssd, number: int, seed: int = 0,
           chance: int = 0) -> ds.Dataset:
    """Random runs of 10 s each, ``build --sampled``."""
    return modeler.dataset(ssd, modeler.Purpose.TEST,
                           random_runs.runs(number, seed=seed), chance, 10.0)


def study(ssd: ssds.Ssd, chance: int = 0) -> ds.Dataset:
    """The 660 patterns of the paper's study of single workloads."""
    return modeler.dataset(ssd, modeler.Purpose.SHORT,
                           [*full.sets(full.STUDY)], chance)
