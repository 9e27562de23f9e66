# SPDX-License-Identifier: Apache-2.0
"""Synthetic histories of volumes: python -m tools.bench.weeks --out FILE.

Prints statistics of the history beside those of a public week of 81 real
virtual disks, to which the drawing is tuned.

A volume's rate over time is exp(deviation × path), its mean as drawn. The
path is a sum of waves that are the same every day, of regimes that last for
about a day, of slow changes over hours and of fast ones over minutes; the
deviation is what gives the volume its own peak half hour over its mean.
Volumes are independent of one another, but for the hour of their day:
half of those with one are busy in the afternoon.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from collections.abc import Mapping
from collections.abc import Sequence
import dataclasses
import gzip
import math
import os
import pathlib

import numpy as np

from serifos import errors
from serifos.facts import fields
from serifos.files import history_csv
from serifos.lab.backtest import csv_history
from serifos.lab.backtest.rates import COLUMNS
from serifos.lab.backtest.rates import Floats
from serifos.lab.backtest.rates import Rates
from serifos.report import table

DAY_S, WEEK_S, HALF_HOUR_S = 86400, 7 * 86400, 1800

Z_90 = 1.2815515655446004
"""Of the normal distribution at the 90th percentile."""

MEANS = (15.0, 67.0, 3000.0)
"""Requests per second of a volume: the least, the median and the most."""

PEAKS = (None, 9.7, 33.0)
KIB = (33.0, 121.0, 429.0)
WRITES = (0.06, 0.45, 0.97)
"""At the 10th, the 50th and the 90th percentile: peak half hour over mean,
KiB a request, share of requests that write."""

_PERCENTILES = (10, 50, 90)

SIZES_GIB = (20, 40, 80, 100, 200, 500)
_SIZE_ODDS = (0.15, 0.2, 0.2, 0.2, 0.15, 0.1)

_LEAST_PEAK = 2.0
_MOST_IOPS, _MOST_MIB_S = 100e3, 4000.0
"""Of a volume in its peak half hour: what a virtual disk gets."""

_LIFT = 1.08  # of peaks, for what these bounds take from them

_DAILY = (0.3, 0.6)
"""Of a beta distribution: the share of a path's variance that is daily."""

_PARTS = {'regime': 0.45, 'slow': 0.3, 'fast': 0.25}
"""Shares of the variance that is not daily."""

_TOGETHER = -0.25
"""Correlation of log requests per second and log KiB a request."""

_REGIME_S, _SLOW_S, _FAST_S = DAY_S, 2 * 3600, 1500
_HOURS = 24
_AFTERNOON = 14.0
_BATCH = 100


@dataclasses.dataclass(frozen=True)
class Week:
    """What is drawn.

    :param begin: of the first slot, seconds of the epoch; a Monday, 0:00 UTC
    """

    volumes: int = 100
    days: int = 7
    step_s: int = 300
    seed: int = 0
    begin: float = 1736726400.0

    def __post_init__(self) -> None:
        fields.refuse_outside('--volumes', self.volumes, 1, 100_000)
        fields.refuse_outside('--days', self.days, 1, 366)
        fields.refuse_outside('--seed', self.seed, 0)
        fields.refuse_outside('--step', self.step_s, 60, DAY_S, 's')
        if HALF_HOUR_S % self.step_s and (
                self.step_s % HALF_HOUR_S or DAY_S % self.step_s):
            fields.refuse_outside(
                '--step, which parts half an hour or a day evenly,',
                self.step_s, 0, 0, 's')
        fields.refuse_outside(
            'number of slots of all volumes',
            self.volumes * self.days * DAY_S // self.step_s, 1,
            csv_history.MOST_CELLS)


def drawn(week: Week) -> tuple[Rates, dict[str, float]]:
    """The history, without outstanding I/Os, and volume → its GiB.

    The first volumes are the same however many there are.
    """
    fine_s = min(week.step_s, HALF_HOUR_S)
    slots = week.days * DAY_S // week.step_s
    values = np.empty((week.volumes, slots, len(COLUMNS)), np.float32)
    sizes = []
    for first in range(0, week.volumes, _BATCH):
        rng = np.random.default_rng([week.seed, first])
        several = slice(first, min(first + _BATCH, week.volumes))
        traits = _Traits.drawn(rng, _BATCH)
        rates = _rates(rng, traits, week.days, fine_s)
        rates = rates.reshape(_BATCH, slots, -1).mean(axis=2)
        here = slice(several.stop - several.start)
        values[several] = traits.columns(rates)[here]
        sizes += traits.size_gib[here].tolist()
    names = tuple(f'volume-{i:05}' for i in range(1, week.volumes + 1))
    return (Rates(week.begin, float(week.step_s), names, values),
            dict(zip(names, sizes)))


