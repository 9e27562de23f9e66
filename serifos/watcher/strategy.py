# SPDX-License-Identifier: Apache-2.0
"""The strategy: the plan of ``serifos-balancer plan``, as Watcher's actions.

It reads the observation and the models that serifos-balancer keeps, not
Watcher's own model of the storage, which knows no latency. The plan is kept
among those of the balancer; each action names it.
"""

from __future__ import annotations

import time
from typing import Any

import jsonschema
from oslo_config import cfg
from oslo_log import log
from watcher.decision_engine.strategy.strategies import base

from serifos.balancer import planning
from serifos.cmd.balancer import configuration
from serifos.cmd.balancer import databases
from serifos.cmd.balancer import judging
from serifos.conf import balancer as options
from serifos.conf import load
from serifos import errors
from serifos.facts.cluster import Cluster
from serifos.facts import times
from serifos.plan.plan import Plan
from serifos.watcher import settings

LOG = log.getLogger(__name__)

ROUNDS = 3
"""The age of an observation that is planned for, in [balancer] intervals."""

_LIMITS = {
    'min_gain': {'type': 'number', 'minimum': 0, 'maximum': 1},
    'hot_ratio': {'type': 'number', 'minimum': 0, 'maximum': 100},
    'max_moves': {'type': 'integer', 'minimum': 1},
}


class Serifos(base.BaseStrategy):
    """Level the latency of volumes over pools, by models of their devices."""

    def __init__(self, config: Any, osc: Any = None) -> None:
        super().__init__(config, osc)
        self.planner = 'serifos'

    @classmethod
    def get_name(cls) -> str:
        return 'serifos'

    @classmethod
    def get_display_name(cls) -> str:
        return 'Serifos'

    @classmethod
    def get_translatable_display_name(cls) -> str:
        return 'Serifos'

    @classmethod
    def get_goal_name(cls) -> str:
        return 'volume_latency'

    @classmethod
    def get_config_opts(cls) -> list[cfg.Opt]:
        return settings.OPTIONS

    @classmethod
    def get_schema(cls) -> dict[str, Any]:
        """Of an audit's parameters; what is absent is as in serifos.conf."""
        return {
            'type': 'object', 'additionalProperties': False,
            'properties': {
                'planner': {'type': 'string',
                            'enum': [*dict(options.PLANNERS)]}, **_LIMITS}}

    def pre_execute(self) -> None:
        """:raises InputError: where the audit cannot be done as it is"""
        try:
            jsonschema.validate(dict(self.input_parameters),
                                self.get_schema())
        except jsonschema.ValidationError as exc:
            raise errors.InputError(
                f'A parameter of the audit cannot be used: {exc.message}.'
                ) from None
        if self.audit_scope:
            raise errors.InputError(
                'The strategy serifos knows no audit scope; keep volumes '
                'where they are by serifos:pin or [balancer] '
                'excluded_projects.')

    def do_execute(self, audit: Any = None) -> None:
        """:raises SerifosError: where there is nothing to plan by"""
        conf = load([self.config.serifos_conf])
        cluster = configuration.cluster(conf, None)
        _refuse_old(cluster, ROUNDS * conf.balancer.interval)
        plan = self._plan(conf, cluster)
        for move in plan.moves:
            self.solution.add_action(
                'serifos_migrate', resource_id=move.volume, input_parameters={
                    'plan': plan.id, 'source_pool': move.source,
                    'destination_pool': move.target,
                    'size_gib': move.size_gib, 'reason': move.reason})
        self.solution.set_efficacy_indicators(
            volume_migrations_count=len(plan.moves),
            worst_latency_before_ms=plan.max_us.before / 1e3,
            worst_latency_after_ms=plan.max_us.after / 1e3)
        LOG.info('Plan %s of %s moves %d volumes and leaves %d.', plan.id,
                 plan.planner, len(plan.moves), len(plan.refused))

    def post_execute(self) -> None:
        """Nothing is left to be done."""

    def _plan(self, conf: cfg.ConfigOpts, cluster: Cluster) -> Plan:
        given = self.input_parameters
        limits = configuration.limits_of(
            conf, **{name: given.get(name) for name in _LIMITS})
        planning.warn_of_strays(cluster, LOG.warning)
        now = time.time()
        plan = planning.issued(judging.judged(
            conf, cluster, configuration.models_dir(conf, None), LOG.warning,
            limits, given.get('planner')).plan, now, conf.balancer.plan_ttl)
        if not plan.moves:
            return plan
        return databases.plans(conf).keep(plan, now, LOG.warning)


def _refuse_old(cluster: Cluster, most_s: float) -> None:
    """:raises InputError: where the observation is too old to plan by"""
    try:
        age_s = time.time() - times.parse(cluster.observed_at)
    except ValueError:
        raise errors.InputError(
            'The observation does not say of when it is; serifos-balancer '
            'observe makes a new one.') from None
    if age_s > most_s:
        raise errors.InputError(
            f'The observation is of {cluster.observed_at}, {age_s:.0f} s '
            'ago; is serifos-balancer run up?')
