# SPDX-License-Identifier: Apache-2.0
"""The settings of a balancer whose operator sets none, for the present."""

import functools
import pathlib

from serifos.balancer import outcome
from serifos.balancer.pace import Pace
from serifos.balancer.settings import BalancerSettings
from serifos.conf import balancer as options
from serifos.facts.hot_by import LATENCY
from serifos.plan import limits
from serifos.plan.slots import Demand

_DEFAULTS = {option.dest: option.default for option in options.OPTS}


def _defaults(*names):
    return {name: _DEFAULTS[name] for name in names}


Limits = functools.partial(
    limits.Limits, hot_by=LATENCY, copying=limits.Copying(10.0, 10.0),
    **_defaults('min_gain', 'active_floor', 'hot_ratio', 'max_fill'))
"""Limits of plans by latency, in which copies are not priced."""


Timeouts = functools.partial(
    outcome.Timeouts, poll_s=_DEFAULTS['poll_interval'],
    timeout_s=_DEFAULTS['migration_timeout'],
    timeout_per_gib_s=_DEFAULTS['migration_timeout_per_gib'],
    back_off_s=_DEFAULTS['back_off'])


def balancer(directory='.', models='.', **given):
    """BalancerSettings in a state directory, but for those given."""
    return BalancerSettings(**{
        'state_dir': pathlib.Path(directory),
        'models_dir': pathlib.Path(models), 'limits': Limits(),
        'timeouts': Timeouts(), 'pace': Pace(), 'auto': False,
        'approved_only': False, 'demand': Demand(), 'history_s': 0.0,
        'fix_at_once': False, 'interval_s': 300.0, 'window_s': 600.0,
        'settle_s': 600.0, 'cool_down_s': float(_DEFAULTS['cool_down']),
        'plan_ttl_s': float(_DEFAULTS['plan_ttl']),
        'excluded_projects': frozenset(), 'zones': frozenset(),
        **_defaults('planner', 'batch', 'parallel', 'hold', 'max_failures',
                    'auto_recover', 'allow_attached', 'balance',
                    'server_volumes'), **given})
