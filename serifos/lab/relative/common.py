# SPDX-License-Identifier: Apache-2.0
"""Measurements of several devices on the runs that they have in common."""

from __future__ import annotations

from collections.abc import Container
from collections.abc import Mapping
from collections.abc import Sequence
import dataclasses
import itertools
from typing import Any

import numpy as np
import numpy.typing as npt

from serifos import errors
from serifos.facts.dataset import Dataset
from serifos.facts.dataset import Header
from serifos.facts.dataset import Key
from serifos.facts.dataset import Sample
from serifos.lab.relative import characteristics
from serifos.model import quality

Floats = npt.NDArray[np.float64]

LEAST_RUNS = 20
"""The least number of common runs of two devices."""

AVERAGE, WC, SO, BOTH = INPUTS = ('average', 'WC', 'SO', 'WC+SO')
"""The inputs of a technique: none, the workload's characteristics, the
service observations of the device, or both."""

_PREDICTED = ('latency_us', 'iops', 'bandwidth_kib_s', 'cpu_pct',
              'inter_arrival_us', 'outstanding')


@dataclasses.dataclass(frozen=True)
class Devices:
    """Devices that were measured on the same runs.

    :param names: of the devices
    :param headers: of their datasets
    :param columns: of each device: figure → float[runs]
    :param tenants: of each device, what each workload of the runs saw for
        itself: name → float[workloads], ``run`` among them
    :param spreads: of each device: figure → the coefficient of variation of
        a run from round to round, in the mean over its runs; empty where
        none was made twice
    """

    names: tuple[str, ...]
    headers: tuple[Header, ...]
    columns: tuple[Mapping[str, Floats], ...]
    tenants: tuple[Mapping[str, Floats], ...]
    spreads: tuple[Mapping[str, float], ...] = ()

    @property
    def runs(self) -> int:
        return len(self.columns[0]['iops'])

    def inputs(self, what: str) -> tuple[str, ...]:
        """The columns that WC, SO or both of them have here."""
        host = tuple(name for name in characteristics.HOST
                     if name in self.columns[0])
        workload, service = (characteristics.CHARACTERISTICS,
                             (*characteristics.SERVICE, *host))
        return {AVERAGE: (), WC: workload, SO: service,
                BOTH: (*workload, *service)}[what]

    @property
    def figures(self) -> tuple[str, ...]:
        """The figures that all devices have, and that are never zero."""
        return tuple(name for name in _PREDICTED if all(
            name in columns and (columns[name] > 0).all()
            for columns in self.columns))

    def known(self, names: Container[str]) -> Devices:
        """The same with no other figures of the runs than these."""
        return dataclasses.replace(self, columns=tuple(
            {name: column for name, column in own.items() if name in names}
            for own in self.columns))


def joined(datasets: Mapping[str, Dataset], best: bool = False) -> Devices:
    """The runs that all datasets have in their valid rounds, in one order.

    Runs are the same where their workloads are (:attr:`.dataset.Sample.key`).

    :param datasets: by a name for each device, two at least
    :param best: of all rounds of a run the one with the most IOPS, in place
        of the valid one ([1]_, section 3.3)
    :raises InputError: where too few runs are common, or a figure is missing

    .. [1] Mesnier, Wachs, Ganger: Modeling the relative fitness of storage
       devices.
    """
    by_key = {name: {sample.key: sample for sample in (
        sorted(dataset.samples, key=_iops) if best else dataset.valid())}
        for name, dataset in datasets.items()}
    keys = sorted(set.intersection(*map(set, by_key.values())))
    if len(keys) < LEAST_RUNS:
        raise errors.InputError(_too_few(datasets, len(keys)))
    samples = {name: [own[key] for key in keys]
               for name, own in by_key.items()}
    columns = [_columns(name, its) for name, its in samples.items()]
    known = set.intersection(*map(set, columns))
    return Devices(
        tuple(datasets), tuple(one.header for one in datasets.values()),
        tuple({name: column for name, column in own.items() if name in known}
              for own in columns),
        tuple(_tenants(its) for its in samples.values()),
        tuple(_spread(dataset.samples, set(keys))
              for dataset in datasets.values()))


def _iops(sample: Sample) -> float:
    return sum(saw.get('iops') or 0.0 for saw in sample.seen)


def _spread(samples: Sequence[Sample],
            keys: Container[Key]) -> dict[str, float]:
    """The variation of each figure over the rounds of a run."""
    rounds: dict[Key, list[Sample]] = {}
    for sample in samples:
        if sample.key in keys and characteristics.is_observed(sample):
            rounds.setdefault(sample.key, []).append(sample)
    again = [_columns('', each) for each in rounds.values() if len(each) > 1]
    return {name: float(np.mean([variation(its[name]) for its in again]))
            for name in (again[0] if again else ())
            if all(name in its for its in again)}


def variation(values: Floats) -> Any:
    """Standard deviation over mean, along the first axis; 0 for zeros."""
    means = values.mean(axis=0)
    return values.std(axis=0, ddof=1) / np.where(means == 0, 1.0, means)


def _tenants(samples: Sequence[Sample]) -> dict[str, Floats]:
    rows = [{'run': number, **row} for number, sample in enumerate(samples)
            for row in characteristics.of_tenants(sample)]
    return {name: np.array([row[name] for row in rows]) for name in rows[0]}


def _columns(device: str, samples: Sequence[Sample]) -> dict[str, Floats]:
    """A device's figures of the runs, those that all runs have."""
    try:
        rows = [characteristics.of_sample(sample) for sample in samples]
    except errors.InputError as exc:
        raise errors.InputError(f'{device}: {exc}') from None
    known = set.intersection(*map(set, rows))
    return {name: np.array([row[name] for row in rows])
            for name in rows[0] if name in known}


def _too_few(datasets: Mapping[str, Dataset], number: int) -> str:
    words = (f'{" and ".join(datasets)} have {number} runs in common, and '
             f'{LEAST_RUNS} are needed')
    everywhere = set.intersection(*(
        {sample.key for sample in dataset.samples}
        for dataset in datasets.values()))
    if len(everywhere) >= LEAST_RUNS:
        rounds = ', '.join(
            f'{dataset.header.valid_round} of {name}'
            for name, dataset in datasets.items())
        return (f'{words}: they have {len(everywhere)} outside of the rounds '
                f'that count ({rounds}); set valid_round in the first lines '
                'to rounds that all of them have.')
    return (f'{words}: build all of them by the same options, --seed among '
            'them.')


@dataclasses.dataclass(frozen=True)
class Likeness:
    """The likeness of two devices: may they share a model of latency?

    :param factor: median of latency on the second over the first
    :param interval: the 5 % and 95 % quantile of it over the runs
    :param error: mean relative error of either's latency taken for the
        other's, the worse of both ways
    """

    first: str
    second: str
    factor: float
    interval: tuple[float, float]
    error: float

    def alike(self, within: float) -> bool:
        """The factor 1 is in the interval, and the error small enough."""
        low, high = self.interval
        return low <= 1 <= high and self.error <= within


def likenesses(devices: Devices) -> list[Likeness]:
    """Of each two devices, in their order."""
    found = []
    for a, b in itertools.combinations(range(len(devices.names)), 2):
        here, there = (devices.columns[i]['latency_us'] for i in (a, b))
        low, high = quality.interval(there, here)
        found.append(Likeness(
            devices.names[a], devices.names[b],
            float(np.median(there / here)), (1 + low, 1 + high),
            max(quality.mre(here, there), quality.mre(there, here))))
    return found
