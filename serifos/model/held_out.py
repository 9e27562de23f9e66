# SPDX-License-Identifier: Apache-2.0
"""The error of a fit on runs that it did not see."""

from __future__ import annotations

from collections.abc import Callable
from collections.abc import Mapping
from collections.abc import Sequence
import dataclasses
from typing import Any

import numpy as np
import numpy.typing as npt

from serifos.facts.dataset import Sample
from serifos.facts import hot_by
from serifos.model import conditions
from serifos.model import fit_runs
from serifos.model import kinds
from serifos.model.linear import predict as linear
from serifos.model import model
from serifos.model import prior
from serifos.model import quality

Floats = npt.NDArray[np.float64]

_LEAST_PART = 5  # different pools, of the light ones and of the others

KIND = 'tenant'
"""The kind whose error decides when runs are enough."""

_SETTINGS = {'members': 1}  # between runs there is less time than for a fit

_FOLDS = 5


@dataclasses.dataclass(frozen=True)
class HeldOut:
    """Predictions by fits that did not see the run.

    :param y: of each run, float[n]
    :param tenants: of each of :attr:`.fit_runs.Runs.tenants`, float[m]
    :param log_std: of a kind that has them, else None
    :param tenants_log_std: the same of the tenants
    """

    y: Floats
    tenants: Floats
    log_std: Floats | None = None
    tenants_log_std: Floats | None = None


def predictions(kind: str, data: fit_runs.Runs,
                given: Mapping[str, float], seed: int) -> HeldOut:
    """The predictions of each fold by a fit to the others."""
    tenants, n = data.tenants, len(data.y)
    found = np.full((2, n + len(tenants.y)), np.nan)
    its: kinds.Predictor | None = None
    for train, test in quality.splits(data.keys, seed):
        fitted = parameters(kind, data.some(train), given)
        its = kinds.predictor(kind, fitted)
        asked = np.isin(tenants.run, test)
        loads, own = data.vectors[test], tenants.own[asked]
        whose, here = data.vectors[tenants.run[asked]], np.flatnonzero(asked)
        if _by_conditions(kind, data):
            found[0, test] = predicted(kind, fitted, data.some(test))
            found[0, n + here] = found[0, tenants.run[asked]]
            continue
        found[0, test] = its.many(loads)
        found[0, n + here] = tenants_of(its, whose, own)
        if isinstance(its, kinds.TenantPredictor):
            found[1, test] = its.log_std_many(loads)
            found[1, n + here] = its.tenants_log_std(whose, own)
    whole = HeldOut(found[0, :n], found[0, n:])
    return dataclasses.replace(
        whole, log_std=found[1, :n], tenants_log_std=found[1, n:]
    ) if isinstance(its, kinds.TenantPredictor) else whole


def tenants_of(predictor: kinds.Predictor, loads: Floats,
               own: Floats) -> Floats:
    """What tenants see, the mean of their pool where the kind has no more.

    :param loads: of the pools, float[n, k]
    :param own: of the tenants, float[n, k]
    """
    if isinstance(predictor, kinds.TenantPredictor):
        return predictor.tenants(loads, own)
    return predictor.many(loads)


def parameters(kind: str, data: fit_runs.Runs,
               given: Mapping[str, float]) -> Mapping[str, Any]:
    """The parameters of a model file, fitted to runs."""
    its, devices = kinds.of(kind), data.devices
    if its.devices and devices is None:
        devices = prior.library(data.predicts)
    return its.fit(data.loads, data.y, given, data.seen, data.predicts,
                   data.conditions, data.samples, devices or ())


def predicted(kind: str, parameters: Mapping[str, Any],
              data: fit_runs.Runs) -> Floats:
    """The prediction of each run, under its own condition: float[n]."""
    if not _by_conditions(kind, data):
        return kinds.predictor(kind, parameters).many(data.vectors)
    assert data.conditions is not None
    found, vectors = np.empty(len(data.y)), data.vectors
    for row in np.unique(data.conditions.values, axis=0):
        here = (data.conditions.values == row).all(axis=1)
        found[here] = kinds.predictor(
            kind, conditions.under(parameters, row)).many(vectors[here])
    return found


