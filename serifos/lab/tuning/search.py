# SPDX-License-Identifier: Apache-2.0
"""Search for the settings of a kind of least cross-validated error.

Algorithm 1 of [1]_: the space of the settings is split around the best
points found so far, repeatedly, and no point is evaluated twice. The function
that evaluates is an argument: it takes many points at once, so that it may
use many processes, or a journal.

.. [1] Noorshams, Bruhn, Kounev, Reussner: Predictive Performance Modeling
   of Virtualized Storage Systems using Optimized Statistical Regression
   Techniques, section 5.
"""

from __future__ import annotations

from collections.abc import Callable
from collections.abc import Iterable
from collections.abc import Mapping
from collections.abc import Sequence
import dataclasses
import itertools
import math

import numpy as np

from serifos import errors
from serifos.facts import fields
from serifos.model import fit_runs
from serifos.model import held_out
from serifos.model import kinds
from serifos.model import quality

Point = tuple[float, ...]
"""A value for each parameter, in their order."""

Evaluate = Callable[[Sequence[Mapping[str, float]]], Iterable[float]]
"""Many settings → the mean RMSE of each, NaN where it cannot be fitted."""

_PATIENCE = 3
_DECIMALS = 12
# A point that differs from a pivot in its last bit would be its neighbour,
# and leave the space behind it unexplored.


@dataclasses.dataclass(frozen=True)
class SearchOptions:
    """The options of a search; those of the paper by default.

    :param splits: k, the splitting points of each parameter and iteration
    :param explorations: n, the points explored in the next iteration
    :param iterations: after which the search stops; it stops before where
        nothing is left around its pivots
    :param least_gain: stop also where three iterations in a row lower the
        least RMSE by a smaller fraction; where the best is close to an end
        of a range, the first iterations are too coarse to come near it
    :raises InputError: where one is out of bounds
    """

    splits: int = 4
    explorations: int = 5
    iterations: int = 10
    least_gain: float = 0.0

    def __post_init__(self) -> None:
        fields.refuse_outside('--splits', self.splits, 1, 20)
        fields.refuse_outside('--explorations', self.explorations, 1, 100)
        fields.refuse_outside('--iterations', self.iterations, 1, 1000)
        if not 0 <= self.least_gain < 1:
            raise errors.InputError(
                f'A --least-gain of {self.least_gain:g} cannot be used; give '
                'a fraction such as 0.001, or 0.')


@dataclasses.dataclass(frozen=True)
class Iteration:
    """An iteration of a search.

    :param pivots: the points around which the space was split; none in the
        first step, which evaluates the standard and the first corner
    :param evaluated: point → RMSE, of those never evaluated before
    """

    pivots: tuple[Point, ...]
    evaluated: Mapping[Point, float]


@dataclasses.dataclass(frozen=True)
class Trace:
    """The steps of a search, and its result."""

    parameters: tuple[kinds.Parameter, ...]
    standard: Point
    steps: tuple[Iteration, ...]

    @property
    def rmse(self) -> dict[Point, float]:
        """Every evaluated point, in the order of the search."""
        return {point: value for step in self.steps
                for point, value in step.evaluated.items()}

    @property
    def lowest(self) -> tuple[float, ...]:
        """The least RMSE known after each step; it never rises."""
        return tuple(itertools.accumulate(
            (min(step.evaluated.values(), default=math.inf)
             for step in self.steps), min))

    @property
    def best(self) -> Point:
        """The point of least RMSE; the standard where none is better."""
        found = self.rmse
        least = min(found, key=lambda point: (found[point], point))
        return least if found[least] < found[self.standard] else self.standard

    @property
    def gain(self) -> float:
        """The fraction by which the best RMSE is below the standard's."""
        found = self.rmse
        best, standard = found[self.best], found[self.standard]
        return 1 - best / standard if 0 < standard < math.inf else 0.0

    def settings(self, point: Point) -> dict[str, float]:
        return {one.name: value
                for one, value in zip(self.parameters, point)}


def search(parameters: Sequence[kinds.Parameter], evaluate: Evaluate,
           options: SearchOptions = SearchOptions()) -> Trace:
    """Searches for the settings of least RMSE.

    The standard is evaluated beside the paper's first corner, so that the
    result is never worse than it; it is not a pivot by itself.

    :raises InputError: where there is no parameter
    """
    if not parameters:
        raise errors.InputError(
            'There is no setting to search; leave --tune out.')
    known: dict[Point, float] = {}

    def ask(points: Iterable[Point]) -> dict[Point, float]:
        new = [point for point in points if point not in known]
        values = evaluate([{one.name: value for one, value
                            in zip(parameters, point)} for point in new])
        found = {point: _comparable(value)
                 for point, value in zip(new, values, strict=True)}
        known.update(found)
        return found

    standard = tuple(one.valid(one.standard) for one in parameters)
    corner = tuple(one.least for one in parameters)
    steps = [Iteration((), ask(dict.fromkeys((standard, corner))))]
    explored, pivots = {corner}, (corner,)
    while len(steps) <= options.iterations:
        points = _around(parameters, explored, pivots, options.splits)
        if points <= explored:
            break
        steps.append(Iteration(pivots, ask(sorted(points))))
        explored |= points
        pivots = tuple(sorted(
            explored, key=lambda p: (known[p], p))[:options.explorations])
        lowest = Trace((), standard, tuple(steps)).lowest
        if len(lowest) > _PATIENCE and lowest[-1] > (
                lowest[-1 - _PATIENCE] * (1 - options.least_gain)):
            break
    return Trace(tuple(parameters), standard, tuple(steps))


def cost(kind: str, data: fit_runs.Runs, seed: int,
         settings: Mapping[str, float]) -> float:
    """The mean RMSE of a 10-fold cross-validation, c(p) of Algorithm 1.

    :param settings: of the kind, those left out at their standard
    :returns: in the unit of the data; NaN where it cannot be fitted
    """
    predict = held_out.refit(kind, data, settings)
    try:
        return float(np.mean([
            np.sqrt(np.mean((predict(train, test) - data.y[test]) ** 2))
            for train, test in quality.splits(data.keys, seed)]))
    except (ArithmeticError, ValueError):  # a singular matrix, for one
        return math.nan


def _around(parameters: Sequence[kinds.Parameter],
            explored: Iterable[Point], pivots: Iterable[Point], splits: int
            ) -> set[Point]:
    """The corners of the subspaces that surround the pivots."""
    taken = [sorted(set(values)) for values in zip(*explored)]
    return {point for pivot in pivots for point in itertools.product(*(
        _axis(*each, splits) for each in zip(parameters, pivot, taken)))}


def _axis(tuned: kinds.Parameter, at: float, taken: Sequence[float],
          splits: int) -> set[float]:
    """The space between the neighbours of a pivot, split, valid values."""
    low = max((v for v in taken if v < at), default=tuned.least)
    high = min((v for v in taken if v > at), default=tuned.greatest)
    step = (high - low) / (splits + 1)
    return {tuned.valid(round(low + i * step, _DECIMALS))
            for i in range(splits + 1)} | {high}


def _comparable(value: float) -> float:
    return value if math.isfinite(value) else math.inf
