# SPDX-License-Identifier: Apache-2.0
"""The options of [serifos] in cinder.conf that predictions depend on."""

from __future__ import annotations

from typing import Any
from typing import NamedTuple

from oslo_config import cfg

from serifos.conf import scheduler as options
from serifos.facts.workload import Workload


class SchedulerSettings(NamedTuple):
    """The values of the options with these names."""

    state_dir: str
    models_dir: str
    cluster_max_age: float
    newcomer_write_pct: float
    newcomer_block_kib: float
    newcomer_iodepth: float
    active_floor: float
    reservation_ttl: float
    newcomer_hints: bool
    metrics_dir: str | None = None

    @property
    def newcomer(self) -> Workload:
        """The workload expected of a volume by default."""
        return Workload(self.newcomer_write_pct, self.newcomer_block_kib,
                        self.newcomer_iodepth)


def read(conf: cfg.ConfigOpts) -> SchedulerSettings:
    """:raises InputError: where a value cannot be used"""
    return SchedulerSettings(*(options.read(conf, name)
                               for name in SchedulerSettings._fields))


def raw_values(conf: cfg.ConfigOpts) -> tuple[Any, ...] | None:
    """The values without checks, None where one cannot be read.

    Faster than :func:`read`, to find out whether any has changed.
    """
    group = conf.serifos
    try:
        return tuple([group[name] for name in SchedulerSettings._fields])
    except (cfg.Error, ValueError, RecursionError):
        return None
