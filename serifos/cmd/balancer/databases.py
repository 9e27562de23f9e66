# SPDX-License-Identifier: Apache-2.0
"""Journal, plans and history, where the configuration has them."""

from __future__ import annotations

import functools
import time

from oslo_config import cfg

from serifos.cmd.balancer import configuration
from serifos.database import connection
from serifos.database.journal import Journal
from serifos.database import marks
from serifos.database.plans import Plans
from serifos import errors


def database(conf: cfg.ConfigOpts) -> connection.Database:
    """The database of the journal, from [database].

    :raises InputError: where its URL is invalid
    """
    return connection.Database(
        configuration.journal_url(conf), _options(conf))


def history(conf: cfg.ConfigOpts) -> connection.Database:
    """The database of the history, from [history].

    :raises InputError: where its URL is invalid
    """
    return connection.Database(configuration.history_url(conf),
                               _options(conf), connection.HISTORY)


def plans(conf: cfg.ConfigOpts) -> Plans:
    """The plans, in the database of the journal.

    :raises InputError: where its URL is invalid
    """
    return Plans(database(conf))


def journal(conf: cfg.ConfigOpts) -> Journal:
    """The journal, which remembers how far it went.

    :raises InputError: where there is no state_dir
    """
    wanted = configuration.settings(conf)
    if not wanted.state_dir.is_dir():
        raise errors.InputError(
            f'There is no directory {wanted.state_dir}; make it, or set '
            '[serifos] state_dir.')
    return Journal(
        database(conf), time.time,
        memory=marks.Memory((
            marks.Observation(wanted.cluster_file),
            *map(marks.Lock, configuration.lock_directory(conf)),
            marks.History(functools.partial(history, conf)))))


def _options(conf: cfg.ConfigOpts) -> dict[str, object]:
    """Those of [database] besides its URL, for oslo.db."""
    return {opt: value for opt, value in conf.database.items()
            if opt != 'connection' and value not in (None, '')}
