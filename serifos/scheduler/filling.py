# SPDX-License-Identifier: Apache-2.0
"""The prices that one request lacks: which are made, which estimated?"""

from __future__ import annotations

from collections.abc import Iterable
from collections.abc import Mapping
from collections.abc import Sequence
import dataclasses
import heapq
import itertools
import math
from typing import TYPE_CHECKING

from serifos.scheduler import estimate
from serifos.scheduler import predict
from serifos.scheduler import snapshot as sn
from serifos import workload as wl

if TYPE_CHECKING:
    from serifos.scheduler import prices as pr

FEW = 2
"""Prices that are made whatever they take."""

_POINTS = 64  # known prices that an estimate is drawn through


@dataclasses.dataclass
class Filling:
    """The prices that one request lacks.

    :param found: the predictions of its places, which are filled in
    """

    prices: pr.Prices
    book: pr.Book
    coming: pr.Coming
    places: Sequence[sn.Place | None]
    standing: pr.Standing
    special: Mapping[str, wl.Workload | None]
    found: list[predict.Prediction | None]
    spent: float = 0.0
    done: set[int] = dataclasses.field(default_factory=set)
    lines: estimate.Lines = dataclasses.field(
        default_factory=estimate.Lines)

    def fill(self, todo: Sequence[int], budget: float) -> None:
        """Predictions by order of promise, estimates where it ends."""
        if len(todo) <= FEW:
            for i in todo:
                self._price(i)
            return
        rest: list[tuple[float, int]] = []
        strange: dict[int, float] = {}
        for i in todo:
            last = self.book.last(self.places[i])
            if last is None:
                strange[i] = self.prices.usual.last(self.places[i])
            else:
                rest.append((last, i))
        if strange:
            self._learn(strange, budget / 2)
            rest += [(self._guess(i, usual), i)
                     for i, usual in strange.items() if i not in self.done]
        heapq.heapify(rest)
        while rest and (self.spent < budget or not self.spent):
            self._price(heapq.heappop(rest)[1])
        if rest:
            self._estimate(rest, strange)

    def _learn(self, strange: Mapping[int, float | None],
               budget: float) -> None:
        """How prices follow from the usual ones, model by model."""
        for i, prediction in itertools.islice(
                enumerate(self.found), _POINTS):
            if prediction is not None:
                self._point(i, prediction.latency_us)
        alike: dict[str, list[tuple[float, int]]] = {}
        for i, usual in strange.items():
            if usual is not None:
                alike.setdefault(self.places[i].model, []).append((usual, i))
        unknown = [several for model, several in alike.items()
                   if not self.lines.knows(model)]
        for several in sorted(unknown, key=min):
            for _, i in {min(several), max(several)}:
                if self.spent < budget:
                    self._price(i)

    def _point(self, index: int, latency_us: float) -> None:
        place = self.places[index]
        usual = self.prices.usual.last(place)
        if usual is not None:
            self.lines.add(place.model, usual, latency_us)

    def _guess(self, index: int, usual: float | None) -> float:
        return (math.inf if usual is None
                else self.lines.at(self.places[index].model, usual))

    def _price(self, index: int) -> None:
        place = self.places[index]
        special = place.device in self.special
        price = self.book.found.get(place)
        if special or price is None or not self.prices.fresh(
                price, place.device):
            price, work = self.prices.make(
                place, self.coming, self.standing(place.device),
                self.special.get(place.device))
            self.spent += work
            if not special:
                self.book.found[place] = price
        self.found[index] = price[1]
        self.done.add(index)
        if price[1] is not None and self.book is not self.prices.usual:
            self._point(index, price[1].latency_us)

    def _estimate(self, rest: Iterable[tuple[float, int]],
                  strange: Mapping[int, float | None]) -> None:
        """None of these may come before what was predicted."""
        best = min((p.latency_us for p in self.found if p is not None),
                   default=0.0)
        for guess, i in rest:
            if i in strange:
                guess = self._guess(i, strange[i])
            if guess < math.inf:
                guess = max(guess, best)
                self.found[i] = predict.Prediction(
                    guess, guess * self.prices.error(self.places[i].model))
