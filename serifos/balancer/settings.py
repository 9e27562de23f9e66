# SPDX-License-Identifier: Apache-2.0
"""The settings of a balancer."""

from __future__ import annotations

import dataclasses
import pathlib

from serifos.balancer import outcome
from serifos.balancer.pace import Pace
from serifos.facts.cluster import Cluster
from serifos.plan import eligibility
from serifos.plan.limits import Limits
from serifos.plan.slots import Demand


MODES = ('advise', 'approve', 'auto')


@dataclasses.dataclass(frozen=True)
class BalancerSettings:
    """Times are in seconds.

    :param auto: whether it moves volumes at all
    :param approved_only: whether it moves only those of plans that a person
        approved
    :param batch: volumes that are moved in one round, from and to each
        device where there are more than 20 pools
    :param parallel: migrations of a round that run at the same time
    :param hold: rounds for which a pool must be hot before it is relieved
    :param demand: which figure of its history a volume is planned as
    :param history_s: how long a history is planned by; 0 for the present
    :param fix_at_once: whether SLOs violated at present are restored
        whatever the history says
    :param settle_s: after a migration, until the next plan is carried out
    :param auto_recover: whether mode auto recovers its own migrations that
        Cinder has forgotten
    :param balance: whether volumes move of which no type says anything
    :param server_volumes: as of :func:`.labels.of`
    :param cool_down_s: within which a volume is not moved again
    :param zones: that it sees; none for all
    """

    state_dir: pathlib.Path
    models_dir: pathlib.Path
    limits: Limits
    timeouts: outcome.Timeouts
    pace: Pace
    planner: str
    auto: bool
    approved_only: bool
    batch: int
    parallel: int
    hold: int
    demand: Demand
    history_s: float
    fix_at_once: bool
    interval_s: float
    window_s: float
    settle_s: float
    cool_down_s: float
    plan_ttl_s: float
    max_failures: int
    auto_recover: bool
    allow_attached: bool | None
    balance: bool
    server_volumes: str
    excluded_projects: frozenset[str]
    zones: frozenset[str]

    @property
    def mode(self) -> str:
        """As the configuration calls it."""
        return 'advise' if not self.auto else (
            'approve' if self.approved_only else 'auto')

    def planned(self, cluster: Cluster) -> Cluster:
        """The cluster as rounds plan it: what is too large for them stays."""
        return self.pace.bounded(cluster) if self.auto else cluster

    @property
    def rules(self) -> eligibility.Rules:
        """What the operator allows, without what the journal adds."""
        return eligibility.Rules(
            allow_attached=self.allow_attached,
            balance=self.balance,
            server_volumes=self.server_volumes,
            excluded_projects=self.excluded_projects)

    @property
    def cluster_file(self) -> pathlib.Path:
        return self.state_dir / 'cluster.json'

    @property
    def pools_file(self) -> pathlib.Path:
        return self.state_dir / 'pools.json'