@dataclasses.dataclass(frozen=True)
class _Traits:
    """What a volume keeps over its time, float[volumes] each."""

    mean: Floats
    peak: Floats
    kib: Floats
    writes: Floats
    random: Floats
    daily: Floats
    size_gib: Floats

    @classmethod
    def drawn(cls, rng: np.random.Generator, count: int) -> _Traits:
        least, median, most = MEANS
        scale = rng.normal(size=count)
        u = (1 + np.array([math.erf(z / math.sqrt(2)) for z in scale])) / 2
        # Log-uniform under the median, and over it.
        mean = np.where(u < 0.5, least * (median / least) ** (2 * u),
                        median * (most / median) ** (2 * u - 1))
        kib = np.clip(np.exp(_spread(
            np.log(KIB), rng, count, _TOGETHER * scale)), 4.0, 1024.0)
        peak = _LIFT * np.exp(_spread(
            (None, *np.log(PEAKS[1:])), rng, count))
        limit = np.minimum(_MOST_IOPS, 1024 * _MOST_MIB_S / kib) / mean
        writes = 1 / (1 + np.exp(-_spread(_logit(WRITES), rng, count)))
        return cls(
            mean, np.clip(peak, _LEAST_PEAK, np.maximum(limit, _LEAST_PEAK)),
            kib, writes, rng.beta(2.0, 1.0, count),
            rng.beta(*_DAILY, count),
            rng.choice(SIZES_GIB, count, p=_SIZE_ODDS).astype(float))

    def columns(self, rates: Floats) -> Floats:
        """float[volumes, slots, columns] of requests per second."""
        return np.stack([
            rates * (1 - self.writes)[:, None], rates * self.writes[:, None],
            rates * self.kib[:, None], rates * self.random[:, None],
            np.full_like(rates, np.nan)], axis=2)


def _rates(rng: np.random.Generator, traits: _Traits, days: int,
           step_s: int) -> Floats:
    """Requests per second, float[volumes, slots]."""
    weeks = -(-days // 7)
    path = _path(rng, traits.daily, 7 * weeks, step_s)
    first = path[:, :WEEK_S // step_s]
    halves = HALF_HOUR_S // step_s
    low, high = np.zeros(len(path)), np.full(len(path), 8.0)
    for _ in range(24):
        middle = (low + high) / 2
        found = peak_over_mean(np.exp(middle[:, None] * (
            first - first.max(axis=1, keepdims=True))), halves)
        low = np.where(found < traits.peak, middle, low)
        high = np.where(found < traits.peak, high, middle)
    top = first.max(axis=1, keepdims=True)
    shape = np.exp(low[:, None] * (path - top))
    shape *= (traits.mean / shape[:, :first.shape[1]].mean(axis=1))[:, None]
    return shape[:, :days * DAY_S // step_s]


def peak_over_mean(rates: Floats, slots: int) -> Floats:
    """The greatest mean of so many slots, over the mean: float[volumes]."""
    blocks = rates.reshape(len(rates), -1, slots).mean(axis=2)
    return blocks.max(axis=1) / blocks.mean(axis=1)


def _path(rng: np.random.Generator, daily: Floats, days: int,
          step_s: int) -> Floats:
    """float[volumes, slots] of mean 0 and variance 1, about."""
    count, slots = len(daily), days * DAY_S // step_s
    rest = 1 - daily
    path = np.sqrt(daily)[:, None] * np.tile(
        _of_a_day(rng, count, step_s), days)
    path += np.sqrt(rest * _PARTS['regime'])[:, None] * _regimes(
        rng, count, slots, step_s)
    for part, lasts_s in ('slow', _SLOW_S), ('fast', _FAST_S):
        path += np.sqrt(rest * _PARTS[part])[:, None] * _autoregressive(
            rng, count, slots, np.exp(-step_s / lasts_s))
    return path


def _of_a_day(rng: np.random.Generator, count: int, step_s: int) -> Floats:
    """Waves of a day, float[volumes, slots of a day]: jobs and tides."""
    hour = np.arange(0, DAY_S, step_s) / 3600
    at = np.where(rng.random(count) < 0.5, rng.normal(_AFTERNOON, 2, count),
                  rng.uniform(0, _HOURS, count))
    wide = np.exp(rng.uniform(np.log(0.5), np.log(8.0), count))
    away = np.abs(hour - at[:, None]) % _HOURS
    away = np.minimum(away, _HOURS - away)
    wave = np.exp(-(away / wide[:, None]) ** 2 / 2)
    wave -= wave.mean(axis=1, keepdims=True)
    return wave / wave.std(axis=1, keepdims=True)


def _regimes(rng: np.random.Generator, count: int, slots: int,
             step_s: int) -> Floats:
    """Levels that hold until they change, about once a day."""
    changes = rng.random((count, slots)) < step_s / _REGIME_S
    which = np.cumsum(changes, axis=1)
    levels = rng.normal(size=(count, int(which.max()) + 1))
    return np.take_along_axis(levels, which, axis=1)


def _autoregressive(rng: np.random.Generator, count: int, slots: int,
                    keeps: float) -> Floats:
    """A first-order process of variance 1, in equilibrium."""
    noise = rng.normal(size=(slots, count))
    noise[1:] *= np.sqrt(1 - keeps * keeps)
    for i in range(1, slots):
        noise[i] += keeps * noise[i - 1]
    return noise.T


def _spread(at: Sequence[float | None], rng: np.random.Generator,
            count: int, part: Floats | float = 0.0) -> Floats:
    """Normal on each side, of these 10th, 50th and 90th percentiles.

    The lower side as the upper one where its percentile is None.

    :param part: of the normal deviate, that another trait has decided
    """
    low, middle, high = at
    z = (part + rng.normal(size=count) * np.sqrt(
        1 - (_TOGETHER ** 2 if np.ndim(part) else 0.0))) / Z_90
    up = high - middle
    return middle + z * np.where(z < 0, up if low is None else middle - low,
                                 up)


def _logit(shares: Sequence[float]) -> Floats:
    p = np.array(shares)
    return np.log(p / (1 - p))


@dataclasses.dataclass(frozen=True)
class Target:
    """A statistic of a history, beside that of the real week.

    :param target: None where it is not known
    """

    name: str
    found: float
    target: float | None = None


def figures(history: Rates) -> list[Target]:
    """The statistics of a history of at least two days.

    :raises InputError: where it is shorter, or its slots are too long
    """
    if (history.slots * history.step_s < 2 * DAY_S
            or HALF_HOUR_S % history.step_s):
        raise errors.InputError(
            'Statistics need two days in slots that part half an hour '
            'evenly.')
    per_day = round(DAY_S / history.step_s)
    days = history.slots // per_day
    rates = np.nan_to_num(history.values[:, :days * per_day, :3])
    halves = rates.reshape(len(rates), -1, round(
        HALF_HOUR_S / history.step_s), 3).mean(axis=2)
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
              sums[:, 2] / both, _PERCENTILES), KIB)),
        *(Target(f'share of writes, {at}th percentile', float(value), goal)
          for at, value, goal in zip(_PERCENTILES, np.percentile(
              sums[:, 1] / both, _PERCENTILES), WRITES)),
        Target('autocorrelation at 24 h, median', float(np.median(day)),
               0.20),
        Target('autocorrelation at 24 h over 0.5, share of volumes',
               float((day > 0.5).mean()), 0.25),
        *(Target(f'autocorrelation at {hours:g} h, median', float(np.median(
            autocorrelation(requests[alive], round(2 * hours)))))
          for hours in (0.5, 1, 3, 6))]


