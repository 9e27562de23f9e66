# SPDX-License-Identifier: Apache-2.0
"""What do a queueing trend and the little that it leaves say of a Load?

Standard library only: cinder-scheduler loads this module. The trend bounds
a closed network from three sides,

    service   floors, µs per outstanding request (the dies of a device) and
              what a request's own size takes it, √Σ q·s²,
    transfer  µs per outstanding KiB: the bus,
    drain     µs per outstanding write and KiB: how its buffer empties,

and is (service^p + transfer^p + drain^p)^(1/p), their smooth maximum. No
coefficient is negative, so it rises with every workload. A Gaussian process
adds what is left in log latency. It sees a Load through the shares that the
terms have of the trend's growth, and through the trend: adding what hardly
moves the trend hardly moves the residual, so a bound on its slopes (which
:mod:`serifos.model.hybrid.monotone` imposes) keeps the whole rising too.

The same few lines predict with numbers and with arrays.
"""

from __future__ import annotations

from collections.abc import Callable
from collections.abc import Iterator
from collections.abc import Mapping
from collections.abc import Sequence
import dataclasses
import functools
import math
from typing import Any
from typing import TYPE_CHECKING

from serifos import errors
from serifos.facts import workload as wl
from serifos.model import kinds
from serifos.model import parameter as pm

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

TREND = ('floor_us', 'read_floor_us', 'write_floor_us', 'half_q', 'read_us',
         'write_us', 'read_own_us', 'write_own_us', 'read_us_per_kib',
         'write_us_per_kib', 'drain_us', 'drain_us_per_kib',
         'drain_read_us_per_kib', 'sequential', 'sharpness')
"""The coefficients of a trend.

A floor is what one request alone takes; reads and writes add theirs half
at ``half_q`` of them outstanding. ``own`` is of a request of 64 KiB.
``sequential`` is what a sequential request's fixed cost is of a random
one's, ``sharpness`` is p.
"""

COORDINATES = ('log_us', 'read_us', 'write_us', 'own_us', 'read_us_per_kib',
               'write_us_per_kib', 'drain_us')
"""Where in the space of Loads the residual is: the trend's logarithm, and
which share of a small rise of every term would reach it."""

FIELDS = ('sum_q_r', 'sum_q_w', 'sum_q_s_r', 'sum_q_s_w', 'sum_q_r_x',
          'sum_q_w_x', 'sum_q_s2_r', 'sum_q_s2_w')
"""What is read of a Load."""

_COLUMNS = tuple(wl.FEATURES.index(name) for name in FIELDS)
_NOTHING = 1e-9
_ROUNDED = 1e-7  # what the grid of Loads may take from the parts of a request
_SMALL = 1e-4
_TREND_WORK = 70.0
_AT_ONCE = 4096  # rows that stay in a processor's cache

# What is read of a file is bounded, so that a prediction for any finite Load
# is finite, and its square: it cannot fail later, in the scheduler.
_MOST, _LEAST, _SHARPEST = 1e9, 1e-6, 1e4
_LONGEST = 125.0  # the log of a latency in µs
_UNSURE = 10.0  # at most, in log latency; that is a factor of 22,000

Number = Any
"""A float, or an array of them."""


@dataclasses.dataclass(frozen=True)
class Arithmetic:
    """What differs between numbers and arrays."""

    exp: Callable[[Number], Number]
    log: Callable[[Number], Number]
    sqrt: Callable[[Number], Number]
    larger: Callable[[Number, Number], Number]
    smaller: Callable[[Number, Number], Number]


NUMBERS = Arithmetic(math.exp, math.log, math.sqrt, max, min)


def arrays() -> Arithmetic:
    import numpy as np  # the scheduler, which has none, never calls this
    return Arithmetic(np.exp, np.log, np.sqrt, np.maximum, np.minimum)


