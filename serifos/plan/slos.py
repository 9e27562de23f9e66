# SPDX-License-Identifier: Apache-2.0
"""The SLOs of a planning problem, and by how much they are exceeded."""

from __future__ import annotations

from collections.abc import Sequence
import dataclasses
import functools

import numpy as np
import numpy.typing as npt

from serifos.facts.cluster import Volume
from serifos.plan import slots

Floats = slots.Floats
Ints = slots.Ints


@dataclasses.dataclass(frozen=True, eq=False)
class Slos:
    """The SLOs of volumes, and what predicts what they see.

    :param us: µs[volumes], infinite for a volume without an SLO
    :param loads: float[volumes, slots, features]
    :param tenants: float[slots, features], the sum of these
    :param home: int[volumes], the pool of each as observed
    :param factors: float[volumes], what is predicted for each there is
        multiplied by
    :param measured_us: µs[volumes] that each sees at present; NaN where that
        is not measured
    """

    us: Floats
    models: slots.OverSlots
    loads: Floats
    tenants: Floats
    home: Ints
    factors: Floats
    measured_us: Floats

    @classmethod
    def of(cls, volumes: Sequence[Volume], models: slots.OverSlots,
           loads: Floats, tenants: Floats, home: Ints) -> Slos:
        """The SLOs of volumes in the order of their Loads."""
        return cls(np.array([
            np.inf if v.max_latency_us is None else v.max_latency_us
            for v in volumes], float), models, loads, tenants, home,
            np.array([v.correction for v in volumes], float),
            np.array([np.nan if v.workload is None or not v.workload.iops
                      or v.workload.latency_us is None
                      else v.workload.latency_us for v in volumes], float))

    @functools.cached_property
    def volumes(self) -> Ints:
        """The volumes with an SLO."""
        return np.flatnonzero(np.isfinite(self.us))

    @functools.cached_property
    def violated(self) -> npt.NDArray[np.bool_]:
        """bool[slos]: the SLOs that are violated now, as measured."""
        return self.measured_us[self.volumes] > self.us[self.volumes]

    def beyond_us(self, which: Ints, pools: Ints, loads: Floats,
                  row: Ints) -> Floats:
        """By how much tenants exceed their SLO, µs[n].

        0 where the SLO is met, or nothing is predicted. The parameters
        are those of :meth:`sees_us`.
        """
        return np.nan_to_num(np.maximum(self.sees_us(
            which, pools, loads, row) - self.us[self.volumes[which]], 0.0))

    def sees_us(self, which: Ints, pools: Ints, loads: Floats,
                row: Ints) -> Floats:
        """The latencies of tenants, µs[n]; NaN where none is predicted.

        Where its pool is that of the observation, by what is measured of it
        there, and by how much the prediction changes. An idle volume,
        or one of which nothing is known, is taken to see what all tenants
        would see there in the mean; one that is idle in a slot alone, what
        it would see if it did there what it does in others.

        :param which: int[n], index into :attr:`volumes`
        :param pools: int[n], where each is
        :param loads: float[k, slots, features]
        :param row: int[n], the Load of each one's device
        """
        volumes, seen = self.volumes[which], np.empty(len(which))
        number = int(pools.max(initial=0)) + 1
        for piece in slots.pieces(len(which), loads.shape[1]):
            every, place = np.unique(
                row[piece] * number + pools[piece], return_inverse=True)
            each, of = np.unique(volumes[piece], return_inverse=True)
            seen[piece] = self.models.tenants(
                every % number, loads[every // number], place,
                self.mix(each)[of])
        return seen * np.where(
            pools == self.home[volumes], self.factors[volumes], 1.0)

    def mix(self, volumes: Ints) -> Floats:
        """float[n, slots, features]: by what mix each volume is judged."""
        its = self.loads[volumes]
        idle = its[..., 0] == 0
        usual = np.where(idle.all(1)[:, None, None], self.tenants,
                         its.sum(axis=1, keepdims=True, dtype=float))
        return np.where(idle[..., None], usual, its)