def autocorrelation(rates: Floats, lag: int) -> Floats:
    """Of each volume at a lag of so many slots, float[volumes]."""
    off = rates - rates.mean(axis=1, keepdims=True)
    square = np.maximum((off * off).sum(axis=1), 1e-300)
    return (off[:, lag:] * off[:, :-lag]).sum(axis=1) / square


def lines(series: Rates,
          size_gib: Mapping[str, float]) -> Iterator[str]:
    """The lines of a file with a history, slot by slot."""
    yield history_csv.header()
    for slot in range(series.slots):
        begin = f'{series.begin + slot * series.step_s:.0f}'
        for volume, (reads, writes, kib, *_) in zip(
                series.volumes, series.values[:, slot].tolist()):
            mib = kib / 1024 / max(reads + writes, 1e-12)
            yield (f'{volume},{begin},{series.step_s:g},{reads:.4g},'
                   f'{writes:.4g},{reads * mib:.4g},{writes * mib:.4g},'
                   f'{size_gib[volume]:g}\n')


def write(path: str | os.PathLike[str], series: Rates,
          size_gib: Mapping[str, float]) -> None:
    """Writes a history to a file, compressed where it ends in ``.gz``.

    The same week is the same file.
    """
    text = ''.join(lines(series, size_gib)).encode()
    pathlib.Path(path).write_bytes(gzip.compress(text, mtime=0) if str(
        path).endswith('.gz') else text)


if __name__ == '__main__':
    parser = argparse.ArgumentParser(
        prog='python -m tools.bench.weeks',
        description='A synthetic history of volumes, and its statistics.')
    parser.add_argument('--out', metavar='FILE', required=True, help='CSV, '
                        'compressed where its name ends in .gz')
    for name, default in (('volumes', 81), ('days', 7), ('step', 300),
                          ('seed', 0)):
        parser.add_argument(f'--{name}', type=int, default=default)
    asked = parser.parse_args()
    try:
        week = drawn(Week(asked.volumes, asked.days, asked.step, asked.seed))
        write(asked.out, *week)
        print(table.as_text(table.Table(
            ('figure', 'history', 'real week'),
            [(each.name, each.found, each.target)
             for each in figures(week[0])])))
    except errors.SerifosError as exc:
        parser.error(str(exc))
