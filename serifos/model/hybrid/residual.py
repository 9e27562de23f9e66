# SPDX-License-Identifier: Apache-2.0
"""The residual of a hybrid model: a sparse Gaussian process.

Squared-exponential kernel, inducing points; it describes what the trend
leaves, in log latency. Standard library only: cinder-scheduler loads this
module.
"""

from __future__ import annotations

from collections.abc import Iterator
from collections.abc import Sequence
import dataclasses
import functools

from serifos.model.hybrid import trend as tr


@dataclasses.dataclass(frozen=True)
class Residual:
    """A Gaussian process by its inducing points.

    :param height: standard deviation far from every run, of log latency
    :param noise: standard deviation of a run about the model
    :param length_scales: of the kernel, by :data:`.trend.COORDINATES`
    :param least: lower ends of the coordinates within which it varies
    :param points: the inducing points
    :param weights: of the kernel at each
    :param certainty: reduction of the variance by the runs, for each pair
        of points; symmetric
    """

    height: float
    noise: float
    length_scales: tuple[float, ...]
    least: tuple[float, ...]
    greatest: tuple[float, ...]
    points: tuple[tuple[float, ...], ...]
    weights: tuple[float, ...]
    certainty: tuple[tuple[float, ...], ...]

    @functools.cached_property
    def _scaled(self) -> tuple[tuple[float, ...], ...]:
        return tuple(
            tuple(map(float.__truediv__, point, self.length_scales))
            for point in self.points)

    def kernel(self, where: Sequence[tr.Number],
               of: tr.Arithmetic) -> Iterator[tr.Number]:
        """exp(-½ distance²) of each point."""
        at = [of.larger(of.smaller(value, most), least) / length
              for value, least, most, length in zip(
                  where, self.least, self.greatest, self.length_scales)]
        for point in self._scaled:
            square = (at[0] - point[0]) * (at[0] - point[0])
            for value, its in zip(at[1:], point[1:]):
                difference = value - its
                square = square + difference * difference
            yield of.exp(-0.5 * square)

    def mean(self, where: Sequence[tr.Number],
             of: tr.Arithmetic) -> tr.Number:
        total = 0.0
        for weight, value in zip(self.weights, self.kernel(where, of)):
            total = total + weight * value
        return total

    def variance(self, where: Sequence[tr.Number],
                 of: tr.Arithmetic) -> tr.Number:
        """The variance of the log latency, without the noise."""
        values = list(self.kernel(where, of))
        return of.larger(
            self.height ** 2 - quadratic_form(self.certainty, values), 0.0)


def quadratic_form(matrix: Sequence[Sequence[float]],
                   vector: Sequence[tr.Number]) -> tr.Number:
    """v'Mv."""
    total = 0.0
    for row, value in zip(matrix, vector):
        inner = 0.0
        for weight, other in zip(row, vector):
            inner = inner + weight * other
        total = total + value * inner
    return total
