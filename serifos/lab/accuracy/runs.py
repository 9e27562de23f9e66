# SPDX-License-Identifier: Apache-2.0
"""Runs of a simulated device on which kinds of model are compared.

For each device: the runs of the short design, those that a build chooses
one after another, and held-out tests.
"""

from __future__ import annotations

from collections.abc import Mapping
from collections.abc import Sequence
import dataclasses

import numpy as np

from serifos.design import d_optimal
from serifos.design import design
from serifos.design import random_tests
from serifos.design import sequential
from serifos.design import stopping
from serifos.facts.dataset import Sample
from serifos.facts.workload import Workload
from serifos.lab.sim import device
from serifos.lab.sim import modeler
from serifos.lab.sim import ssd as ssds
from serifos.model import cv_error

CHOSEN, ALL_CHOSEN = 'chosen', 'all chosen'
"""The runs that a build makes, and those without its stopping rule; the
other designs are named by their number of runs."""

THINKING = {'some think': 2, 'all think': 1}
"""Test → n: every n-th workload has a thinktime of 0.2 to 2 ms. Runs in
which one is then idle are left out."""

TESTS = ('paper', 'depths', 'wide', *THINKING)
"""The paper's test vectors; the same with varying queue depths; the whole
space (1 to 16 workloads, 4 KiB to 1 MiB, random to sequential); and those of
varying depths whose workloads have thinktimes."""

MOVED = 'moved'
"""All think, and what each has outstanding was observed on another device:
what planning knows of a tenant before it moves. In the other tests it was
observed in the run itself, as of one that stays."""

_DEPTHS = (1, 2, 4, 8, 16, 32, 64)


@dataclasses.dataclass(frozen=True)
class DeviceRuns:
    """The runs measured on a device.

    :param designs: label → the runs to fit a model to
    :param tests: of :data:`TESTS` → held-out runs
    """

    ssd: ssds.Ssd
    designs: Mapping[str, Sequence[Sample]]
    tests: Mapping[str, Sequence[Sample]]


def measured(ssd: ssds.Ssd, short: Sequence[int], tests: int,
             seed: int) -> DeviceRuns:
    """Makes all runs of a device.

    :param short: numbers of runs of the short designs
    :param tests: of each count of workloads, of each sort
    """
    of_test, first = {}, 0
    for name, runs in _tests(tests, seed).items():
        found = _measure(ssd, modeler.Purpose.TEST, seed, runs, first)
        of_test[name] = [one for one in found if name not in THINKING
                         or all(w.is_active() for w in one.tenants)]
        first += len(runs)
    designs = {str(number): _measure(
        ssd, modeler.Purpose.SHORT, seed, d_optimal.runs(number, seed=seed))
        for number in short}
    made, number = chosen(ssd, seed)
    return DeviceRuns(ssd, {**designs, CHOSEN: made[:number],
                            ALL_CHOSEN: made}, of_test)


def moved(tests: Sequence[Sample],
          elsewhere: Sequence[Sample]) -> list[Sample]:
    """The test :data:`MOVED`.

    :param tests: runs of tenants that think
    :param elsewhere: the same runs on another device
    """
    other = {sample.workloads: sample for sample in elsewhere}
    return [dataclasses.replace(sample, workloads=tuple(
        dataclasses.replace(w, think_time_us=0.0, iops=saw['iops'],
                            latency_us=saw['latency_us'])
        for w, saw in zip(sample.workloads, other[sample.workloads].seen)))
        for sample in tests if sample.workloads in other]


def chosen(ssd: ssds.Ssd, seed: int) -> tuple[list[Sample], int]:
    """The runs that a build chooses, and the number at which it stops."""
    plan = sequential.Sequential(seed=seed)
    made: list[Sample] = []
    known: dict[int, float] = {}
    number = 0

    def error(number: int) -> float:
        if number not in known:
            known[number] = cv_error.error(made[:number])
        return known[number]
    runs = plan.begin
    while runs:
        made += _measure(ssd, modeler.Purpose.CHOSEN, seed, runs,
                         len(made))
        so_far = [sample.workloads for sample in made]
        runs = plan.following(so_far)
        if not number and not stopping.step(
                plan, stopping.Enough(), so_far, (), error).runs:
            number = len(made)
    return made, number


def _measure(ssd: ssds.Ssd, purpose: modeler.Purpose, seed: int,
             runs: Sequence[design.Run], first: int = 0) -> list[Sample]:
    return modeler.measure(modeler.SimulatedRuns(
        ssd, purpose, seed, first, tuple(runs), device.IOS))


def _tests(number: int, seed: int) -> dict[str, list[design.Run]]:
    rng = np.random.default_rng([seed, modeler.Purpose.TEST])
    found = {name: [tuple(one(rng) for _ in range(count))
                    for count in range(1, most + 1) for _ in range(number)]
             for name, most, one in (
                 ('paper', random_tests.MORE[1], random_tests.drawn),
                 ('depths', random_tests.MORE[1], _deep),
                 ('wide', sequential.EDGE.counts[-1], _any))}
    return {**found, **{name: [
        tuple(w if i % every else _thinks(w, rng) for i, w in enumerate(run))
        for run in found['depths']] for name, every in THINKING.items()}}


def _deep(rng: np.random.Generator) -> Workload:
    return dataclasses.replace(
        random_tests.drawn(rng), iodepth=float(rng.choice(_DEPTHS)))


def _thinks(workload: Workload, rng: np.random.Generator) -> Workload:
    return dataclasses.replace(
        workload, iodepth=1.0, think_time_us=float(rng.integers(200, 2001)))


def _any(rng: np.random.Generator) -> Workload:
    return Workload(
        float(rng.integers(0, 101)), float(4 * round(256 ** rng.random())),
        float(round(64 ** rng.random())), float(rng.choice([0, 50, 100])))
