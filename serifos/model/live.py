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
from serifos.model import held_out
from serifos.model.model import Model

FIT_SHARE = 2 / 3
"""Of the runs, the oldest: to these a model is fitted that is then held
against the others."""

_SEEN = 0.5
_KIND = 'tenant'  # where there is no model before


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
class Learned:
    """A model that is fitted to live runs, beside what was known before.

    :param model: fitted to all of them
    :param before: the model as it was, None where there was none
    :param runs: of them those fitted to, and those held out, by time
    :param error: the mean relative error on those held out, of the model as
        it was, or else of devices measured before, and of one that is fitted
        to the others
    :param ratio: of the latter's predictions to the former's on those held
        out: the least, the mean, the greatest
    """

    model: Model
    before: Model | None
    runs: tuple[int, int]
    error: tuple[float, float]
    ratio: tuple[float, float, float]

    @property
    def better(self) -> bool:
        return self.error[1] < self.error[0]


def learned(before: Model | None, dataset: Dataset, name: str,
            kind: str | None = None, seed: int = 0) -> Learned:
    """A model fitted to live runs, held against the newest third of them.

    Models of 99th percentiles, of which live runs tell nothing, are kept.

    :param before: the model of these pools, where there is one
    :param dataset: its runs in the order of time
    :param kind: another one than that model's; by default tenant without one
    :raises InputError: where there are too few runs
    """
    samples = dataset.samples and dataset.valid()
    split = round(FIT_SHARE * len(samples))
    older, newer = (dataclasses.replace(dataset, samples=part)
                    for part in (samples[:split], samples[split:]))
    if len(newer.samples) < fit.LEAST_RUNS:
        raise errors.InputError(
            f'{len(samples)} live runs are too few to fit a model and to '
            f'hold it against others; {3 * fit.LEAST_RUNS} are needed.')
    known = before or _fitted(name, _KIND, ())
    whole = fit.fit(dataset, kind or known.kind, name, known.predicts, seed,
                    {'live': True})
    tried = dataclasses.replace(
        _fitted(name, whole.kind, older.samples, known.predicts),
        best=known.best)
    ratio = list(_ratios(known, tried, newer, known.predicts))
    return Learned(
        dataclasses.replace(whole, device=known.device, tails=known.tails,
                            best=known.best if before else whole.best),
        before, (split, len(samples) - split),
        (fit.check(known, newer).mre, fit.check(tried, newer).mre),
        (min(ratio), float(np.mean(ratio)), max(ratio)))


def _fitted(name: str, kind: str, samples: Sequence[Sample],
            predicts: str = 'latency_us') -> Model:
    """A model of runs, of which there may be none, only to predict."""
    return Model(name, kind, held_out.parameters(
        kind, fit_runs.runs(samples, predicts), {}), {}, {}, predicts)


def _ratios(model: Model, other: Model, dataset: Dataset,
            predicts: str) -> Iterator[float]:
    for load in fit_runs.runs(dataset.valid(), predicts).loads:
        yield other.predict(load) / max(model.predict(load), 1e-9)
