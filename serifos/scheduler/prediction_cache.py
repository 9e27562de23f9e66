# SPDX-License-Identifier: Apache-2.0
"""Cache of predictions by device, model and workloads of the newcomers.

A prediction is kept until the volumes of the device change. Where a request
needs more new ones than its budget allows, those of the pools that were
fastest are made and the others estimated; the next request for the same
workloads goes on. So the time of a request does not depend on what a tenant
asks for.
"""

from __future__ import annotations

import collections
from collections.abc import Callable
from collections.abc import Iterable
from collections.abc import Mapping
from collections.abc import Sequence
import dataclasses
import heapq
import itertools
import math

from serifos.facts.workload import Load
from serifos.facts.workload import Workload
from serifos.model.model import Model
from serifos.scheduler.pending import Pending
from serifos.scheduler.pending import PendingSlo
from serifos.scheduler import predict
from serifos.scheduler.snapshot import ModelledDevice
from serifos.scheduler.snapshot import View

FEW = 2
"""Predictions that are made even beyond the budget."""

_POINTS = 64  # known predictions that the lines are drawn through

Last = Callable[[ModelledDevice], predict.Prediction | None]
"""Place → what was predicted last."""

WORK, WORK_EACH = 300.0, 16.0
"""Multiplications that a request may spend on new predictions, and how many
more for each candidate: a third of the time of Cinder's CapacityWeigher."""

OVERHEAD = 40.0
"""Multiplications for a prediction beside the model's own."""

MOST = 250_000
"""About how many are kept in all; of 4 sets of newcomers at least."""

_SLO_WORK = 10.0
_OWN = 4096  # Loads of single workloads that are kept

Newcomers = tuple[Workload, ...]
"""The workloads of the volumes that are placed together."""


class FittedLine:
    """A least-squares line through points, with a slope of 0 or more."""

    def __init__(self) -> None:
        self._sums = (0.0,) * 5
        self._line: tuple[float, float] | None = 0.0, 1.0

    def add(self, x: float, y: float) -> None:
        n, sum_x, sum_y, sum_xx, sum_xy = self._sums
        sums = n + 1, sum_x + x, sum_y + y, sum_xx + x * x, sum_xy + x * y
        if math.isfinite(sum(sums)):
            self._sums, self._line = sums, None

    def at(self, x: float) -> float:
        """y, never negative; x itself where there is no point."""
        if self._line is None:
            self._line = self._fit()
        at_zero, slope = self._line
        return max(0.0, at_zero + slope * x)

    def _fit(self) -> tuple[float, float]:
        n, sum_x, sum_y, sum_xx, sum_xy = self._sums
        variance = n * sum_xx - sum_x * sum_x
        if n < 2 or variance <= 1e-9 * sum_xx * n:
            return (0.0, sum_y / sum_x) if sum_x > 0 else (sum_y / n, 0.0)
        slope = max(0.0, (n * sum_xy - sum_x * sum_y) / variance)
        return (sum_y - slope * sum_x) / n, slope


class Lines:
    """A line for each model, and one for all models without points."""

    def __init__(self) -> None:
        self._of: dict[str, FittedLine] = {}
        self._all = FittedLine()

    def __contains__(self, model: str) -> bool:
        return model in self._of

    def add(self, model: str, x: float, y: float) -> None:
        self._of.setdefault(model, FittedLine()).add(x, y)
        self._all.add(x, y)

    def at(self, model: str, x: float) -> float:
        return self._of.get(model, self._all).at(x)


