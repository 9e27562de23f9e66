# SPDX-License-Identifier: Apache-2.0
"""The predictions that planners work with, and their corrections."""

from __future__ import annotations

from collections.abc import Iterable
import dataclasses
from typing import Protocol

import numpy as np
import numpy.typing as npt

from serifos.facts.hot_by import BUSY
from serifos.facts.workload import Workload

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.intp]


class Predictions(Protocol):
    """The models of a cluster's pools, in its order.

    :ivar hot_by: what pools are compared by, of :mod:`serifos.facts.hot_by`
    """

    hot_by: str

    def loads(self, workloads: Iterable[Workload | None]) -> Floats:
        """The Load of each workload, additive: float[n, features]."""

    def patterns(self, patterns: Floats) -> Floats:
        """The Load of each access pattern, additive: float[n, features].

        :param patterns: float[n, 5]: write_pct, block_kib, outstanding I/Os,
            random_pct and requests per second
        """

    def latency(self, pools: Ints, loads: Floats) -> Floats:
        """The latency for planning of pools under Loads.

        :param pools: int[n]
        :param loads: float[n, features]
        :returns: µs[n], NaN where a pool has no model
        """

    def printed(self, pools: Ints, loads: Floats) -> Floats:
        """The formulas of the models as they are printed, µs[n].

        The latency without a factor: that of a Load outside of the training
        range, and a correction. It may be below 0.
        """

    def tenants(self, pools: Ints, loads: Floats, which: Ints,
                own: Floats) -> Floats:
        """What tenants see in pools under Loads, in the mean.

        The latency of the pool where its model does not tell them apart.

        :param which: int[m], the row of a pool and its Load
        :param own: float[m, features], the sum of the Loads of the tenants
            asked for
        :returns: µs[m]
        """

    def above(self, pools: Ints, loads: Floats) -> Floats:
        """By what :meth:`latency` is above the prediction: float[n]."""

    def figure(self, pools: Ints, loads: Floats, own: Floats) -> Floats:
        """What pools under Loads are compared by: what tenants see there.

        The root mean square over them, or a 99th percentile in the mean; or
        how busy each pool is, µs of each second: as ``hot_by`` says.

        :param own: float[n, features], the sum of the Loads of the tenants
        :returns: µs[n], NaN where a pool has no model
        """


@dataclasses.dataclass(frozen=True, eq=False)
class Corrected:
    """Predictions times a factor for each pool.

    :param factors: float[pools]
    :param above_now: float[pools], by what planning would be above the
        predictions at present, where the factor is of what is measured; 1
        elsewhere. Beyond the training range planning is above the measured
        latency only by as much more.
    """

    models: Predictions
    factors: Floats
    above_now: Floats

    @property
    def hot_by(self) -> str:
        return self.models.hot_by

    def loads(self, workloads: Iterable[Workload | None]) -> Floats:
        return self.models.loads(workloads)

    def patterns(self, patterns: Floats) -> Floats:
        return self.models.patterns(patterns)

    def latency(self, pools: Ints, loads: Floats) -> Floats:
        return self._by(pools, loads) * self.models.latency(pools, loads)

    def printed(self, pools: Ints, loads: Floats) -> Floats:
        return self.models.printed(pools, loads)

    def tenants(self, pools: Ints, loads: Floats, which: Ints,
                own: Floats) -> Floats:
        return self._by(pools, loads)[which] * self.models.tenants(
            pools, loads, which, own)

    def figure(self, pools: Ints, loads: Floats, own: Floats) -> Floats:
        """How busy a pool is, no latency corrects."""
        found = self.models.figure(pools, loads, own)
        return found if self.hot_by == BUSY else (
            self._by(pools, loads) * found)

    def above(self, pools: Ints, loads: Floats) -> Floats:
        return self.models.above(pools, loads) / self._spared(pools, loads)

    def _by(self, pools: Ints, loads: Floats) -> Floats:
        return self.factors[pools] / self._spared(pools, loads)

    def _spared(self, pools: Ints, loads: Floats) -> Floats:
        most = self.above_now[pools]
        return most if (most == 1).all() else np.minimum(
            most, self.models.above(pools, loads))
