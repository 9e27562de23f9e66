# SPDX-License-Identifier: Apache-2.0
"""The runs of a dataset as a fit reads them."""

from __future__ import annotations

from collections.abc import Sequence
import dataclasses
import functools
from typing import Any

import numpy as np
import numpy.typing as npt

from serifos import errors
from serifos.facts import dataset
from serifos.facts.workload import FEATURES
from serifos.facts.workload import Load
from serifos.facts.workload import Workload
from serifos.model import conditions
from serifos.model.conditions import Conditions
from serifos.model import kinds
from serifos.model import quality
from serifos.model import rates

Floats = npt.NDArray[np.float64]


@dataclasses.dataclass(frozen=True)
class Runs:
    """The n runs of a dataset that a fit reads.

    :param samples: the runs as the dataset has them
    :param conditions: in numbers, where they vary
    :param devices: measured before, that say what few runs do not; None for
        those of the library
    """

    loads: tuple[Load, ...]
    y: Floats
    keys: tuple[Any, ...]
    samples: tuple[dataset.Sample, ...] = ()
    predicts: str = 'latency_us'
    conditions: Conditions | None = None
    devices: Sequence[kinds.TenantPredictor] | None = None

    @property
    def counts(self) -> list[int]:
        return [int(load.count) for load in self.loads]

    @property
    def vectors(self) -> Floats:
        """The Loads for :meth:`.kinds.Predictor.many`: float[n, k]."""
        return np.array([load.vector for load in self.loads])

    @property
    def best(self) -> rates.Rates:
        """The best rates of any run, and of its latency by Little's law.

        Where that is not the latency of all requests, none.
        """
        if self.predicts != 'latency_us':
            return rates.Rates()
        found = [(0.0, 0.0)]
        for load, latency_us, sample in zip(self.loads, self.y, self.samples):
            iops = [saw.get('iops') or 0.0 for saw in sample.seen]
            kib = load.sum_q_s_r + load.sum_q_s_w
            found += [(sum(iops), sum(rate * workload.block_kib
                                      for rate, workload in zip(
                                          iops, sample.tenants))),
                      (1e6 * load.sum_iodepth / latency_us,
                       1e6 * kib / latency_us)]
        return rates.Rates(*(float(f'{max(each):.6g}')
                             for each in zip(*found)))

    def some(self, which: Sequence[int] | quality.Ints) -> Runs:
        """The runs of these indices."""
        return Runs(tuple(self.loads[i] for i in which),
                    self.y[list(which)], tuple(self.keys[i] for i in which),
                    tuple(self.samples[i] for i in which)
                    if self.samples else (), self.predicts,
                    self.conditions and self.conditions.some(which),
                    self.devices)

    @functools.cached_property
    def seen(self) -> tuple[tuple[tuple[Workload, kinds.Seen], ...], ...]:
        """Of each run its tenants and what they saw of ``predicts``."""
        return tuple(_seen(s, self.predicts) for s in self.samples)

    @functools.cached_property
    def tenants(self) -> Tenants:
        """What each tenant saw, where it is known."""
        found = [(run, Load.of(workload, floor=0.0).vector,
                  saw.latency_us) for run, of_run in enumerate(self.seen)
                 for workload, saw in of_run if saw.latency_us]
        run, own, y = zip(*found) if found else ((), (), ())
        return Tenants(np.array(run, int), np.array(own, float).reshape(
            -1, len(FEATURES)), np.array(y, float))


@dataclasses.dataclass(frozen=True)
class Tenants:
    """What m tenants of n runs saw.

    :param run: the run of each, int[m]
    :param own: its own Load, float[m, k]
    :param y: what it saw, float[m]
    """

    run: quality.Ints
    own: Floats
    y: Floats


def runs(samples: Sequence[dataset.Sample],
         predicts: str = 'latency_us') -> Runs:
    """The runs that have the figure to predict.

    :raises InputError: where the name is not a figure
    """
    having = usable(samples, predicts)
    samples = tuple(s for s, _ in having)
    return Runs(
        tuple(load for _, load in having),
        np.array([_measured(s, predicts) for s, _ in having], float),
        tuple(s.key for s, _ in having), samples, predicts,
        conditions.of([s.condition for s in samples]))


OF_TENANTS = {
    'latency_us': ('latency_us', 'read_latency_us', 'write_latency_us'),
    'read_latency_us': ('read_latency_us', 'read_latency_us', ''),
    'write_latency_us': ('write_latency_us', '', 'write_latency_us'),
    'read_p99_us': ('read_p99_us', 'read_p99_us', ''),
    'write_p99_us': ('write_p99_us', '', 'write_p99_us')}
"""Figure → those of a tenant that it is the mean of: of all its requests,
of its reads, of its writes."""


def _measured(sample: dataset.Sample, predicts: str) -> float | None:
    """The mean over the tenants that the Load counts: the active ones."""
    active = [workload.is_active() for workload in sample.tenants]
    seen = [saw[predicts] for saw, its in zip(sample.seen, active)
            if its and saw.get(predicts)]
    if all(active) or not seen:
        return sample.figure(predicts)
    return sum(seen) / len(seen)


_COUNTED = {'read': 'sum_q_r', 'write': 'sum_q_w'}


def _seen(sample: dataset.Sample, predicts: str
          ) -> tuple[tuple[Workload, kinds.Seen], ...]:
    """The tenants of a run and what they saw, where the run says so."""
    names = OF_TENANTS.get(predicts, ())
    return tuple(
        (workload, kinds.Seen(*(saw.get(name) for name in names)))
        for workload, saw in zip(sample.tenants, sample.seen)) if names else ()


def usable(samples: Sequence[dataset.Sample],
           predicts: str) -> list[tuple[dataset.Sample, Load]]:
    """The runs that :func:`runs` takes, with their Loads.

    Runs whose tenants are all idle (long thinktimes) are left out, and those
    of a figure of reads, or of writes, of which no active tenant has any.

    :raises InputError: where the name is not a figure
    """
    if predicts not in dataset.FIGURES:
        raise errors.InputError(
            f'{predicts} is not a figure of a run; choose one of '
            f'{", ".join(dataset.FIGURES)}.')
    loads = [sum(map(Load.of, s.tenants), Load()) for s in samples]
    counted = _COUNTED.get(predicts.partition('_')[0], 'count')
    return [(s, load) for s, load in zip(samples, loads)
            if getattr(load, counted) and s.figure(predicts)]
