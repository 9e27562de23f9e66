# SPDX-License-Identifier: Apache-2.0
"""Errors of a model: of its fit, held out, and their quantiles."""

from __future__ import annotations

import collections
from collections.abc import Callable
from collections.abc import Hashable
from collections.abc import Iterator
from collections.abc import Sequence
import math

import numpy as np
import numpy.typing as npt
from scipy import special

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.intp]

FOLDS = 10
_LEAST_SHARE = 0.01
_MOST_STD = 20.0


def relative_errors(measured: Floats, predicted: Floats) -> Floats:
    """|predicted - measured| / measured, float[n]; a fraction."""
    return np.abs(predicted - measured) / measured


def mre(measured: Floats, predicted: Floats) -> float:
    """The mean relative error, a fraction."""
    return float(np.mean(relative_errors(measured, predicted)))


def factor(measured: Floats, predicted: Floats, share: float = 0.90) -> float:
    """The factor within which predictions of a share of the runs are."""
    floor = np.maximum(predicted, _LEAST_SHARE * measured)
    return float(np.exp(np.quantile(np.abs(np.log(measured / floor)),
                                    share)))


def mre_by(labels: Sequence[Hashable], measured: Floats,
           predicted: Floats) -> dict[Hashable, float]:
    """The mean relative error of each label's runs, labels in order."""
    errors = relative_errors(measured, predicted)
    label_of = np.array(labels)
    return {label: float(errors[label_of == label].mean())
            for label in sorted(set(labels))}


def r2_by(labels: Sequence[str], measured: Floats,
          predicted: Floats) -> dict[str, float]:
    """R² of each label's runs, about their own mean, labels in order.

    A label whose runs are all alike has none.
    """
    found, label_of = {}, np.array(labels)
    for label in sorted(set(labels)):
        y, at = (each[label_of == label] for each in (measured, predicted))
        if np.ptp(y) > 0:
            found[label] = 1 - float(np.sum((y - at) ** 2)
                                     / np.sum((y - y.mean()) ** 2))
    return found


def adjusted_r2(measured: Floats, predicted: Floats,
                terms: int) -> float | None:
    """1 - (1 - R²)(n - 1)/(n - 1 - terms), R² about the mean.

    R and statsmodels use another formula where a model has no intercept;
    this one stays comparable when the intercept is dropped.

    :param terms: coefficients besides the intercept
    :returns: None where there are too few runs, or all runs are alike
    """
    free = len(measured) - 1 - terms
    total = float(np.sum((measured - measured.mean()) ** 2))
    if free <= 0 or total == 0:
        return None
    left = float(np.sum((measured - predicted) ** 2))
    return 1 - left / total * (len(measured) - 1) / free


def interval(measured: Floats, predicted: Floats,
             coverage: float = 0.90) -> tuple[float, float]:
    """Quantiles of (measured - predicted) / predicted on held-out runs.

    The order statistics are those of split conformal prediction, so that
    the next run lies between them with at least this probability; where
    there are too few runs for that, the extremes.

    :returns: (low, high), fractions of the prediction
    """
    floor = np.maximum(predicted, _LEAST_SHARE * measured)
    return _ends((measured - predicted) / floor, coverage)


def deviations(measured: Floats, predicted: Floats, log_std: Floats,
               keys: Sequence[Hashable],
               coverage: float = 0.90) -> tuple[float, float]:
    """Quantiles of log(measured / predicted) / log_std on held-out runs.

    The runs and tenants of one pattern err alike: together they weigh as
    one, and the number of patterns decides [1]_. Ranks are those of split
    conformal prediction, interpolated. Where the patterns are too few for
    that, the extremes are widened as Student's t is against the normal.

    .. [1] R. Dunn, L. Wasserman, A. Ramdas: Distribution-free prediction
       sets for two-layer hierarchical models, 2018.

    :param log_std: float[n], the model's standard deviation of log latency
    :param keys: of each error, that of its pattern
    :returns: (low, high) in standard deviations
    """
    errors = np.clip(np.log(measured / np.maximum(
        predicted, _LEAST_SHARE * measured)) / log_std,
        -_MOST_STD, _MOST_STD)
    size, order = collections.Counter(keys), np.argsort(errors)
    weight = np.array([1 / size[keys[i]] for i in order])
    ranks = np.cumsum(weight) + (1 - weight) / 2
    n, share = len(size), (1 - coverage) / 2
    low, middle, high = np.interp(
        (n + 1) * np.array([share, 0.5, 1 - share]), ranks, errors[order])
    wider = _wider(max(n, 2), 1 - share) if (n + 1) * share < 1 else 1.0
    return (float(middle - wider * (middle - low)),
            float(middle + wider * (high - middle)))


def _wider(n: int, share: float) -> float:
    """A quantile of Student's t, by the normal greatest of n errors."""
    return float(special.stdtrit(n - 1, share) * math.sqrt(1 + 1 / n)
                 / special.ndtri(n / (n + 1)))


def _ends(errors: Floats, coverage: float) -> tuple[float, float]:
    n, errors = len(errors), np.sort(errors)
    rank = math.floor((n + 1) * (1 - coverage) / 2)
    low, high = max(rank, 1) - 1, min(n + 1 - rank, n) - 1
    return float(errors[low]), float(errors[high])


def splits(keys: Sequence[Hashable], seed: int,
           folds: int = FOLDS) -> Iterator[tuple[Ints, Ints]]:
    """(train, test) indices; runs of one key are never on both sides."""
    distinct = sorted(set(keys))
    order = np.random.default_rng(seed).permutation(len(distinct))
    fold_of_key = {distinct[k]: i % folds for i, k in enumerate(order)}
    fold_of = np.array([fold_of_key[key] for key in keys])
    for fold in range(min(folds, len(distinct))):
        yield np.flatnonzero(fold_of != fold), np.flatnonzero(fold_of == fold)


def held_out(keys: Sequence[Hashable], seed: int,
             predict: Callable[[Ints, Ints], Floats],
             folds: int = FOLDS) -> Floats:
    """Each run's prediction by a fit that did not see it, float[n, ...].

    :param predict: fits on the first indices, predicts the second
    """
    found = [(test, predict(train, test))
             for train, test in splits(keys, seed, folds)]
    out = np.empty((len(keys), *found[0][1].shape[1:]))
    for test, values in found:
        out[test] = values
    return out
