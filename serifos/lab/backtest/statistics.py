# SPDX-License-Identifier: Apache-2.0
"""Statistics of a history, by which a synthetic one is held against a real.

Beside what its volumes do: how well one day tells the next. Volumes drawn at
random are packed onto pools by what is known at the end of a day, and the
next day's most loaded pool, by its mean, is compared with the mean of all
pools.
"""

from __future__ import annotations

import dataclasses

import numpy as np
import numpy.typing as npt

from serifos import errors
from serifos.lab.backtest.rates import Rates
from serifos.lab.backtest import weeks

Floats = npt.NDArray[np.floating]

_DRAWS, _DRAWN, _POOLS = 300, 40, 5
_PERCENTILES = (10, 50, 90)


@dataclasses.dataclass(frozen=True)
class Target:
    """What a figure is in the real week that the issue describes.

    :param target: None where it is not known
    """

    name: str
    found: float
    target: float | None = None


def figures(history: Rates, seed: int = 0) -> list[Target]:
    """The statistics of a history of at least two days.

    :raises InputError: where it is shorter, or its slots are too long
    """
    if (history.slots * history.step_s < 2 * weeks.DAY_S
            or weeks.HALF_HOUR_S % history.step_s):
        raise errors.InputError(
            'Statistics need two days in slots that part half an hour '
            'evenly.')
    per_day = round(weeks.DAY_S / history.step_s)
    days = history.slots // per_day
    rates = np.nan_to_num(history.values[:, :days * per_day, :3])
    halves = rates.reshape(len(rates), -1, round(
        weeks.HALF_HOUR_S / history.step_s), 3).mean(axis=2)
    requests = halves[..., 0] + halves[..., 1]
    total = np.maximum(halves.sum(axis=1), 1e-12)
    mean = requests.mean(axis=1)
    alive = mean > 0
    peak = requests[alive].max(axis=1) / mean[alive]
    sums = total[alive]
    both = sums[:, 0] + sums[:, 1]
    day = autocorrelation(requests[alive], 48)
    return [
        Target('requests/s, least', float(mean.min()), 15.0),
        Target('requests/s, median', float(np.median(mean)), 67.0),
        Target('requests/s, most', float(mean.max()), 3000.0),
        Target('peak half hour over mean, median',
               float(np.median(peak)), 9.7),
        Target('peak half hour over mean, 90th percentile',
               float(np.percentile(peak, 90)), 33.0),
        *(Target(f'KiB a request, {at}th percentile', float(value), goal)
          for at, value, goal in zip(_PERCENTILES, np.percentile(
              sums[:, 2] / both, _PERCENTILES), weeks.KIB)),
        *(Target(f'share of writes, {at}th percentile', float(value), goal)
          for at, value, goal in zip(_PERCENTILES, np.percentile(
              sums[:, 1] / both, _PERCENTILES), weeks.WRITES)),
        Target('autocorrelation at 24 h, median', float(np.median(day)),
               0.20),
        Target('autocorrelation at 24 h over 0.5, share of volumes',
               float((day > 0.5).mean()), 0.25),
        *(Target(f'autocorrelation at {hours:g} h, median', float(np.median(
            autocorrelation(requests[alive], round(2 * hours)))))
          for hours in (0.5, 1, 3, 6)),
        *_packed('MiB/s', halves[..., 2], seed, (2.00, 1.62, 1.71, 2.14,
                                                 1.40)),
        *_packed('requests/s', requests, seed, (1.79, 1.54, 1.53, 1.90,
                                                1.16))]


def autocorrelation(rates: Floats, lag: int) -> Floats:
    """Of each volume at a lag of so many slots, float[volumes]."""
    off = rates - rates.mean(axis=1, keepdims=True)
    square = np.maximum((off * off).sum(axis=1), 1e-300)
    return (off[:, lag:] * off[:, :-lag]).sum(axis=1) / square


def _packed(unit: str, loads: Floats, seed: int,
            targets: tuple[float, ...]) -> list[Target]:
    """By what is known at the end of each day; loads in half hours."""
    rng = np.random.default_rng(seed)
    days = loads.shape[1] // 48
    found = []
    for _ in range(_DRAWS):
        chosen = loads[rng.choice(len(loads), min(_DRAWN, len(loads)),
                                  replace=False)]
        end = 48 * int(rng.integers(1, days))
        past, then = chosen[:, end - 48:end], chosen[:, end:end + 48].mean(1)
        found.append([worst_over_mean(then, pools) for pools in (
            packed(past[:, -1]), packed(past.mean(1)),
            packed(np.percentile(past, 90, axis=1)),
            rng.integers(_POOLS, size=len(chosen)), packed(then))])
    return [Target(f'next day\'s worst pool, {unit}, packed by {what}',
                   float(value), goal) for what, value, goal in zip(
            ('the last 30 minutes', 'the mean of 24 h',
             'the 90th percentile of 24 h', 'chance', 'the next day itself'),
            np.mean(found, axis=0), targets)]


def packed(loads: Floats, pools: int = _POOLS) -> npt.NDArray[np.intp]:
    """The pool of each volume, the largest first onto the least loaded."""
    sums, home = np.zeros(pools), np.empty(len(loads), np.intp)
    for volume in np.argsort(-loads, kind='stable'):
        home[volume] = np.argmin(sums)
        sums[home[volume]] += loads[volume]
    return home


def worst_over_mean(loads: Floats, home: npt.NDArray[np.intp],
                    pools: int = _POOLS) -> float:
    """The greatest sum of a pool over the mean of the pools."""
    sums = np.bincount(home, loads, pools)
    return float(sums.max() / max(sums.mean(), 1e-12))
