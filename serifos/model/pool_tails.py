# SPDX-License-Identifier: Apache-2.0
"""The 99th percentiles that tenants of many pools see, by models of these.

Telemetry has only means, so that a 99th percentile is always predicted:
by the model that was fitted to those of the runs, ``tails`` in a model file.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from serifos.facts import hot_by
from serifos.facts import workload
from serifos.model.model import Model
from serifos.model import pool_models
from serifos.model.pool_models import Floats
from serifos.model.pool_models import Ints


class TailFleet(pool_models.Fleet):
    """As its parent, but that pools are compared by a 99th percentile.

    Latencies, and what tenants see, stay means: SLOs are about these. A
    Load has more features: for each distinct model of the 99th percentile,
    how many workloads lie outside of its range. A pool whose model has none
    counts as one without a model.

    :param by: ``read_p99`` or ``write_p99``
    """

    def __init__(self, models: Sequence[Model | None], by: str,
                 floor: float = workload.ACTIVE_FLOOR) -> None:
        figure = hot_by.TAILS[by]
        having = [model if model and figure in model.tails else None
                  for model in models]
        super().__init__(having, floor, squares=False)
        self.hot_by = by
        self._tails = pool_models.Fleet(
            [model and model.tails[figure] for model in having], floor,
            squares=False)
        self._own = self.features
        self.features += self._tails.features - pool_models.COMMON

    def figure(self, pools: Ints, loads: Floats, own: Floats) -> Floats:
        """The 99th percentile that the tenants see in the mean, µs[n]."""
        return self._tails.tenants(
            pools, self._of(loads), np.arange(len(pools)), self._of(own))

    def _loads(self, seen: dict[str, Floats]) -> Floats:
        found = super()._loads(seen)
        found[:, self._own:] = self._tails._loads(seen)[
            :, pool_models.COMMON:]
        return found

    def _of(self, loads: Floats) -> Floats:
        """The same Loads as the models of the 99th percentile read them."""
        return np.delete(loads, np.s_[pool_models.COMMON:self._own], axis=1)
