# SPDX-License-Identifier: Apache-2.0
"""Concurrent questions to many hosts, up to a common deadline.

A host that does not answer holds one thread until its own deadline. The
threads of a process are bounded, a host whose last question is still open
is not asked again, and the end of the program waits for none of them.
"""

from __future__ import annotations

import collections
from collections.abc import Callable
from collections.abc import Mapping
import threading
import time
from typing import Generic
from typing import TypeVar

from oslo_log import log as logging

LOG = logging.getLogger(__name__)

Answer = TypeVar('Answer')

MOST = 32
"""Threads, those that are stuck too."""

_SLOW_S = 1.0
"""Who takes no longer is asked before all others."""


class _Round(Generic[Answer]):
    """The questions of a call, and their answers."""

    def __init__(self, hosts: list[str]) -> None:
        self.waiting = collections.deque(hosts)
        self.open = len(hosts)
        self.answers: dict[str, Answer] = {}
        self.over = False


class Parallel(Generic[Answer]):
    """Asks hosts in threads, first those that answered fast the last time."""

    def __init__(self, most: int = MOST) -> None:
        self._most = most
        self._changed = threading.Condition()
        self._busy: set[str] = set()
        self._took_s: dict[str, float] = {}

    def ask(self, questions: Mapping[str, Callable[[], Answer]],
            seconds: float) -> dict[str, Answer]:
        """The answers that came within so many seconds, by host.

        :param questions: host → what asks it, and raises nothing
        """
        with self._changed:
            asked = _Round[Answer](sorted(
                (host for host in questions if host not in self._busy),
                key=lambda host: self._took_s.get(host, 0.0)))
            threads = min(self._most - len(self._busy), asked.open)
        for _ in range(threads):
            threading.Thread(target=self._work, args=(asked, questions),
                             daemon=True).start()
        with self._changed:
            self._changed.wait_for(lambda: not asked.open or threads <= 0,
                                   seconds)
            asked.over = True
            for host in asked.waiting:  # its turn comes, after the fast
                self._took_s[host] = max(
                    _SLOW_S, self._took_s.get(host, 0.0) / 2)
            return dict(asked.answers)

    def _work(self, asked: _Round[Answer],
              questions: Mapping[str, Callable[[], Answer]]) -> None:
        while True:
            with self._changed:
                if asked.over or not asked.waiting:
                    return
                host = asked.waiting.popleft()
                self._busy.add(host)
            began = time.monotonic()
            try:
                answer = questions[host]()
            except Exception:
                LOG.exception('Asking %s failed', host)
            else:
                with self._changed:
                    if not asked.over:
                        asked.answers[host] = answer
            finally:
                with self._changed:
                    self._busy.discard(host)
                    self._took_s[host] = time.monotonic() - began
                    asked.open -= 1
                    self._changed.notify_all()
