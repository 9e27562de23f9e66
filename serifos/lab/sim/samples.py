# SPDX-License-Identifier: Apache-2.0
"""Datasets of simulated devices, as ``serifos-model build`` measures them."""

from __future__ import annotations

from serifos.design import d_optimal
from serifos.design import full
from serifos.design import random_runs
from serifos.facts import dataset as ds
from serifos.lab.sim import modeler
from serifos.lab.sim import ssd


def short(truth: ssd.Ssd, number: int, seed: int = 0,
          chance: int = 0) -> ds.Dataset:
    """The short design, ``build --runs``.

    :param seed: of the design
    :param chance: seed of what differs from unit to unit, and run to run
    """
    return modeler.dataset(truth, modeler.Purpose.SHORT,
                           d_optimal.runs(number, seed=seed), chance)


def random(truth: ssd.Ssd, number: int, seed: int = 0,
           chance: int = 0) -> ds.Dataset:
    """Random runs, ``build --sampled``, of 10 s each; else as above."""
    return modeler.dataset(truth, modeler.Purpose.TEST,
                           random_runs.runs(number, seed=seed), chance, 10.0)


def study(truth: ssd.Ssd, chance: int = 0) -> ds.Dataset:
    """The 660 patterns of the paper's study of single workloads."""
    return modeler.dataset(truth, modeler.Purpose.SHORT,
                           [*full.sets(full.STUDY)], chance)
