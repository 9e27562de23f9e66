# SPDX-License-Identifier: Apache-2.0
"""A plan of an observation, and what it comes to."""

from __future__ import annotations

from collections.abc import Callable
import dataclasses

from oslo_config import cfg

from serifos.balancer import planning
from serifos.cmd.balancer import adapters
from serifos.cmd.balancer import judging
from serifos.facts import cluster as cl
from serifos.plan.outlook import explaining
from serifos.plan.outlook import outlook as ol
from serifos.plan.outlook import promised
from serifos.plan import plan as pl
from serifos.report.cloud import page

_EXPLAINED = 3


@dataclasses.dataclass(frozen=True)
class Planned(judging.Judged):
    """An observation, its models, and a plan of it."""

    @classmethod
    def of(cls, conf: cfg.ConfigOpts, cluster: cl.Cluster, models_dir: str,
           say: Callable[[str], None],
           plan: pl.Plan | None = None) -> Planned:
        """By the configuration.

        :param say: is called with a sentence for what is left out
        :param plan: None for one of now
        """
        models = planning.models(cluster, models_dir, say,
                                 adapters.limits_of(conf).hot_by)
        found = judging.judged(conf, cluster, models, say, made=plan)
        return cls(**vars(found))

    def explained(self) -> dict[str, page.Explained]:
        """Why the slowest pools are slow: hot ones, else the slowest."""
        pools = [each for each in self.seen.pools if each.planned]
        wanted = [each for each in pools if each.before.hot] or pools[:1]
        return {each.pool.name: page.Explained(
            explaining.heat(self.state, each.pool.name),
            explaining.parts(self.state, each.pool.name))
            for each in wanted[:_EXPLAINED]}

    def promised(self) -> tuple[promised.Promised, ...]:
        """The promises by type, before the plan and after it."""
        return promised.by_type(self.state, ol.carried_out(
            self.state, self.plan))
