# SPDX-License-Identifier: Apache-2.0
"""Watcher's own decision engine and applier, with a database in a file.

Nothing of Watcher is replaced; what it notifies is heard by nobody.
"""

from __future__ import annotations

import atexit
import functools
import importlib.util
import pathlib
import tempfile
from typing import Any
import unittest
import uuid

if importlib.util.find_spec('watcher') is None:
    raise unittest.SkipTest('needs Watcher: tools/test watcher')

from oslo_config import cfg
from watcher.applier.action_plan import default as handler
from watcher.applier.actions import factory
from watcher.common import config
from watcher.common import context
from watcher.common import rpc
from watcher.db.sqlalchemy import migration
from watcher.decision_engine.audit import oneshot
from watcher.decision_engine import sync
from watcher import objects

objects.register_all()

_CONF = """\
[DEFAULT]
transport_url = fake:/
[database]
connection = sqlite:///{directory}/watcher.sqlite
[oslo_messaging_notifications]
driver = noop
[watcher_strategies.serifos]
serifos_conf = {serifos}
[watcher_actions.serifos_migrate]
serifos_conf = {serifos}
"""


@functools.cache
def directory() -> pathlib.Path:
    """Of the database, which a process has one of, and of serifos.conf."""
    made = tempfile.TemporaryDirectory()
    atexit.register(made.cleanup)
    found = pathlib.Path(made.name)
    file = found / 'watcher.conf'
    file.write_text(_CONF.format(
        directory=found, serifos=found / 'serifos.conf'))
    config.parse_args([], default_config_files=[str(file)])
    rpc.init(cfg.CONF)
    migration.create_schema()
    sync.Syncer().sync()
    return found


class Engine:
    """A Watcher that knows all goals and strategies that are installed.

    :param serifos: the text of serifos.conf
    """

    def __init__(self, serifos: str) -> None:
        self.serifos_conf = directory() / 'serifos.conf'
        self.serifos_conf.write_text(serifos)
        self.context = context.make_context()

    def audit(self, parameters: dict[str, Any],
              scope: list[Any] | None = None) -> objects.Audit:
        """An audit of the goal by the strategy, carried out."""
        goal = objects.Goal.get_by_name(self.context, 'volume_latency')
        strategy = objects.Strategy.get_by_name(self.context, 'serifos')
        made = objects.Audit(
            self.context, name=str(uuid.uuid4()), audit_type='ONESHOT',
            state='PENDING', goal_id=goal.id, strategy_id=strategy.id,
            parameters=parameters, scope=scope or [], auto_trigger=False,
            force=False)
        made.create()
        oneshot.OneShotAuditHandler().execute(made, self.context)
        return objects.Audit.get_by_uuid(self.context, made.uuid)

    def plan(self, audit: objects.Audit) -> objects.ActionPlan:
        """The action plan that an audit recommends."""
        found, = objects.ActionPlan.list(
            self.context, filters={'audit_uuid': audit.uuid}, eager=True)
        return found

    def actions(self, plan: objects.ActionPlan) -> list[objects.Action]:
        """Those of a plan, the first first."""
        after = {(each.parents or [None])[0]: each
                 for each in objects.Action.list(
                     self.context, filters={'action_plan_id': plan.id})}
        found: list[objects.Action] = []
        while (each := after.pop(found[-1].uuid if found else None, None)):
            found.append(each)
        if after:
            raise AssertionError(f'{after} are not in one chain')
        return found

    def carried_out(self, plan: objects.ActionPlan) -> objects.ActionPlan:
        """A plan as the applier leaves it, which makes its actions."""
        handler.DefaultActionPlanHandler(
            self.context, None, plan.uuid).execute()
        return objects.ActionPlan.get_by_uuid(self.context, plan.uuid)

    def loaded(self, action: objects.Action) -> Any:
        """The action as the applier loads it, its parameters validated."""
        return factory.ActionFactory().make_action(action)
