# SPDX-License-Identifier: Apache-2.0
"""Source of telemetry: the node_exporters, scraped by serifos itself.

No Prometheus is needed: every interval each exporter is asked once, the
readings go to a ring on disk, and a window of them is what is observed.
A host that does not answer holds one thread until its own deadline. The
threads of a process are bounded, a host whose last question is still open
is not asked again, and the end of the program waits for none of them.
"""

from __future__ import annotations

import collections
from collections.abc import Callable
from collections.abc import Collection
from collections.abc import Mapping
from collections.abc import Sequence
import functools
import threading
import time
from typing import Generic
from typing import TypeVar

from keystoneauth1.session import Session
from oslo_log import log as logging

from serifos import errors
from serifos.facts import activity
from serifos.facts.activity import Telemetry
from serifos.facts.history import Series
from serifos.telemetry import amounts
from serifos.telemetry.counters import Reading
from serifos.telemetry import exporter
from serifos.telemetry import http
from serifos.telemetry.ring import Ring
from serifos.telemetry import window

LOG = logging.getLogger(__name__)

MIN_WINDOW_S = 30.0
"""The least that readings taken for a single command cover."""

_PARSING_S = 2.0
"""What it may take to make a reading of an answer."""

_UNNAMED = '[telemetry] endpoints names no node_exporter of it'

Answer = TypeVar('Answer')

MOST = 32
"""Threads, those that are stuck too."""

_SLOW_S = 1.0
"""Who takes no longer is asked before all others."""


class Scrape(Telemetry):
    """The port :class:`.facts.activity.Telemetry` over node_exporters.

    :param session: of :func:`.http.session`
    :param endpoints: Cinder's host → the URL of its node_exporter
    :param ring: where the readings are kept
    :param interval_s: seconds between readings
    """

    def __init__(self, session: Session, endpoints: Mapping[str, str],
                 ring: Ring, *, interval_s: float,
                 clock: Callable[[], float] = time.time,
                 sleep: Callable[[float], object] = time.sleep) -> None:
        self._session = session
        self._endpoints = dict(endpoints)
        self._ring = ring
        self._interval_s = interval_s
        self._parallel: Parallel[Reading] = Parallel()
        self._disks: Parallel[
            tuple[activity.Disk, ...]] = Parallel()
        self._clock = clock
        self._sleep = sleep

    @property
    def readings(self) -> Scrape:
        """Nobody else takes them.

        :raises InputError: where no exporter is known
        """
        self._refuse_none()
        return self

    def _refuse_none(self) -> None:
        if not self._endpoints:
            raise errors.InputError(
                'No node_exporter is known; name them in [telemetry] '
                'endpoints, as in node1:http://node1:9100/metrics.')

    def scrape(self) -> dict[str, str]:
        """Takes one reading of every host: host → its fault.

        :raises InputError: where the ring cannot be written
        """
        began = self._clock()
        seconds = max(float(self._session.timeout or 0) + _PARSING_S,
                      self._interval_s)
        found = self._parallel.ask(
            {host: functools.partial(self._reading, url)
             for host, url in self._endpoints.items()}, seconds)
        silent = Reading(began, fault=(
            f'its node_exporter did not answer within {seconds:g} s'))
        readings = {host: found.get(host, silent)
                    for host in self._endpoints}
        self._ring.append(readings)
        troubles = {host: r.fault for host, r in readings.items() if r.fault}
        for host, why in troubles.items():
            LOG.warning('%s is not observed: %s', host, why)
        return troubles

    def observe(self, places: Sequence[activity.MeasuredVolume],
                window_s: float, pools: Collection[str] = ()
                ) -> activity.Observed:
        """:raises CloudError: where there is no reading at all"""
        found = self._recent(window_s)
        if not found:
            raise errors.CloudError(
                'No reading has been taken of late; is serifos-balancer '
                'running, with the same state_dir?')
        now = self._clock()
        strange = {host: [Reading(now, fault=_UNNAMED)]
                   for host in window.hosts(places, pools)
                   if host not in self._endpoints}
        return window.observed(
            places, collections.ChainMap(strange, found), now=now,
            window_s=window_s, interval_s=self._interval_s, empty=pools)

    def read(self, places: Sequence[activity.MeasuredVolume], begin: float,
             end: float, step_s: int) -> Series:
        """The port :class:`.facts.activity.History` over the ring, minutes."""
        longest_s = amounts.longest_s(self._interval_s)
        return amounts.series(
            places, self._ring.read(begin - longest_s), begin, end, step_s,
            longest_s=longest_s)

    def gather(self, window_s: float,
               progress: Callable[[float, float], object]) -> None:
        """Takes readings until the ring holds a window of fresh ones.

        What it holds already is counted. One is taken in any case, so that
        the newest is not stale by the time Cinder has listed its volumes.

        :param window_s: raised to :data:`MIN_WINDOW_S`
        :param progress: is called with (seconds held, seconds wanted)
            before each wait
        :raises InputError: where the ring cannot be written
        """
        wanted = max(window_s, MIN_WINDOW_S)
        began = self._clock()
        self.scrape()
        if self._held(wanted) >= wanted - self._interval_s / 2:
            return
        while (held := self._held(wanted)) < wanted and (
                waited := self._clock() - began) < wanted:
            progress(held, wanted)
            self._sleep(min(self._interval_s, wanted - max(held, waited)))
            self.scrape()

    def disks(self, hosts: Collection[str]
              ) -> dict[str, tuple[activity.Disk, ...]]:
        """Host → its disks, of those whose exporter tells them.

        :raises InputError: where no exporter is known
        """
        self._refuse_none()
        found = self._disks.ask(
            {host: functools.partial(self._disks_of, url)
             for host, url in self._endpoints.items() if host in hosts},
            max(float(self._session.timeout or 0) + _PARSING_S,
                self._interval_s))
        return {host: its for host, its in found.items() if its}

    def _disks_of(self, url: str) -> tuple[activity.Disk, ...]:
        try:
            return exporter.parse_disks(http.ask(self._session, url).content)
        except (errors.CloudError, ValueError):
            return ()  # what observes tells why

    def _recent(self, window_s: float) -> Mapping[str, list[Reading]]:
        """What is of use for a window whose newest reading is not stale."""
        return self._ring.read(
            self._clock() - window.reach_s(window_s, self._interval_s))

    def _held(self, window_s: float) -> float:
        """Seconds that fresh readings in the ring cover of a window."""
        return max((window.covered(
            readings, self._clock(), window_s, self._interval_s)
            for host, readings in self._recent(window_s).items()
            if host in self._endpoints), default=0.0)

    def _reading(self, url: str) -> Reading:
        """A reading, timed at the middle of its request."""
        asked = self._clock()
        try:
            answer = http.ask(self._session, url).content
            at = (asked + self._clock()) / 2
            return exporter.reading(at, exporter.parse(answer))
        except errors.CloudError as exc:
            fault = str(exc)
        except ValueError as exc:
            fault = f'the answer of its node_exporter cannot be read: {exc}'
        return Reading(asked, fault=errors.one_line(fault))


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
