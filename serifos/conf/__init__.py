# SPDX-License-Identifier: Apache-2.0
"""The options of serifos.conf, one module a group.

Configuration is an argument: layers 3 and 4 read it here and hand figures
on; nothing below imports this room.
"""

from collections.abc import Sequence

from oslo_config import cfg
from oslo_log import log

from serifos.conf import balancer
from serifos.conf import cinder
from serifos.conf import serifos
from serifos.conf import telemetry
from serifos import errors

_GROUPS = (serifos, balancer, cinder, telemetry)


def register_opts(conf: cfg.ConfigOpts) -> None:
    for group in _GROUPS:
        group.register_opts(conf)


def list_opts() -> list[tuple[cfg.OptGroup, list[cfg.Opt]]]:
    """What oslo-config-generator asks for."""
    return [(group.GROUP, [*group.OPTS, *getattr(group, 'LATE_OPTS', ())])
            for group in _GROUPS]


def load(files: Sequence[str] | None = None) -> cfg.ConfigOpts:
    """The configuration from these files, else from where oslo looks.

    :raises InputError: where a file is missing or an option absurd
    """
    conf = cfg.ConfigOpts()
    log.register_options(conf)
    register_opts(conf)
    try:
        conf([], project='serifos', default_config_files=files or None)
        for group in _GROUPS:
            for opt in group.OPTS:
                conf[group.GROUP.name][opt.dest]
    except (cfg.Error, ValueError) as exc:
        raise errors.InputError(
            f'The configuration cannot be used: {exc}') from None
    return conf
