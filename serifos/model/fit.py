# SPDX-License-Identifier: Apache-2.0
"""Fit of a model to a dataset, with its cross-validated quality."""

from __future__ import annotations

from collections.abc import Mapping
from collections.abc import Sequence
import dataclasses
from typing import Any

import numpy as np

from serifos import errors
from serifos.facts.dataset import Dataset
from serifos.facts.dataset import Sample
from serifos.facts import hot_by
from serifos.model import choice
from serifos.model.conditions import of_model
from serifos.model import fit_runs
from serifos.model import held_out as held_out_runs
from serifos.model import kinds
from serifos.model.model import Model
from serifos.model import quality

AUTO = ('consolidation', 'outstanding', 'tenant')
"""The kinds among which ``auto`` chooses, the simplest first."""

LEAST_RUNS = 6
"""The least number of different runs that a model is fitted to."""


def fit(dataset: Dataset, kind: str = 'auto', name: str = 'model',
        predicts: str = 'latency_us', seed: int = 0,
        dataset_facts: Mapping[str, Any] | None = None,
        settings: Mapping[str, float] | None = None,
        held_out: Mapping[str, held_out_runs.HeldOut] | None = None) -> Model:
    """A model of the dataset's valid round.

    :param kind: a kind, or auto: as :func:`.choice.choose` says
    :param dataset_facts: facts of the dataset for the model file, such as
        its ``sha256``
    :param settings: of the kind, those left out at their standard
    :param held_out: the predictions of the kinds tried, where they were made
    :raises InputError: where there are too few runs
    """
    valid = dataset.valid()
    data = fit_runs.runs(valid, predicts)
    if len(set(data.keys)) < LEAST_RUNS:
        raise errors.InputError(
            f'The dataset has {len(set(data.keys))} different runs with a '
            f'{predicts} in its valid round; a model needs at least '
            f'{LEAST_RUNS}: measure more.')
    given = settings or {}
    held_out = held_out or predictions(data, kind, given, seed)
    chosen = choice.choose(data, held_out)
    best = chosen.kind
    parameters = held_out_runs.parameters(best, data, given)
    return Model(
        name=name, kind=best, predicts=predicts, parameters=parameters,
        range=ranges(valid, data.counts),
        quality={**held_out_runs.summary(best, parameters, data,
                                         held_out[best]),
                 'mre_by_kind': dict(chosen.mre),
                 **({'why': chosen.why} if kind == 'auto' else {})},
        device=dict(dataset.header.device),
        dataset={**(dataset_facts or {}), 'runs': len(data.y)},
        best=data.best,
        settings=kinds.valid_settings(kinds.of(best).settings, given))


def predictions(data: fit_runs.Runs, kind: str = 'auto',
                given: Mapping[str, float] | None = None,
                seed: int = 0) -> dict[str, held_out_runs.HeldOut]:
    """Those on held-out runs of each kind that :func:`fit` tries."""
    tried = (kind,) if kind != 'auto' else tuple(
        k for k in AUTO if data.predicts in fit_runs.OF_TENANTS
        or not kinds.of(k).tenants)
    return {k: held_out_runs.predictions(k, data, given or {}, seed)
            for k in tried}


def with_tails(model: Model, dataset: Dataset, kind: str = 'auto',
               seed: int = 0) -> Model:
    """The model with models of the 99th percentiles of reads and of writes.

    :param dataset: the runs that the model was fitted to
    :param kind: of these, as of :func:`fit`
    :raises InputError: where too few of the runs have them
    """
    return dataclasses.replace(model, tails={
        figure: fit(dataset, kind, model.name, figure, seed)
        for figure in hot_by.TAILS.values()})


def ranges(samples: Sequence[Sample], counts: Sequence[int]
           ) -> dict[str, tuple[float, float]]:
    """The least and the greatest, of active workloads."""
    workloads = [w for sample in samples for w in sample.tenants
                 if w.is_active()]
    inputs = {
        'write_pct': [w.write_pct for w in workloads],
        'block_kib': [w.block_kib for w in workloads],
        'iodepth': [w.outstanding for w in workloads],
        'random_pct': [w.random_pct for w in workloads],
        'count': counts}
    return {name: (min(values), max(values))
            for name, values in inputs.items()}


@dataclasses.dataclass(frozen=True)
class Check:
    """A model's error on a dataset, fractions.

    :param tenant_mre: of what each tenant sees; the mean of a pool is taken
        for it where the kind has no more; None where no run says it
    :param covered: the share of the runs that lie in their 90 % intervals,
        None where the runs vary in conditions
    :param tenants_covered: the same of tenants, None where these have none
    :param factor: of a 99th percentile, within which the predictions of 90 %
        of the runs are
    :param tails: by the name of a 99th percentile that factor of the model
        that there is of it, where runs have it
    """

    mre: float
    mre_by_count: Mapping[int, float]
    tenant_mre: float | None
    tenant_mre_by_count: Mapping[int, float]
    samples: int
    covered: float | None
    tenants_covered: float | None
    factor: float | None = None
    tails: Mapping[str, float] = dataclasses.field(default_factory=dict)


def check(model: Model, dataset: Dataset) -> Check:
    """The error of a model on the valid round of any dataset.

    :raises InputError: where no run has the figure that it predicts
    """
    data = fit_runs.runs(dataset.valid(), model.predicts)
    if not len(data.y):
        raise errors.InputError(
            f'No run of the dataset has a {model.predicts}, which the model '
            'predicts.')
    conditions = of_model(
        [sample.condition for sample in data.samples], model.parameters)
    predicted = (
        np.array([model.predict(load) for load in data.loads])
        if conditions is None else held_out_runs.predicted(
            model.kind, model.parameters,
            dataclasses.replace(data, conditions=conditions)))
    tenants = data.tenants
    seen = (predicted[tenants.run] if conditions is not None else
            held_out_runs.tenants_of(
                model.predictor, data.vectors[tenants.run], tenants.own))
    return Check(quality.mre(data.y, predicted),
                 quality.mre_by(data.counts, data.y, predicted),
                 quality.mre(tenants.y, seen) if len(seen) else None,
                 quality.mre_by([data.counts[i] for i in tenants.run],
                                tenants.y, seen), len(data.y),
                 *(covered(model, data) if conditions is None
                   else (None, None)),
                 quality.factor(data.y, predicted)
                 if model.predicts in hot_by.TAILS.values() else None,
                 {figure: check(tail, dataset).factor
                  for figure, tail in model.tails.items()
                  if fit_runs.usable(dataset.valid(), figure)})


def covered(model: Model,
            data: fit_runs.Runs) -> tuple[float, float | None]:
    """The shares of pools and of tenants in their 90 % intervals.

    Of tenants None, where the kind does not tell them apart.
    """
    pools = [_inside(us, model.interval(load))
             for us, load in zip(data.y, data.loads)]
    tenants = [_inside(saw.latency_us, ends)
               for load, run in zip(data.loads, data.seen)
               for workload, saw in run if saw.latency_us
               for ends in [model.tenant_interval(load, workload)] if ends]
    return (float(np.mean(pools)),
            float(np.mean(tenants)) if tenants else None)


def _inside(us: float, ends: Sequence[float]) -> bool:
    return ends[0] <= us <= ends[1]
