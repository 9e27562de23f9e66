# SPDX-License-Identifier: Apache-2.0
"""Fit of a tenant model: networks that rise with their inputs.

Each network is the most likely one, given normal priors of its slopes and
weights, those of which none is negative cut off at 0, and errors of log
latency of a Huber-like distribution; the runs are continued, with little
weight, to other depths by the trend. Each sees the runs in weights drawn from
a gamma distribution (a Bayesian bootstrap [1]_), so that how far the networks
are apart tells where the runs say little. Every
other network reads what is outstanding where writes are slow in place of
what is outstanding where reads and writes take equally long.

.. [1] D. B. Rubin: The Bayesian bootstrap, The Annals of Statistics 9,
   1981.
"""

from __future__ import annotations

from collections.abc import Mapping
from collections.abc import Sequence
import dataclasses
import math
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import optimize
from scipy import sparse

from serifos import errors
from serifos.facts.workload import Load
from serifos.facts.workload import Workload
from serifos.model import kinds
from serifos.model import prior
from serifos.model.tenant import arithmetic
from serifos.model.tenant.arithmetic import NUMBERS
from serifos.model.tenant import inputs
from serifos.model.tenant import parameters

Floats = npt.NDArray[np.float64]

_ENOUGH = 1000  # runs; of more, evenly many are read
_STEPS = 250

_ERROR = 0.1  # of a log latency, from which on errors count less

# Standard deviations of the priors.
_SLOPE, _WEIGHT, _OFFSET, _PART = 0.3, 0.5, 1.5, 2.0
_UNIT_SLOPE = 0.5
# Nominal: of the log of a part along that of the trend, and of the log of what
# a tenant's own queue takes below the other parts.
_TREND, _QUEUED = 0.3, 3.5
_LARGEST = 25.0  # the log of a part in µs

_OF = arithmetic.arrays()

_OF_RUN, _OF_KIND = 1.0, 0.15
"""Weights of the mean of a run, and of a tenant's reads or writes, against
1 of the latency that a tenant sees."""

_MOST = 3.0
"""The most that equal tenants of a run weigh together."""

_DEPTHS = 2.0, 6.0
_OF_DEPTH = 0.1
"""Multiples of the depths of a run at which :meth:`Rows.at_other_depths`
continues it, and the weight of that against the run."""

_STARTS = 4
_PRIOR = 0.1
_BESIDE = 1e-7  # for slopes by differences
# Natural logarithms: by how much a coefficient may differ from a nominal
# device's before that costs as much as an error of _PRIOR in one run.
_LEEWAY = {'floor_us': 1.0, 'read_floor_us': 1.5, 'write_floor_us': 1.5,
           'half_q': 0.7, 'read_us': 1.5, 'write_us': 1.5,
           'read_own_us': 2.0, 'write_own_us': 2.0,
           'read_us_per_kib': 1.0, 'write_us_per_kib': 1.0, 'drain_us': 2.0,
           'drain_us_per_kib': 2.0, 'drain_read_us_per_kib': 2.0,
           'sequential': 0.5, 'sharpness': 0.7}