def _by_conditions(kind: str, data: fit_runs.Runs) -> bool:
    return data.conditions is not None and kinds.of(kind).conditions


def refit(kind: str, data: fit_runs.Runs, given: Mapping[str, float]
          ) -> Callable[[quality.Ints, quality.Ints], Floats]:
    """A function that fits to the first indices, predicts the second."""
    return lambda train, test: predicted(
        kind, parameters(kind, data.some(train), given), data.some(test))


def summary(kind: str, parameters: Mapping[str, Any],
            data: fit_runs.Runs, held_out: HeldOut) -> dict[str, Any]:
    """What a model file says of its quality."""
    predictor = kinds.predictor(kind, parameters)
    fitted = predicted(kind, parameters, data)
    tenants = data.tenants
    return {
        'mre': quality.mre(data.y, held_out.y),
        **({'factor': quality.factor(data.y, held_out.y)}
           if data.predicts in hot_by.TAILS.values() else {}),
        'mre_by_count': _by_count(data.counts, data.y, held_out.y),
        **({} if not len(tenants.y) else {
            'tenant_mre': quality.mre(tenants.y, held_out.tenants),
            'tenant_mre_by_count': _by_count(
                [data.counts[i] for i in tenants.run], tenants.y,
                held_out.tenants)}),
        'mre_of_fit': quality.mre(data.y, fitted),
        'adj_r2': (
            _adj_r2_by_row(parameters, data) if kind == 'consolidation'
            else {'any': quality.adjusted_r2(
                data.y, fitted, predictor.terms)}),
        **({'r2': quality.r2_by(predictor.classes(data.vectors), data.y,
                                fitted)}
           if isinstance(predictor, kinds.ClassPredictor) else {}),
        'interval': quality.interval(data.y, held_out.y),
        **_deviations('deviations', data, np.arange(len(data.y)), data.y,
                      held_out.y, held_out.log_std),
        **_deviations('tenant_deviations', data, tenants.run, tenants.y,
                      held_out.tenants, held_out.tenants_log_std)}


def _deviations(name: str, data: fit_runs.Runs, run: quality.Ints,
                measured: Floats, predicted: Floats, log_std: Floats | None
                ) -> dict[str, tuple[float, float]]:
    """The deviations of all, or apart for those of pools of a light Load.

    There are fewer of these in the runs, so that theirs are no narrower.
    Those of fewer than :data:`_LEAST_PART` pools would say nothing.

    :param name: in a model file
    :param run: of each that was measured, int[m]
    """
    if log_std is None or not len(measured):
        return {}
    light = np.array([data.loads[i].sum_iodepth < model.LIGHT for i in run])
    least = min(len({data.keys[i] for i in run[of]})
                for of in (light, ~light))
    parts = {name: ~light, f'light_{name}': light} if (
        least >= _LEAST_PART) else {name: np.full(len(run), True)}
    ends = [quality.deviations(
        measured[which], predicted[which], log_std[which],
        [data.keys[i] for i in run[which]]) for which in parts.values()]
    lows, highs = zip(*ends)
    return dict(zip(parts, (ends[0], (min(lows), max(highs)))))


def _by_count(counts: Sequence[int], measured: Floats,
              predicted: Floats) -> dict[str, float]:
    found = quality.mre_by(counts, measured, predicted)
    return {str(n): value for n, value in found.items()}


def _adj_r2_by_row(parameters: Mapping[str, Mapping[str, float]],
                   data: fit_runs.Runs) -> dict[str, float | None]:
    """The adjusted R² of each row of coefficients on its own runs."""
    found = {}
    for label, row in parameters.items():
        of = [i for i, n in enumerate(data.counts)
              if label == linear.REST or int(label) == n]
        predictor = linear.Linear({}, {t: v for t, v in row.items() if v})
        found[label] = quality.adjusted_r2(
            data.y[of], predictor.many(data.vectors[of]), predictor.terms)
    return found


def cv_error(samples: Sequence[Sample], seed: int = 0) -> float:
    """The cross-validated mean relative error, a fraction."""
    data = fit_runs.runs(samples)
    return quality.mre(data.y, quality.held_out(
        data.keys, seed, refit(KIND, data, _SETTINGS), _FOLDS))
