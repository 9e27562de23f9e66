# SPDX-License-Identifier: Apache-2.0
"""Metrics of cinder-scheduler for node_exporter's textfile collector.

Without ``[serifos] metrics_dir`` nothing is counted, and prometheus_client is
not imported.
"""

from __future__ import annotations

from collections.abc import Callable
import contextlib
import os
import pathlib
import threading
import time

from serifos.scheduler import rate_limited_log

EVERY_S = 15.0
OLD_S = 86400.0

NAME = 'serifos-scheduler-{}.prom'

BUCKETS = (0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1.0)
"""Seconds."""

DRIVER, WEIGHER, FILTER = 'driver', 'weigher', 'filter'
JUDGED, NO_OPINION, ERROR = 'judged', 'no_opinion', 'error'
_GIVEN_UP: list[str] = []
"""Directories for which counting failed: Cinder goes on placing volumes."""


class TextFile:
    """The metrics of this process.

    :param directory: that of ``--collector.textfile.directory``
    :raises ImportError: where prometheus_client is not installed
    """

    def __init__(self, directory: str) -> None:
        import prometheus_client  # noqa: PLC0415

        self.directory = directory
        self._generate = prometheus_client.generate_latest
        self._registry = prometheus_client.CollectorRegistry()
        self._worker = str(os.getpid())
        self._path = pathlib.Path(directory, NAME.format(self._worker))
        self._written_s = -EVERY_S
        self._lock = threading.Lock()

        def made(kind, name, text, *labels, **more):  # type: ignore
            found = kind(f'serifos_scheduler_{name}', text,
                         ['worker', *labels], registry=self._registry,
                         **more)
            return found if labels else found.labels(self._worker)

        counter = prometheus_client.Counter
        gauge = prometheus_client.Gauge
        self._requests = made(
            counter, 'requests', 'Requests that the plugin looked at, by '
            'what came of it.', 'plugin', 'result')
        self._seconds = made(
            prometheus_client.Histogram, 'request_seconds',
            'How long it took with a request.', 'plugin', buckets=BUCKETS)
        self._ranked = made(
            counter, 'ranked_placements', 'Placements that the driver '
            'ranked.')
        self._changed = made(
            counter, 'changed_placements', 'Those of them in which another '
            'pool came first than by the default weighers.')
        self._refused = made(
            counter, 'refused_pools', 'Pools that the filter refused to '
            'requests.')
        self._observed = made(
            gauge, 'observation_timestamp_seconds', 'When the cloud was '
            'observed that requests are judged by.')
        self._models = made(
            gauge, 'model_timestamp_seconds', 'When the newest model was '
            'written.')

    def request(self, plugin: str, result: str, started_s: float) -> None:
        """Counts a request, and writes the file where that is due."""
        now = time.perf_counter()
        self._requests.labels(self._worker, plugin, result).inc()
        self._seconds.labels(self._worker, plugin).observe(now - started_s)
        with self._lock:
            due = now - self._written_s >= EVERY_S
            if due:
                self._written_s = now
        if due:
            self._write()

    def ranked(self, changed: bool) -> None:
        self._ranked.inc()
        self._changed.inc(int(changed))

    def refused(self, pools: int) -> None:
        self._refused.inc(pools)

    def seen(self, observed_at: float, models_at: float | None) -> None:
        self._observed.set(observed_at)
        if models_at is not None:
            self._models.set(models_at)

    def _write(self) -> None:
        """Replaces the file; Cinder goes on where that cannot be done."""
        partial = self._path.with_suffix('.partial')
        try:
            partial.write_bytes(self._generate(self._registry))
            partial.chmod(0o644)  # for the user of node_exporter
            os.replace(partial, self._path)
            self._remove_old()
        except OSError as exc:
            rate_limited_log.WARNINGS.warn(
                'metrics', 'Serifos cannot write its metrics: %s', exc)

    def _remove_old(self) -> None:
        """Removes files of others, as these may do at the same time."""
        for other in self._path.parent.glob(NAME.format('*')):
            with contextlib.suppress(FileNotFoundError):
                if time.time() - other.stat().st_mtime > OLD_S:
                    other.unlink()


_ACTIVE: list[TextFile] = []


def use(directory: str | None) -> None:
    """Counts for this directory from now on; nothing with None."""
    if [directory or None] == [*(each.directory for each in _ACTIVE),
                               *_GIVEN_UP]:
        return
    _ACTIVE.clear()
    _GIVEN_UP.clear()
    if directory:
        try:
            _ACTIVE.append(TextFile(directory))
        except Exception as exc:
            _give_up(directory, exc)


def _give_up(directory: str, exc: Exception) -> None:
    _ACTIVE.clear()
    _GIVEN_UP.append(directory)
    rate_limited_log.WARNINGS.warn(
        'metrics', 'Serifos writes no metrics to %s until it is restarted: '
        '%s', directory, exc)


def _each(verb: Callable[[TextFile], None]) -> None:
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
