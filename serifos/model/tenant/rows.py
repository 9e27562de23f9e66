# SPDX-License-Identifier: Apache-2.0
"""What a tenant model is fitted to: figures of runs and of their tenants."""

from __future__ import annotations

from collections.abc import Mapping
from collections.abc import Sequence
import dataclasses

import numpy as np
import numpy.typing as npt

from serifos.facts.workload import Load
from serifos.facts.workload import Workload
from serifos.model import kinds
from serifos.model.tenant import arithmetic
from serifos.model.tenant.arithmetic import NUMBERS
from serifos.model.tenant import inputs
from serifos.model.tenant import trend

Floats = npt.NDArray[np.float64]

_OF = arithmetic.arrays()

_OF_RUN, _OF_KIND = 1.0, 0.15
"""Weights of the mean of a run, and of a tenant's reads or writes, against
1 of the latency that a tenant sees."""

_MOST = 3.0
"""The most that equal tenants of a run weigh together."""

_DEPTHS = 2.0, 6.0
_OF_DEPTH = 0.1
"""Multiples of the depths of a run at which :meth:`Rows.at_other_depths`
continues it, and the weight of that against the run."""


@dataclasses.dataclass(frozen=True)
class Rows:
    """What was measured: m figures of n runs, those of a run together.

    :param sums: of :data:`.inputs.FIELDS`, float[n, fields]
    :param first: the first figure of each run, int[n]
    :param run: the run of each figure, int[m]
    :param own: of :data:`.inputs.OWN`, float[m, parts]
    :param logs: float[m], of the figures
    :param weights: float[m]
    """

    sums: Floats
    first: npt.NDArray[np.intp]
    run: npt.NDArray[np.intp]
    own: Floats
    logs: Floats
    weights: Floats

    @classmethod
    def of(cls, loads: Sequence[Load], y: Floats,
           seen: Sequence[Sequence[tuple[Workload, kinds.Seen]]],
           figure: str) -> Rows:
        """Of a dataset's runs, as :func:`.fit.fit` takes them."""
        rows: dict[tuple[int, tuple[float, ...], float], float] = {}
        for run, load in enumerate(loads):
            sums = [getattr(load, name) for name in inputs.OWN_FIELDS]
            rows[run, _mean(sums, figure), y[run]] = _OF_RUN
            for workload, saw in seen[run] if seen else ():
                for own, value, weight in _figures(
                        inputs.sums_of(workload), saw, figure):
                    if value and sum(own):
                        row = run, own, value
                        rows[row] = min(rows.get(row, 0.0) + weight, _MOST)
        (run, own, values), weights = zip(*rows), [*rows.values()]
        runs = np.array(run)
        return cls(
            np.array([[getattr(load, name) for name in inputs.FIELDS]
                      for load in loads]),
            np.searchsorted(runs, np.arange(len(loads))), runs,
            np.array(own), np.log(np.array(values)), np.array(weights))

    def at_other_depths(self, coefficients: Mapping[str, float]) -> Rows:
        """The n runs, then what each would measure at other depths.

        From the run on, that follows the trend, which has the form of a
        queue: beyond the depths of its runs, a network that bends as they do
        may rise by powers.
        """
        n, (was,) = len(self.first), _logs(self.sums[None], coefficients)
        sums = self.sums[None] * np.array([1.0, *_DEPTHS])[:, None, None]
        rises = _logs(sums, coefficients) - was
        own = np.tile(self.own, (len(sums), 1, 1))
        own[:, :, inputs.QUEUE] *= np.array([1.0, *_DEPTHS])[:, None, None]
        first = np.arange(len(sums))[:, None] * len(self.run)
        weight = np.array([1.0, *[_OF_DEPTH] * len(_DEPTHS)])[:, None]
        return Rows(
            np.concatenate(sums), (first + self.first).ravel(),
            (np.arange(len(sums))[:, None] * n + self.run).ravel(),
            own.reshape(-1, own.shape[-1]),
            (self.logs + rises[:, self.run]).ravel(),
            (weight * self.weights).ravel())

    def values(self, coefficients: Mapping[str, float]) -> Floats:
        """Of :data:`.inputs.INPUTS`: float[n, inputs]."""
        return np.column_stack(inputs.of_load(
            self.sums.T, coefficients, _OF))


def _logs(sums: Floats, coefficients: Mapping[str, float]) -> Floats:
    """The log of the trend, in µs: float[k, n, fields] → float[k, n]."""
    return trend.log_us(coefficients, np.moveaxis(
        sums[..., :len(trend.FIELDS)], -1, 0), _OF)


def _mean(sums: Sequence[float], figure: str) -> tuple[float, ...]:
    """The mean of the factors over tenants.

    :param sums: theirs of :data:`.inputs.OWN_FIELDS`
    """
    factors, number = inputs.of_figure(figure, sums, NUMBERS)
    return tuple(each / number if number else 0.0 for each in factors)


def _figures(sums: Sequence[float], saw: kinds.Seen, figure: str
             ) -> list[tuple[tuple[float, ...], float | None, float]]:
    """(factors, what was seen, weight) of one tenant."""
    rest = _OF_KIND if figure == 'all' else 1.0
    return [(_mean(sums, name), value, weight) for name, value, weight in (
        ('all', saw.latency_us, 1.0), ('read', saw.read_latency_us, rest),
        ('write', saw.write_latency_us, rest)) if figure in ('all', name)]
