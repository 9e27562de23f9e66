# SPDX-License-Identifier: Apache-2.0
"""The effect of each parameter of a two-level design on a response.

Where every run was made once, the error is Lenth's pseudo standard error
[1]_: most parameters do little, so that the small effects tell the noise.
His reference distribution is approximate; ours is simulated for the number
of columns at hand, as Ye and Hamada [2]_ do, so that of pure noise 5 % is
below p = 0.05. Where every run was made in several rounds, the error is that
between the rounds, each round's own mean taken out.

.. [1] R. V. Lenth: Quick and Easy Analysis of Unreplicated Factorials.
   Technometrics 31 (1989).
.. [2] K. Q. Ye, M. Hamada: Critical Values of the Lenth Method for
   Unreplicated Factorial Designs. Journal of Quality Technology 32 (2000).
"""

from __future__ import annotations

from collections.abc import Sequence
import dataclasses
import functools

import numpy as np
import numpy.typing as npt
from scipy import stats

from serifos import errors

Floats = npt.NDArray[np.float64]

CONFIDENCE = 0.95
_DRAWS = 200_000  # of a t ratio, for its distribution under no effect


@dataclasses.dataclass(frozen=True)
class Effect:
    """The change of the response from low to high.

    :param effect: mean at high - mean at low
    :param interval: where it lies with a confidence of 95 %
    :param share: of the variation between runs, a fraction
    :param p_value: how often noise by itself would look at least like this
    """

    name: str
    effect: float
    interval: tuple[float, float]
    share: float
    p_value: float


@dataclasses.dataclass(frozen=True)
class Analysis:
    """The effects of a design's parameters, the greatest first.

    :param noise: standard deviation of a single run, as far as is known
    :param rest: share of the variation that no named column explains; None
        where every column has a name, so that none can tell
    :param noise_share: share of the variation that noise by itself would make
    :param method: how the error was estimated, in words
    """

    effects: tuple[Effect, ...]
    noise: float
    rest: float | None
    noise_share: float
    method: str


def analyse(design: npt.NDArray[np.int8], names: Sequence[str],
            responses: npt.ArrayLike) -> Analysis:
    """The effects of the first columns of a design, which have names.

    :param design: int8[n, m] of orthogonal columns; those without a name
        are dummies, and tell of noise and interactions
    :param responses: float[n], or float[n, rounds]
    :raises InputError: where a response is not a number
    """
    y = np.asarray(responses, float).reshape(len(design), -1)
    if not np.isfinite(y).all():
        raise errors.InputError(
            'A response is not a finite number, so no effect can be computed; '
            'make that run again.')
    means = y.mean(axis=1)
    contrasts = 2 / len(design) * (design.T @ (means - means.mean()))
    if y.shape[1] > 1:
        error, noise, margin, p_values, method = _between_rounds(
            y, contrasts)
    else:
        error, margin, p_values = lenth(contrasts)
        noise = error * len(design) ** 0.5 / 2
        method = (f"Lenth's pseudo standard error of {len(contrasts)} "
                  'columns')
    total = float(((means - means.mean()) ** 2).sum())
    shares = (len(design) * contrasts ** 2 / 4 / total if total
              else np.zeros(len(contrasts)))
    found = [Effect(name, float(c), (float(c - margin), float(c + margin)),
                    float(share), float(p))
             for name, c, share, p in zip(names, contrasts, shares, p_values)]
    # A foldover has more runs than columns; they show interactions.
    spare = len(design) - 1 - len(found)
    by_noise = (len(design) - 1) * noise ** 2 / y.shape[1]
    return Analysis(
        tuple(sorted(found, key=lambda e: (-abs(e.effect), e.name))), noise,
        max(0.0, 1 - sum(e.share for e in found)) if spare else None,
        min(1.0, by_noise / total) if total else 1.0, method)


def lenth(contrasts: Floats,
          seed: int = 1) -> tuple[float, float, Floats]:
    """(pseudo standard error, margin of error, p-value of each).

    :param seed: of the noise that the p-values are compared with
    """
    error = float(_pseudo_error(contrasts))
    null = _null(len(contrasts), seed)
    # The differences of a perfect fit are rounding errors, not noise.
    if error <= 1e-12 * np.abs(contrasts).max(initial=0):
        some = np.abs(contrasts) > 1e-12 * np.abs(contrasts).max(initial=0)
        return 0.0, 0.0, np.where(some, 1 / (len(null) + 1), 1.0)
    beyond = len(null) - np.searchsorted(null, np.abs(contrasts) / error)
    return (error, error * float(np.quantile(null, CONFIDENCE)),
            (1 + beyond) / (1 + len(null)))


def not_between(low: float, middle: float, high: float,
                noise: float) -> bool:
    """Test whether the response at a middle level is between the ends.

    By more than noise would do: a difference of two runs is beyond
    2 √2 standard deviations of one in 5 % of cases.
    """
    beyond = max(min(low, high) - middle, middle - max(low, high))
    return beyond > 2 * 2 ** 0.5 * noise


def of_difference(step: float, error: float
                  ) -> tuple[float, tuple[float, float], float]:
    """(difference, its 95 % interval, p-value) of a known standard error."""
    margin = error * float(stats.norm.ppf((1 + CONFIDENCE) / 2))
    p_value = (float(2 * stats.norm.sf(abs(step) / error)) if error
               else float(step == 0))
    return float(step), (float(step - margin), float(step + margin)), p_value


def _between_rounds(y: Floats, contrasts: Floats
                    ) -> tuple[float, float, float, Floats, str]:
    runs, rounds = y.shape
    rest = (y - y.mean(axis=0) - y.mean(axis=1, keepdims=True) + y.mean())
    freedom = (runs - 1) * (rounds - 1)
    noise = float(np.sqrt((rest ** 2).sum() / freedom))
    error = 2 * noise / (runs * rounds) ** 0.5
    ratios = np.divide(np.abs(contrasts), error, where=error > 0,
                       out=np.where(contrasts != 0, np.inf, 0.0))
    return (error, noise,
            error * float(stats.t.ppf((1 + CONFIDENCE) / 2, freedom)),
            2 * stats.t.sf(ratios, freedom),
            f'the error between {rounds} rounds')


def _pseudo_error(contrasts: Floats) -> Floats:
    """Lenth's, over the last axis: 1.5 times a trimmed median."""
    size = np.abs(contrasts)
    first = 1.5 * np.median(size, axis=-1, keepdims=True)
    small = np.where(size <= 2.5 * first, size, np.nan)
    return 1.5 * np.nanmedian(small, axis=-1)


@functools.cache
def _null(columns: int, seed: int) -> Floats:
    """Sorted |effect| / PSE of columns of pure noise."""
    draws = np.random.default_rng(seed).normal(
        size=(max(1, _DRAWS // columns), columns))
    return np.sort((np.abs(draws) / _pseudo_error(draws)[:, None]).ravel())