def met(sums: Sequence[Number], of: Arithmetic) -> list[Number]:
    """What a request meets, itself among it.

    It finds itself outstanding, however seldom its tenant asks: a Load of
    less than one request is taken as one, of the same mix.

    :param sums: of :data:`FIELDS`
    """
    one = of.larger(of.smaller(sums[0] + sums[1] + _ROUNDED, 1.0), _NOTHING)
    return [each / one for each in sums]


def coordinates(trend: Mapping[str, float], sums: Sequence[Number],
                of: Arithmetic) -> tuple[Number, ...]:
    """Those of :data:`COORDINATES`, the log of the trend in µs first.

    :param sums: of :data:`FIELDS`
    """
    t, (q_r, q_w, b_r, b_w, x_r, x_w, s2_r, s2_w) = trend, sums
    p, half = t['sharpness'], t['half_q']
    reads = x_r + t['sequential'] * (q_r - x_r)
    writes = x_w + t['sequential'] * (q_w - x_w)
    by_read, by_write = t['read_us'] * reads, t['write_us'] * writes
    own = of.sqrt(of.larger(t['read_own_us'] ** 2 * s2_r
                            + t['write_own_us'] ** 2 * s2_w, 0.0))
    service = (by_read + by_write + own + t['floor_us']
               + t['read_floor_us'] * (reads / (reads + half))
               + t['write_floor_us'] * (writes / (writes + half)))
    read_kib = t['read_us_per_kib'] * b_r
    transfer = read_kib + t['write_us_per_kib'] * b_w
    drain = (t['drain_us'] * q_w + t['drain_us_per_kib'] * b_w
             + t['drain_read_us_per_kib'] * b_r)
    parts = [of.larger(part, _NOTHING)
             for part in (service, transfer, drain)]
    logs = [of.log(part) for part in parts]
    most = of.larger(of.larger(logs[0], logs[1]), logs[2])
    powers = [of.exp(p * (one - most)) for one in logs]
    total = powers[0] + powers[1] + powers[2]
    served, moved = (powers[0] / (total * parts[0]),
                     powers[1] / (total * parts[1]))
    return (most + of.log(total) / p, served * by_read, served * by_write,
            served * own, moved * read_kib, moved * (transfer - read_kib),
            powers[2] / total)


@dataclasses.dataclass(frozen=True)
class Residual:
    """The Gaussian process: a sum of bells around a few points.

    :param height: standard deviation far from every run, of log latency
    :param noise: standard deviation of a run about the model
    :param lengths: of the bells, by :data:`COORDINATES`
    :param least: ends of the space within which it varies
    :param points: where the bells stand
    :param weights: how high each is
    :param certainty: by how much the runs reduce the variance, of each
        pair of points; symmetric
    """

    height: float
    noise: float
    lengths: tuple[float, ...]
    least: tuple[float, ...]
    greatest: tuple[float, ...]
    points: tuple[tuple[float, ...], ...]
    weights: tuple[float, ...]
    certainty: tuple[tuple[float, ...], ...]

    @functools.cached_property
    def _scaled(self) -> tuple[tuple[float, ...], ...]:
        return tuple(tuple(map(float.__truediv__, point, self.lengths))
                     for point in self.points)

    def bells(self, where: Sequence[Number],
              of: Arithmetic) -> Iterator[Number]:
        """exp(-½ distance²) of each point."""
        at = [of.larger(of.smaller(value, most), least) / length
              for value, least, most, length in zip(
                  where, self.least, self.greatest, self.lengths)]
        for point in self._scaled:
            square = (at[0] - point[0]) * (at[0] - point[0])
            for value, its in zip(at[1:], point[1:]):
                apart = value - its
                square = square + apart * apart
            yield of.exp(-0.5 * square)

    def mean(self, where: Sequence[Number], of: Arithmetic) -> Number:
        total = 0.0
        for weight, bell in zip(self.weights, self.bells(where, of)):
            total = total + weight * bell
        return total

    def variance(self, where: Sequence[Number], of: Arithmetic) -> Number:
        """By how much it is unsure, of log latency."""
        bells = list(self.bells(where, of))
        return of.larger(
            self.height ** 2 - _square(self.certainty, bells), 0.0)


