# SPDX-License-Identifier: Apache-2.0
"""Lay the tails of a measured device over a simulated one.

A simulated request waits for others and for little else: on the paper's
testbed the 99th percentile of busy hosts is 1.04 times the mean, which no
real device shows. A dataset of another device has that ratio for each
workload of its runs: of the reads, and of the writes. A simulated run takes
those of one measured run that is much like it, each workload those of the
workload in it that is most like it. The mean stays as it is simulated.

The evaluation's page says how ``disk.jsonl`` was measured.
"""

from __future__ import annotations

from collections.abc import Iterable
from collections.abc import Mapping
from collections.abc import Sequence
import dataclasses
import functools
import importlib.resources
import os
from typing import Any

import numpy as np
import numpy.typing as npt

from serifos import errors
from serifos.facts.dataset import Sample
from serifos.facts import distribution
from serifos.facts.workload import Workload
from serifos.files import documents

LIKE = 5
"""One is drawn of so many measured runs that are most like a simulated."""

SIDES = ('read', 'write')

Seen = Mapping[str, Any]
Floats = npt.NDArray[np.float64]


@dataclasses.dataclass(frozen=True)
class _Run:
    """A measured run, of the workloads with reads and writes.

    :param place: of the run, float[3]
    :param own: places of its workloads, float[workloads, 2]
    :param ratios: p99 / mean of reads and of writes, float[workloads, 2]
    """

    place: Floats
    own: Floats
    ratios: Floats


class Tails:
    """Measured ratios of p99 to the mean.

    :raises InputError: where no workload has both figures of both sides
    """

    def __init__(self, samples: Iterable[Sample]) -> None:
        self._runs = [run for sample in samples if (run := _run(sample))]
        if not self._runs:
            raise errors.InputError(
                'No run has the mean and the 99th percentile of both the '
                'reads and the writes of a workload.')
        self._places = np.array([run.place for run in self._runs])

    def over(self, sample: Sample,
             rng: np.random.Generator) -> Sample:
        """A run, with tails as long as measured ones.

        A tail that is longer already stays.
        """
        far = _far(self._places, _place(sample.workloads))
        run = self._runs[rng.choice(np.argsort(far, kind='stable')[:LIKE])]
        return dataclasses.replace(sample, seen=tuple(
            _with(saw, run.ratios[_nearest(run.own, workload, rng)])
            for workload, saw in zip(sample.workloads, sample.seen)))


def _run(sample: Sample) -> _Run | None:
    ratios = [[_ratio(saw, side) for side in SIDES] for saw in sample.seen]
    found = [(_own(workload), both) for workload, both in zip(
        sample.workloads, ratios) if None not in both]
    if not found:
        return None
    return _Run(_place(sample.workloads), *map(np.array, zip(*found)))


def _ratio(saw: Seen, side: str) -> float | None:
    mean, p99 = (saw.get(f'{side}_{name}_us') for name in ('latency', 'p99'))
    return p99 / mean if mean and p99 else None


def _place(workloads: Sequence[Workload]) -> Floats:
    """How many workloads, of how large blocks, and how many of them writes.

    A distance of 1 is twice the number or size, or half of the writes.
    """
    own = np.array([_own(workload) for workload in workloads])
    return np.array([np.log2(len(own)), np.log2(np.exp2(own[:, 0]).sum()),
                     own[:, 1].mean()])


def _own(workload: Workload) -> tuple[float, float]:
    return float(np.log2(workload.block_kib)), workload.write_pct / 50


def _far(places: Floats, place: npt.ArrayLike) -> Floats:
    return np.abs(places - np.asarray(place)).sum(axis=1)


def _nearest(own: Floats, workload: Workload,
             rng: np.random.Generator) -> int:
    far = _far(own, _own(workload))
    return int(rng.choice(np.flatnonzero(far == far.min())))


def _with(saw: Seen, ratios: Floats) -> Seen:
    longer: dict[str, float] = {}
    for side, ratio in zip(SIDES, ratios):
        mean, p99 = saw[f'{side}_latency_us'], saw[f'{side}_p99_us']
        if mean is not None and p99 is not None:
            longer[f'{side}_p99_us'] = max(p99, mean * float(ratio))
    # Of a tail that was laid over, the distribution is not known.
    return {**{name: value for name, value in saw.items()
               if name not in distribution.NAMES.values()}, **longer}


@functools.cache
def measured() -> Tails:
    """Those of a busy virtual disk, ``disk.jsonl``."""
    with importlib.resources.as_file(importlib.resources.files(
            __package__).joinpath('disk.jsonl')) as path:
        return of_dataset(path)


def of_dataset(path: str | os.PathLike[str]) -> Tails:
    """Those of the runs of a dataset.

    :raises InputError: where it cannot be read, or has none
    """
    dataset = documents.read_dataset(path)
    try:
        return Tails(dataset.valid())
    except errors.InputError as exc:
        raise errors.InputError(f'{path}: {exc}') from None
