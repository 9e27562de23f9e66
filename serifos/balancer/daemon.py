# SPDX-License-Identifier: Apache-2.0
"""serifos-balancer run, for ever: rounds, a scraper, and signals.

oslo.service with native threads. SIGHUP has the configuration read again,
which the next round uses; SIGTERM ends between two questions to Cinder: a
migration that runs goes on without us, and the journal knows of it.
"""

from __future__ import annotations

from collections.abc import Callable
import threading

from oslo_log import log
from oslo_service import service

from serifos.balancer import cycle
from serifos.balancer import lead
from serifos import errors

LOG = log.getLogger(__name__)


class Daemon(service.Service):
    """One balancer among its like.

    :param make: (pause) → a balancer, with the settings of this moment
    :param scrape: takes one reading for telemetry, None where somebody
        else does
    :param scrape_s: seconds between readings
    :param lock_url: tooz's
    """

    def __init__(self, make: Callable[[Callable[[float], bool]],
                                      cycle.Balancer],
                 scrape: Callable[[], object] | None, scrape_s: float,
                 lock_url: str) -> None:
        super().__init__()
        self._make, self._scrape, self._scrape_s = make, scrape, scrape_s
        self._lock_url = lock_url
        self._stop = threading.Event()
        self._threads: list[threading.Thread] = []

    def start(self) -> None:
        loops = [self._rounds] + [self._readings] * bool(self._scrape)
        for loop in loops:
            thread = threading.Thread(target=loop, name=loop.__name__)
            thread.start()
            self._threads.append(thread)

    def stop(self, graceful: bool = False) -> None:
        LOG.info('Ending: no further migration is requested.')
        self._stop.set()

    def wait(self) -> None:
        for thread in self._threads:
            thread.join()

    def _readings(self) -> None:
        while not self._stop.is_set():
            self._guarded(self._scrape)
            self._stop.wait(self._scrape_s)

    def _rounds(self) -> None:
        leading = None
        while not self._stop.is_set():
            seconds = 5.0
            try:
                balancer = self._make(self._stop.wait)
                seconds = balancer.settings.interval_s
                leading = leading or lead.Lead(self._lock_url)
                self._guarded(lambda: self._round(balancer, leading))
            except errors.SerifosError as exc:
                LOG.error('%s', exc)
            self._stop.wait(seconds)
        if leading is not None:
            leading.leave()

    @staticmethod
    def _round(balancer: cycle.Balancer, leading: lead.Lead) -> None:
        if not balancer.settings.auto:
            leading.give_back()
            balancer.round()
        elif leading.take():
            balancer.round()
        else:
            LOG.info('Another balancer acts; this one observes.')
            balancer.observe()

    @staticmethod
    def _guarded(work: Callable[[], object] | None) -> None:
        try:
            if work is not None:
                work()
        except errors.SerifosError as exc:
            LOG.error('%s', exc)
        except Exception:
            LOG.exception('This round failed; the next is tried as usual.')
