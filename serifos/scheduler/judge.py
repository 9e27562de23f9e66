# SPDX-License-Identifier: Apache-2.0
"""The state that weigher, driver and filter share, and their predictions.

For each request they call :meth:`Judge.observe`, which takes in what Cinder
reports, then :meth:`Judge.judge`, which changes nothing but its cache, then,
where a volume is placed, :meth:`Judge.record` (the driver, which knows the
pool) or :meth:`Judge.weighed` (the weigher, which does not). Cinder creates
weighers and filters for every request, so one Judge serves a process for as
long as the options stay the same.
"""

from __future__ import annotations

from collections.abc import Callable
from collections.abc import Sequence
import dataclasses
import threading
import time
from typing import Any
from typing import NamedTuple

from oslo_config import cfg

from serifos.conf import scheduler as options
from serifos import errors
from serifos.facts.cluster import Volume
from serifos.facts.workload import Workload
from serifos.scheduler import affinity
from serifos.scheduler import cache
from serifos.scheduler import inferred
from serifos.scheduler import metrics
from serifos.scheduler import pending
from serifos.scheduler import predict
from serifos.scheduler import prediction_cache
from serifos.scheduler import rate_limited_log
from serifos.scheduler.request import BOUNDS
from serifos.scheduler.request import Candidate
from serifos.scheduler.request import CREATE
from serifos.scheduler.request import expected
from serifos.scheduler.request import Newcomer
from serifos.scheduler.request import Request
from serifos.scheduler.view import View

_LOCK = threading.Lock()


class SchedulerSettings(NamedTuple):
    """The values of the options with these names."""

    state_dir: str
    models_dir: str
    cluster_max_age: float
    newcomer_write_pct: float
    newcomer_block_kib: float
    newcomer_iodepth: float
    reservation_ttl: float
    newcomer_hints: bool
    metrics_dir: str | None = None

    @property
    def newcomer(self) -> Workload:
        """The workload expected of a volume by default."""
        return Workload(self.newcomer_write_pct, self.newcomer_block_kib,
                        self.newcomer_iodepth)


def read_settings(conf: cfg.ConfigOpts) -> SchedulerSettings:
    """:raises InputError: where a value cannot be used"""
    return SchedulerSettings(*(options.read(conf, name)
                               for name in SchedulerSettings._fields))


@dataclasses.dataclass(frozen=True)
class Placement:
    """A request, or those of a group, whose volumes are placed together.

    :param newcomers: the expected workload of each request's volume
    :param candidates: in the order of the host states
    :param at: seconds of the epoch
    :param volume: that of the request, where it lives in a pool already
    """

    requests: Sequence[Request]
    newcomers: Sequence[Newcomer]
    candidates: Sequence[Candidate]
    at: float
    volume: Volume | None = None

    @property
    def weighed(self) -> inferred.Weighed:
        return inferred.Weighed(
            self.requests[0].size_gib, self.newcomers[0].workload, self.at)


