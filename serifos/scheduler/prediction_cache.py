# SPDX-License-Identifier: Apache-2.0
"""Cache of predictions by device, model and workloads of the newcomers.

A prediction is kept until the volumes of the device change. Where a request
needs more new ones than its budget allows, those of the pools that are
likely to be fastest are made and the others estimated; the next request for
the same workloads goes on. So the time of a request does not depend on what
a tenant asks for.
"""

from __future__ import annotations

import collections
from collections.abc import Callable
from collections.abc import Iterable
from collections.abc import Mapping
from collections.abc import Sequence
import math
import statistics

from serifos.facts.workload import Load
from serifos.facts.workload import Workload
from serifos.model.model import Model
from serifos.scheduler.pending import Pending
from serifos.scheduler.pending import PendingSlo
from serifos.scheduler import predict
from serifos.scheduler.view import ModelledDevice
from serifos.scheduler.view import View

FEW = 2
"""Predictions that are made even beyond the budget."""

WORK, WORK_EACH = 300.0, 8.0
"""Multiplications that a request may spend on new predictions, and how many
more for each candidate."""

OVERHEAD = 40.0
"""Multiplications for a prediction beside the model's own."""

MOST = 250_000
"""About how many are kept in all; of 4 sets of newcomers at least."""

_SLO_WORK = 10.0
_OWN = 4096  # Loads of single workloads that are kept
_POINTS = 64  # predictions that a line is drawn through

Newcomers = tuple[Workload, ...]
"""The workloads of the volumes that are placed together."""

Make = Callable[[ModelledDevice],
                tuple[predict.Prediction | None, float]]
"""Place → its prediction, and the multiplications it took."""


class Line:
    """Estimates of a model's predictions by those with a typical newcomer.

    The least-squares line through what both are known of, never falling.
    """

    def __init__(self) -> None:
        self._points: collections.deque[tuple[float, float]] = (
            collections.deque(maxlen=_POINTS))
        self._line: tuple[float, float] | None = 0.0, 1.0
        self._own = 1.0

    def add(self, typical_us: float, found: predict.Prediction) -> None:
        self._points.append((typical_us, found.latency_us))
        self._line = None
        if found.latency_us:
            self._own = found.own_us / found.latency_us

    def at(self, typical_us: float) -> float:
        """µs, never negative; the same where nothing is known."""
        if self._line is None:
            self._line = _fitted(*zip(*self._points))
        begin, slope = self._line
        return max(0.0, begin + slope * typical_us)

    def estimated(self, like: predict.Prediction, latency_us: float,
                  mre: float) -> predict.Prediction:
        """A prediction with this latency.

        :param like: an earlier one of the pool; its strain is in proportion,
            what the newcomer sees is as elsewhere
        """
        by = latency_us / like.latency_us if like.latency_us else 1.0
        return predict.Prediction(
            latency_us, mre * latency_us, self._own * latency_us,
            by * like.strain, like.strained)


_SAME = Line()


def _fitted(x: Sequence[float], y: Sequence[float]) -> tuple[float, float]:
    """Where a line begins, and its slope."""
    try:
        slope, _ = statistics.linear_regression(x, y)
    except (statistics.StatisticsError, OverflowError):
        slope = 1.0
    slope = max(0.0, slope) if math.isfinite(slope) else 1.0
    return statistics.fmean(y) - slope * statistics.fmean(x), slope


class NewcomersCache:
    """The predictions for the same newcomers.

    :param found: (revision of the device, prediction) of this View; of an
        older revision it is an estimate
    :param before: those of the previous View, which are estimates
    """

    def __init__(self) -> None:
        self.found: dict[
            ModelledDevice, tuple[int, predict.Prediction | None]] = {}
        self.before: dict[
            ModelledDevice, tuple[int, predict.Prediction | None]] = {}
        self.lines: dict[str, Line] = {}

    def renew(self) -> None:
        """Makes estimates of what is known, for a new View."""
        self.before, self.found = self.found, {}
        self.lines.clear()

    def last(self, place: ModelledDevice) -> predict.Prediction | None:
        """What was predicted last."""
        _, prediction = (self.found.get(place) or self.before.get(place)
                         or (0, None))
        return prediction


