# SPDX-License-Identifier: Apache-2.0
"""What does Serifos think of a request? Asked by weigher, driver and filter.

Cinder makes weighers and filters anew for every request: what they share is
kept here, behind locks, for as long as the options stay the same.
"""

from __future__ import annotations

from collections.abc import Callable
from collections.abc import Mapping
from collections.abc import Sequence
import dataclasses
import threading
import time
from typing import Any

from oslo_config import cfg

from serifos.conf import scheduler as options
from serifos import errors
from serifos.scheduler import known
from serifos.scheduler import newcomer as nc
from serifos.scheduler import predict
from serifos.scheduler import reservations as rs
from serifos.scheduler import seldom
from serifos import workload as wl

PLACES = frozenset({nc.CREATE, 'create_group', 'retype_volume'})
"""The operations in which something is placed; to all else we are neutral."""

CAPABILITY = 'serifos_model'


@dataclasses.dataclass(frozen=True)
class Settings:
    """The options of [serifos] in cinder.conf."""

    state_dir: str
    models_dir: str
    cluster_max_age: float
    newcomer_write_pct: float
    newcomer_block_kib: float
    newcomer_iodepth: float
    active_floor: float
    reservation_ttl: float
    newcomer_hints: bool

    @classmethod
    def of(cls, conf: cfg.ConfigOpts) -> Settings:
        """:raises InputError: where an option is absurd"""
        return cls(*(options.read(conf, field.name)
                     for field in dataclasses.fields(cls)))

    @property
    def newcomer(self) -> wl.Workload:
        """What a volume does of which nothing tells more."""
        return wl.Workload(self.newcomer_write_pct, self.newcomer_block_kib,
                           self.newcomer_iodepth)


@dataclasses.dataclass(frozen=True)
class Judgement:
    """What Serifos thinks of a request.

    :param newcomers: what the request places
    :param predictions: one for each candidate, in their order, or none at
        all where Serifos has no opinion
    :param candidates: in the order of the host states
    :param standing: what is on its way already
    """

    newcomers: Sequence[nc.Newcomer]
    predictions: Sequence[predict.Prediction | None] = ()
    candidates: Sequence[predict.Candidate] = ()
    standing: rs.Standing | None = None
    snapshot: known.Snapshot | None = None


class Placing:
    """What one configuration of Serifos remembers between requests.

    :param clock: seconds of the epoch
    """

    def __init__(self, settings: Settings,
                 clock: Callable[[], float],
                 warnings: seldom.Seldom) -> None:
        self.settings = settings
        self._clock = clock
        self._warnings = warnings
        self._known = known.Known(
            settings.state_dir, settings.models_dir,
            settings.cluster_max_age, settings.active_floor)
        self._reservations = rs.Reservations(
            settings.reservation_ttl, settings.newcomer)

    def judge(self, requests: Sequence[nc.Request], states: Sequence[Any],
              infer: bool = False) -> Judgement:
        """What each candidate will see with these requests placed there.

        :param requests: one, or those of a group, which are placed together
        :param states: Cinder's host states
        :param infer: whether to look, at the next request, where this
            volume went; a driver records it instead
        """
        now, first = self._clock(), requests[0]
        view = self._look(now)
        newcomers = [self._newcomer(request, view) for request in requests]
        if view is None:
            return Judgement(newcomers)
        snapshot = view.snapshot
        candidates = [candidate(state, snapshot) for state in states]
        asked = rs.Asked(first.size_gib, newcomers[0].workload, now)
        self._reservations.update(snapshot, candidates, asked)
        if infer and first.operation == nc.CREATE:
            self._reservations.ask(asked)
        standing = self._reservations.standing(
            snapshot.devices, but=first.volume_id)
        predictor = predict.Predictor(
            view, [newcomer.workload for newcomer in newcomers],
            standing.workloads, _lifted(first, snapshot))
        found = [predictor(each) for each in candidates]
        if not any(found):
            self._no_opinion(view, candidates)
            return Judgement(newcomers)
        return Judgement(newcomers, found, candidates, standing, snapshot)

    def record(self, request: nc.Request, newcomer: nc.Newcomer,
               state: Any) -> None:
        """A volume was placed there by whoever asks this."""
        now = self._clock()
        view = self._look(now)
        pool = candidate(state, view.snapshot).pool if view else (
            state.backend_id)
        self._reservations.record(request.volume_id, rs.Reservation(
            pool, newcomer.workload, request.size_gib, now, request.home,
            self.promise_us(request)))

    def promise_us(self, request: nc.Request) -> float | None:
        """The latency that the volume's type promises, µs."""
        return request.promise_us(self._refuse)

    def _look(self, now: float) -> known.View | None:
        try:
            return self._known.look(now)
        except errors.InputError as exc:
            self._warnings.warn('neutral', 'Serifos has no opinion: %s', exc)
            return None

    def _newcomer(self, request: nc.Request,
                  view: known.View | None) -> nc.Newcomer:
        """What the volume will do; one that was seen just goes on."""
        snapshot = view and view.snapshot
        volume = snapshot and snapshot.volumes.get(request.volume_id or '')
        if volume and volume.workload is not None and (
                request.home or snapshot.active(volume)):
            return nc.Newcomer(
                nc.settled(volume.workload),
                dict.fromkeys(nc.BOUNDS, 'what it was seen doing'))
        if not self.settings.newcomer_hints:
            request = dataclasses.replace(request, hints={})
        return nc.expected(request, snapshot.seen if snapshot else {},
                           self.settings.newcomer, self._refuse)

    def _refuse(self, text: str) -> None:
        self._warnings.warn('value', 'Serifos: %s', text)

    def _no_opinion(self, view: known.View,
                    candidates: Sequence[predict.Candidate]) -> None:
        if not candidates:
            return
        first = candidates[0]
        if first.pool not in view.snapshot.devices:
            why = f'{first.pool} is not in cluster.json, or not up there.'
        else:
            why = view.broken.get(
                first.model, f'there is no model {first.model} in '
                f'{self.settings.models_dir}.')
        self._warnings.warn(
            'neutral', 'Serifos has no opinion: none of %s candidates has a '
            'model and a known load. The first: %s', len(candidates), why)


def candidate(state: Any, snapshot: known.Snapshot) -> predict.Candidate:
    """A host state of Cinder's as a candidate.

    A pool of a cluster of cinder-volumes goes by the cluster's name.
    """
    pool = state.backend_id
    if pool not in snapshot.devices:
        pool = state.host
    model = state.capabilities and state.capabilities.get(CAPABILITY)
    return predict.Candidate(pool, str(model or pool),
                             nc.number(state.allocated_capacity_gb))


def _lifted(request: nc.Request, snapshot: known.Snapshot
            ) -> Mapping[str, wl.Workload | None]:
    """Device → the workload that leaves it, where the volume lives on."""
    volume = snapshot.volumes.get(request.volume_id or '')
    if volume is None or volume.pool not in snapshot.devices:
        return {}
    return {snapshot.devices[volume.pool]: volume.workload}


_LOCK = threading.Lock()
_SHARED: list[Placing] = []


def shared(conf: cfg.ConfigOpts) -> Placing:
    """The one Placing of this process; a new one where options changed.

    :raises InputError: where an option is absurd
    """
    settings = Settings.of(conf)
    with _LOCK:
        if not _SHARED or _SHARED[0].settings != settings:
            _SHARED[:] = [Placing(settings, time.time, seldom.WARNINGS)]
        return _SHARED[0]


options.register_opts(cfg.CONF)
