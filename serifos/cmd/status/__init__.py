# SPDX-License-Identifier: Apache-2.0
"""serifos-status: whether everything that serifos needs is in place."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
import logging
import sys

from oslo_config import cfg
from oslo_upgradecheck import upgradecheck

from serifos.cmd.status import checks
from serifos.cmd.status import cinder_conf
from serifos.cmd import streams
from serifos import conf as serifos_conf
from serifos.conf import files
from serifos import errors
from serifos.files import atomic

NAME = 'serifos-status'


def main(argv: Sequence[str] | None = None) -> int:
    """``serifos-status upgrade check``, with its exit codes.

    0 where all is well, 1 with warnings, 2 with failures, 255 where nothing
    could be looked at.
    """
    arguments = sys.argv[1:] if argv is None else list(argv)
    return streams.guarded(NAME, lambda: _main(arguments), failed=255)


def _main(arguments: Sequence[str]) -> int:
    # Findings say what the log would.
    logging.basicConfig(level=logging.CRITICAL)
    conf = serifos_conf.Options(_files(arguments))
    command = checks.Checks()
    conf.register_cli_opt(cinder_conf.OPT)
    upgradecheck.register_cli_options(conf, command)
    try:
        for path in conf.files():
            atomic.read_text(path, 'configuration', files.MOST_BYTES)
        conf(arguments, project='serifos', prog=NAME)
        serifos_conf.check(conf)
    except (cfg.Error, OSError, ValueError, errors.InputError) as exc:
        print(f'{NAME}: {errors.one_line(str(exc))}', file=sys.stderr)
        return 255
    upgradecheck.CONF = command.conf = conf
    return int(upgradecheck.run(conf))


def _files(arguments: Sequence[str]) -> list[str]:
    """The files and directories of serifos.conf that are given."""
    parser = argparse.ArgumentParser(add_help=False, exit_on_error=False)
    for name in '--config-file', '--config-dir':
        parser.add_argument(name, action='append', dest='given', default=[])
    try:
        return parser.parse_known_args(arguments)[0].given
    except argparse.ArgumentError:
        return []  # which is told when all of them are parsed
