# SPDX-License-Identifier: Apache-2.0
"""Warnings, of each kind at most one a minute."""

from __future__ import annotations

from collections.abc import Callable
import time

from oslo_log import log

from serifos import errors

LOG = log.getLogger(__name__)

EVERY_S = 60.0


class RateLimitedLog:
    """Logs a warning, unless one of its kind was logged within the minute.

    The traceback of a SerifosError is left out: its sentence says all.

    :param clock: seconds, of whatever beginning
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._logged_at: dict[str, float] = {}

    def warn(self, kind: str, message: str, *args: object,
             exc_info: bool = False) -> None:
        now = self._clock()
        if now - self._logged_at.get(kind, now - EVERY_S) >= EVERY_S:
            self._logged_at[kind] = now
            ours = any(isinstance(each, errors.SerifosError)
                       for each in args)
            LOG.warning(message, *args, exc_info=exc_info and not ours)


WARNINGS = RateLimitedLog()
"""Those of this process."""
