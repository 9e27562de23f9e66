# SPDX-License-Identifier: Apache-2.0
"""The correction of a prediction by the nearest runs.

Standard library only: cinder-scheduler loads this module. The rule is that of
Cubist's program, found from what it predicts, which the paper's formula [1]_
of :mod:`serifos.lab.regression.tree` simplifies.
"""

from __future__ import annotations

from collections.abc import Mapping
import dataclasses
import functools
from typing import Any
from typing import TYPE_CHECKING

from serifos.lab.regression import nearest as near

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

_HALF = 0.5  # added to a distance, of which a weight is the reciprocal [1]_
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

    def corrected(self, x: near.Vector, found: float) -> float:
        """Mean of what the nearest runs say, f + residual within bounds.

        Weighted by 1 / (d + 0.5), d in steps of 1/16; runs equally far as
        the last one share its weight. Where fewer than half of the nearest
        are near enough, f itself.
        """
        met = near.search(self._tree, self.runs, self.units, x, self.nearest,
                          self.furthest)
        if 2 * len(met) < self.nearest:
            return found
        last = met[-1][0]
        nearer = sum(d < last for d, _ in met)
        share = min(1.0, (self.nearest - nearer) / (len(met) - nearer))
        says = weights = 0.0
        for d, run in met:
            weight = (share if d == last else 1.0) / (d + _HALF)
            says += weight * self._bound(found + self.runs[run][-1])
            weights += weight
        return says / weights

    @functools.cached_property
    def _tree(self) -> list[near.Node]:
        return near.tree(self.runs, self.units)

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
        # where it matters which runs the search meets, and in which order
        for i in np.flatnonzero((many > near.MOST) | (
                self._outside(x, runs[:, :-1]) & (last[:, 0] >= 1))):
            made[i] = self.corrected(x[i].tolist(), float(found[i]))
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

    def _outside(self, x: npt.NDArray[np.float64],
                 runs: npt.NDArray[np.float64]) -> npt.NDArray[np.bool_]:
        """Whether an input is more than its unit away from a run."""
        import numpy as np  # the scheduler, which has none, never calls this
        away = np.maximum(x - runs.min(axis=0), runs.max(axis=0) - x)
        outside: npt.NDArray[np.bool_] = (
            away > np.array(self.units)).any(axis=1)
        return outside


def distances(x: npt.NDArray[np.float64], runs: npt.NDArray[np.float64],
              units: near.Vector) -> npt.NDArray[np.float64]:
    """:func:`.nearest.distance` of float[n, inputs] and float[m, …]."""
    import numpy as np  # the scheduler, which has none, never calls this
    far = np.zeros((len(x), len(runs)))
    for column, unit in enumerate(units):
        far += np.minimum(1.0, abs(x[:, column, None] - runs[:, column])
                          / unit)
    return np.floor(far * near.STEPS + _HALF) / near.STEPS
