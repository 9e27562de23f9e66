# SPDX-License-Identifier: Apache-2.0
"""Options of the strategy and the action in watcher.conf."""

from __future__ import annotations

from oslo_config import cfg

OPTIONS = [
    cfg.StrOpt(
        'serifos_conf', default='/etc/serifos/serifos.conf',
        help='The configuration of serifos-balancer, whose observation, '
        'models, plans and journal are used.'),
]
"""Options of the strategy's and of the action's section of watcher.conf."""
