# SPDX-License-Identifier: Apache-2.0
"""Which promise pools can keep, and up to which load.

As the paper's Figure 6 has it, the promise that can be kept is the latency
that a share of the volumes, 99 %, stays below. A load of 2 is twice the
tenants: on each pool twice as many volumes that do what those there do. What
each volume sees then is predicted for it alone, where the model tells tenants
apart, else it is the mean of the pool.
"""

from __future__ import annotations

from collections.abc import Sequence
import dataclasses

import numpy as np

from serifos.facts import cluster as cl
from serifos.plan import limits as lm
from serifos.plan import predictions as pr
from serifos.plan import problem as pm

Floats = pr.Floats
Ints = pr.Ints

STEP = 1.05
"""From one load that is tried to the next, for promises that are made."""

MOST = 20.0
"""The greatest load that is tried, by the present one."""


@dataclasses.dataclass(frozen=True, slots=True)
class Supported:
    """What a pool, or all of them, can promise.

    :param pool: its name; None for the cluster
    :param volumes: active ones
    :param outstanding: their requests
    :param seen_us: at each load asked for, the latency that the share of them
        stays below; empty where there are none
    :param promised_us: the least that any of them was promised
    :param kept_up_to: the load up to which all promises are kept, at most
        :data:`MOST`; None where nothing is promised
    """

    pool: str | None
    volumes: int
    outstanding: float
    seen_us: tuple[float, ...]
    promised_us: float | None = None
    kept_up_to: float | None = None


def supported(cluster: cl.Cluster, models: pr.Predictions,
              limits: lm.Limits, loads: Sequence[float],
              share: float = 0.99) -> list[Supported]:
    """What each pool with a model can promise, then what all of them can.

    :param loads: each above 0; 1 is the present one
    :param share: of the volumes that stay below, above 0 to 1
    """
    view = _View.of(cluster, models, limits)
    seen = [view.seen_us(load) for load in loads]
    kept = view.kept_up_to()

    def row(name: str | None, its: Ints) -> Supported:
        promised = view.promise_us[its]
        some = np.isfinite(promised)
        return Supported(
            name, len(its), float(view.outstanding[its].sum()),
            tuple(float(np.quantile(us[its], share, method='inverted_cdf'))
                  for us in seen) if len(its) else (),
            float(promised.min()) if some.any() else None,
            float(kept[its][some].min()) if some.any() else None)

    order = np.argsort(view.pool, kind='stable')
    ends = np.searchsorted(view.pool[order], np.arange(
        len(cluster.pools) + 1))
    return [*(row(pool.name, order[ends[i]:ends[i + 1]])
              for i, pool in enumerate(cluster.pools) if view.modelled[i]),
            row(None, np.arange(len(view.pool)))]


@dataclasses.dataclass(frozen=True, eq=False)
class _View:
    """The active volumes on pools with a model.

    :param pool: int[n], where each is
    :param own: float[n, features]
    :param total: float[n, features], of the device of each
    :param promise_us: µs[n], infinite for none
    :param outstanding: float[n]
    :param modelled: bool[pools]
    """

    models: pr.Predictions
    pool: Ints
    own: Floats
    total: Floats
    promise_us: Floats
    outstanding: Floats
    modelled: pm.Bools

    @classmethod
    def of(cls, cluster: cl.Cluster, models: pr.Predictions,
           limits: lm.Limits) -> _View:
        problem = pm.Problem.of(cluster, models, limits)
        own = problem.loads[:, 0]
        here = np.flatnonzero((problem.home >= 0) & (own[:, 0] > 0))
        here = here[problem.modelled[problem.home[here]]]
        pool = problem.home[here]
        total = problem.device_loads(problem.home)[:, 0]
        return cls(models, pool, own[here], total[problem.device[pool]],
                   problem.promise_us[here], problem.queued(
                       problem.loads[here]), problem.modelled)

    def seen_us(self, load: float, which: Ints | None = None) -> Floats:
        """What volumes see at a load, µs.

        :param which: None for all
        """
        its = np.arange(len(self.pool)) if which is None else which
        total = load * self.total[its]
        total[:, 0] = np.rint(total[:, 0])
        # No pool holds less than the volume that looks at it.
        return self.models.tenants(
            self.pool[its], np.maximum(total, self.own[its]),
            np.arange(len(its)), self.own[its])

    def kept_up_to(self) -> Floats:
        """float[n]: the load up to which each one's promise is kept."""
        found = np.full(len(self.pool), np.inf)
        left = np.flatnonzero(np.isfinite(self.promise_us))
        found[left] = 0.0
        load = 1 / MOST
        while load <= MOST * (1 + 1e-9) and len(left):
            left = left[self.seen_us(load, left) <= self.promise_us[left]]
            found[left] = load
            load *= STEP
        return found