@dataclasses.dataclass
class Filling:
    """Fills in the predictions that one request lacks.

    :param found: one for each of ``places``; None where it is missing
    :param last: with the same newcomers
    :param usual: with the usual newcomer
    :param make: place → its prediction, and the multiplications it took
    :param mre: model → its mean relative error
    :ivar own: model → what the newcomer sees, by what pools are compared by
    """

    found: list[predict.Prediction | None]
    places: Sequence[ModelledDevice | None]
    last: Last
    usual: Last
    make: Callable[[ModelledDevice],
                   tuple[predict.Prediction | None, float]]
    mre: Callable[[str], float]
    spent: float = 0.0
    lines: Lines = dataclasses.field(default_factory=Lines)
    own: dict[str, float] = dataclasses.field(default_factory=dict)

    def fill(self, todo: Sequence[int], budget: float) -> None:
        """Predicts or estimates for the places with these indices."""
        if len(todo) <= FEW:
            for i in todo:
                self._predict(i)
            return
        last = {i: self.last(self.places[i]) for i in todo}
        new = {i: self.usual(self.places[i])
               for i, prediction in last.items() if prediction is None}
        done = self._learn(new, budget / 2) if new else set()
        rest = [(self._estimate(i, new[i]) if prediction is None
                 else prediction.latency_us, i)
                for i, prediction in last.items() if i not in done]
        heapq.heapify(rest)
        while rest and (self.spent < budget or not self.spent):
            self._predict(heapq.heappop(rest)[1])
        best = min((p.latency_us for p in self.found if p is not None),
                   default=0.0) if rest else 0.0
        for estimate, i in rest:
            if i in new:  # with the lines of now
                estimate = self._estimate(i, new[i])
            if estimate < math.inf:  # none may come before what was predicted
                estimate = max(estimate, best)
                self.found[i] = self._like(i, last[i] or new[i]).at(
                    estimate, estimate * self.mre(self.places[i].model))

    def _like(self, index: int,
              before: predict.Prediction) -> predict.Prediction:
        """An earlier prediction; what the newcomer sees, as elsewhere."""
        ratio = self.own.get(self.places[index].model)
        return before if ratio is None else before._replace(
            own_us=ratio * before.latency_us)

    def _learn(self, new: dict[int, predict.Prediction | None],
               budget: float) -> set[int]:
        """Adds points for the line of each model.

        :param new: places never predicted for these newcomers → what is
            predicted with the usual one
        :returns: the indices of the places that were predicted
        """
        for i, prediction in itertools.islice(
                enumerate(self.found), _POINTS):
            self._add_point(i, prediction)
        alike: dict[str, list[tuple[float, int]]] = {}
        for i, usual in new.items():
            if usual is not None and self.places[i].model not in self.lines:
                alike.setdefault(self.places[i].model, []).append(
                    (usual.latency_us, i))
        done = set()
        for several in sorted(alike.values(), key=min):
            for _, i in {min(several), max(several)}:
                if self.spent < budget:
                    self._predict(i)
                    done.add(i)
        return done

    def _predict(self, index: int) -> None:
        self.found[index], work = self.make(self.places[index])
        self.spent += work
        self._add_point(index, self.found[index])

    def _add_point(self, index: int,
                   prediction: predict.Prediction | None) -> None:
        usual = prediction and self.usual(self.places[index])
        if usual is not None:
            self.lines.add(self.places[index].model, usual.latency_us,
                           prediction.latency_us)
        if prediction is not None and prediction.latency_us:
            self.own[self.places[index].model] = (
                prediction.own_us / prediction.latency_us)

    def _estimate(self, index: int,
                  usual: predict.Prediction | None) -> float:
        return math.inf if usual is None else self.lines.at(
            self.places[index].model, usual.latency_us)


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

    def renew(self, view: View | None = None) -> None:
        """:param view: the new one, where it predicts for these newcomers"""
        self.before, self.found = self.found, {
            place: (0, prediction)
            for place, prediction in view.usual.items()} if view else {}

    def last(self, place: ModelledDevice) -> predict.Prediction | None:
        """What was predicted last."""
        _, prediction = (self.found.get(place) or self.before.get(place)
                         or (0, None))
        return prediction


class PredictionCache:
    """The predictions of one configuration; callers hold a lock.

    :param usual: the newcomer that a View has the predictions of
    """

    def __init__(self, usual: Workload) -> None:
        self._view: View | None = None
        self._usual_newcomers, self._usual = (usual,), NewcomersCache()
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
            self._usual.renew(view)

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
        sharing = self._view.snapshot.sharing
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
            Filling(
                found, places, cache.last, self._usual.last, make,
                lambda stem: models[stem].quality.get('mre', 0.0)).fill(
                todo, WORK + WORK_EACH * len(places))
        return found

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
        slos = [slo for slo in view.slos_of(place) if slo.volume != but]
        slos += (predict.Slo(
            own(workload) if workload else Load(), latency_us)
            for latency_us, workload in pending_slos)
        work = model.work(load) + OVERHEAD * (1 + len(pending) + len(coming))
        if place not in view.loads:
            work += OVERHEAD * len(
                view.snapshot.residents.get(place.device, ()))
        work += _SLO_WORK * len(slos)
        return predict.prediction(
            model, load, everyone, own(next(iter(coming))), slos,
            view.snapshot.places.get(place, 1.0)), work

    def _load_of(self, stem: str, model: Model,
                 workload: Workload) -> Load:
        found = self._own.get((stem, workload))
        if found is None:
            if len(self._own) >= _OWN:
                self._own.clear()
            found = self._own[stem, workload] = model.load(
                [workload], self._view.snapshot.floor)
        return found

    def _cache_of(self, newcomers: Newcomers) -> NewcomersCache:
        if newcomers == self._usual_newcomers:
            return self._usual
        found = self._caches.get(newcomers)
        if found is None:
            most = max(4, MOST // (1 + len(self._view.usual)))
            while len(self._caches) >= most:
                self._caches.popitem(last=False)
            found = self._caches[newcomers] = NewcomersCache()
        self._caches.move_to_end(newcomers)
        return found