def fit(loads: Sequence[Load], y: Floats,
        seen: Sequence[Sequence[tuple[Workload, kinds.Seen]]] = (),
        predicts: str = 'latency_us', units: float = 10,
        members: float = 6, seed: int = 0,
        devices: Sequence[kinds.TenantPredictor] = ()) -> dict[str, Any]:
    """The parameters of a model file.

    :param loads: the Loads of n runs
    :param y: float[n], the mean of each run over its tenants, positive
    :param seen: for each run its tenants and what they saw, where known
    :param seed: of the starts of the search, and of the runs' weights
    :param devices: measured before, that say what few runs do not
    :raises InputError: where ``predicts`` is not a latency of tenants
    """
    figure = parameters.figure_of(predicts)
    if figure is None:
        raise errors.InputError(
            'A model of kind tenant predicts the latency of tenants, not '
            f'{predicts}; choose another kind.')
    few = range(0, len(y), max(1, -(-len(y) // _ENOUGH)))
    loads, y = [loads[i] for i in few], y[list(few)]
    seen, n = [seen[i] for i in few] if seen else [], len(loads)
    weights = np.ones(n)
    rng = np.random.default_rng(seed)
    guess = prior.reference(loads, y, devices, rng)
    if guess is not None:
        loads, y = [*loads, *guess.loads], np.concatenate([y, guess.y])
        seen = [*(seen or [()] * n), *guess.seen]
        weights = np.append(weights, np.full(len(guess.y), guess.weight))
    rows = Rows.of(loads, y, seen, figure)
    coefficients = fit_trend(
        rows.sums[:, :len(inputs.TREND_FIELDS)], np.log(y), rng, weights)
    values = rows.values(coefficients)
    centre = values.mean(axis=0)
    more = rows.at_other_depths(coefficients)
    every = more.values(coefficients) - centre
    networks = [_Network.fitted(
        more, every, int(units), rng, np.resize(weights * (
            rng.gamma(2.0, 0.5, len(y)) if members > 1 else 1.0),
            len(every)), i % 2 == 1) for i in range(int(members))]
    return {'figure': figure, 'trend': coefficients,
            'noise': _noise(rows, n, values - centre, networks),
            'members': [one.document(centre) for one in networks]}


def _noise(rows: Rows, n: int, values: Floats,
           networks: Sequence[_Network]) -> float:
    """The standard deviation of log latency about the mean network.

    :param n: how many of the runs were made: the first ones; 0 for none,
        where the others are taken
    """
    found = np.mean([np.exp(one.logs_of(values.T, one.lifted(values.T)[0]))
                     for one in networks], axis=0)
    wrong = np.log((found.T[rows.run] * rows.own).sum(axis=1)) - rows.logs
    few = (rows.weights >= 1) & (rows.run < (n or len(rows.first)))
    return float(f'{max(1e-3, np.sqrt(np.mean(wrong[few] ** 2))):.6g}')


@dataclasses.dataclass(frozen=True)
class _Network:
    """The slopes and weights of a member as arrays.

    :param units: slopes of the units, float[units, inputs]
    :param starts: offsets of the units, float[units]
    :param offsets: of the parts, float[parts]
    :param slopes: of the parts, float[parts, inputs]
    :param weights: of the units in the parts, float[parts, units]
    """

    units: Floats
    starts: Floats
    offsets: Floats
    slopes: Floats
    weights: Floats

    @classmethod
    def fitted(cls, rows: Rows, values: Floats, units: int,
               rng: np.random.Generator, of_run: Floats,
               without_plain: bool = False) -> _Network:
        """The most likely network.

        :param values: the inputs about their means, float[n, inputs]
        :param of_run: weights of the runs, float[n]
        :param without_plain: whether :data:`.inputs.PLAIN` are left out
        """
        k, (_, d) = len(inputs.OWN), values.shape
        shapes = (units, d), (units,), (k,), (k, d), (k, units)
        cuts = np.cumsum([math.prod(shape) for shape in shapes]).tolist()
        nominal = _nominal(rows)
        begin = np.concatenate([
            (np.abs(rng.normal(0, 0.4, shapes[0]))
             * (rng.random(shapes[0]) < 0.5)).ravel(),
            rng.normal(0, 1, units), nominal, np.full(k * d, 0.05),
            np.abs(rng.normal(0, 0.2, k * units))])
        middle = np.zeros_like(begin)
        middle[cuts[1]:cuts[2]] = nominal
        for start in middle, begin:
            slopes = start[cuts[2]:cuts[3]].reshape(k, d)
            slopes[:inputs.QUEUE.start, -1] = _TREND
        unread = np.isin(inputs.INPUTS, inputs.PLAIN) & without_plain
        shut = np.zeros(len(begin), bool)
        for first, last, rows_of in ((0, cuts[0], units),
                                     (cuts[2], cuts[3], k)):
            shut[first:last].reshape(rows_of, d)[:, unread] = True
        begin[shut] = 0.0
        spread = np.repeat([_UNIT_SLOPE, _OFFSET, _PART, _SLOPE, _WEIGHT],
                           np.diff(cuts, prepend=0))
        free = np.repeat([False, True, True, False, False],
                         np.diff(cuts, prepend=0))
        loss_of = _Loss.of(rows, values, of_run)

        def of(flat: Floats) -> _Network:
            return cls(*(flat[end - math.prod(shape):end].reshape(shape)
                         for end, shape in zip(cuts, shapes)))

        def unlikely(steps: Floats) -> tuple[float, Floats]:
            loss, slope = loss_of(of(middle + spread * steps))
            return loss + 0.5 * steps @ steps, spread * slope + steps
        found = optimize.minimize(
            unlikely, (begin - middle) / spread, jac=True, method='L-BFGS-B',
            bounds=optimize.Bounds(np.where(free, -np.inf, -middle / spread),
                                   np.where(shut, -middle / spread, np.inf)),
            options={'maxiter': _STEPS, 'maxfun': 2 * _STEPS})
        return of(middle + spread * found.x)

    def lifted(self, values: Floats) -> tuple[Floats, Floats]:
        """The values of the units, and their slopes: float[units, n].

        :param values: float[inputs, n]
        """
        found = self.units @ values + self.starts[:, None]
        bent, bounded = found[::2], np.tanh(found[1::2])
        lifted, steep = np.empty_like(found), np.empty_like(found)
        small = np.exp(-np.abs(bent))
        lifted[::2] = np.maximum(bent, 0.0) + np.log(1 + small)
        lifted[1::2] = bounded
        steep[::2] = np.where(bent > 0, 1.0, small) / (1 + small)
        steep[1::2] = 1 - bounded ** 2
        return lifted, steep

    def logs_of(self, values: Floats, lifted: Floats) -> Floats:
        """The logs of the parts, from the values of the units: [parts, n]."""
        return np.clip(self.offsets[:, None] + self.slopes @ values
                       + self.weights @ lifted, -_LARGEST, _LARGEST)

    def document(self, centre: Floats) -> dict[str, Any]:
        """The member of a model file; numbers of six digits, no zeros."""
        every = [*inputs.INPUTS, *(str(i) for i in range(len(self.units)))]
        sums = np.hstack([self.slopes, self.weights])
        return {
            'units': [parameters.document(
                start - slopes @ centre, zip(inputs.INPUTS, slopes))
                for start, slopes in zip(self.starts, self.units)],
            'parts': {name: parameters.document(
                offset - row[:len(centre)] @ centre, zip(every, row))
                for name, offset, row in zip(
                    inputs.OWN, self.offsets, sums)}}


@dataclasses.dataclass(frozen=True, eq=False)
class _Loss:
    """The loss of a network over rows.

    :param values: the inputs about their means, float[inputs, n]
    :param own: the factors of the parts of each run's figures, those of part
        j and run i in column j * n + i: float[m, parts * n]
    :param of_parts: its transpose
    :param logs: float[m], of the figures
    :param weights: float[m]
    """

    values: Floats
    own: sparse.csr_array
    of_parts: sparse.csr_array
    logs: Floats
    weights: Floats

    @classmethod
    def of(cls, rows: Rows, values: Floats, of_run: Floats) -> _Loss:
        """:param of_run: weights of the runs, float[n]"""
        figure, part = np.nonzero(rows.own)
        own = sparse.csr_array(
            (rows.own[figure, part],
             (figure, part * len(values) + rows.run[figure])),
            (len(rows.run), rows.own.shape[1] * len(values)))
        return cls(np.ascontiguousarray(values.T), own, own.T.tocsr(),
                   rows.logs, rows.weights * of_run[rows.run] / _ERROR ** 2)

    def __call__(self, network: _Network) -> tuple[float, Floats]:
        """The loss, and its slope along every number of the network."""
        lifted, steep = network.lifted(self.values)
        parts = np.exp(network.logs_of(self.values, lifted))
        whole = self.own @ parts.ravel()
        error = (np.log(whole) - self.logs) / (2 * _ERROR)
        root = np.sqrt(1 + error ** 2)
        loss = float(self.weights @ (root - 1)) * (2 * _ERROR) ** 2
        by_part = parts * (self.of_parts @ (
            self.weights * 2 * _ERROR * error / root / whole)
        ).reshape(parts.shape)
        by_unit = network.weights.T @ by_part * steep
        return loss, np.concatenate([
            (by_unit @ self.values.T).ravel(), by_unit.sum(axis=1),
            by_part.sum(axis=1), (by_part @ self.values.T).ravel(),
            (by_part @ lifted.T).ravel()])


def _nominal(rows: Rows) -> Floats:
    """The logs of the parts, of the same size each in the median."""
    middle = np.median(rows.logs)
    sizes = rows.own.sum(axis=0) / np.maximum(
        (rows.own > 0).sum(axis=0), 1)
    found = middle - np.log(np.maximum(sizes, 1e-3)) - np.log(3.0)
    found[inputs.QUEUE] -= _QUEUED
    return found


@dataclasses.dataclass(frozen=True)
class Rows:
    """What was measured: m figures of n runs, those of a run together.

    :param sums: of :data:`.inputs.FIELDS`, float[n, fields]
    :param first: the first figure of each run, int[n]
    :param run: the run of each figure, int[m]
    :param own: of :data:`.inputs.OWN`, float[m, parts]
    :param logs: float[m], of the figures
    :param weights: float[m]
    """

    sums: Floats
    first: npt.NDArray[np.intp]
    run: npt.NDArray[np.intp]
    own: Floats
    logs: Floats
    weights: Floats

    @classmethod
    def of(cls, loads: Sequence[Load], y: Floats,
           seen: Sequence[Sequence[tuple[Workload, kinds.Seen]]],
           figure: str) -> Rows:
        """Of a dataset's runs, as :func:`.fit.fit` takes them."""
        rows: dict[tuple[int, tuple[float, ...], float], float] = {}
        for run, load in enumerate(loads):
            sums = [getattr(load, name) for name in inputs.OWN_FIELDS]
            rows[run, _mean(sums, figure), y[run]] = _OF_RUN
            for workload, saw in seen[run] if seen else ():
                for own, value, weight in _figures(
                        inputs.sums_of(workload), saw, figure):
                    if value and sum(own):
                        row = run, own, value
                        rows[row] = min(rows.get(row, 0.0) + weight, _MOST)
        (run, own, values), weights = zip(*rows), [*rows.values()]
        runs = np.array(run)
        return cls(
            np.array([[getattr(load, name) for name in inputs.FIELDS]
                      for load in loads]),
            np.searchsorted(runs, np.arange(len(loads))), runs,
            np.array(own), np.log(np.array(values)), np.array(weights))

    def at_other_depths(self, coefficients: Mapping[str, float]) -> Rows:
        """The n runs, then what each would measure at other depths.

        From the run on, that follows the trend, which has the form of a
        queue: beyond the depths of its runs, a network that bends as they do
        may rise by powers.
        """
        n, (was,) = len(self.first), _logs(self.sums[None], coefficients)
        sums = self.sums[None] * np.array([1.0, *_DEPTHS])[:, None, None]
        rises = _logs(sums, coefficients) - was
        own = np.tile(self.own, (len(sums), 1, 1))
        own[:, :, inputs.QUEUE] *= np.array([1.0, *_DEPTHS])[:, None, None]
        first = np.arange(len(sums))[:, None] * len(self.run)
        weight = np.array([1.0, *[_OF_DEPTH] * len(_DEPTHS)])[:, None]
        return Rows(
            np.concatenate(sums), (first + self.first).ravel(),
            (np.arange(len(sums))[:, None] * n + self.run).ravel(),
            own.reshape(-1, own.shape[-1]),
            (self.logs + rises[:, self.run]).ravel(),
            (weight * self.weights).ravel())

    def values(self, coefficients: Mapping[str, float]) -> Floats:
        """Of :data:`.inputs.INPUTS`: float[n, inputs]."""
        return np.column_stack(inputs.of_load(
            self.sums.T, coefficients, _OF))


def _logs(sums: Floats, coefficients: Mapping[str, float]) -> Floats:
    """The log of the trend, in µs: float[k, n, fields] → float[k, n]."""
    return inputs.log_us(coefficients, np.moveaxis(
        sums[..., :len(inputs.TREND_FIELDS)], -1, 0), _OF)


def _mean(sums: Sequence[float], figure: str) -> tuple[float, ...]:
    """The mean of the factors over tenants.

    :param sums: theirs of :data:`.inputs.OWN_FIELDS`
    """
    factors, number = inputs.of_figure(figure, sums, NUMBERS)
    return tuple(each / number if number else 0.0 for each in factors)


def _figures(sums: Sequence[float], saw: kinds.Seen, figure: str
             ) -> list[tuple[tuple[float, ...], float | None, float]]:
    """(factors, what was seen, weight) of one tenant."""
    rest = _OF_KIND if figure == 'all' else 1.0
    return [(_mean(sums, name), value, weight) for name, value, weight in (
        ('all', saw.latency_us, 1.0), ('read', saw.read_latency_us, rest),
        ('write', saw.write_latency_us, rest)) if figure in ('all', name)]


def fit_trend(sums: Floats, logs: Floats, rng: np.random.Generator,
              weights: Floats) -> dict[str, float]:
    """The coefficients of the trend, of six digits as a file states them.

    By nonlinear least squares in log latency, from several starts, with a
    prior about a nominal device for each coefficient.

    :param sums: of :data:`.inputs.TREND_FIELDS`, float[n, 8]
    :param logs: of what n runs measured, float[n]
    :param rng: of the starts of the search
    :param weights: of the runs, float[n]
    """
    nominal, arrays = _nominal_trend(sums, logs), arithmetic.arrays()
    leeway = np.array([_LEEWAY[name] for name in inputs.TREND])
    root = np.sqrt(weights)

    def coefficients(steps: Floats) -> dict[str, Floats]:
        """float[..., 15] → each float[..., 1]."""
        values = nominal * np.exp(np.clip(steps * leeway, -20, 20))
        values[..., -1] += 1  # the sharpness
        return dict(zip(inputs.TREND, np.moveaxis(values, -1, 0)[..., None]))

    def errors_of(steps: Floats) -> Floats:
        """float[..., 15] → float[..., n]."""
        return root * (
            inputs.log_us(coefficients(steps), sums.T, arrays) - logs)

    def wrong(steps: Floats) -> Floats:
        return np.concatenate([errors_of(steps), _PRIOR * steps])

    def slopes(steps: Floats) -> Floats:
        each = np.eye(len(steps))
        beside = errors_of(steps + _BESIDE * each) - errors_of(steps)
        return np.concatenate([beside.T / _BESIDE, _PRIOR * each])
    starts = [np.zeros(len(leeway)), *rng.normal(
        0, 0.5, (_STARTS - 1, len(leeway)))]
    found = [optimize.least_squares(wrong, start, slopes, max_nfev=60)
             for start in starts]
    best = min(found, key=lambda one: one.cost)
    return {name: float(f'{value.item():.6g}')
            for name, value in coefficients(best.x).items()}


def _nominal_trend(sums: Floats, logs: Floats) -> Floats:
    """The coefficients of a device of one bus and few dies, scaled to y."""
    floor = float(np.exp(logs.min()))
    kib = sums[:, 2] + sums[:, 3]
    per_kib = float(np.exp(np.median(logs - np.log(kib))))
    of = {'floor_us': floor / 2, 'read_floor_us': floor / 2,
          'write_floor_us': floor / 4, 'half_q': 3.0, 'read_us': floor / 30,
          'write_us': floor / 30, 'read_own_us': 20 * per_kib,
          'write_own_us': 20 * per_kib, 'read_us_per_kib': per_kib,
          'write_us_per_kib': per_kib, 'drain_us': 2 * per_kib,
          'drain_us_per_kib': per_kib / 2,
          'drain_read_us_per_kib': per_kib / 20, 'sequential': 0.7,
          'sharpness': 1.5}
    return np.array([of[name] for name in inputs.TREND])
