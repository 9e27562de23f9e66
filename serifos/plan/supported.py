# SPDX-License-Identifier: Apache-2.0
"""SLOs that pools can meet, and up to which load.

As the paper's Figure 6 has it, the SLO that can be met is the latency
that a share of the volumes, 99 %, stays below. A load of 2 is twice the
tenants: on each pool twice as many volumes that do what those there do. What
each volume sees then is predicted for it alone, where the model tells tenants
apart, else it is the mean of the pool. Over the slots of a history it is one
figure of them, the one by which plans judge SLOs: for a volume that is
idle in a slot what it would see there, doing what it does in others.
"""

from __future__ import annotations

from collections.abc import Sequence
import dataclasses

import numpy as np

from serifos.facts.cluster import Cluster
from serifos.plan.limits import Limits
from serifos.plan import predictions
from serifos.plan.problem import Problem
from serifos.plan.slots import pieces
from serifos.plan.slots import Slots

Floats = predictions.Floats
Ints = predictions.Ints

STEP = 1.05
"""From one load that is tried to the next, for SLOs that are made."""

MOST = 20.0
"""The greatest load that is tried, by the present one."""


@dataclasses.dataclass(frozen=True, slots=True)
class Supported:
    """The SLOs that a pool, or all of them, can meet.

    :param pool: its name; None for the cluster
    :param volumes: active ones, in any slot
    :param outstanding: their requests, over slots as their latencies
    :param seen_us: at each load asked for, the latency that the share of them
        stays below; empty where there are none
    :param slo_us: the least of the SLOs of these
    :param kept_up_to: the load up to which all SLOs are met, at most
        :data:`MOST`; None where no volume has an SLO
    """

    pool: str | None
    volumes: int
    outstanding: float
    seen_us: tuple[float, ...]
    slo_us: float | None = None
    kept_up_to: float | None = None


def supported(cluster: Cluster, models: predictions.Predictions,
              limits: Limits, loads: Sequence[float],
              share: float = 0.99,
              slots: Slots | None = None) -> list[Supported]:
    """The SLOs that each pool with a model can meet, then all of them.

    :param loads: each above 0; 1 is what there is
    :param share: of the volumes that stay below, above 0 to 1
    :param slots: what the volumes did; None for what the cluster says
    """
    view = _View.of(Problem.of(cluster, models, limits, slots))
    seen = [view.seen_us(load) for load in loads]
    kept, outstanding = view.kept_up_to(), view.outstanding
    slo_us, modelled = view.slo_us, view.problem.modelled

    def row(name: str | None, its: Ints) -> Supported:
        limits_us = slo_us[its]
        some = np.isfinite(limits_us)
        return Supported(
            name, len(its), float(outstanding[its].sum()),
            tuple(float(np.quantile(us[its], share, method='inverted_cdf'))
                  for us in seen) if len(its) else (),
            float(limits_us.min()) if some.any() else None,
            float(kept[its][some].min()) if some.any() else None)

    order = np.argsort(view.pool, kind='stable')
    ends = np.searchsorted(view.pool[order], np.arange(
        len(cluster.pools) + 1))
    return [*(row(pool.name, order[ends[i]:ends[i + 1]])
              for i, pool in enumerate(cluster.pools) if modelled[i]),
            row(None, np.arange(len(view.pool)))]


@dataclasses.dataclass(frozen=True, eq=False)
class _View:
    """The active volumes on pools with a model.

    :param which: int[n], index into the problem's volumes
    :param pool: int[n], where each is
    :param total: float[devices, slots, features]
    """

    problem: Problem
    which: Ints
    pool: Ints
    total: Floats

    @classmethod
    def of(cls, problem: Problem) -> _View:
        here = np.flatnonzero((problem.home >= 0) & problem.active)
        here = here[problem.modelled[problem.home[here]]]
        return cls(problem, here, problem.home[here],
                   problem.device_loads(problem.home))

    @property
    def slo_us(self) -> Floats:
        """µs[n], infinite for none."""
        return self.problem.slos.us[self.which]

    @property
    def outstanding(self) -> Floats:
        """float[n]: requests of each."""
        return self.problem.queued(self.problem.loads[self.which])

    def seen_us(self, load: float, which: Ints | None = None) -> Floats:
        """What volumes see at a load, µs.

        :param which: None for all
        """
        its = np.arange(len(self.pool)) if which is None else which
        found = np.empty(len(its))
        for piece in pieces(len(its), self.total.shape[1]):
            some = its[piece]
            found[piece] = self.problem.models.tenants(
                self.pool[some], *self._at(load, some))
        return found

    def _at(self, load: float, its: Ints) -> tuple[Floats, Ints, Floats]:
        """The Loads that volumes are on at a load, and what they do there.

        :returns: float[n, slots, features]; int[n], the row of each in it;
            float[n, slots, features]
        """
        own = self.problem.slos.mix(self.which[its])
        there = self.total[self.problem.device[self.pool[its]]]
        total = load * there
        total[..., 0] = np.maximum(np.rint(total[..., 0]), there[..., 0] > 0)
        # No pool holds less than the volume that looks at it.
        busy = self.problem.loads[self.which[its], :, :1] > 0
        return np.where(busy, np.maximum(total, own), total), np.arange(
            len(its)), own

    def kept_up_to(self) -> Floats:
        """float[n]: the load up to which each one's SLO is met."""
        found, slo_us = np.full(len(self.pool), np.inf), self.slo_us
        left = np.flatnonzero(np.isfinite(slo_us))
        found[left] = 0.0
        load = 1 / MOST
        while load <= MOST * (1 + 1e-9) and len(left):
            left = left[self.seen_us(load, left) <= slo_us[left]]
            found[left] = load
            load *= STEP
        return found
