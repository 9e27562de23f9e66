# SPDX-License-Identifier: Apache-2.0
"""Prediction of a Load by a trend and a Gaussian process of its residual.

Standard library only: cinder-scheduler loads this module. The process sees
a Load through the trend and through the elasticity of the trend in each of
its terms: a Load that hardly moves the trend hardly moves the residual, so
a bound on its slopes (which :mod:`serifos.model.hybrid.monotone` imposes)
keeps the whole rising with the load.
"""

from __future__ import annotations

from collections.abc import Callable
from collections.abc import Mapping
from collections.abc import Sequence
import dataclasses
import math
from typing import Any
from typing import TYPE_CHECKING

from serifos.facts import workload as wl
from serifos.model.hybrid import parameters
from serifos.model.hybrid import residual
from serifos.model.hybrid import trend as tr
from serifos.model import kinds
from serifos.model import parameter

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

_COLUMNS = tuple(wl.FEATURES.index(name) for name in tr.FIELDS)
_SMALL = 1e-4
_TREND_WORK = 70.0
_AT_ONCE = 4096  # rows that stay in a processor's cache
_LONGEST = 125.0  # the log of a latency in µs
_LARGEST_STD = 10.0  # of log latency; a factor of 22,000


@dataclasses.dataclass(frozen=True)
class Hybrid:
    """A trend and the process of its residual.

    :param covariance: of the logarithms of the trend's coefficients
    """

    trend: Mapping[str, float]
    covariance: tuple[tuple[float, ...], ...]
    residual: residual.Residual

    def predict(self, load: wl.Load) -> float:
        """As :meth:`.kinds.Predictor.predict` says."""
        return self._predict(_sums(load), tr.NUMBERS) if load.count else 0.0

    def _predict(self, sums: Sequence[tr.Number],
                 of: tr.Arithmetic) -> tr.Number:
        where = tr.coordinates(self.trend, tr.at_least_one(sums, of), of)
        return of.exp(of.smaller(
            where[0] + self.residual.mean(where, of), _LONGEST))

    def many(self, loads: npt.NDArray[np.float64]
             ) -> npt.NDArray[np.float64]:
        """As :meth:`.kinds.Predictor.many` says."""
        return _in_pieces(self._predict, loads)

    def log_std(self, load: wl.Load) -> float:
        """The standard deviation of the log latency of a new run."""
        return self._log_std(_sums(load), tr.NUMBERS) if load.count else 0.0

    def _log_std(self, sums: Sequence[tr.Number],
                 of: tr.Arithmetic) -> tr.Number:
        sums = tr.at_least_one(sums, of)
        where = tr.coordinates(self.trend, sums, of)
        slopes = [(tr.coordinates(
            {**self.trend, name: self.trend[name] * math.exp(_SMALL)},
            sums, of)[0] - where[0]) / _SMALL for name in tr.TREND]
        variance = (residual.quadratic_form(self.covariance, slopes)
                    + self.residual.variance(where, of)
                    + self.residual.noise ** 2)
        return of.sqrt(of.smaller(of.larger(variance, 0.0), _LARGEST_STD ** 2))

    def log_std_many(self, loads: npt.NDArray[np.float64]
                     ) -> npt.NDArray[np.float64]:
        """The same for many Loads, as :meth:`many` reads them: float[n]."""
        return _in_pieces(self._log_std, loads)

    def work(self, load: wl.Load) -> float:
        return _TREND_WORK + len(tr.COORDINATES) * len(self.residual.points)

    def log_std_work(self) -> float:
        """About how many multiplications :meth:`log_std` takes."""
        points = len(self.residual.points)
        return (_TREND_WORK * (1 + len(tr.TREND)) + len(tr.TREND) ** 2
                + points * (len(tr.COORDINATES) + points))

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
            ('residual', f'{len(r.points)} points, ± {100 * r.height:.1f} %, '
             f'noise {100 * r.noise:.1f} %, length scales ' + ', '.join(
                 f'{name} {length:.3g}' for name, length
                 in zip(tr.COORDINATES, r.length_scales)))]


def _sums(load: wl.Load) -> tuple[float, ...]:
    return tuple(getattr(load, name) for name in tr.FIELDS)


def _in_pieces(
        function: Callable[[Sequence[tr.Number], tr.Arithmetic], tr.Number],
        loads: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    import numpy as np  # the scheduler, which has none, never calls this
    of, found = tr.arrays(), np.zeros(len(loads))
    columns = np.ascontiguousarray(loads[:, _COLUMNS].T)
    for first in range(0, len(loads), _AT_ONCE):
        piece = slice(first, first + _AT_ONCE)
        found[piece] = function(list(columns[:, piece]), of)
    found[loads[:, 0] == 0] = 0.0
    return found


def from_parameters(kind: str, doc: Mapping[str, Any]) -> Hybrid:
    """The predictor that a model file's ``parameters`` describe.

    :raises FormatError: where something is missing or not a number
    """
    return Hybrid(*parameters.read(doc))


HYBRID = kinds.Kind(from_parameters, 'serifos.model.hybrid.fit:fit',
                    (parameter.Parameter('points', 16, 1, 100),))
"""``points`` is the number of inducing points."""
