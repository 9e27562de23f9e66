# SPDX-License-Identifier: Apache-2.0
"""What will each device be like with the newcomers, at a bounded cost?

A prediction is a price, kept until something comes to the device or leaves
it. Where a request needs more new ones than it may take time for, the most
promising are made and the others estimated; the next request of its kind
goes on. So what a tenant asks for changes who waits for whom, and not how
long a request takes.
"""

from __future__ import annotations

import collections
from collections.abc import Callable
from collections.abc import Iterable
from collections.abc import Mapping
from collections.abc import Sequence

from serifos.model import model as mm
from serifos.scheduler import filling
from serifos.scheduler import predict
from serifos.scheduler import snapshot as sn
from serifos import workload as wl

WORK, WORK_EACH = 300.0, 16.0
"""Multiplications that a request may take in new predictions, and how many
more for each candidate: a third of what Cinder's CapacityWeigher takes."""

OVERHEAD = 40.0
"""What a prediction takes beside the model's own work."""

PRICES = 250_000
"""About how many are kept, over all kinds of newcomers, but 4 kinds."""

_OWN = 4096  # Loads of single workloads that are kept

Coming = tuple[wl.Workload, ...]
Standing = Callable[[str], predict.Several]
"""Device → what is on its way there."""

Price = tuple[int, predict.Prediction | None]
"""Of which revision it is, and what it is."""


class Book:
    """The prices of newcomers of one kind.

    :param found: those of this View; where the device changed since, they
        are estimates
    :param before: those of the View before, which are estimates
    """

    def __init__(self) -> None:
        self.found: dict[sn.Place, Price] = {}
        self.before: dict[sn.Place, Price] = {}

    def renew(self, found: dict[sn.Place, Price]) -> None:
        self.before, self.found = self.found, found

    def last(self, place: sn.Place) -> float | None:
        """The latency that was predicted last, µs."""
        price = self.found.get(place) or self.before.get(place)
        return price[1][0] if price is not None and price[1] else None


class Prices:
    """Those of one configuration; whoever uses it keeps a lock.

    :param usual: the newcomer that a View has the prices of
    """

    def __init__(self, usual: wl.Workload) -> None:
        self._view: sn.View | None = None
        self._usual_coming, self.usual = (usual,), Book()
        self._books: collections.OrderedDict[Coming, Book] = (
            collections.OrderedDict())
        self._revision = 0
        self._changed: dict[str, int] = {}
        self._own: dict[tuple[str, wl.Workload], wl.Load] = {}

    def meet(self, view: sn.View) -> bool:
        """From now on, prices are those of this View; was it another?"""
        if view is self._view:
            return False
        self._view = view
        self._changed.clear()
        self._own.clear()
        for book in self._books.values():
            book.renew({})
        self.usual.renew({place: (0, price)
                          for place, price in view.usual.items()})
        return True

    def change(self, devices: Iterable[str]) -> None:
        """Something came to these devices, or left them."""
        self._revision += 1
        for device in devices:
            self._changed[device] = self._revision

    def of(self, coming: Coming, places: Sequence[sn.Place | None],
           standing: Standing, special: Mapping[str, wl.Workload | None]
           ) -> list[predict.Prediction | None]:
        """Predictions for places; None where there is no place or model.

        :param coming: what is placed, all of it together
        :param special: device → the workload that leaves it for this, or
            None, of the devices that are not for this request what they are
            for others: their prices are made afresh and not kept
        """
        book, changed = self._book(coming), self._changed
        known, models = book.found, self._view.models
        found: list[predict.Prediction | None] = []
        todo: list[int] = []
        for index, place in enumerate(places):
            price = known.get(place)
            if price is not None and (
                    price[0] >= changed.get(place[0], 0)) and (
                    not special or place[0] not in special):
                found.append(price[1])
                continue
            found.append(None)
            if place is not None and place[1] in models:
                todo.append(index)
        if todo:
            filling.Filling(
                self, book, coming, places, standing, special, found).fill(
                todo, WORK + WORK_EACH * len(places))
        return found

    def make(self, place: sn.Place, coming: Coming,
             standing: predict.Several, lifted: wl.Workload | None = None
             ) -> tuple[Price, float]:
        """A new price, and the work that it took."""
        view, stem = self._view, place.model
        model = view.models[stem]
        load = view.load(place)

        def own(workload: wl.Workload) -> wl.Load:
            return self._one(stem, model, workload)

        if lifted is not None:
            load -= own(lifted)
        if standing:
            load = predict.with_added(model, own, load, standing)
        if len(coming) == 1 and coming[0].iops is None:
            load += own(coming[0])
        else:
            load = predict.with_added(
                model, own, load, collections.Counter(coming))
        work = model.work(load) + OVERHEAD * (1 + len(standing) + len(coming))
        if place not in view.loads:
            work += OVERHEAD * len(
                view.snapshot.residents.get(place.device, ()))
        return (self._revision, predict.prediction(model, load)), work

    def error(self, stem: str) -> float:
        """What a model's predictions miss on average, a fraction."""
        return self._view.models[stem].quality.get('mre', 0.0)

    def fresh(self, price: Price, device: str) -> bool:
        return price[0] >= self._changed.get(device, 0)

    def _one(self, stem: str, model: mm.Model,
             workload: wl.Workload) -> wl.Load:
        found = self._own.get((stem, workload))
        if found is None:
            if len(self._own) >= _OWN:
                self._own.clear()
            found = self._own[stem, workload] = model.load(
                [workload], self._view.snapshot.floor)
        return found

    def _book(self, coming: Coming) -> Book:
        if coming == self._usual_coming:
            return self.usual
        found = self._books.get(coming)
        if found is None:
            keep = max(4, PRICES // (1 + len(self._view.usual)))
            while len(self._books) >= keep:
                self._books.popitem(last=False)
            found = self._books[coming] = Book()
        self._books.move_to_end(coming)
        return found
