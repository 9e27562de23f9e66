# SPDX-License-Identifier: Apache-2.0
"""The settings of a balancer whose operator gave none, for the present."""

import pathlib

from serifos.balancer.outcome import Timeouts
from serifos.balancer.pace import Pace
from serifos.balancer.settings import BalancerSettings
from serifos.plan.affinity import labels
from serifos.plan.limits import Limits
from serifos.plan.loads.demand import Demand


def balancer(directory='.', models='.', **given):
    """BalancerSettings in a state directory, but for those given."""
    return BalancerSettings(**{
        'state_dir': pathlib.Path(directory),
        'models_dir': pathlib.Path(models), 'limits': Limits(),
        'timeouts': Timeouts(), 'pace': Pace(), 'planner': 'relieve',
        'auto': False, 'approved_only': False, 'batch': 2, 'parallel': 4,
        'hold': 3, 'demand': Demand(), 'history_s': 0.0,
        'mend_at_once': False, 'interval_s': 300.0, 'window_s': 600.0,
        'settle_s': 600.0, 'cool_down_s': 86400.0, 'plan_ttl_s': 86400.0,
        'max_failures': 3, 'auto_recover': True, 'allow_attached': None,
        'balance': True, 'server_volumes': labels.ANY,
        'excluded_projects': frozenset(), **given})
