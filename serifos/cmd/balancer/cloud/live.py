# SPDX-License-Identifier: Apache-2.0
"""The plan and the page of the last observation, made once for each."""

from __future__ import annotations

from collections.abc import Callable
import os
import pathlib
import threading

from oslo_config import cfg
from oslo_log import log

from serifos.cmd.balancer.cloud import gather
from serifos.cmd.balancer.cloud import planned as pn
from serifos import errors
from serifos.files import documents

LOG = log.getLogger(__name__)


def file(conf: cfg.ConfigOpts) -> pathlib.Path:
    """The observation of the balancer."""
    return pathlib.Path(conf.serifos.state_dir, 'cluster.json')


class Latest:
    """A plan of the last observation, made anew where that is another."""

    def __init__(self, conf: cfg.ConfigOpts) -> None:
        self._conf = conf
        self._lock = threading.Lock()
        self._kept: tuple[object, pn.Planned | None] = (None, None)

    def planned(self) -> pn.Planned | None:
        """None where there is no observation.

        :raises SerifosError: where a file cannot be used
        """
        try:
            info = os.stat(file(self._conf))
        except FileNotFoundError:
            return None
        version = info.st_mtime_ns, info.st_ino
        with self._lock:
            if self._kept[0] != version:
                self._kept = version, pn.Planned.of(
                    self._conf, documents.read_cluster(file(self._conf)),
                    self._conf.serifos.models_dir, lambda _: None)
            return self._kept[1]


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
