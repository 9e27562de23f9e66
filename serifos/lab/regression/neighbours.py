# SPDX-License-Identifier: Apache-2.0
"""The correction of a prediction by the nearest runs.

Standard library only: cinder-scheduler loads this module. The rule is that of
Cubist's program, found from what it predicts, which the paper's formula [1]_
of :mod:`serifos.lab.regression.tree` simplifies.
"""

from __future__ import annotations

from collections.abc import Mapping
from collections.abc import Sequence
import dataclasses
import math
from typing import Any
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

_HALF = 0.5  # added to a distance, of which a weight is the reciprocal [1]_
_STEPS = 16  # of a distance, in a distance of 1
_ROWS_AT_ONCE = 512  # of distances to every run


@dataclasses.dataclass(frozen=True)
class Neighbours:
    """The runs by which a prediction is corrected.

    :param nearest: how many of them correct one prediction
    :param furthest: the distance beyond which none does
    :param units: of each input, the difference that is a distance of 1,
        the greatest of one input
    :param between: the least and greatest estimate of one run
    :param runs: inputs of each, and its residual of the trees
    """

    nearest: int
    furthest: float
    units: tuple[float, ...]
    between: tuple[float, float]
    runs: tuple[tuple[float, ...], ...]

    @classmethod
    def of(cls, about: Mapping[str, Any]) -> Neighbours:
        """The neighbours as a model file has them."""
        least, greatest = map(float, about['between'])
        # Older files have none, and each input is at most 1.
        furthest = about.get('furthest', len(about['units']))
        return cls(about['nearest'], float(furthest),
                   tuple(map(float, about['units'])), (least, greatest),
                   tuple(tuple(map(float, run)) for run in about['runs']))

    def corrected(self, x: Sequence[float], found: float) -> float:
        """Mean of the estimates of the nearest runs, f + residual in bounds.

        Weighted by 1 / (d + 0.5), d in steps of 1/16; runs equally far as
        the last one share its weight. Where fewer than half of the nearest
        are near enough, f itself.
        """
        far = [self._distance(x, run) for run in self.runs]
        last = min(self.furthest, sorted(far)[self.nearest - 1])
        nearer, met = (sum(d < last for d in far), sum(d <= last for d in far))
        if 2 * met < self.nearest:
            return found
        share = min(1.0, (self.nearest - nearer) / max(1, met - nearer))
        says = weights = 0.0
        for d, run in zip(far, self.runs):
            if d <= last:
                weight = (share if d == last else 1.0) / (d + _HALF)
                says += weight * self._bound(found + run[-1])
                weights += weight
        return says / weights

    def _distance(self, x: Sequence[float], run: Sequence[float]) -> float:
        total = 0.0  # not sum(), which rounds otherwise than numpy
        for a, b, unit in zip(x, run, self.units):
            total += min(1.0, abs(a - b) / unit)
        return math.floor(total * _STEPS + _HALF) / _STEPS

    def _bound(self, estimate: float) -> float:
        least, greatest = self.between
        return min(max(estimate, least), greatest)

    def all_corrected(self, x: npt.NDArray[np.float64],
                      found: npt.NDArray[np.float64]
                      ) -> npt.NDArray[np.float64]:
        """The same for float[n, inputs] and float[n]."""
        import numpy as np  # the scheduler, which has none, never calls this
        made = np.array(found, float)
        for start in range(0, len(x), _ROWS_AT_ONCE):
            part = slice(start, start + _ROWS_AT_ONCE)
            made[part] = self._some_corrected(x[part], made[part])
        return made

    def _some_corrected(self, x: npt.NDArray[np.float64],
                        found: npt.NDArray[np.float64]
                        ) -> npt.NDArray[np.float64]:
        import numpy as np  # the scheduler, which has none, never calls this
        runs = np.array(self.runs)
        far = distances(x, runs, self.units)
        last = np.minimum(self.furthest, np.partition(
            far, self.nearest - 1)[:, self.nearest - 1, None])
        weights = self._weights(far, last)
        many = (far <= last).sum(axis=1)
        enough = 2 * many >= self.nearest
        says = np.clip(found[:, None] + runs[:, -1], *self.between)
        # cumsum adds row by row: alike in any company, unlike sum
        made = np.where(enough, (weights * says).cumsum(axis=1)[:, -1]
                        / np.where(enough, weights.cumsum(axis=1)[:, -1],
                                   1.0), found)
        return made

    def _weights(self, far: npt.NDArray[np.float64],
                 last: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
        """Of float[n, m] distances up to float[n, 1]."""
        import numpy as np  # the scheduler, which has none, never calls this
        nearer, ties = far < last, far == last
        left = self.nearest - nearer.sum(axis=1, keepdims=True)
        share = np.minimum(1.0, left / np.maximum(
            1, ties.sum(axis=1, keepdims=True)))
        return np.where(nearer, 1.0, np.where(ties, share, 0.0)) / (
            far + _HALF)


def distances(x: npt.NDArray[np.float64], runs: npt.NDArray[np.float64],
              units: Sequence[float]) -> npt.NDArray[np.float64]:
    """Distances of float[n, inputs] from float[m, inputs + …]: float[n, m]."""
    import numpy as np  # the scheduler, which has none, never calls this
    far = np.zeros((len(x), len(runs)))
    for column, unit in enumerate(units):
        far += np.minimum(1.0, abs(x[:, column, None] - runs[:, column])
                          / unit)
    return np.floor(far * _STEPS + _HALF) / _STEPS