@dataclasses.dataclass(frozen=True)
class Hybrid:
    """A trend and what it leaves.

    :param covariance: of the logarithms of the trend's coefficients
    """

    trend: Mapping[str, float]
    covariance: tuple[tuple[float, ...], ...]
    residual: Residual

    def predict(self, load: wl.Load) -> float:
        """As :meth:`.kinds.Form.predict` says."""
        return self._predict(_sums(load), NUMBERS) if load.count else 0.0

    def _predict(self, sums: Sequence[Number], of: Arithmetic) -> Number:
        where = coordinates(self.trend, met(sums, of), of)
        return of.exp(of.smaller(
            where[0] + self.residual.mean(where, of), _LONGEST))

    def many(self, loads: npt.NDArray[np.float64]
             ) -> npt.NDArray[np.float64]:
        """As :meth:`.kinds.Form.many` says."""
        return _in_pieces(self._predict, loads)

    def spread(self, load: wl.Load) -> float:
        """The standard deviation of the log latency of a new run."""
        return self._spread(_sums(load), NUMBERS) if load.count else 0.0

    def _spread(self, sums: Sequence[Number], of: Arithmetic) -> Number:
        sums = met(sums, of)
        where = coordinates(self.trend, sums, of)
        slopes = [(coordinates(
            {**self.trend, name: self.trend[name] * math.exp(_SMALL)},
            sums, of)[0] - where[0]) / _SMALL for name in TREND]
        variance = (_square(self.covariance, slopes)
                    + self.residual.variance(where, of)
                    + self.residual.noise ** 2)
        return of.sqrt(of.smaller(of.larger(variance, 0.0), _UNSURE ** 2))

    def deviation(self, loads: npt.NDArray[np.float64]
                  ) -> npt.NDArray[np.float64]:
        """The same for many Loads, as :meth:`many` reads them: float[n]."""
        return _in_pieces(self._spread, loads)

    def work(self, load: wl.Load) -> float:
        return _TREND_WORK + len(COORDINATES) * len(self.residual.points)

    def spread_work(self) -> float:
        """About how many multiplications :meth:`spread` takes."""
        points = len(self.residual.points)
        return (_TREND_WORK * (1 + len(TREND)) + len(TREND) ** 2
                + points * (len(COORDINATES) + points))

    @property
    def terms(self) -> int:
        return len(self.trend) + len(self.residual.points)

    def lines(self) -> list[tuple[str, str]]:
        t, r = self.trend, self.residual
        return [
            ('latency', '(service^p + transfer^p + drain^p)^(1/p) '
             f'exp(residual), p = {t["sharpness"]:.3g}'),
            ('service', f'{t["floor_us"]:.5g} + {t["read_us"]:.5g} R + '
             f'{t["write_us"]:.5g} W + {t["read_floor_us"]:.5g} R / '
             f'(R + {t["half_q"]:.3g}) + {t["write_floor_us"]:.5g} W / '
             f'(W + {t["half_q"]:.3g}) + sqrt({t["read_own_us"]:.5g}² X + '
             f'{t["write_own_us"]:.5g}² Y); R, W: Σ q·r, Σ q·w, a sequential '
             f'request as {t["sequential"]:.3g}; X, Y: the same q·(s/64)²'),
            ('transfer', f'{t["read_us_per_kib"]:.5g} Σ q·s·r + '
             f'{t["write_us_per_kib"]:.5g} Σ q·s·w'),
            ('drain', f'{t["drain_us"]:.5g} Σ q·w + '
             f'{t["drain_us_per_kib"]:.5g} Σ q·s·w + '
             f'{t["drain_read_us_per_kib"]:.5g} Σ q·s·r'),
            ('residual', f'{len(r.points)} points, ± {r.height:.1%}, noise '
             f'{r.noise:.1%}, lengths ' + ', '.join(
                 f'{name} {length:.3g}' for name, length
                 in zip(COORDINATES, r.lengths)))]