class Judge:
    """The files, pending volumes and predictions of one configuration.

    Safe to share between threads, green or native.

    :param clock: seconds of the epoch
    """

    def __init__(self, settings: SchedulerSettings,
                 clock: Callable[[], float],
                 log: rate_limited_log.RateLimitedLog) -> None:
        self._settings = settings
        self._clock = clock
        self._log = log
        self._lock = threading.Lock()
        self._cache = cache.Cache(
            settings.state_dir, settings.models_dir,
            settings.cluster_max_age)
        self._view: View | None = None
        self._predictions = prediction_cache.PredictionCache()
        self._pending = pending.Pending(
            settings.reservation_ttl, settings.newcomer)

    def observe(self, requests: Sequence[Request],
                states: Sequence[Any]) -> Placement:
        """Takes in what Cinder reports of its pools with a request.

        :param requests: one, or those of a group
        :param states: Cinder's host states
        """
        now = self._clock()
        with self._lock:
            view = self._refresh(now)
            known = view and view.pools.pool
            volume = self._living(requests[0]) if view else None
            placement = Placement(
                requests, [self._newcomer(request, view, volume)
                           for request in requests],
                [Candidate.of(state, known) for state in states], now, volume)
            if view is not None:
                self._pending.infer(placement.candidates, placement.weighed)
        return placement

    def _living(self, request: Request) -> Volume | None:
        """The volume of a request that has a pool already."""
        return self._cache.volume(request.volume_id) if (
            request.home and request.volume_id) else None

    def judge(self, placement: Placement
              ) -> Sequence[predict.Prediction | None]:
        """The latency of each candidate with the volumes placed there.

        In the order of the candidates; empty where Serifos has no opinion.
        """
        with self._lock:
            view = self._view
            if view is None:
                return []
            found = self._predictions.of(
                tuple(newcomer.workload for newcomer in placement.newcomers),
                [view.place(pool, model)
                 for pool, model, _ in placement.candidates],
                self._pending, placement.requests[0].volume_id,
                self._uncached(placement, view))
        if any(found):
            return found
        if placement.candidates:
            self._no_opinion(view, placement.candidates)
        return []

    def _uncached(self, placement: Placement, view: View
                  ) -> dict[str, Workload | None]:
        """Device → the workload that leaves it with this volume.

        None where the volume is pending. Predictions for these devices hold
        only for this request.
        """
        found: dict[str, Workload | None] = {}
        pending_in = view.pools.pool.get(
            self._pending.pool_of(placement.requests[0].volume_id) or '')
        if pending_in is not None:
            found[pending_in.device] = None
        volume = placement.volume
        if volume is not None and volume.pool in view.pools.home:
            found[view.pools.home[volume.pool]] = view.workload(volume)
        return found

    def record(self, placement: Placement, candidate: Candidate) -> None:
        """Records that the volume was placed in this pool."""
        request = placement.requests[0]
        with self._lock:
            self._pending.record(
                request.volume_id, pending.PendingVolume(
                    candidate.pool, placement.newcomers[0].workload,
                    request.size_gib, placement.at, request.home,
                    self.slo_us(request), affinity.Wish.of(request)))

    def barred(self, placement: Placement) -> list[str | None]:
        """Why a new volume is not to live in each candidate, by its metadata.

        None where it may; empty where it may live anywhere.
        """
        request = placement.requests[0]
        wish = affinity.Wish.of(request)
        if wish is None:
            return []
        with self._lock:
            view = self._view
            found = [] if view is None else affinity.barred(
                wish, [candidate.pool for candidate in placement.candidates],
                view.pools, lambda volume: view.pools.volume.get(volume)
                or self._cache.volume(volume), self._pending.placed(),
                request.volume_id)
        return found if any(found) else []

    def weighed(self, placement: Placement) -> None:
        """Remembers a volume whose pool will show by allocated capacity."""
        if placement.requests[0].operation == CREATE:
            with self._lock:
                self._pending.weighed(placement.weighed)

    def has_slos(self, request: Request) -> bool:
        """Whether there is an SLO of the volume, or to any other."""
        with self._lock:
            view = self._refresh(self._clock())
            return view is not None and bool(
                view.has_slos or self._pending.with_slo
                or self.slo_us(request) is not None)

    def slo_us(self, request: Request) -> float | None:
        """The SLO of the volume's type, µs."""
        return request.slo_us(self._refuse)

    def _refresh(self, now: float) -> View | None:
        before = self._view
        try:
            self._view = self._cache.look(now)
        except errors.InputError as exc:
            self._log.warn('neutral', 'Serifos has no opinion: %s', exc)
            self._view = None
        else:
            self._predictions.renew(self._view)
            self._pending.renew(self._view.pools, now)
            if self._view is not before:
                metrics.seen(self._view.pools.observed_at,
                             self._cache.models_at)
        return self._view

    def _newcomer(self, request: Request, view: View | None,
                  volume: Volume | None) -> Newcomer:
        """The expected workload; the observed one of a volume that lives."""
        if volume is not None and volume.workload is not None:
            return Newcomer(
                volume.workload.settled,
                dict.fromkeys(BOUNDS, 'what it was seen doing'))
        if not self._settings.newcomer_hints:
            request = dataclasses.replace(request, hints={})
        means = view and view.pools.type.get(request.volume_type)
        return expected(request, means and means.active,
                        self._settings.newcomer, self._refuse)

    def _refuse(self, text: str) -> None:
        self._log.warn('value', 'Serifos: %s', text)

    def _no_opinion(self, view: View,
                    candidates: Sequence[Candidate]) -> None:
        first = candidates[0]
        if first.pool not in view.pools.pool:
            why = f'{first.pool} is not in pools.json, or not up there.'
        else:
            why = view.broken.get(
                first.model, f'there is no model {first.model} in '
                f'{self._settings.models_dir}.')
        self._log.warn(
            'neutral', 'Serifos has no opinion: none of %s candidates has a '
            'model and a known load. The first: %s', len(candidates), why)


_SHARED: list[Judge] = []


def shared(conf: cfg.ConfigOpts) -> Judge:
    """The Judge of this process, made by the first request.

    None of the options can change while cinder-scheduler runs.

    :raises InputError: where the value of an option cannot be used
    """
    with _LOCK:
        if not _SHARED:
            wanted = read_settings(conf)
            metrics.use(wanted.metrics_dir)
            _SHARED.append(Judge(wanted, time.time,
                                 rate_limited_log.WARNINGS))
        return _SHARED[0]


def forget() -> None:
    """The next request makes another Judge, of the options of then."""
    with _LOCK:
        _SHARED.clear()


options.register_opts(cfg.CONF)
