# SPDX-License-Identifier: Apache-2.0
"""The plan and the page of the last observation, made once for each."""

from __future__ import annotations

from collections.abc import Callable
from concurrent import futures
import os
import pathlib
import threading

from oslo_config import cfg
from oslo_log import log

from serifos.cmd.balancer.cloud import gather
from serifos.cmd.balancer.cloud.planned import Planned
from serifos import errors
from serifos.files import documents

LOG = log.getLogger(__name__)


def file(conf: cfg.ConfigOpts) -> pathlib.Path:
    """The observation of the balancer."""
    return pathlib.Path(conf.serifos.state_dir, 'cluster.json')


class Latest:
    """A plan of the last observation, made anew where that is another.

    In the background, one at a time; a failure stays until the next
    observation.
    """

    def __init__(self, conf: cfg.ConfigOpts) -> None:
        self._conf = conf
        self._lock = threading.Lock()
        self._version: tuple[int, int] | None = None
        self._making: futures.Future[Planned] = futures.Future()
        self._last: Planned | None = None

    def planned(self) -> Planned | None:
        """That of the last observation, which is waited for.

        :returns: None where there is no observation
        :raises SerifosError: where a file cannot be used
        """
        making = self._begun()
        return None if making is None else _result(making)

    def known(self) -> Planned | None:
        """The last one that is made, at once.

        :returns: None where there is no observation, or no plan yet
        :raises SerifosError: where a file cannot be used
        """
        making = self._begun()
        if making is None:
            return None
        return _result(making) if making.done() else self._last

    def _begun(self) -> futures.Future[Planned] | None:
        """What is being made, or was, of the last observation.

        Of the one before where that still takes.
        """
        try:
            info = os.stat(file(self._conf))
        except FileNotFoundError:
            return None
        version = info.st_mtime_ns, info.st_ino
        with self._lock:
            if self._version != version and (
                    self._version is None or self._making.done()):
                self._version, self._making = version, futures.Future()
                threading.Thread(target=self._make, args=(self._making,),
                                 daemon=True).start()
            return self._making

    def _make(self, making: futures.Future[Planned]) -> None:
        try:
            found = Planned.of(
                self._conf, documents.read_cluster(file(self._conf)),
                self._conf.serifos.models_dir, lambda _: None)
        except Exception as exc:
            LOG.warning('There is no plan of the last observation: %s', exc,
                        exc_info=not isinstance(exc, errors.SerifosError))
            making.set_exception(exc)
        else:
            self._last = found
            making.set_result(found)


def _result(making: futures.Future[Planned]) -> Planned:
    """:raises SerifosError: where it cannot be made"""
    try:
        return making.result()
    except errors.SerifosError as exc:
        # Raised anew: one exception would grow with each who asks.
        raise type(exc)(*exc.args) from None


class Page:
    """The page, made anew after a round, and after its interval."""

    def __init__(self, conf: cfg.ConfigOpts, latest: Latest,
                 clock: Callable[[], float]) -> None:
        self._conf = conf
        self._latest = latest
        self._clock = clock
        self._lock = threading.Lock()
        self._kept: tuple[object, float, str] = (None, 0.0, '')

    def text(self) -> str:
        """:raises SerifosError: where a file cannot be used"""
        planned = self._latest.planned()
        if planned is None:
            raise errors.InputError(
                f'There is no observation {file(self._conf)} yet; '
                'serifos-balancer run makes one.')
        with self._lock:
            of, made_at, _ = self._kept
            now = self._clock()
            if of is not planned or not (
                    0 <= now - made_at < self._conf.balancer.interval):
                self._kept = planned, now, gather.text(
                    self._conf, planned, now, LOG.warning)
            return self._kept[2]