class PredictionCache:
    """The predictions of one configuration; callers hold a lock."""

    def __init__(self) -> None:
        self._view: View | None = None
        self._caches: collections.OrderedDict[Newcomers, NewcomersCache] = (
            collections.OrderedDict())
        self._own: dict[tuple[str, Workload], Load] = {}

    def renew(self, view: View) -> None:
        """Drops the predictions of another View."""
        if view is not self._view:
            self._view = view
            self._own.clear()
            for cache in self._caches.values():
                cache.renew()

    def of(self, newcomers: Newcomers,
           places: Sequence[ModelledDevice | None],
           pending: Pending, but: str | None,
           uncached: Mapping[str, Workload | None]
           ) -> list[predict.Prediction | None]:
        """Predictions for places; None where there is no place or model.

        :param but: the id of a pending volume that does not count
        :param uncached: devices whose predictions hold only for this
            request → the workload that leaves them with it, or None
        """
        cache, models = self._cache_of(newcomers), self._view.models
        kept, revision = cache.found, pending.revisions.get
        sharing = self._view.pools.sharing
        coming = collections.Counter(newcomers)

        def make(place: ModelledDevice
                 ) -> tuple[predict.Prediction | None, float]:
            device = place.device
            now = revision(device, 0)
            if device not in uncached:
                made = kept.get(place)
                if made is not None and made[0] == now:
                    return made[1], 0.0
            prediction, work = self._predict(
                place, coming, pending.several(sharing[device], but),
                pending.slos(sharing[device], but), but,
                uncached.get(device))
            if device not in uncached:
                kept[place] = now, prediction
            return prediction, work

        found: list[predict.Prediction | None] = []
        todo: list[int] = []
        for index, place in enumerate(places):
            made = kept.get(place)
            if made is not None and made[0] == revision(place[0], 0) and (
                    not uncached or place[0] not in uncached):
                found.append(made[1])
                continue
            found.append(None)
            if place is not None and place[1] in models:
                todo.append(index)
        if todo:
            self._fill(found, todo, places, cache, make)
        return found

    def _fill(self, found: list[predict.Prediction | None],
              todo: Sequence[int], places: Sequence[ModelledDevice | None],
              cache: NewcomersCache, make: Make) -> None:
        """Predicts for the places with these indices, or estimates.

        :param found: one for each of ``places``; filled in here
        """
        budget, lines = WORK + WORK_EACH * len(places), cache.lines
        typical = {i: self._view.typical.get(places[i]) for i in todo}
        last = {i: cache.last(places[i]) for i in todo}

        def predicted(index: int) -> float:
            place = places[index]
            found[index], work = make(place)
            if found[index] is not None and typical[index] is not None:
                lines.setdefault(place.model, Line()).add(
                    typical[index].latency_us, found[index])
            return work

        def estimate(index: int) -> float:
            if last[index] is not None:
                return last[index].latency_us
            return math.inf if typical[index] is None else lines.get(
                places[index].model, _SAME).at(typical[index].latency_us)

        spent, left = 0.0, set(todo)
        for index in _samples(todo, places, typical, lines):
            if spent < budget / 2:
                spent += predicted(index)
                left.remove(index)
        order = sorted(left, key=lambda i: (estimate(i), i))
        few = len(todo) <= FEW
        for index in order:
            if spent >= budget and not few:
                break
            spent += predicted(index)
            left.remove(index)
        best = min((p.latency_us for p in found if p is not None),
                   default=0.0) if left else 0.0
        for index in left:
            like, figure = last[index] or typical[index], estimate(index)
            if like is not None and math.isfinite(figure):
                model = places[index].model
                # None may come before what was predicted.
                found[index] = lines.get(model, _SAME).estimated(
                    like, max(figure, best),
                    self._view.models[model].quality.get('mre', 0.0))

    def _predict(self, place: ModelledDevice, coming: predict.Several,
                 pending: predict.Several,
                 pending_slos: Iterable[PendingSlo],
                 but: str | None, lifted: Workload | None
                 ) -> tuple[predict.Prediction | None, float]:
        """A new prediction, and the multiplications that it took.

        :param pending_slos: of the pending volumes
        :param but: the id of a volume whose SLO does not count
        """
        view, stem = self._view, place.model
        model = view.models[stem]
        load = view.load(place)

        def own(workload: Workload) -> Load:
            return self._load_of(stem, model, workload)

        if lifted is not None:
            load -= own(lifted)
        load = predict.with_added(model, own, load, pending)
        load = predict.with_added(model, own, load, coming)
        everyone = predict.total(own, view.everyone, coming)
        slos = [slo for slo in view.slos(place) if slo.volume != but]
        slos += (predict.Slo(
            own(workload) if workload else Load(), latency_us)
            for latency_us, workload in pending_slos)
        work = model.work(load) + OVERHEAD * (1 + len(pending) + len(coming))
        work += _SLO_WORK * len(slos)
        return predict.prediction(
            model, load, everyone, own(next(iter(coming))), slos,
            view.correction(place)), work

    def _load_of(self, stem: str, model: Model,
                 workload: Workload) -> Load:
        found = self._own.get((stem, workload))
        if found is None:
            if len(self._own) >= _OWN:
                self._own.clear()
            found = self._own[stem, workload] = model.load(
                [workload], self._view.pools.floor)
        return found

    def _cache_of(self, newcomers: Newcomers) -> NewcomersCache:
        found = self._caches.get(newcomers)
        if found is None:
            most = max(4, MOST // (1 + len(self._view.pools.devices)))
            while len(self._caches) >= most:
                self._caches.popitem(last=False)
            found = self._caches[newcomers] = NewcomersCache()
        self._caches.move_to_end(newcomers)
        return found


def _samples(todo: Iterable[int], places: Sequence[ModelledDevice | None],
             typical: Mapping[int, predict.Prediction | None],
             lines: Mapping[str, Line]) -> list[int]:
    """Of each model without a line, the fastest and the slowest place."""
    alike: dict[str, list[tuple[float, int]]] = {}
    for i in todo:
        if typical[i] is not None and places[i].model not in lines:
            alike.setdefault(places[i].model, []).append(
                (typical[i].latency_us, i))
    return [i for several in sorted(alike.values(), key=min)
            for _, i in sorted({min(several), max(several)})]
