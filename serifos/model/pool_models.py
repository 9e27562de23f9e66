# SPDX-License-Identifier: Apache-2.0
"""Prediction for many pools at once, each with a model of its own.

By numpy; it agrees with the prediction by the standard library to 1e-9,
which a property test checks. Linear models of all pools are one
table; each other model predicts for its own pools.

What a tenant sees is the sum of its pool's parts times factors of its own. So
the mean square over tenants needs only the sums of the products of two
factors.
"""

from __future__ import annotations

from collections.abc import Iterable
from collections.abc import Sequence
import dataclasses
import functools

import numpy as np
import numpy.typing as npt

from serifos.facts import hot_by
from serifos.facts.hot_by import LATENCY
from serifos.facts import workload
from serifos.model import kinds
from serifos.model.linear import predict as linear
from serifos.model.model import LIGHT
from serifos.model.model import Model
from serifos.model import rates
from serifos.model.tenant import arithmetic

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.intp]

_COMMON = tuple(name for name in workload.FEATURES if name != 'outside')
COMMON = len(_COMMON)
"""Features of a Load that every model reads; they come first."""

_OF = arithmetic.arrays()
_Q, _READ, _WRITTEN = map(workload.FEATURES.index, (
    'sum_iodepth', 'sum_q_s_r', 'sum_q_s_w'))

_NONE = linear.Linear({}, {})
_ABSENT = workload.Workload(0.0, 0.0, iodepth=-1.0)


