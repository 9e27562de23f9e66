# SPDX-License-Identifier: Apache-2.0
"""A plan of an observation, and what it comes to."""

from __future__ import annotations

from collections.abc import Callable
from collections.abc import Mapping
import dataclasses
import functools

from oslo_config import cfg

from serifos.balancer import outlook
from serifos.balancer import planning
from serifos.cmd.balancer import adapters
from serifos.facts import cluster as cl
from serifos.model import model as mm
from serifos.plan import limits as lm
from serifos.plan.outlook import explaining
from serifos.plan.outlook import outlook as ol
from serifos.plan.outlook import promised
from serifos.plan import plan as pl
from serifos.plan import problem as pm
from serifos.plan import state as st
from serifos.report.cloud import page

_EXPLAINED = 3


@dataclasses.dataclass(frozen=True)
class Planned:
    """An observation, its models, and a plan of it."""

    cluster: cl.Cluster
    models: Mapping[str, mm.Model]
    limits: lm.Limits
    seen: ol.Outlook

    @classmethod
    def of(cls, conf: cfg.ConfigOpts, cluster: cl.Cluster, models_dir: str,
           say: Callable[[str], None],
           plan: pl.Plan | None = None) -> Planned:
        """By the configuration.

        :param say: is called with a sentence for what is left out
        :param plan: None for one of now
        """
        limits = adapters.limits_of(conf)
        models = planning.models(cluster, models_dir, say)
        plan = plan or planning.plan(
            conf.balancer.planner, cluster, limits, models)
        return cls(cluster, models, limits,
                   outlook.outlook(plan, cluster, limits, models))

    @functools.cached_property
    def _state(self) -> st.State:
        return st.State.of(pm.Problem.of(self.cluster, planning.fleet_of(
            self.cluster, self.models, self.limits.active_floor),
            self.limits))

    def explained(self) -> dict[str, page.Explained]:
        """Why the slowest pools are slow: hot ones, else the slowest."""
        pools = [each for each in self.seen.pools if each.planned]
        wanted = [each for each in pools if each.before.hot] or pools[:1]
        return {each.pool.name: page.Explained(
            explaining.heat(self._state, each.pool.name),
            explaining.parts(self._state, each.pool.name))
            for each in wanted[:_EXPLAINED]}

    def promised(self) -> tuple[promised.Promised, ...]:
        """The promises by type, before the plan and after it."""
        return promised.by_type(self._state, ol.carried_out(
            self._state, self.seen.plan))
