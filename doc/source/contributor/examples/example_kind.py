# SPDX-License-Identifier: Apache-2.0
"""A kind of model: the mean latency of as many workloads.

Standard library only, for cinder-scheduler loads this module; numpy is
imported where only a fit or the balancer comes.
"""

from __future__ import annotations

from collections.abc import Mapping
from collections.abc import Sequence
import dataclasses
import statistics
from typing import Any
from typing import TYPE_CHECKING

from serifos import errors
from serifos.facts import workload
from serifos.model import kinds

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt


@dataclasses.dataclass(frozen=True)
class MeanByCount:
    """What a model file of this kind says.

    :param mean_us: count of active workloads → µs
    """

    mean_us: Mapping[int, float]

    def predict(self, load: workload.Load) -> float:
        return self._at(load.count)

    def many(self, loads: npt.NDArray[np.float64]
             ) -> npt.NDArray[np.float64]:
        import numpy as np
        count = workload.FEATURES.index('count')
        return np.array([self._at(n) for n in loads[:, count]], float)

    def _at(self, count: float) -> float:
        """The mean of the nearest count that was measured, µs."""
        if count == 0:
            return 0.0
        return self.mean_us[min(
            self.mean_us, key=lambda n: (abs(n - count), n))]

    def work(self, load: workload.Load) -> float:
        return float(len(self.mean_us))

    @property
    def terms(self) -> int:
        return len(self.mean_us) - 1

    def lines(self) -> list[tuple[str, str]]:
        return [(f'count {n}', f'{us:.5g}')
                for n, us in sorted(self.mean_us.items())]


def read(kind: str, parameters: Mapping[str, Any]) -> MeanByCount:
    """:raises FormatError: where the parameters are not count → µs"""
    try:
        mean_us = {int(n): float(us) for n, us in parameters.items()}
    except (TypeError, ValueError):
        mean_us = {}
    if not mean_us or not all(0 <= us <= 1e12 for us in mean_us.values()):
        raise errors.FormatError(
            f'The parameters of a {kind} model must be a latency in µs for '
            'each count of workloads; fit it again with serifos-model fit.')
    return MeanByCount(mean_us)


def fit(loads: Sequence[workload.Load],
        y: npt.NDArray[np.float64]) -> dict[str, float]:
    """The parameters of a model file, of runs and what they measured."""
    by_count: dict[int, list[float]] = {}
    for load, us in zip(loads, y):
        by_count.setdefault(int(load.count), []).append(float(us))
    return {str(n): statistics.fmean(by_count[n]) for n in sorted(by_count)}


MEAN_BY_COUNT = kinds.Kind(read, f'{__name__}:fit')
