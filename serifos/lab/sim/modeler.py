# SPDX-License-Identifier: Apache-2.0
"""Build and test models of simulated devices.

Models are fitted only to runs, as those of a real device are. Each run has
a random seed of its own, so that results depend neither on the order of the
runs nor on how many are made at once.
"""

from __future__ import annotations

from collections.abc import Iterable
from collections.abc import Sequence
import dataclasses
import enum
import itertools

import numpy as np

from serifos.design import d_optimal
from serifos.design import design
from serifos.design import full
from serifos.design import random_tests
from serifos import errors
from serifos.facts.dataset import Dataset
from serifos.facts.dataset import Header
from serifos.facts.dataset import Sample
from serifos.facts.workload import Workload
from serifos.lab.sim.device import SimulatedDevice
from serifos.lab.sim import ssd as ssds
from serifos.lab.sim.tails import Tails
from serifos.model import fit
from serifos.model.model import Model

KINDS = ('consolidation', 'outstanding', 'tenant', 'auto')
"""``consolidation`` is fitted on the paper's sets (Eq. 15-16), the others
on the short design, which is what ``serifos-model build`` does."""

SHORT_RUNS = 80

RUN_S = 60.0
_BUILD_IOS = 2000


class Purpose(enum.IntEnum):
    """The purpose of a run; each has random seeds of its own."""

    CONSOLIDATION = 2
    SHORT = 3
    TEST = 4
    CASE = 5
    CHOSEN = 6


@dataclasses.dataclass(frozen=True)
class SimulatedRuns:
    """Runs of one device, to be made in this order.

    :param tails: of a measured device; None for the simulation's own
    """

    ssd: ssds.Ssd
    purpose: Purpose
    seed: int
    first: int
    runs: tuple[design.Run, ...]
    ios: int
    tails: Tails | None = None


def measure(job: SimulatedRuns) -> list[Sample]:
    """Makes the runs of a job."""
    return [SimulatedDevice(job.ssd, np.random.default_rng(
        [job.seed, *job.ssd.name.encode(), job.purpose, job.first + i]),
        job.ios, tails=job.tails).measure(run, RUN_S)
        for i, run in enumerate(job.runs)]


def jobs(ssd: ssds.Ssd, purpose: Purpose, runs: Sequence[design.Run],
         seed: int, ios: int = _BUILD_IOS, size: int = 100,
         tails: Tails | None = None) -> list[SimulatedRuns]:
    """Runs in pieces of at most ``size``."""
    return [SimulatedRuns(ssd, purpose, seed, i, tuple(runs[i:i + size]), ios,
                          tails)
            for i in range(0, len(runs), size)]


def dataset(ssd: ssds.Ssd, purpose: Purpose, runs: Sequence[design.Run],
            seed: int, runtime_s: float = RUN_S,
            rounds: int = 1) -> Dataset:
    """The dataset that a build would write of these runs.

    :param runtime_s: seconds of a run, as the header says
    :param rounds: how often each is made; the last one counts
    """
    made = itertools.chain.from_iterable(
        map(measure, jobs(ssd, purpose, [*runs] * rounds, seed)))
    return Dataset(
        Header({'model': ssd.name, 'serial': 'simulated'},
               runtime_s=runtime_s, valid_round=rounds),
        tuple(dataclasses.replace(sample, round=1 + i // len(runs))
              for i, sample in enumerate(made)))


def split(run: design.Run, volumes: int) -> design.Run:
    """A run whose workloads are spread evenly over so many volumes each.

    :raises InputError: where a workload has fewer requests than volumes
    """
    return tuple(part for workload in run
                 for part in _parts(workload, volumes))


def _parts(workload: Workload, volumes: int) -> list[Workload]:
    each, left = divmod(round(workload.iodepth), volumes)
    if not each:
        raise errors.InputError(
            f'A workload of iodepth {workload.iodepth:g} cannot be split over '
            f'{volumes} volumes; split fewer ways, or take the runs of '
            '--study, whose iodepth is 8.')
    return [dataclasses.replace(workload, iodepth=float(each + (i < left)))
            for i in range(volumes)]


def training(purpose: Purpose, seed: int,
             sets: int | None = None) -> list[design.Run]:
    """The runs that a model is fitted on.

    :param sets: size of a random choice of the paper's 6,187 sets
    :raises InputError: where there are not so many
    """
    if purpose == Purpose.SHORT:
        return [*d_optimal.runs(SHORT_RUNS, seed=seed)]
    every = [*full.sets(full.TRAINING)]
    if sets is None:
        return every
    if not fit.LEAST_RUNS <= sets <= len(every):
        raise errors.InputError(
            f'{sets} sets cannot be chosen; there are {len(every):,}, and a '
            f'model needs {fit.LEAST_RUNS} or more.')
    chosen = np.random.default_rng(seed).choice(
        len(every), sets, replace=False)
    return [every[i] for i in sorted(chosen)]


def tests(seed: int, basic: int, extended: int,
          space: design.Space = random_tests.PAPER) -> list[design.Run]:
    """Random runs of the test vectors (Eq. 17-18, section 6.1).

    :param basic: runs of each count from 1 to 5
    :param extended: runs of 6 to 10 workloads
    """
    return random_tests.runs(
        basic, extended, space, seed=[seed, Purpose.TEST])


def built(kind: str, ssd: ssds.Ssd, samples: Iterable[Sample],
          predicts: str = 'latency_us') -> Model:
    """A model of a kind, fitted to runs of a simulated device.

    :param predicts: the figure of a run, of :data:`.dataset.FIGURES`
    """
    header = Header({'model': ssd.name, 'serial': 'simulated'},
                    runtime_s=RUN_S)
    return fit.fit(Dataset(header, tuple(samples)), kind=kind,
                   name=ssd.name, predicts=predicts)


@dataclasses.dataclass(frozen=True)
class Tested:
    """The error of a model on held-out runs (Table 7, Figure 2).

    :param mre: count label → mean relative error; '5+' is 6 to 10 workloads
    :param residuals_us: measured - predicted of the runs of 1 to 5
    """

    mre: dict[str, float]
    residuals_us: tuple[float, ...]


def tested(model: Model, samples: Sequence[Sample]) -> Tested:
    """The error of a model on those tests that have what it predicts."""
    samples = [s for s in samples if s.figure(model.predicts)]
    predicted = np.array([model.predict(model.load(s.workloads))
                          for s in samples])
    seen = np.array([s.figure(model.predicts) for s in samples])
    labels = np.array([str(s.count) if s.count <= 5 else '5+'
                       for s in samples])
    wrong = np.abs(predicted - seen) / seen
    basic = labels != '5+'
    return Tested(
        {label: float(wrong[labels == label].mean())
         for label in sorted(set(labels.tolist()))},
        tuple((seen - predicted)[basic].tolist()))
