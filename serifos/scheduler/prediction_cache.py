# SPDX-License-Identifier: Apache-2.0
"""Cache of predictions by device, model and kind of newcomers.

A prediction is kept until something comes to the device or leaves it. Where
a request needs more new ones than it may take time for, the most promising
are made and the others estimated; the next request of its kind goes on. So
what a tenant asks for does not change how long a request takes.
"""

from __future__ import annotations

import collections
from collections.abc import Mapping
from collections.abc import Sequence

from serifos.facts import workload as wl
from serifos.model import model as mm
from serifos.scheduler import estimate
from serifos.scheduler import pending as pd
from serifos.scheduler import predict
from serifos.scheduler import snapshot as sn

WORK, WORK_EACH = 300.0, 16.0
"""Multiplications that a request may take in new predictions, and how many
more for each candidate: a third of what Cinder's CapacityWeigher takes."""

OVERHEAD = 40.0
"""What a prediction takes beside the model's own work."""

MOST = 250_000
"""About how many are kept, over all kinds of newcomers, but 4 kinds."""

_OWN = 4096  # Loads of single workloads that are kept

Newcomers = tuple[wl.Workload, ...]
"""What is placed, all of it together."""


class Kind:
    """The predictions for newcomers of one kind.

    :param found: (revision of the device, prediction) of this View; of an
        older revision it is an estimate
    :param before: those of the View before, which are estimates
    """

    def __init__(self) -> None:
        self.found: dict[
            sn.Place, tuple[int, predict.Prediction | None]] = {}
        self.before: dict[
            sn.Place, tuple[int, predict.Prediction | None]] = {}

    def renew(self, view: sn.View | None = None) -> None:
        """:param view: where it predicts for newcomers of this kind"""
        self.before, self.found = self.found, {
            place: (0, prediction)
            for place, prediction in view.usual.items()} if view else {}

    def last(self, place: sn.Place) -> float | None:
        """The latency that was predicted last, µs."""
        _, prediction = (self.found.get(place) or self.before.get(place)
                         or (0, None))
        return prediction and prediction.latency_us


class PredictionCache:
    """The predictions of one configuration; callers hold a lock.

    :param usual: the newcomer that a View has the predictions of
    """

    def __init__(self, usual: wl.Workload) -> None:
        self._view: sn.View | None = None
        self._usual_newcomers, self._usual = (usual,), Kind()
        self._kinds: collections.OrderedDict[Newcomers, Kind] = (
            collections.OrderedDict())
        self._own: dict[tuple[str, wl.Workload], wl.Load] = {}

    def renew(self, view: sn.View) -> None:
        """From now on, predictions are those of this View."""
        if view is not self._view:
            self._view = view
            self._own.clear()
            for kind in self._kinds.values():
                kind.renew()
            self._usual.renew(view)

    def of(self, newcomers: Newcomers, places: Sequence[sn.Place | None],
           pending: pd.Pending, but: str | None,
           apart: Mapping[str, wl.Workload | None]
           ) -> list[predict.Prediction | None]:
        """Predictions for places; None where there is no place or model.

        :param but: the id of a pending volume that does not count
        :param apart: the devices that are not for this request what they
            are for others → the workload that leaves them for it, or None;
            their predictions are made afresh and not kept
        """
        kind, models = self._kind(newcomers), self._view.models
        kept, revision = kind.found, pending.revisions.get
        sharing = self._view.snapshot.sharing
        coming = collections.Counter(newcomers)

        def make(place: sn.Place) -> tuple[predict.Prediction | None, float]:
            device = place.device
            now = revision(device, 0)
            if device not in apart:
                made = kept.get(place)
                if made is not None and made[0] == now:
                    return made[1], 0.0
            prediction, work = self._predict(
                place, coming, pending.several(sharing[device], but),
                apart.get(device))
            if device not in apart:
                kept[place] = now, prediction
            return prediction, work

        found: list[predict.Prediction | None] = []
        todo: list[int] = []
        for index, place in enumerate(places):
            made = kept.get(place)
            if made is not None and made[0] == revision(place[0], 0) and (
                    not apart or place[0] not in apart):
                found.append(made[1])
                continue
            found.append(None)
            if place is not None and place[1] in models:
                todo.append(index)
        if todo:
            estimate.Filling(
                found, places, kind.last, self._usual.last, make,
                lambda stem: models[stem].quality.get('mre', 0.0)).fill(
                todo, WORK + WORK_EACH * len(places))
        return found

    def _predict(self, place: sn.Place, coming: predict.Several,
                 pending: predict.Several, lifted: wl.Workload | None
                 ) -> tuple[predict.Prediction | None, float]:
        """A new prediction, and the multiplications that it took."""
        view, stem = self._view, place.model
        model = view.models[stem]
        load = view.load(place)

        def own(workload: wl.Workload) -> wl.Load:
            return self._load_of(stem, model, workload)

        if lifted is not None:
            load -= own(lifted)
        load = predict.with_added(model, own, load, pending)
        load = predict.with_added(model, own, load, coming)
        work = model.work(load) + OVERHEAD * (1 + len(pending) + len(coming))
        if place not in view.loads:
            work += OVERHEAD * len(
                view.snapshot.residents.get(place.device, ()))
        return predict.prediction(model, load), work

    def _load_of(self, stem: str, model: mm.Model,
                 workload: wl.Workload) -> wl.Load:
        found = self._own.get((stem, workload))
        if found is None:
            if len(self._own) >= _OWN:
                self._own.clear()
            found = self._own[stem, workload] = model.load(
                [workload], self._view.snapshot.floor)
        return found

    def _kind(self, newcomers: Newcomers) -> Kind:
        if newcomers == self._usual_newcomers:
            return self._usual
        found = self._kinds.get(newcomers)
        if found is None:
            most = max(4, MOST // (1 + len(self._view.usual)))
            while len(self._kinds) >= most:
                self._kinds.popitem(last=False)
            found = self._kinds[newcomers] = Kind()
        self._kinds.move_to_end(newcomers)
        return found
