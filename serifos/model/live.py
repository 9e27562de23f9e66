# SPDX-License-Identifier: Apache-2.0
"""Make the runs of a dataset from a pool in use.

What a volume did is its mean over the slot, with as many requests outstanding
as it had by Little's law. A slot counts where each volume of the pool was seen
for most of it. How far apart requests lie is not seen; they count as random.
"""

from __future__ import annotations

from collections.abc import Iterator
from collections.abc import Mapping
from collections.abc import Sequence
import dataclasses

import numpy as np

from serifos import errors
from serifos.facts.dataset import Dataset
from serifos.facts.dataset import Sample
from serifos.facts.history import Series
from serifos.facts import workload
from serifos.model import fit
from serifos.model import fit_runs
from serifos.model.model import Model

FIT_SHARE = 2 / 3
"""Of the runs, the oldest: to these a model is fitted that is then held
against the others."""

_SEEN = 0.5


@dataclasses.dataclass(frozen=True)
class Pool:
    """The volumes of one device.

    :param begin: since when these are on it, seconds of the epoch
    """

    volumes: Sequence[str]
    begin: float = 0.0


def runs(series: Series, pools: Sequence[Pool],
         floor: float = workload.ACTIVE_FLOOR) -> list[Sample]:
    """The runs of slots, the oldest first."""
    place = {volume: i for i, volume in enumerate(series.volumes)}
    columns = [np.array([place[volume] for volume in pool.volumes], int)
               for pool in pools]
    known = series.seconds >= _SEEN * series.step_s
    figures = {name: getattr(series, name) for name in (
        'write_pct', 'block_kib', 'outstanding', 'latency_us', 'iops',
        'read_iops', 'write_iops')}
    found = []
    for slot, at in enumerate(series.begins):
        for pool, its in zip(pools, columns):
            if at < pool.begin or not known[slot, its].all():
                continue
            active = its[figures['outstanding'][slot, its] >= floor]
            if len(active):
                found.append(_run({name: values[slot, active].tolist()
                                   for name, values in figures.items()}))
    return found


def _run(figures: Mapping[str, Sequence[float]]) -> Sample:
    seen = tuple({'latency_us': us, 'iops': iops, 'read_iops': reads,
                  'write_iops': writes} for us, iops, reads, writes in zip(
        figures['latency_us'], figures['iops'], figures['read_iops'],
        figures['write_iops']))
    workloads = tuple(map(workload.Workload, figures['write_pct'],
                          figures['block_kib'], figures['outstanding']))
    return Sample(workloads, float(np.mean(figures['latency_us'])),
                  seen=seen)


@dataclasses.dataclass(frozen=True)
class Refined:
    """A model, and another one of the same kind that is fitted to live runs.

    :param model: fitted to all of them
    :param runs: of them those fitted to, and those held out, by time
    :param error: the mean relative error on those held out, of the model as
        it is, and of one that is fitted to the others
    :param ratio: of the latter's predictions to the former's on those held
        out: the least, the mean, the greatest
    """

    model: Model
    runs: tuple[int, int]
    error: tuple[float, float]
    ratio: tuple[float, float, float]

    @property
    def better(self) -> bool:
        return self.error[1] < self.error[0]


def refined(model: Model, dataset: Dataset, kind: str | None = None,
            seed: int = 0) -> Refined:
    """A model fitted again, and how both do on the newest third of the runs.

    Models of 99th percentiles, of which live runs tell nothing, are kept.

    :param dataset: its runs in the order of time
    :param kind: another one than the model's
    :raises InputError: where there are too few runs
    """
    samples = dataset.valid()
    split = round(FIT_SHARE * len(samples))
    older, newer = (dataclasses.replace(dataset, samples=part)
                    for part in (samples[:split], samples[split:]))
    if len(newer.samples) < fit.LEAST_RUNS:
        raise errors.InputError(
            f'{len(samples)} live runs are too few to fit a model and to '
            f'hold it against others; {3 * fit.LEAST_RUNS} are needed.')

    def fitted(data: Dataset) -> Model:
        return dataclasses.replace(fit.fit(
            data, kind or model.kind, model.name, model.predicts, seed,
            {'live': True}), best=model.best)

    tried = fitted(older)
    ratio = list(_ratios(model, tried, newer, model.predicts))
    return Refined(
        dataclasses.replace(fitted(dataset), device=model.device,
                            tails=model.tails),
        (split, len(samples) - split),
        (fit.check(model, newer).mre, fit.check(tried, newer).mre),
        (min(ratio), float(np.mean(ratio)), max(ratio)))


def _ratios(model: Model, other: Model, dataset: Dataset,
            predicts: str) -> Iterator[float]:
    for load in fit_runs.runs(dataset.valid(), predicts).loads:
        yield other.predict(load) / max(model.predict(load), 1e-9)
