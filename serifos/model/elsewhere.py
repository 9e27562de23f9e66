# SPDX-License-Identifier: Apache-2.0
"""What will pools see of tenants who ask for less where they wait longer?

A Load is additive as long as a tenant's own part of it is known before. A
tenant that answers to latency has another q on another device: a vector
here holds one Load for each model of the fleet, a tenant's with the q that
is expected of it there, and a pool reads its own model's. So it is additive
still, and planners need know nothing of it.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from serifos.model import fleet
from serifos.model import model as mm
from serifos import workload as wl

Floats = npt.NDArray[np.float64]


class Elsewhere:
    """As :class:`.fleet.Fleet`, each workload as it will be on each model.

    :param models: the model of each pool, in the pools' order, None where a
        pool has none
    :param names: the name of each pool's model, by which
        :meth:`.Workload.on` knows it
    """

    def __init__(self, models: Sequence[mm.Model | None],
                 names: Sequence[str | None],
                 floor: float = wl.ACTIVE_FLOOR) -> None:
        self._fleet = fleet.Fleet(models, floor)
        self._names = sorted({name for name in names if name is not None})
        self._block = np.array([
            0 if name is None else self._names.index(name)
            for name in names], np.intp)
        self.features = max(1, len(self._names)) * self._fleet.features

    def load(self, workload: wl.Workload | None) -> Floats:
        """The Loads of one workload, model by model: float[features]."""
        return np.concatenate([self._fleet.load(
            workload and workload.on(name)) for name in self._names or ['']])

    def latency(self, pools: npt.NDArray[np.intp], loads: Floats) -> Floats:
        """As :meth:`.fleet.Fleet.latency`."""
        own = loads.reshape(len(loads), -1, self._fleet.features)
        return self._fleet.latency(
            pools, own[np.arange(len(loads)), self._block[pools]])
