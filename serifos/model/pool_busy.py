# SPDX-License-Identifier: Apache-2.0
"""Predict how busy pools are with their volumes.

A volume asks for so many requests a second, wherever it lives. How many of
them are outstanding is the answer of the pool that it is on: few on a quick
one, dozens on one that falls behind. A latency for given outstanding I/Os
tells what to expect of a move for the minutes after it; for days, what counts
is the time that a pool's device takes for what its volumes ask for.

A request takes the latency that the model predicts for a volume alone, with
as many outstanding as the model was ever fitted to, by that number: the
device is busy throughout then, and works on all of them. By the utilization
law [1]_ the rate times this is the part of the time in which the volume keeps
the device busy. Parts add. A request that is larger than any that the model
was fitted to counts as several of these.

.. [1] Denning, Buzen: The Operational Analysis of Queueing Network Models.
   Computing Surveys 10, 1978. Section 3.
"""

from __future__ import annotations

from collections.abc import Iterable
from collections.abc import Sequence

import numpy as np

from serifos.facts.hot_by import BUSY
from serifos.facts import workload
from serifos.model.model import Model
from serifos.model import pool_models
from serifos.model.pool_models import Floats
from serifos.model.pool_models import Ints

_US = 1e6
_KIB, _RATE = 1, 4
_CLIPPED = {0: 'write_pct', 1: 'block_kib', 3: 'random_pct'}


class BusyFleet(pool_models.Fleet):
    """As its parent, but that pools are compared by how busy they are.

    A Load has more features: for each distinct model the part of its time
    for which the workload keeps a device busy, 0 for an idle one. The figure
    of a pool is their sum, µs of each second.
    """

    hot_by = BUSY

    def __init__(self, models: Sequence[Model | None],
                 floor: float = workload.ACTIVE_FLOOR) -> None:
        super().__init__(models, floor, squares=False)
        self._first = self.features
        self.features += len(self._models)
        self._alone = [pool_models.Fleet([model], 0.0, squares=False)
                       for model in self._models]

    def loads(self, workloads: Iterable[workload.Workload | None]) -> Floats:
        """As of the parent; without a rate by outstanding I/Os."""
        seen = [*workloads]
        patterns = np.array([
            (0.0, 0.0, 0.0, 0.0, 0.0) if w is None else
            (w.write_pct, w.block_kib, w.outstanding, w.random_pct,
             np.nan if w.iops is None else w.iops) for w in seen],
            float).reshape(-1, _RATE + 1)
        return self._with_parts(super().loads(seen), patterns)

    def patterns(self, patterns: Floats) -> Floats:
        """As of the parent.

        :param patterns: float[n, 5], with requests per second at the end
        """
        return self._with_parts(super().patterns(patterns), patterns)

    def figure(self, pools: Ints, loads: Floats, own: Floats) -> Floats:
        """How busy pools are, µs[n] of each second; NaN without a model."""
        slot = self._slot[pools]
        part = loads[np.arange(len(loads)), self._first + slot]
        return np.where(slot < 0, np.nan, _US * part)

    def _with_parts(self, loads: Floats, patterns: Floats) -> Floats:
        for column, (model, alone) in enumerate(
                zip(self._models, self._alone), self._first):
            part = np.rint(workload.GRID * self._part(
                model, alone, patterns)) / workload.GRID
            loads[:, column] = np.where(loads[:, 0] > 0, part, 0.0)
        return loads

    def _part(self, model: Model, alone: pool_models.Fleet,
              patterns: Floats) -> Floats:
        """float[n]: the part of its time, which is none without a rate."""
        known, q = patterns.copy(), patterns[:, 2]
        for column, name in _CLIPPED.items():
            known[:, column] = np.clip(known[:, column], *model.range.get(
                name, (0.0, np.inf)))
        first = np.zeros(len(known), np.intp)
        most = max(1.0, model.range.get(
            'iodepth', (workload.DEFAULT_IODEPTH,) * 2)[1])
        known[:, 2] = most
        service_us = alone.latency(first, alone.patterns(known)) / most
        rate, unknown = patterns[:, _RATE].copy(), np.isnan(
            patterns[:, _RATE])
        if unknown.any():
            known[:, 2] = q
            its = alone.latency(first, alone.patterns(known))
            rate[unknown] = (_US * q / np.maximum(its, 1e-3))[unknown]
        larger = np.maximum(1.0, patterns[:, _KIB] / np.maximum(
            known[:, _KIB], 1e-9))
        return rate * larger * service_us / _US
