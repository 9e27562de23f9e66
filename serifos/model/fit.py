# SPDX-License-Identifier: Apache-2.0
"""Fit of a model to a dataset, with its cross-validated quality."""

from __future__ import annotations

from collections.abc import Callable
from collections.abc import Mapping
from collections.abc import Sequence
import dataclasses
from typing import Any

import numpy as np
import numpy.typing as npt

from serifos import errors
from serifos.facts import dataset as ds
from serifos.facts import workload as wl
from serifos.model import kinds
from serifos.model.linear import predict as linear
from serifos.model import model as mm
from serifos.model import parameter
from serifos.model import quality

Floats = npt.NDArray[np.float64]


AUTO = ('consolidation', 'outstanding', 'hybrid')
"""The kinds among which ``auto`` chooses."""

LEAST_RUNS = 6
"""The least number of different runs that a model is fitted to."""


@dataclasses.dataclass(frozen=True)
class Runs:
    """The n runs of a dataset that a fit reads."""

    loads: tuple[wl.Load, ...]
    y: Floats
    keys: tuple[Any, ...]

    @property
    def counts(self) -> list[int]:
        return [int(load.count) for load in self.loads]

    @property
    def vectors(self) -> Floats:
        """The Loads for :meth:`.kinds.Predictor.many`: float[n, k]."""
        return np.array([load.vector for load in self.loads])


def runs(samples: Sequence[ds.Sample], predicts: str = 'latency_us') -> Runs:
    """The runs that have the figure to predict.

    :raises InputError: where the name is not a figure
    """
    having = usable(samples, predicts)
    return Runs(
        tuple(load for _, load in having),
        np.array([s.figure(predicts) for s, _ in having], float),
        tuple(s.key for s, _ in having))


def usable(samples: Sequence[ds.Sample],
           predicts: str) -> list[tuple[ds.Sample, wl.Load]]:
    """The runs that :func:`runs` takes, with their Loads.

    Runs whose tenants are all idle (long thinktimes) are left out.

    :raises InputError: where the name is not a figure
    """
    if predicts not in ds.FIGURES:
        raise errors.InputError(
            f'{predicts} is not a figure of a run; choose one of '
            f'{", ".join(ds.FIGURES)}.')
    loads = [sum(map(wl.Load.of, s.tenants), wl.Load()) for s in samples]
    return [(s, load) for s, load in zip(samples, loads)
            if load.count and s.figure(predicts)]


def fit(dataset: ds.Dataset, kind: str = 'auto', name: str = 'model',
        predicts: str = 'latency_us', seed: int = 0,
        dataset_facts: Mapping[str, Any] | None = None,
        settings: Mapping[str, float] | None = None) -> mm.Model:
    """A model of the dataset's valid round.

    :param kind: a kind, or auto: that of the least cross-validated error
    :param dataset_facts: facts of the dataset for the model file, such as
        its ``sha256``
    :param settings: of the kind, those left out at their standard
    :raises InputError: where there are too few runs
    """
    valid = dataset.valid()
    data = runs(valid, predicts)
    if len(set(data.keys)) < LEAST_RUNS:
        raise errors.InputError(
            f'The dataset has {len(set(data.keys))} different runs with a '
            f'{predicts} in its valid round; a model needs at least '
            f'{LEAST_RUNS}: measure more.')
    given = settings or {}
    tried = AUTO if kind == 'auto' else (kind,)
    held_out = {k: _held_out(k, data, given, seed) for k in tried}
    error = {k: quality.mre(data.y, held_out[k][0]) for k in tried}
    best = min(tried, key=lambda k: error[k])
    parameters = kinds.of(best).fit(data.loads, data.y, given)
    return mm.Model(
        name=name, kind=best, predicts=predicts, parameters=parameters,
        range=_range(valid),
        quality={**_quality(best, parameters, data, *held_out[best]),
                 'mre_by_kind': error,
                 **({'why': why(error)} if kind == 'auto' else {})},
        device=dict(dataset.header.device),
        dataset={**(dataset_facts or {}), 'runs': len(data.y)},
        settings=parameter.settings(kinds.of(best).settings, given))


