# SPDX-License-Identifier: Apache-2.0
"""Predictions missing in the cache: made within a budget, or estimated.

The candidates that were predicted to be fastest last time are predicted
first. Where the budget ends, the rest are estimated by straight lines, one
for each model, from the latencies with the usual newcomer to those made.
"""

from __future__ import annotations

from collections.abc import Callable
from collections.abc import Sequence
import dataclasses
import heapq
import itertools
import math

from serifos.scheduler import predict
from serifos.scheduler.snapshot import ModelledDevice

FEW = 2
"""Predictions that are made even beyond the budget."""

_POINTS = 64  # known predictions that the lines are drawn through

Last = Callable[[ModelledDevice], predict.Prediction | None]
"""Place → what was predicted last."""


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
