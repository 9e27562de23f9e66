# SPDX-License-Identifier: Apache-2.0
"""The action: one move, by the balancer's safe migration.

Watcher's own ``volume_migrate`` asks Cinder for a migration as soon as the
volume and the pool exist. This one observes first, and keeps all that the
balancer keeps: refusals, the lead, the journal, which knows each request
before it is sent, recovery, and the pause after failures.
"""

from __future__ import annotations

import time
from typing import Any

from oslo_config import cfg
from oslo_log import log
from watcher.applier.actions import base
from watcher.common import exception

from serifos.balancer import leader
from serifos.balancer.outcome import Outcome
from serifos.cmd.balancer import cloud_verb
from serifos.cmd.balancer import configuration
from serifos.cmd.balancer import databases
from serifos.conf import load
from serifos import errors
from serifos.plan.plan import Plan
from serifos.watcher import moving
from serifos.watcher import settings

LOG = log.getLogger(__name__)

_NAME = {'type': 'string', 'minLength': 1, 'maxLength': 1024}


class Migrate(base.BaseAction):
    """Migrate a volume as a plan of serifos has it."""

    @classmethod
    def get_config_opts(cls) -> list[cfg.Opt]:
        return settings.OPTIONS

    @property
    def schema(self) -> dict[str, Any]:
        return {
            'type': 'object', 'properties': {
                'resource_id': {'type': 'string',
                                'pattern': '^[A-Za-z0-9_-]+$'},
                'plan': {'type': 'string', 'pattern': '^[A-Za-z0-9_-]+$'},
                'source_pool': _NAME, 'destination_pool': _NAME,
                'size_gib': {'type': 'number', 'minimum': 0},
                'reason': {'type': 'string'}},
            'required': ['resource_id', 'plan', 'source_pool',
                         'destination_pool']}

    def get_description(self) -> str:
        return 'Migrate a volume to another pool, as serifos-balancer does'

    def pre_condition(self) -> None:
        """:raises ActionExecutionFailure: where the plan is not valid"""
        try:
            self._plan(self._conf())
        except errors.SerifosError as exc:
            raise exception.ActionExecutionFailure(str(exc)) from None

    def execute(self) -> bool:
        why = None
        try:
            outcome = self._migrate(self._conf())
        except errors.SerifosError as exc:
            why = exc
        if why is not None:  # no longer handled: oslo.log would append it
            LOG.error('Volume %s stays: %s', self.resource_id, why)
            return False
        LOG.info('Volume %s: %s, %s', self.resource_id, outcome.result,
                 outcome.reason)
        return outcome.result == 'success'

    def post_condition(self) -> None:
        """The outcome was read back from Cinder already."""

    def revert(self) -> bool:
        """Moves nothing back: that is a plan of its own."""
        LOG.warning('Moves made are kept; to take them back: '
                    'serifos-balancer undo %s',
                    self.input_parameters.get('plan'))
        return True

    def abort(self) -> bool:
        """Cinder has no end of a migration under way but its own."""
        return False

    def _conf(self) -> cfg.ConfigOpts:
        return load([self.config.serifos_conf])

    def _plan(self, conf: cfg.ConfigOpts) -> Plan:
        """:raises InputError: where there is none that has this move"""
        wanted = self.input_parameters
        plan = moving.plan_of(databases.plans(conf), wanted['plan'],
                              time.time())
        if not any((move.volume, move.source, move.target) == (
                self.resource_id, wanted['source_pool'],
                wanted['destination_pool']) for move in plan.moves):
            raise errors.InputError(
                f'Plan {plan.id} has no move of volume {self.resource_id} '
                f'to {wanted["destination_pool"]}.')
        return plan

    def _migrate(self, conf: cfg.ConfigOpts) -> Outcome:
        plan = self._plan(conf)
        balancer = cloud_verb.balancer_of(conf)
        observer = balancer.observer
        readings = observer.telemetry.readings
        if readings is not None:
            observer.cinder.inventory()  # refused before minutes pass
            readings.gather(observer.settings.window_s, lambda *_: None)
        with leader.Lead(configuration.lock_url(conf), observer.journal,
                         'watcher') as leading:
            return moving.carry_out(balancer.as_leader(
                leading.journal, leading.prove), plan, self.resource_id)
