# SPDX-License-Identifier: Apache-2.0
"""A plan of an observation, and what it comes to."""

from __future__ import annotations

from collections.abc import Callable
from collections.abc import Container
import dataclasses

from oslo_config import cfg

from serifos.balancer import planning
from serifos.cmd.balancer import adapters
from serifos.cmd.balancer import judging
from serifos.facts.cluster import Cluster
from serifos.plan.outlook import explaining
from serifos.plan.outlook import outlook
from serifos.plan.outlook import type_slos
from serifos.plan.plan import Plan
from serifos.plan import summary
from serifos.report import cloud_page
from serifos.report import wording

_EXPLAINED = 3


@dataclasses.dataclass(frozen=True)
class Planned(judging.Judged):
    """An observation, its models, and a plan of it.

    :param asked: a plan of before, of which that is what is left
    """

    asked: Plan | None = None

    @classmethod
    def of(cls, conf: cfg.ConfigOpts, cluster: Cluster, models_dir: str,
           say: Callable[[str], None],
           plan: Plan | None = None) -> Planned:
        """By the configuration.

        :param say: is called with a sentence for what is left out
        :param plan: None for one of now
        """
        models = planning.models(cluster, models_dir, say,
                                 adapters.limits_of(conf).hot_by)
        found = judging.judged(conf, cluster, models, say, made=plan)
        return cls(found.plan if plan is None else summary.left(
            plan, found.state), found.cluster, found.limits, found.models,
            found.slots, plan)

    def became(self, in_flight: Container[str]) -> str:
        """What became of the moves of a plan of before, a sentence.

        Empty where all are ahead.

        :param in_flight: volumes
        """
        if self.asked is None:
            return ''
        known = {volume.id: volume.pool for volume in self.cluster.volumes}
        moves, ahead = self.asked.moves, len(self.plan.moves)
        made = sum(known.get(move.volume) == move.target for move in moves)
        copied = sum(move.volume in in_flight for move in self.plan.moves)
        if ahead == len(moves) and not copied:
            return ''
        lost = len(moves) - made - ahead
        return ', '.join([
            f'{made:,} of its {wording.count(len(moves), "move")} '
            f'{"is" if made == 1 else "are"} made',
            *[f'{copied:,} {"is" if copied == 1 else "are"} in flight']
            * bool(copied),
            *[f'{lost:,} can no longer be made'] * bool(lost)]) + (
                '; all figures are of what is left. ')

    def explained(self) -> dict[str, cloud_page.Explained]:
        """Why the slowest pools are slow: hot ones, else the slowest."""
        pools = [each for each in self.seen.pools if each.planned]
        wanted = [each for each in pools if each.before.hot] or pools[:1]
        return {each.pool.name: cloud_page.Explained(
            explaining.heat(self.state, each.pool.name),
            explaining.parts(self.state, each.pool.name))
            for each in wanted[:_EXPLAINED]}

    def slos(self) -> tuple[type_slos.TypeSlo, ...]:
        """The SLOs by type, before the plan and after it."""
        return type_slos.by_type(self.state, outlook.carried_out(
            self.state, self.plan))
