# SPDX-License-Identifier: Apache-2.0
"""The service behind serifos-balancer run: rounds, scraper, signals.

A cotyledon service with native threads. SIGHUP reloads the configuration for
the next round; SIGTERM stops between two requests to Cinder: a migration
under way goes on, and the next start takes it up from the journal.
"""

from __future__ import annotations

from collections.abc import Callable
from collections.abc import Iterator
import contextlib
import dataclasses
import multiprocessing
import threading
import time

import cotyledon
from cotyledon import oslo_config_glue
from oslo_config import cfg
from oslo_log import log

from serifos.balancer import leader
from serifos.balancer.round import Balancer
from serifos import errors
from serifos.plan.plan import Plan
from serifos.plan.recent import Recent

LOG = log.getLogger(__name__)

RETRY_S = 5.0

_AGAIN_S = 60.0
"""After which the same error is logged once more."""

PLANNED, HINDERED, FOLLOWED, FAILED = 'planned', 'hindered', 'followed', (
    'failed')
"""Results of rounds: a plan was made, or one was kept from being made, another
balancer leads, or there was an error."""


class Daemon:
    """One of possibly several balancers.

    The arguments are factories: after SIGHUP they read the configuration
    again, in a new process.

    :param make: (pause) → a balancer with the settings of this moment
    :param reader: (whether it is to stop) → what takes one reading for
        telemetry, None where the source collects its own, and seconds
        between readings
    :param lock_url: () → the URL of tooz's lock
    :param count: (result) → counts a round that ended
    """

    def __init__(self, make: Callable[[Callable[[float], bool]],
                                      Balancer],
                 reader: Callable[[Callable[[], bool]], tuple[
                     Callable[[], object] | None, float]],
                 lock_url: Callable[[], str],
                 count: Callable[[str], object]) -> None:
        self._make, self._reader = make, reader
        self._lock_url, self._count = lock_url, count
        self._stop = threading.Event()
        self._logged_at: dict[str, float] = {}
        self._threads: list[threading.Thread] = []
        self._recent = Recent()

    def start(self) -> None:
        for loop in self._rounds, self._readings:
            thread = threading.Thread(target=loop, name=loop.__name__)
            thread.start()
            self._threads.append(thread)

    def stop(self) -> None:
        LOG.info('Stopping: no further migration is requested.')
        self._stop.set()

    def wait(self) -> None:
        for thread in self._threads:
            thread.join()

    def _readings(self) -> None:
        scrape, seconds = None, RETRY_S
        while not self._stop.is_set():
            with self._logged():
                if scrape is None:
                    scrape, seconds = self._reader(self._stop.is_set)
                if scrape is None:
                    return
                scrape()
            self._stop.wait(seconds)

    def _rounds(self) -> None:
        leading = None
        while not self._stop.is_set():
            seconds, result = RETRY_S, FAILED
            with self._logged():
                balancer = self._make(self._stop.wait)
                settings = balancer.observer.settings
                leading = leading or leader.Lead(
                    self._lock_url(), balancer.observer.journal,
                    settings.mode)
                seconds = settings.interval_s
                result = self._round(balancer, leading)
            with self._logged():
                self._count(result)
            self._stop.wait(seconds)
        if leading is not None:
            leading.give_back()

    def _round(self, balancer: Balancer,
               leading: leader.Lead) -> str:
        if not balancer.observer.settings.auto:
            leading.give_back()
            return self._act(balancer)
        leads = False
        with self._logged():
            leads = leading.take()
            if not leads:
                LOG.info('Another balancer acts; this one observes.')
        if not leads:
            balancer.observer.as_follower().observe()
            return FOLLOWED
        try:
            return self._act(balancer.as_leader(
                leading.journal, leading.prove))
        except errors.NotLeading:
            leading.give_back()
            raise

    def _act(self, balancer: Balancer) -> str:
        """The result of a round, which the next one remembers."""
        settings = balancer.observer.settings
        decision = balancer.decide(dataclasses.replace(
            self._recent, hold=settings.hold, interval_s=settings.interval_s))
        self._recent = decision.recent
        return result(balancer.act(decision))

    @contextlib.contextmanager
    def _logged(self) -> Iterator[None]:
        """Logs any error and goes on."""
        try:
            yield
        except errors.SerifosError as exc:
            self._error(str(exc))
        except cfg.Error as exc:
            self._error(f'The configuration cannot be used: {exc}')
        except Exception:
            LOG.exception('This round failed; the next one begins as usual.')

    def _error(self, sentence: str) -> None:
        """Logs an error, unless it did so within the minute."""
        now = time.monotonic()
        self._logged_at = {
            each: at for each, at in self._logged_at.items()
            if now - at < _AGAIN_S}
        if sentence not in self._logged_at:
            self._logged_at[sentence] = now
            LOG.error('%s', sentence)


def result(plan: Plan | None) -> str:
    """What a round came to.

    :param plan: that it made
    """
    return HINDERED if plan is None else PLANNED


class _Worker(cotyledon.Service):
    """The process that a daemon runs in."""

    def __init__(self, worker_id: int, daemon: Daemon) -> None:
        super().__init__(worker_id)
        self._daemon = daemon

    def run(self) -> None:
        self._daemon.start()
        self._daemon.wait()

    def terminate(self) -> None:
        self._daemon.stop()


def serve(conf: cfg.ConfigOpts, daemon: Daemon) -> None:
    """Runs a daemon in a process of its own until SIGTERM or SIGINT."""
    oslo_config_glue.register_opts(conf)
    manager = cotyledon.ServiceManager(
        graceful_shutdown_timeout=conf.graceful_shutdown_timeout,
        mp_context=multiprocessing.get_context('fork'))
    oslo_config_glue.link(manager, conf, reload_method='reload')
    manager.add(_Worker, args=(daemon,))
    with contextlib.suppress(SystemExit):
        manager.run()