class Fleet:
    """The models of a cluster's pools as one vectorised function.

    A Load here is a vector of ``features`` numbers: those that every model
    reads, then, for each distinct model, how many workloads lie outside of
    its range, then the columns of :class:`Squares` of each kind
    that tells tenants apart. So one vector is right for every pool, and still
    additive.

    :param models: the model of each pool, in the pools' order, None where a
        pool has none (its latency is NaN)
    :param squares: whether with these columns, which :meth:`figure` takes
    """

    hot_by = LATENCY

    def __init__(self, models: Sequence[Model | None],
                 floor: float = workload.ACTIVE_FLOOR,
                 squares: bool = True) -> None:
        distinct: list[Model] = []
        for model in models:
            if model is not None and not any(m is model for m in distinct):
                distinct.append(model)
        self._models = distinct
        self._floor = floor
        self.features = COMMON + len(distinct)
        slot = {id(model): i for i, model in enumerate(distinct)}
        linears = [
            m.predictor if isinstance(m.predictor, linear.Linear) else _NONE
            for m in distinct]
        self._others = [i for i, one in enumerate(linears) if one is _NONE]
        self._slot = np.array([slot.get(id(m), -1) for m in models], int)
        self._rows = 2 + max(
            (max(one.by_count, default=0) for one in linears), default=0)
        table = np.array([
            _row(one.row(count)) for one in linears
            for count in range(self._rows)]).reshape(-1, 1 + COMMON)
        self._intercept = table[:, 0].copy()
        self._terms = [(column, table[:, 1 + column].copy())
                       for column in range(COMMON)
                       if table[:, 1 + column].any()]
        self._least, self._greatest = np.array(
            [m.range.get('count', (0, np.inf)) for m in distinct]
            + [(0, np.inf)], float).T.copy()
        self._factor = np.array([*(m.above for m in distinct), 1.0])
        self._least_us = np.array([
            *(m.best.least_us for m in distinct), (0.0, 0.0)]).T.copy()
        self._telling = [
            (i, m.telling) for i, m in enumerate(distinct)
            if m.telling is not None]
        self._squares: dict[str, tuple[
            Squares, kinds.TenantPredictor]] = {}
        for one, predictor in self._telling if squares else ():
            if (kind := distinct[one].kind) not in self._squares:
                its = Squares.of(predictor, self.features)
                self._squares[kind] = its, predictor
                self.features = its.end

    def loads(self, workloads: Iterable[workload.Workload | None]) -> Floats:
        """The Load of each workload, a row each: float[n, features]."""
        return self._loads(
            _columns([_ABSENT if w is None else w for w in workloads]))

    def patterns(self, patterns: Floats) -> Floats:
        """The Load of each access pattern, a row each: float[n, features].

        :param patterns: float[n, 4] or more: write_pct, block_kib,
            outstanding I/Os, random_pct, and what is not looked at here
        """
        return self._loads(dict(zip(
            ('write_pct', 'block_kib', 'iodepth', 'random_pct'),
            patterns.T)))

    def _loads(self, seen: dict[str, Floats]) -> Floats:
        found = np.zeros((len(seen['iodepth']), self.features))
        found[:, 0] = seen['iodepth'] >= self._floor
        for column, values in enumerate(workload.products(
                seen['write_pct'], seen['block_kib'], seen['iodepth'],
                seen['random_pct']), 1):
            found[:, column] = np.rint(values * workload.GRID) / workload.GRID
        for column, model in enumerate(self._models, COMMON):
            found[:, column] = ~functools.reduce(np.logical_and, (
                (seen[name] >= least) & (seen[name] <= greatest)
                for name, (least, greatest) in model.covered.items()
                if name in seen), np.ones(len(found), bool))
        found[found[:, 0] == 0] = 0.0
        for squares, predictor in self._squares.values():
            found[:, squares.begin:squares.end] = squares.products(
                predictor.factors(found[:, :COMMON]))
        return found

    def latency(self, pools: npt.NDArray[np.intp], loads: Floats) -> Floats:
        """The latency for planning of pools under Loads.

        :param pools: int[n], indices into ``models``
        :param loads: float[n, features]
        :returns: µs[n]; the upper end of the interval where a Load lies
            outside of the training range, NaN where a pool has no model
        """
        slot = self._slot[pools]
        return self._middle(slot, loads) * self._above(slot, loads)

    def printed(self, pools: Ints, loads: Floats) -> Floats:
        """The formulas of the models as they are printed.

        As of :meth:`latency`, and the same wherever a Load lies. Where a
        linear model says less than 0, so does this.
        """
        return self._formula(self._slot[pools], loads)

    def expected(self, pools: Ints, loads: Floats
                 ) -> tuple[Floats, Floats, npt.NDArray[np.bool_]]:
        """What models expect of pools under Loads.

        As of :meth:`.model.Model.interval` and
        :meth:`.model.Model.extrapolates`.

        :param pools: int[n], as :meth:`latency` takes them
        :param loads: float[n, features]
        :returns: both ends of the 90 % interval, µs[n], NaN where a pool has
            no model, and whether the Load lies outside of the training
            range, bool[n]
        """
        slot = self._slot[pools]
        middle = self._middle(slot, loads)
        low, high = 1 + self.intervals(pools, loads).T
        return middle * low, middle * high, self._beyond(slot, loads) & (
            loads[:, 0] > 0)

    def _middle(self, slot: Ints, loads: Floats) -> Floats:
        """The prediction, µs[n], no faster than the device ever was."""
        found = self._formula(slot, loads)
        return np.maximum(found, self._fastest(slot, loads, loads), out=found)

    def _formula(self, slot: Ints, loads: Floats) -> Floats:
        """The results of the models' formulas, µs[n]."""
        if not self._models:
            return np.full(len(loads), np.nan)
        count = loads[:, 0]
        row = slot * self._rows + np.minimum(
            count, self._rows - 1).astype(np.intp)
        # Term by term: every element is computed alike, whatever the others
        # are, so that equal pools are equal to the last bit.
        middle = self._intercept[row]
        for column, coefficients in self._terms:
            middle += coefficients[row] * loads[:, column]
        for other in self._others:
            its = slot == other
            middle[its] = self._models[other].predictor.many(
                loads[its, :COMMON])
        middle[count == 0] = 0.0
        middle[slot < 0] = np.nan
        return middle

    def tenants(self, pools: npt.NDArray[np.intp], loads: Floats,
                which: npt.NDArray[np.intp], own: Floats) -> Floats:
        """What tenants see, in the mean, in pools under Loads.

        The latency of the pool where its model does not tell tenants apart.

        :param pools: int[n], as :meth:`latency` takes them
        :param loads: float[n, features]
        :param which: int[m], the row of a pool and its Load
        :param own: float[m, features], the sum of the tenants' own Loads; of
            one, or of several for the mean over them
        :returns: µs[m], NaN where a pool has no model; by the same factor
            above the prediction as :meth:`latency` where a Load is outside
            of the training range
        """
        slot, common = self._slot[pools], COMMON
        rest = ~np.isin(slot, [one for one, _ in self._telling])
        mean = np.zeros(len(slot))
        mean[rest] = self.latency(pools[rest], loads[rest])
        found = mean[which]
        for one, predictor in self._telling:
            its = np.flatnonzero(slot == one)
            row = np.zeros(len(slot), np.intp)
            row[its] = np.arange(len(its))
            asked = np.flatnonzero(slot[which] == one)
            parts = predictor.parts(loads[its, :common]) * self._above(
                slot[its], loads[its])[:, None]
            factors = predictor.factors(own[asked, :common])
            for part, factor in zip(parts.T, factors.T):
                found[asked] += part[row[which[asked]]] * factor
            whose = which[asked]
            found[asked] = np.maximum(found[asked], self._fastest(
                slot[whose], loads[whose], own[asked]) * self._above(
                    slot[whose], loads[whose]))
        return found

    def intervals(self, pools: npt.NDArray[np.intp], loads: Floats) -> Floats:
        """The 90 % intervals of predictions, as fractions: float[n, 2].

        Of the whole model where its kind has no standard deviation for each
        Load, as of :meth:`.model.Model.interval`. NaN without a model.

        :param pools: int[n], as :meth:`latency` takes them
        :param loads: float[n, features]
        """
        slot, found = self._slot[pools], np.full((len(pools), 2), np.nan)
        light = loads[:, _COMMON.index('sum_iodepth')] < LIGHT
        for one, model in enumerate(self._models):
            its = np.flatnonzero(slot == one)
            if model.deviations is None:
                found[its] = model.relative_interval
                continue
            ends = np.array([model.ends('deviations', q)
                             for q in (LIGHT, 0.0)])
            found[its] = np.expm1(
                ends[light[its].astype(np.intp)]
                * model.predictor.log_std_many(
                    loads[its, :COMMON])[:, None])
        return found

    def above(self, pools: Ints, loads: Floats) -> Floats:
        """By what :meth:`latency` is above the prediction: float[n]."""
        return self._above(self._slot[pools], loads)

    def figure(self, pools: Ints, loads: Floats, own: Floats) -> Floats:
        """The root mean square over tenants of what each sees in a pool.

        The latency of the pool where its model does not tell tenants apart.

        :param loads: float[n, features]
        :param own: float[n, features], the sum of the tenants' own Loads
        :returns: µs[n], as of :meth:`tenants`
        """
        slot = self._slot[pools]
        rest = ~np.isin(slot, [one for one, _ in self._telling])
        found = np.empty(len(slot))
        found[rest] = self.latency(pools[rest], loads[rest])
        for one, predictor in self._telling:
            its = np.flatnonzero(slot == one)
            squares, _ = self._squares[self._models[one].kind]
            at = slot[its], loads[its]
            found[its] = self._above(*at) * np.maximum(
                squares.root_mean(predictor.parts(
                    at[1][:, :COMMON]), own[its]),
                self._fastest(*at, own[its]))
        return found

    def _fastest(self, slot: Ints, loads: Floats, own: Floats) -> Floats:
        """As :meth:`.rates.Rates.least` says, µs[n]."""
        (count, q, kib), (tenants, own_q, own_kib) = (
            (each[:, 0], each[:, _Q], each[:, _READ] + each[:, _WRITTEN])
            for each in (loads, own))
        by_request, by_kib = self._least_us[:, slot]
        q, kib = rates.shares(count, q, kib, tenants, own_q, own_kib, _OF)
        return np.maximum(by_request * q, by_kib * kib)

    def _above(self, slot: npt.NDArray[np.intp], loads: Floats) -> Floats:
        """How far planning is above the prediction: a factor, float[n]."""
        return np.where(self._beyond(slot, loads), self._factor[slot], 1.0)

    def _beyond(self, slot: Ints, loads: Floats) -> npt.NDArray[np.bool_]:
        """Whether Loads are outside of the training range: bool[n]."""
        count = loads[:, 0]
        outside = loads[np.arange(len(loads)), COMMON + slot]
        return ((outside > 0) | (count < self._least[slot])
                | (count > self._greatest[slot]))


