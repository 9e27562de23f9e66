# SPDX-License-Identifier: Apache-2.0
"""Which model describes a dataset, and how well?"""

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
from serifos.model import parameter as pm
from serifos.model import quality

Floats = npt.NDArray[np.float64]


AUTO = ('consolidation', 'outstanding', 'hybrid')
"""The kinds among which ``auto`` chooses."""

LEAST_RUNS = 6
"""Runs below which nothing can be said of a device."""


@dataclasses.dataclass(frozen=True)
class Runs:
    """What a fit reads of a dataset, n runs of it."""

    loads: tuple[wl.Load, ...]
    y: Floats
    keys: tuple[Any, ...]

    @property
    def counts(self) -> list[int]:
        return [int(load.count) for load in self.loads]

    @property
    def vectors(self) -> Floats:
        """The Loads as :meth:`.kinds.Form.many` takes them: float[n, k]."""
        return np.array([load.vector for load in self.loads])


def runs(samples: Sequence[ds.Sample], predicts: str = 'latency_us') -> Runs:
    """The runs that have the figure which shall be predicted.

    :raises InputError: where the name is no figure
    """
    having = telling(samples, predicts)
    return Runs(
        tuple(load for _, load in having),
        np.array([s.figure(predicts) for s, _ in having], float),
        tuple(s.key for s, _ in having))


def telling(samples: Sequence[ds.Sample],
            predicts: str) -> list[tuple[ds.Sample, wl.Load]]:
    """The runs that :func:`runs` takes, with their Loads.

    Tenants that all think for long are idle: of them nothing is to be told.

    :raises InputError: where the name is no figure
    """
    if predicts not in ds.FIGURES:
        raise errors.InputError(
            f'{predicts} is no figure of a run; choose one of '
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
    :param dataset_facts: what the model file shall say of the dataset, its
        ``sha256`` for one
    :param settings: of the kind, the others are its standard
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
        settings=pm.settings(kinds.of(best).settings, given))


def why(error: Mapping[str, float]) -> str:
    """The reason of a choice by the error of each kind, one sentence."""
    best, *others = sorted(error, key=lambda kind: error[kind])
    return (f'On held-out runs the error of {best} is {error[best]:.1%}, '
            + ' and '.join(f'of {kind} {error[kind]:.1%}'
                           for kind in others) + '.')


def _held_out(kind: str, data: Runs, given: Mapping[str, float],
              seed: int) -> tuple[Floats, Floats | None]:
    """Each run's prediction by a fit that did not see it, and how sure."""
    def predict(train: quality.Ints, test: quality.Ints) -> Floats:
        form, loads = _form(kind, data, train, given), data.vectors[test]
        return np.column_stack([form.many(loads), *(
            [form.deviation(loads)] if isinstance(form, kinds.Unsure)
            else ())])
    predicted, *deviation = quality.held_out(data.keys, seed, predict).T
    return predicted, deviation[0] if deviation else None


def _form(kind: str, data: Runs, train: quality.Ints,
          given: Mapping[str, float]) -> kinds.Form:
    return kinds.form(kind, kinds.of(kind).fit(
        [data.loads[i] for i in train], data.y[train], given))


def refit(kind: str, data: Runs, given: Mapping[str, float]
          ) -> Callable[[quality.Ints, quality.Ints], Floats]:
    """What fits on the first runs, by index, and predicts the second."""
    return lambda train, test: _form(kind, data, train, given).many(
        data.vectors[test])


def _quality(kind: str, parameters: Mapping[str, Any], data: Runs,
             held_out: Floats, deviation: Floats | None) -> dict[str, Any]:
    form = kinds.form(kind, parameters)
    fitted = form.many(data.vectors)
    by_count = quality.mre_by(data.counts, data.y, held_out)
    return {
        'mre': quality.mre(data.y, held_out),
        'mre_by_count': {str(n): value for n, value in by_count.items()},
        'mre_of_fit': quality.mre(data.y, fitted),
        'adj_r2': (
            _adj_r2_by_row(parameters, data) if kind == 'consolidation'
            else {'any': quality.adjusted_r2(data.y, fitted, form.terms)}),
        'interval': quality.interval(data.y, held_out),
        **({} if deviation is None else {'deviations': quality.deviations(
            data.y, held_out, deviation)})}


def _adj_r2_by_row(parameters: Mapping[str, Mapping[str, float]],
                   data: Runs) -> dict[str, float | None]:
    """Of each row of coefficients, on the runs that it was fitted on."""
    found = {}
    for label, row in parameters.items():
        of = [i for i, n in enumerate(data.counts)
              if label == linear.REST or int(label) == n]
        form = linear.Linear({}, {t: v for t, v in row.items() if v})
        found[label] = quality.adjusted_r2(
            data.y[of], form.many(data.vectors[of]), form.terms)
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
    """How wrong a model is on the valid round of any dataset.

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
