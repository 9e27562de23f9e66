# SPDX-License-Identifier: Apache-2.0
"""Calibration of a queueing network from end-to-end times.

From one dataset, or from several of the same machine that were measured on
file sets of different sizes: then Eq. 2 and 3 of Noorshams, Rostami,
Kounev, Reussner: I/O Performance Modeling of Virtualized Storage Systems.
"""

from __future__ import annotations

from collections.abc import Mapping
from collections.abc import Sequence
import dataclasses
import functools
import math
from typing import Any

import numpy as np
import numpy.typing as npt

from serifos import errors
from serifos.facts.dataset import Dataset
from serifos.facts.dataset import Header
from serifos.model import fit
from serifos.model import fit_runs
from serifos.model.model import Model
from serifos.model import quality
from serifos.model.queueing import fit as queueing_fit
from serifos.model.queueing import hits
from serifos.model.queueing import predict as queueing

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.intp]

_SIZES = ('size_gib', 'target')


@dataclasses.dataclass(frozen=True)
class FileSetRuns:
    """Runs of a device, on file sets of one or of several sizes.

    :param data: their Loads, measurements and keys
    :param gib: float[n], the file set of each, None where all are alike
    :param cached_gib: class → the largest file set that the cache holds,
        where a model says so
    """

    data: fit_runs.Runs
    gib: Floats | None
    cached_gib: Mapping[str, float] = dataclasses.field(default_factory=dict)

    @functools.cached_property
    def classes(self) -> list[str]:
        """Of which class most requests of each are."""
        return queueing.classes(self.data.vectors)

    @functools.cached_property
    def cached(self) -> list[bool | None]:
        """Whether the cache served most requests of each; None: unknown.

        By the distributions; where they do not tell, by the file set.
        """
        return [self._by_size(run) if math.isnan(misses) else misses < 0.5
                for run, misses in enumerate(hits.of_runs(
                    hits.judged(self.times), len(self.data.y)))]

    def _by_size(self, run: int) -> bool | None:
        bound = self.cached_gib.get(self.classes[run])
        return None if bound is None or self.gib is None else bool(
            self.gib[run] <= bound)

    @property
    def clients(self) -> Floats:
        return np.array([load.sum_iodepth for load in self.data.loads])

    @property
    def request_kib(self) -> Floats:
        """The mean over the requests that are outstanding, float[n]."""
        return np.array([
            round((load.sum_q_s_r + load.sum_q_s_w) / load.sum_iodepth, 6)
            for load in self.data.loads])

    @functools.cached_property
    def times(self) -> list[hits.Times]:
        """The workloads with a distribution."""
        return hits.times(self.data.samples)

    def hits(self, train: Ints | None = None) -> dict[str, hits.Found]:
        """Class → what the distributions in some of the runs tell, or in all.

        Of several file sets, those on the largest of these runs count: the
        model is of that.
        """
        return hits.found(self._judged(
            np.arange(len(self.data.y)) if train is None else train))

    def _judged(self, some: Ints) -> list[hits.Judged]:
        runs = set(some.tolist())
        judged = hits.judged([one for one in self.times if one.run in runs])
        if self.gib is not None:
            runs = set(some[self.gib[some] == self.gib[some].max()].tolist())
        return [one for one in judged if one.seen.run in runs]

    def calibrated(self, train: Ints,
                   given: Mapping[str, float]) -> dict[str, Any]:
        """The parameters fitted to the runs of these indices."""
        judged = self._judged(train)
        shares = hits.shares(hits.found(judged))
        media = hits.media(judged, shares)
        return queueing_fit.calibrated(
            [self.data.loads[i] for i in train], self.data.y[train],
            None if self.gib is None else self.gib[train], shares=shares,
            media={i: media[run] for i, run in enumerate(train.tolist())
                   if run in media}, **given)

    def predictions(self, parameters: Mapping[str, Any],
                    test: Ints) -> Floats:
        """The predictions of a network for these runs, float[m]."""
        rows = np.array([self.data.loads[i].vector for i in test])
        if self.gib is None:
            return predictor(parameters).many(rows)
        found = np.empty(len(test))
        for size in np.unique(self.gib[test]):
            its = self.gib[test] == size
            found[its] = predictor(parameters, self.gib, test[its][0]).many(
                rows[its])
        return found

    def fitted(self, train: Ints, test: Ints,
               given: Mapping[str, float]) -> Floats:
        """The predictions for ``test`` by a fit to ``train``, float[m]."""
        return self.predictions(self.calibrated(train, given), test)

    def held_out(self, given: Mapping[str, float], seed: int) -> Floats:
        """The cross-validated prediction of each run, float[n]."""
        return quality.held_out(
            self.data.keys, seed,
            lambda train, test: self.fitted(train, test, given))


def runs(datasets: Sequence[Dataset],
         predicts: str = 'latency_us') -> FileSetRuns:
    """The valid runs of one device, from datasets of several file sets.

    :raises InputError: where they are of different machines, their file
        sets of unknown size, or their runs too few
    """
    first = datasets[0].header
    for other in datasets[1:]:
        others = [text for text in first.differences(other.header)
                  if not text.startswith(_SIZES)]
        if others:
            raise errors.InputError(
                f'The datasets are of two machines ({"; ".join(others)}); '
                'calibrate each by itself.')
    sizes = [dataset.header.device.get('size_gib') for dataset in datasets]
    if len(datasets) > 1 and not all(sizes):
        raise errors.InputError(
            'Several datasets must differ in the size of the file set, and '
            'one has no size_gib in its first line; add it.')
    samples, gib = [], []
    for dataset, size in zip(datasets, sizes):
        having = fit_runs.usable(dataset.valid(), predicts)
        samples += [dataclasses.replace(s, round=1) for s, _ in having]
        gib += [float(size or 1)] * len(having)
    data = fit_runs.runs(samples, predicts)
    if len(set(data.keys)) < fit.LEAST_RUNS:
        raise errors.InputError(
            f'There are {len(set(data.keys))} different runs with a '
            f'{predicts}; a network needs at least {fit.LEAST_RUNS}: '
            'measure more.')
    return FileSetRuns(data, np.array(gib) if len(set(gib)) > 1 else None)


def model(measured: FileSetRuns, header: Header, name: str, predicts: str,
          given: Mapping[str, float], seed: int = 0,
          facts: Mapping[str, Any] | None = None) -> Model:
    """The model of kind ``queueing``; of the largest file set."""
    merged = Dataset(dataclasses.replace(header, valid_round=1),
                     measured.data.samples)
    found = fit.fit(merged, 'queueing', name, predicts, seed, facts, given)
    if measured.gib is None:
        return found
    every, y = np.arange(len(measured.data.y)), measured.data.y
    parameters = measured.calibrated(every, given)
    held_out = measured.held_out(given, seed)
    return dataclasses.replace(
        found, parameters=parameters, quality={
            'mre': quality.mre(y, held_out),
            'mre_by_count': {str(n): value for n, value in quality.mre_by(
                measured.data.counts, y, held_out).items()},
            'r2': quality.r2_by(measured.classes, y,
                                measured.predictions(parameters, every)),
            'interval': list(quality.interval(y, held_out))})


def predictor(parameters: Mapping[str, Any], gib: Floats | None = None,
              run: int = 0) -> queueing.Queueing:
    """The network of the file set of a run."""
    of = {} if gib is None else {'file_set_gib': float(gib[run])}
    return queueing.from_parameters('queueing', {**parameters, **of})