def _columns(workloads: Sequence[workload.Workload]) -> dict[str, Floats]:
    """The inputs of models, float[n] each; ``iodepth`` is q."""
    seen = {name: np.array([getattr(w, name) for w in workloads], float)
            for name in ('write_pct', 'block_kib', 'random_pct', 'iodepth',
                         'iops', 'latency_us')}
    rate = seen.pop('iops') * seen.pop('latency_us') / 1e6
    seen['iodepth'] = np.where(np.isnan(rate), seen['iodepth'], rate)
    return seen


def _row(coefficients: linear.Coefficients) -> list[float]:
    return [coefficients.get(term, 0.0)
            for term in (linear.INTERCEPT, *_COMMON)]


@dataclasses.dataclass(frozen=True, eq=False)
class Squares:
    """The products of each two factors of a kind, as columns of Loads.

    :param begin: the first of these columns
    :param pairs: int[2, columns], the two factors of each
    """

    begin: int
    pairs: tuple[Ints, Ints]

    @classmethod
    def of(cls, predictor: kinds.TenantPredictor, begin: int) -> Squares:
        none = predictor.factors(np.zeros((0, len(workload.FEATURES))))
        first, second = np.triu_indices(none.shape[1])
        return cls(begin, (first, second))

    @property
    def end(self) -> int:
        return self.begin + len(self.pairs[0])

    def products(self, factors: Floats) -> Floats:
        """Those of each workload, on the grid: float[n, columns].

        :param factors: float[n, parts], each of one workload
        """
        first, second = self.pairs
        return np.rint(factors[:, first] * factors[:, second]
                       * workload.GRID) / workload.GRID

    def root_mean(self, parts: Floats, own: Floats) -> Floats:
        """The root of the mean square over tenants, µs[n]; 0 without any.

        :param parts: float[n, parts], of the pools
        :param own: float[n, features], the sum of the tenants' Loads
        """
        first, second = self.pairs
        total = np.zeros(len(parts))
        for each in (1.0 + (first != second))[:, None] * parts.T[first] * (
                parts.T[second]) * own.T[self.begin:self.end]:
            total += each
        return np.sqrt(np.maximum(total, 0.0) / np.maximum(own[:, 0], 1.0))