def _square(matrix: Sequence[Sequence[float]],
            vector: Sequence[Number]) -> Number:
    """The quadratic form v'Mv."""
    total = 0.0
    for row, value in zip(matrix, vector):
        inner = 0.0
        for weight, other in zip(row, vector):
            inner = inner + weight * other
        total = total + value * inner
    return total


def _sums(load: wl.Load) -> tuple[float, ...]:
    return tuple(getattr(load, name) for name in FIELDS)


def _in_pieces(function: Callable[[Sequence[Number], Arithmetic], Number],
               loads: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    import numpy as np  # the scheduler, which has none, never calls this
    of, found = arrays(), np.zeros(len(loads))
    columns = np.ascontiguousarray(loads[:, _COLUMNS].T)
    for first in range(0, len(loads), _AT_ONCE):
        piece = slice(first, first + _AT_ONCE)
        found[piece] = function(list(columns[:, piece]), of)
    found[loads[:, 0] == 0] = 0.0
    return found


def from_parameters(kind: str, parameters: Mapping[str, Any]) -> Hybrid:
    """The form that a model file's ``parameters`` describe.

    :raises FormatError: where something is missing, or is no number
    """
    trend = _floats(parameters, 'trend', TREND)
    if min(trend) < 0 or not 1 <= trend[-1] <= _SHARPEST:
        raise _refused('trend', 'has a negative coefficient, or a sharpness '
                       f'that is not from 1 to {_SHARPEST:g}')
    if trend[TREND.index('half_q')] < _LEAST:
        raise _refused('half_q', f'must be {_LEAST:g} or more')
    covariance = _rows(parameters, 'covariance', len(TREND))
    its = parameters.get('residual')
    if not isinstance(its, Mapping):
        raise _refused('residual', 'is missing')
    lengths, least, greatest = (
        _floats(its, name, COORDINATES)
        for name in ('lengths', 'least', 'greatest'))
    if min(lengths) < _LEAST:
        raise _refused('lengths', f'must be {_LEAST:g} or more')
    points = _rows(its, 'points', len(COORDINATES))
    return Hybrid(dict(zip(TREND, trend)), covariance, Residual(
        *(_number(its, name) for name in ('height', 'noise')), lengths,
        least, greatest, points, *_rows(
            {'weights': [its.get('weights')]}, 'weights', len(points)),
        _rows(its, 'certainty', len(points))))


def _floats(doc: Mapping[str, Any], name: str,
            keys: Sequence[str]) -> tuple[float, ...]:
    row = doc.get(name)
    if not isinstance(row, Mapping) or set(row) != set(keys):
        raise _refused(name, f'must name {", ".join(keys)}')
    return tuple(_number(row, key) for key in keys)


def _rows(doc: Mapping[str, Any], name: str,
          width: int) -> tuple[tuple[float, ...], ...]:
    rows = doc.get(name)
    if not isinstance(rows, list) or not all(
            isinstance(row, list) and len(row) == width for row in rows):
        raise _refused(name, f'must be rows of {width} numbers')
    return tuple(tuple(_number(dict(enumerate(row)), i)
                       for i in range(width)) for row in rows)


def _number(doc: Mapping[Any, Any], name: Any) -> float:
    value = doc.get(name)
    if isinstance(value, bool) or not isinstance(
            value, int | float) or not abs(value) <= _MOST:
        raise _refused(str(name), f'is no number up to {_MOST:g}')
    return float(value)


def _refused(name: str, why: str) -> errors.FormatError:
    return errors.FormatError(
        f'The {name} of a hybrid model {why}; fit it again with '
        'serifos-model fit.')


HYBRID = kinds.Kind(from_parameters, 'serifos.model.hybrid.fit:fit',
                    (pm.Parameter('points', 16, 1, 100),))
"""``points`` is how many points the residual stands on."""
