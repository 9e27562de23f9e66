# SPDX-License-Identifier: Apache-2.0
"""What this process of cinder-scheduler counts, and for which directory.

Without ``[serifos] metrics_dir`` nothing is counted, and prometheus_client is
not imported.
"""

from __future__ import annotations

from collections.abc import Callable

from serifos.scheduler.metrics import textfile
from serifos.scheduler import rate_limited_log

DRIVER, WEIGHER, FILTER = 'driver', 'weigher', 'filter'
JUDGED, NO_OPINION, ERROR = 'judged', 'no_opinion', 'error'

_ACTIVE: list[textfile.TextFile] = []
_GIVEN_UP: list[str] = []
"""Directories for which counting failed: Cinder goes on placing volumes."""


def use(directory: str | None) -> None:
    """Counts for this directory from now on; nothing with None."""
    if [directory or None] == [*(each.directory for each in _ACTIVE),
                               *_GIVEN_UP]:
        return
    _ACTIVE.clear()
    _GIVEN_UP.clear()
    if directory:
        try:
            _ACTIVE.append(textfile.TextFile(directory))
        except Exception as exc:
            _give_up(directory, exc)


def _give_up(directory: str, exc: Exception) -> None:
    _ACTIVE.clear()
    _GIVEN_UP.append(directory)
    rate_limited_log.WARNINGS.warn(
        'metrics', 'Serifos writes no metrics to %s until it is restarted: '
        '%s', directory, exc)


def _each(verb: Callable[[textfile.TextFile], None]) -> None:
    for one in [*_ACTIVE]:
        try:
            verb(one)
        except Exception as exc:
            _give_up(one.directory, exc)


def request(plugin: str, result: str, started_s: float) -> None:
    """Counts a request that was looked at, and how long that took.

    :param plugin: :data:`DRIVER`, :data:`WEIGHER` or :data:`FILTER`
    :param result: :data:`JUDGED`, :data:`NO_OPINION` or :data:`ERROR`
    :param started_s: by ``time.perf_counter``
    """
    _each(lambda one: one.request(plugin, result, started_s))


def ranked(changed: bool) -> None:
    """Counts a placement that the driver ranked.

    :param changed: whether another pool comes first than Cinder's own
        weighers would have taken
    """
    _each(lambda one: one.ranked(changed))


def refused(pools: int) -> None:
    """Counts pools that the filter refused to a request."""
    _each(lambda one: one.refused(pools))


def seen(observed_at: float, models_at: float | None) -> None:
    """Notes of when the files are that requests are judged by.

    :param observed_at: seconds of the epoch
    :param models_at: of the newest model; None without any
    """
    _each(lambda one: one.seen(observed_at, models_at))
