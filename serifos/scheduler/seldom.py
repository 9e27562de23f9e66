# SPDX-License-Identifier: Apache-2.0
"""How often may a warning be said? Of each kind, once a minute."""

from __future__ import annotations

from collections.abc import Callable
import time

from oslo_log import log

from serifos import errors

LOG = log.getLogger(__name__)

EVERY_S = 60.0


class Seldom:
    """Says a warning, unless one of its kind was said within the minute.

    An error of ours is one sentence, whose traceback tells nothing more.

    :param clock: seconds, of whatever beginning
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._said: dict[str, float] = {}

    def warn(self, kind: str, message: str, *args: object,
             exc_info: bool = False) -> None:
        now = self._clock()
        if now - self._said.get(kind, now - EVERY_S) >= EVERY_S:
            self._said[kind] = now
            told = any(isinstance(each, errors.SerifosError)
                       for each in args)
            LOG.warning(message, *args, exc_info=exc_info and not told)


WARNINGS = Seldom()
"""Those of this process."""
