# SPDX-License-Identifier: Apache-2.0
"""serifos-status: whether everything that serifos needs is in place."""

from __future__ import annotations

from collections.abc import Sequence
import logging
import sys

from oslo_config import cfg
from oslo_upgradecheck import upgradecheck

from serifos.cmd.status import checks
from serifos.cmd.status import cinder_conf
from serifos import conf as serifos_conf
from serifos import errors

NAME = 'serifos-status'


def main(argv: Sequence[str] | None = None) -> int:
    """``serifos-status upgrade check``, with its exit codes.

    0 where all is well, 1 with warnings, 2 with failures, 255 where nothing
    could be looked at.
    """
    # Findings say what the log would.
    logging.basicConfig(level=logging.CRITICAL)
    conf, command = serifos_conf.Options(), checks.Checks()
    conf.register_cli_opt(cinder_conf.OPT)
    upgradecheck.register_cli_options(conf, command)
    try:
        conf(sys.argv[1:] if argv is None else list(argv), project='serifos',
             prog=NAME)
        serifos_conf.check(conf)
    except (cfg.Error, OSError, errors.InputError) as exc:
        print(f'{NAME}: {exc}', file=sys.stderr)
        return 255
    upgradecheck.CONF = command.conf = conf
    return int(upgradecheck.run(conf))
