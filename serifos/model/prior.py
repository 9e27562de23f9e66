# SPDX-License-Identifier: Apache-2.0
"""Priors of a device with few runs: models of devices measured before.

Each of those models is brought near the runs by a regression of its log error
on a few sums of the Load, and counts by how near it then comes. What they
predict together at reference Loads, weighed lightly, is fitted to beside the
runs, so that a model of six runs is sane where it has none.
"""

from __future__ import annotations

from collections.abc import Sequence
import dataclasses
import functools
from importlib import resources
import json
import math

import numpy as np
import numpy.typing as npt

from serifos.facts.workload import FEATURES
from serifos.facts.workload import Load
from serifos.facts.workload import Workload
from serifos.model import kinds
from serifos.model.model import Model

Floats = npt.NDArray[np.float64]

ENOUGH = 20
"""Different Loads from which on a prior gained nothing (reference/tenant)."""

_WEIGHT = 0.5  # of all reference runs together, against 1 of a run

_REFERENCES, _MOST_TENANTS = 60, 10
_WRITE_PCTS = 0, 5, 25, 50, 75, 95, 100
_BLOCK_KIBS = 4, 8, 16, 32, 64, 128, 256
_LOG2_DEPTHS = -3, 6

# Of the natural logarithm of a latency: how far runs are from a regression,
# and how far devices differ in level, by depth, writes and blocks.
_ERROR = 0.3
_DIFFER = np.array([2.0, 0.2, 0.6, 0.2])
_FIT = 0.15  # a better fit than that tells nothing
_TEMPER = 0.5  # runs of one device err alike
_LEAST_US = 1e-3

_SUMS = [FEATURES.index(name)
         for name in ('sum_q_r', 'sum_q_w', 'sum_q_s_r', 'sum_q_s_w')]


@dataclasses.dataclass(frozen=True, eq=False)
class Reference:
    """Runs that nobody made, as devices measured before predict them.

    :param loads: of n runs
    :param y: float[n], their latency, µs
    :param seen: of each run its tenants and what they would see
    :param weight: of each, against 1 of a run that was made
    """

    loads: tuple[Load, ...]
    y: Floats
    seen: tuple[tuple[tuple[Workload, kinds.Seen], ...], ...]
    weight: float


@functools.cache
def library(predicts: str = 'latency_us'
            ) -> tuple[kinds.TenantPredictor, ...]:
    """The devices of which serifos ships a model, in the order of names."""
    found = [Model.from_json(json.loads(path.read_text())) for path
             in resources.files('serifos.model.priors').iterdir()
             if path.name.endswith('.json')]
    return tuple(model.telling for model in sorted(
        found, key=lambda model: model.name)
        if model.telling is not None and model.predicts == predicts)


def reference(loads: Sequence[Load], y: Floats,
              devices: Sequence[kinds.TenantPredictor],
              rng: np.random.Generator) -> Reference | None:
    """Reference runs for a device with few runs; None where it has enough.

    :param loads: of n runs, which may be none
    :param y: float[n], their latency, µs
    :param rng: of the reference Loads
    """
    weight = _WEIGHT * (1 - len(set(map(_cell, loads))) / ENOUGH)
    if not devices or weight <= 0:
        return None
    runs = _vectors(loads)
    near = [_Near.of(device, runs, np.log(y)) for device in devices]
    counts = np.exp(np.array([one.likely for one in near])
                    - max(one.likely for one in near))
    workloads = _workloads(rng)
    pools = [Load.total(map(Load.of, each)) for each in workloads]
    vectors = _vectors(pools)
    run = np.repeat(np.arange(len(pools)), [*map(len, workloads)])
    own = _vectors([Load.of(each, floor=0.0)
                    for its in workloads for each in its])

    def mean(logs: Sequence[Floats]) -> Floats:
        return np.exp(np.average(logs, axis=0, weights=counts))
    saw = iter(mean([one.tenants(vectors[run], own) for one in near]
                    ).tolist())
    return Reference(
        tuple(pools), mean([one.pools(vectors) for one in near]),
        tuple(tuple((each, kinds.Seen(next(saw))) for each in its)
              for its in workloads), weight / len(pools))


@dataclasses.dataclass(frozen=True, eq=False)
class _Near:
    """A device's model, brought near the runs of another.

    :param factors: of :func:`_features`, float[4]
    :param likely: the log of how much it counts
    """

    device: kinds.TenantPredictor
    factors: Floats
    likely: float

    @classmethod
    def of(cls, device: kinds.TenantPredictor, runs: Floats,
           logs: Floats) -> _Near:
        """:param logs: of what was measured, float[n]"""
        if not len(logs):
            return cls(device, np.zeros(len(_DIFFER)), 0.0)
        features = _features(runs)
        errors = logs - _log(device.many(runs))
        factors = np.linalg.solve(
            features.T @ features / _ERROR ** 2 + np.diag(_DIFFER ** -2.0),
            features.T @ errors / _ERROR ** 2)
        left = np.mean((errors - features @ factors) ** 2)
        far = np.sum((factors / _DIFFER)[1:] ** 2)
        return cls(device, factors, -_TEMPER / 2 * float(
            len(logs) * np.log(left + _FIT ** 2) + far))

    def pools(self, pools: Floats) -> Floats:
        """The log of the mean latency of pools: float[n]."""
        return (_log(self.device.many(pools))
                + _features(pools) @ self.factors)

    def tenants(self, pools: Floats, own: Floats) -> Floats:
        """The same of what a tenant sees: float[n]."""
        return (_log(self.device.tenants(pools, own))
                + _features(pools) @ self.factors)


def _features(vectors: Floats) -> Floats:
    """1, the log of the depth, the share of writes, that of the block."""
    q_r, q_w, kib_r, kib_w = vectors[:, _SUMS].T
    q = q_r + q_w
    return np.column_stack([
        np.ones(len(q)), np.log((q + 0.5) / 12), q_w / q - 0.5,
        np.log((kib_r + kib_w) / q / 16)])


def _cell(load: Load) -> tuple[float, ...]:
    """Loads that differ by less than a factor of two are one."""
    return tuple(round(math.log2(getattr(load, FEATURES[i]) + 0.5))
                 for i in _SUMS)


def _log(us: Floats) -> Floats:
    return np.log(np.maximum(us, _LEAST_US))


def _vectors(loads: Sequence[Load]) -> Floats:
    return np.array([load.vector for load in loads]).reshape(
        -1, len(FEATURES))


def _workloads(rng: np.random.Generator) -> list[list[Workload]]:
    """Sets of workloads as tenants' volumes have them, light and heavy."""
    return [[Workload(float(rng.choice(_WRITE_PCTS)),
                      float(rng.choice(_BLOCK_KIBS)),
                      float(2 ** rng.uniform(*_LOG2_DEPTHS)))
             for _ in range(rng.integers(1, _MOST_TENANTS + 1))]
            for _ in range(_REFERENCES)]