def why(error: Mapping[str, float]) -> str:
    """The reason of a choice by the error of each kind, one sentence."""
    best, *others = sorted(error, key=lambda kind: error[kind])
    return (f'On held-out runs the error of {best} is {error[best]:.1%}, '
            + ' and '.join(f'of {kind} {error[kind]:.1%}'
                           for kind in others) + '.')


def _held_out(kind: str, data: Runs, given: Mapping[str, float],
              seed: int) -> tuple[Floats, Floats | None]:
    """Each run's prediction, and its log_std, by a fit without that run."""
    def predict(train: quality.Ints, test: quality.Ints) -> Floats:
        predictor = _predictor(kind, data, train, given)
        loads = data.vectors[test]
        if isinstance(predictor, kinds.UncertainPredictor):
            return np.column_stack([predictor.many(loads),
                                    predictor.log_std_many(loads)])
        return predictor.many(loads)[:, None]
    predicted, *log_std = quality.held_out(data.keys, seed, predict).T
    return predicted, log_std[0] if log_std else None


def _predictor(kind: str, data: Runs, train: quality.Ints,
               given: Mapping[str, float]) -> kinds.Predictor:
    return kinds.predictor(kind, kinds.of(kind).fit(
        [data.loads[i] for i in train], data.y[train], given))


def refit(kind: str, data: Runs, given: Mapping[str, float]
          ) -> Callable[[quality.Ints, quality.Ints], Floats]:
    """A function that fits to the first indices, predicts the second."""
    return lambda train, test: _predictor(kind, data, train, given).many(
        data.vectors[test])


def _quality(kind: str, parameters: Mapping[str, Any], data: Runs,
             held_out: Floats, log_std: Floats | None) -> dict[str, Any]:
    predictor = kinds.predictor(kind, parameters)
    fitted = predictor.many(data.vectors)
    by_count = quality.mre_by(data.counts, data.y, held_out)
    return {
        'mre': quality.mre(data.y, held_out),
        'mre_by_count': {str(n): value for n, value in by_count.items()},
        'mre_of_fit': quality.mre(data.y, fitted),
        'adj_r2': (
            _adj_r2_by_row(parameters, data) if kind == 'consolidation'
            else {'any': quality.adjusted_r2(
                data.y, fitted, predictor.terms)}),
        'interval': quality.interval(data.y, held_out),
        **({} if log_std is None else {'deviations': quality.deviations(
            data.y, held_out, log_std)})}


def _adj_r2_by_row(parameters: Mapping[str, Mapping[str, float]],
                   data: Runs) -> dict[str, float | None]:
    """The adjusted R² of each row of coefficients on its own runs."""
    found = {}
    for label, row in parameters.items():
        of = [i for i, n in enumerate(data.counts)
              if label == linear.REST or int(label) == n]
        predictor = linear.Linear({}, {t: v for t, v in row.items() if v})
        found[label] = quality.adjusted_r2(
            data.y[of], predictor.many(data.vectors[of]), predictor.terms)
    return found


def _range(samples: Sequence[ds.Sample]) -> dict[str, tuple[float, float]]:
    workloads = [w for sample in samples for w in sample.tenants]
    inputs = {
        'write_pct': [w.write_pct for w in workloads],
        'block_kib': [w.block_kib for w in workloads],
        'iodepth': [w.outstanding for w in workloads],
        'random_pct': [w.random_pct for w in workloads],
        'count': [sample.count for sample in samples]}
    return {name: (min(values), max(values))
            for name, values in inputs.items()}


@dataclasses.dataclass(frozen=True)
class Check:
    """A model's error on a dataset, fractions."""

    mre: float
    mre_by_count: Mapping[int, float]
    samples: int


def check(model: mm.Model, dataset: ds.Dataset) -> Check:
    """The error of a model on the valid round of any dataset.

    :raises InputError: where no run has the figure that it predicts
    """
    data = runs(dataset.valid(), model.predicts)
    if not len(data.y):
        raise errors.InputError(
            f'No run of the dataset has a {model.predicts}, which the model '
            'predicts.')
    predicted = np.array([model.predict(load) for load in data.loads])
    return Check(quality.mre(data.y, predicted),
                 quality.mre_by(data.counts, data.y, predicted), len(data.y))
