# SPDX-License-Identifier: Apache-2.0
"""How shall the scheduler judge? The options of [serifos] in cinder.conf."""

from __future__ import annotations

import dataclasses
from typing import Any

from oslo_config import cfg

from serifos.conf import scheduler as options
from serifos import workload as wl


@dataclasses.dataclass(frozen=True)
class Settings:
    """The options of [serifos] in cinder.conf."""

    state_dir: str
    models_dir: str
    cluster_max_age: float
    newcomer_write_pct: float
    newcomer_block_kib: float
    newcomer_iodepth: float
    active_floor: float
    reservation_ttl: float
    newcomer_hints: bool

    @classmethod
    def of(cls, conf: cfg.ConfigOpts) -> Settings:
        """:raises InputError: where an option is absurd"""
        return cls(*(options.read(conf, field.name)
                     for field in dataclasses.fields(cls)))

    @property
    def newcomer(self) -> wl.Workload:
        """What a volume does of which nothing tells more."""
        return wl.Workload(self.newcomer_write_pct, self.newcomer_block_kib,
                           self.newcomer_iodepth)


_NAMES = tuple(field.name for field in dataclasses.fields(Settings))


def told(conf: cfg.ConfigOpts) -> tuple[Any, ...] | None:
    """What the options say, good or bad; None where one says nothing.

    Cheaper than Settings, which are the same where this is.
    """
    group = conf.serifos
    try:
        return tuple([group[name] for name in _NAMES])
    except (cfg.Error, ValueError):
        return None
