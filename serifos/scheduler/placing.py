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
from serifos.scheduler import inferred
from serifos.scheduler import known
from serifos.scheduler import newcomer as nc
from serifos.scheduler import predict
from serifos.scheduler import prices
from serifos.scheduler import reservations as rs
from serifos.scheduler import seldom
from serifos.scheduler import settings as st
from serifos.scheduler import snapshot as sn
from serifos import workload as wl

PLACES = frozenset({nc.CREATE, 'create_group', 'retype_volume'})
"""The operations in which something is placed; to all else we are neutral."""

CAPABILITY = 'serifos_model'

_GIB = 1 << 50


@dataclasses.dataclass(frozen=True)
class Judgement:
    """What Serifos thinks of a request.

    :param newcomers: what the request places
    :param predictions: one for each candidate, in their order, or none at
        all where Serifos has no opinion
    :param candidates: in the order of the host states
    :param promised: device → the least latency, µs, promised to a volume on
        its way there, where there is one
    """

    newcomers: Sequence[nc.Newcomer]
    predictions: Sequence[predict.Prediction | None] = ()
    candidates: Sequence[predict.Candidate] = ()
    promised: Mapping[str, float] = dataclasses.field(default_factory=dict)
    snapshot: sn.Snapshot | None = None


class Placing:
    """What one configuration of Serifos remembers between requests.

    Safe to share between threads, green or native.

    :param clock: seconds of the epoch
    """

    def __init__(self, settings: st.Settings,
                 clock: Callable[[], float],
                 warnings: seldom.Seldom) -> None:
        self.settings = settings
        self._clock = clock
        self._warnings = warnings
        self._lock = threading.Lock()
        self._known = known.Known(
            settings.state_dir, settings.models_dir,
            settings.cluster_max_age, settings.newcomer,
            settings.active_floor)
        self._prices = prices.Prices(settings.newcomer)
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
        now = self._clock()
        with self._lock:
            view = self._look(now, len(states))
            newcomers = [self._newcomer(request, view)
                         for request in requests]
            if view is None:
                return Judgement(newcomers)
            judgement = self._judge(
                view, requests[0], newcomers, states, infer, now)
        if not any(judgement.predictions):
            self._no_opinion(view, judgement.candidates)
            return Judgement(newcomers)
        return judgement

    def _judge(self, view: sn.View, first: nc.Request,
               newcomers: Sequence[nc.Newcomer], states: Sequence[Any],
               infer: bool, now: float) -> Judgement:
        snapshot, here = view.snapshot, self._reservations
        devices, sharing = snapshot.devices, snapshot.sharing
        candidates = [candidate(state, devices) for state in states]
        asked = inferred.Asked(first.size_gib, newcomers[0].workload, now)
        here.update(snapshot, candidates, asked)
        if infer and first.operation == nc.CREATE:
            here.ask(asked)
        self._meet(view)

        def standing(device: str) -> predict.Several:
            return here.several(sharing[device], but=first.volume_id)

        found = self._prices.of(
            tuple(newcomer.workload for newcomer in newcomers),
            [sn.Place(devices[pool], model) if pool in devices else None
             for pool, model, _ in candidates],
            standing, self._special(first, snapshot))
        promised = {devices[pool]: here.promised_us(
            sharing[devices[pool]], but=first.volume_id)
            for pool in here.promising if pool in devices}
        return Judgement(newcomers, found, candidates, {
            device: promise for device, promise in promised.items()
            if promise is not None}, snapshot)

    def _meet(self, view: sn.View) -> None:
        """Prices follow the file, and what came or went since."""
        pools = self._reservations.changed()
        if self._prices.meet(view):
            pools = self._reservations.pools()
        devices = view.snapshot.devices
        self._prices.change({devices[pool] for pool in pools
                             if pool in devices})

    def _special(self, request: nc.Request, snapshot: sn.Snapshot
                 ) -> dict[str, wl.Workload | None]:
        """Device → the workload that leaves it for this request.

        Where the volume lives, or None where it is but on its way.
        """
        found: dict[str, wl.Workload | None] = {}
        on_its_way = self._reservations.pool_of(request.volume_id)
        if on_its_way in snapshot.devices:
            found[snapshot.devices[on_its_way]] = None
        volume = snapshot.volumes.get(request.volume_id or '')
        if volume is not None and volume.pool in snapshot.devices:
            found[snapshot.devices[volume.pool]] = volume.workload
        return found

    def record(self, request: nc.Request, newcomer: nc.Newcomer,
               state: Any) -> None:
        """A volume was placed there by whoever asks this."""
        now = self._clock()
        with self._lock:
            view = self._look(now, 0)
            pool = candidate(state, view.snapshot.devices).pool if view else (
                state.backend_id)
            self._reservations.record(request.volume_id, rs.Reservation(
                pool, newcomer.workload, request.size_gib, now, request.home,
                self.promise_us(request)))

    def promises(self, request: nc.Request) -> bool:
        """Whether anything is promised, to the newcomer or to others."""
        with self._lock:
            view = self._look(self._clock(), 0)
            return view is not None and bool(
                view.snapshot.promised or self._reservations.promising
                or self.promise_us(request) is not None)

    def promise_us(self, request: nc.Request) -> float | None:
        """The latency that the volume's type promises, µs."""
        return request.promise_us(self._refuse)

    def _look(self, now: float, candidates: int) -> sn.View | None:
        try:
            return self._known.look(now, candidates)
        except errors.InputError as exc:
            self._warnings.warn('neutral', 'Serifos has no opinion: %s', exc)
            return None

    def _newcomer(self, request: nc.Request,
                  view: sn.View | None) -> nc.Newcomer:
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

    def _no_opinion(self, view: sn.View,
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


def candidate(state: Any, devices: Mapping[str, str]) -> predict.Candidate:
    """A host state of Cinder's as a candidate.

    A pool of a cluster of cinder-volumes goes by the cluster's name.
    """
    pool = state.backend_id
    if pool not in devices:
        pool = state.host
    capabilities, gib = state.capabilities, state.allocated_capacity_gb
    model = capabilities.get(CAPABILITY) if capabilities else None
    return predict.Candidate(
        pool, model if type(model) is str and model else str(model or pool),
        gib if type(gib) is int and abs(gib) < _GIB else nc.number(gib))


_LOCK = threading.Lock()
_SHARED: list[tuple[Any, Placing]] = []


def shared(conf: cfg.ConfigOpts) -> Placing:
    """The one Placing of this process; a new one where options changed.

    :raises InputError: where an option is absurd
    """
    told = st.told(conf)
    with _LOCK:
        if not _SHARED or told is None or _SHARED[0][0] != told:
            settings = st.Settings.of(conf)
            _SHARED[:] = [(told, Placing(
                settings, time.time, seldom.WARNINGS))]
        return _SHARED[0][1]


options.register_opts(cfg.CONF)