class TailFleet(Fleet):
    """As its parent, but that pools are compared by a 99th percentile.

    It is predicted by the model that was fitted to those of the runs,
    ``tails`` in a model file: telemetry has only means. Latencies, and what
    tenants see, stay means: SLOs are about these. A Load has more features:
    for each distinct model of the 99th percentile, how many workloads lie
    outside of its range. A pool whose model has none counts as one without
    a model.

    :param by: ``read_p99`` or ``write_p99``
    """

    def __init__(self, models: Sequence[Model | None], by: str,
                 floor: float = workload.ACTIVE_FLOOR) -> None:
        figure = hot_by.TAILS[by]
        having = [model if model and figure in model.tails else None
                  for model in models]
        super().__init__(having, floor, squares=False)
        self.hot_by = by
        self._tails = Fleet(
            [model and model.tails[figure] for model in having], floor,
            squares=False)
        self._own = self.features
        self.features += self._tails.features - COMMON

    def figure(self, pools: Ints, loads: Floats, own: Floats) -> Floats:
        """The 99th percentile that the tenants see in the mean, µs[n]."""
        return self._tails.tenants(
            pools, self._of(loads), np.arange(len(pools)), self._of(own))

    def _loads(self, seen: dict[str, Floats]) -> Floats:
        found = super()._loads(seen)
        found[:, self._own:] = self._tails._loads(seen)[
            :, COMMON:]
        return found

    def _of(self, loads: Floats) -> Floats:
        """The same Loads as the models of the 99th percentile read them."""
        return np.delete(loads, np.s_[COMMON:self._own], axis=1)
