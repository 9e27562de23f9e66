# SPDX-License-Identifier: Apache-2.0
"""Errors of a calibrated network within and beyond its calibration.

Figure 11 of [1]_ for a device of one's own: the error of kind ``queueing``
by class of requests, on the runs it was calibrated on, on runs held out
between them, and beyond them in clients and in volumes.

.. [1] Noorshams, Rostami, Kounev, Reussner: I/O Performance Modeling of
   Virtualized Storage Systems.
"""

from __future__ import annotations

import collections
from collections.abc import Iterable
from collections.abc import Mapping
from collections.abc import Sequence
import dataclasses
import functools
from typing import Any

import numpy as np
from scipy import optimize
from scipy import stats

from serifos.facts.dataset import Sample
from serifos.facts.workload import Load
from serifos.lab.calibrate import calibrate
from serifos.lab.calibrate import network
from serifos.lab.calibrate import queueing_sim
from serifos.model import fit
from serifos.model import held_out
from serifos.model import quality
from serifos.model.queueing import predict as queueing

_SHAPES = (0.2, 1e3)
_SIMULATED = 30
_REQUESTS = 4000

CLIENTS, SIZES = 'calibration, by clients', 'calibration, by request size'
KIB = ' KiB'

_GROUPS = 5
"""The paper has five sizes of a request."""


@dataclasses.dataclass(frozen=True)
class Scenario:
    """A row of Figure 11.

    :param reach: the runs predicted, against those calibrated on
    :param pairs: class → (measured, predicted) of each run, µs
    :param outstanding: the error of kind ``outstanding``, fitted to the same
        runs, over all predicted ones
    :param parts: the pairs of those runs of a class that the cache served
        mostly, or mostly not: ``random_read_cached`` and
        ``random_read_uncached``
    """

    name: str
    reach: str
    runs: int
    pairs: Mapping[str, Sequence[tuple[float, float]]]
    outstanding: float
    parts: Mapping[str, Sequence[tuple[float, float]]]

    @functools.cached_property
    def mre(self) -> dict[str, float]:
        """Class → mean relative error, a fraction."""
        return _mre(self.pairs)

    @functools.cached_property
    def columns(self) -> dict[str, float]:
        """The same, and of the parts."""
        return {**self.mre, **_mre(self.parts)}

    @property
    def mean(self) -> float:
        """The arithmetic mean over the classes, as the paper has it."""
        return float(np.mean(list(self.mre.values())))


def columns(rows: Iterable[Scenario]) -> list[str]:
    """The columns of a table of these: classes, each before its parts."""
    found = {label for row in rows for label in row.columns}
    return [name for label in queueing.CLASSES
            for name in (label, f'{label}_cached', f'{label}_uncached')
            if name in found]


def _mre(pairs: Mapping[str, Sequence[tuple[float, float]]]
         ) -> dict[str, float]:
    return {label: quality.mre(*np.array(its).T)
            for label, its in pairs.items()}


def scenarios(measured: calibrate.FileSetRuns, given: Mapping[str, float],
              seed: int = 0) -> list[Scenario]:
    """The rows of Figure 11 for which there are enough runs.

    The paper predicts up to 1.5 times the clients and three times the
    virtual machines that it calibrated. Here a third of the runs, those of
    most clients, are beyond the others; and runs of up to two, and three,
    times the volumes of a third of the largest are predicted.
    """
    every = np.arange(len(measured.data.y))
    clients = measured.clients
    counts = np.array(measured.data.counts)
    beside = held_out.refit('outstanding', measured.data, {})
    rows = [row(measured, 'calibration', f'{len(every)} runs', every,
                measured.fitted(every, every, given), beside(every, every)),
            row(measured, 'interpolation', f'{quality.FOLDS}-fold', every,
                measured.held_out(given, seed),
                quality.held_out(measured.data.keys, seed, beside))]
    bound = float(np.quantile(clients, 2 / 3))
    third, most = int(counts.max()) // 3, int(counts.max())
    for name, of, low, high in (
            ('clients', clients, bound, float(clients.max())),
            ('2 x volumes', counts, third, 2 * third),
            ('3 x volumes', counts, third, most)):
        least = 2 * third if name.startswith('3') else low
        train = np.flatnonzero(of <= low)
        test = np.flatnonzero((of > least) & (of <= high))
        if len(train) >= fit.LEAST_RUNS and len(test):
            rows.append(row(
                measured, f'extrapolation {name}',
                f'to {high:g} from {low:g}', test,
                measured.fitted(train, test, given), beside(train, test)))
    return rows


def in_order(measured: calibrate.FileSetRuns, parameters: Mapping[str, Any],
             shapes: Mapping[str, float], seed: int = 0) -> Scenario:
    """The calibrated network with gamma-distributed work in order (FCFS).

    That has no product form: some of the runs are simulated.
    """
    some = np.unique(np.linspace(
        0, len(measured.data.y) - 1, _SIMULATED).astype(np.intp))
    found = []
    for i in some:
        load = measured.data.loads[i]
        clients = max(1, round(load.sum_iodepth))
        writes = load.sum_q_w / load.sum_iodepth
        shape = ((1 - writes) * shapes.get('read', 1.0)
                 + writes * shapes.get('write', 1.0))
        predictor = calibrate.predictor(parameters, measured.gib, i)
        found.append(queueing_sim.response_us(
            stations(predictor, load, clients, shape), clients,
            np.random.default_rng([seed, i]), _REQUESTS))
    product = quality.mre(measured.data.y[some],
                          measured.predictions(parameters, some))
    return row(measured, 'calibration, in order',
               f'simulated; product form {100 * product:.1f} %', some,
               np.array(found),
               held_out.refit('outstanding', measured.data, {})(
                   np.arange(len(measured.data.y)), some))


def stations(predictor: queueing.Queueing, load: Load, clients: int,
             shape: float = 1.0) -> tuple[network.Station, ...]:
    """The network at the mix of a Load, for solver and simulation.

    :param shape: of the gamma distribution of the work
    """
    a1, b1, a2, b2 = predictor.of_mix(load)
    p1 = predictor.p1_of(load)
    found = [network.Station.of_times(queueing.STATIONS[0], a1, b1, clients,
                                      shape=shape)]
    if p1 and a2 + b2:
        found.append(network.Station.of_times(
            queueing.STATIONS[1], a2 / p1, b2 / p1, clients,
            visits=min(1.0, p1), shape=shape))
    return tuple(found)


def shapes(samples: Sequence[Sample]) -> dict[str, float]:
    """The gamma shape of reads and of writes, from runs of fewest clients.

    It is the one whose 99th percentile is as far above its mean as in the
    runs of fewest clients; a direction without percentiles is left out.
    """
    least = min(_clients(sample) for sample in samples)
    found = {}
    for name in ('read', 'write'):
        ratios = [p99 / mean for sample in samples
                  if _clients(sample) == least
                  for p99, mean in [(sample.figure(f'{name}_p99_us'),
                                     sample.figure(f'{name}_latency_us'))]
                  if p99 and mean]
        if ratios:
            found[name] = _shape(float(np.median(ratios)))
    return found


def _shape(ratio: float) -> float:
    def above(shape: float) -> float:
        return float(stats.gamma.ppf(0.99, shape) / shape - ratio)
    low, high = _SHAPES
    if above(low) <= 0:
        return low
    return high if above(high) >= 0 else float(
        optimize.brentq(above, low, high))


def _clients(sample: Sample) -> float:
    return sum(workload.outstanding for workload in sample.workloads)


def row(measured: calibrate.FileSetRuns, name: str, reach: str,
        test: calibrate.Ints, found: calibrate.Floats,
        others: calibrate.Floats) -> Scenario:
    """The errors of some runs.

    :param test: their indices
    :param found: what the network predicts of each, float[m]
    :param others: what kind ``outstanding`` predicts, float[m]
    """
    y, classes = measured.data.y[test], measured.classes
    pairs, parts = (collections.defaultdict(list) for _ in range(2))
    for i, pair in zip(test, zip(y.tolist(), found.tolist())):
        pairs[classes[i]].append(pair)
        cached = measured.cached[i]
        if cached is not None:
            parts[classes[i] + ('_cached' if cached else '_uncached')].append(
                pair)
    return Scenario(name, reach, len(test), pairs, quality.mre(y, others),
                    parts)


def grouped(measured: calibrate.FileSetRuns, parameters: Mapping[str, Any]
            ) -> list[Scenario]:
    """The errors on the runs of a calibration by clients and by size.

    Figures 5 and 7 of [1]_.

    :param parameters: the network that was fitted to all of the runs
    """
    every = np.arange(len(measured.data.y))
    found = measured.predictions(parameters, every)
    others = held_out.refit('outstanding', measured.data, {})(every, every)
    return [
        row(measured, name, f'{_span(x[its])}{unit}', its, found[its],
            others[its])
        for name, x, unit in ((CLIENTS, measured.clients, ''),
                              (SIZES, measured.request_kib, KIB))
        for its in groups(x)]


def groups(x: calibrate.Floats) -> list[calibrate.Ints]:
    """The indices of the runs of each group, least x first.

    Five groups of about as many runs, or one for each value where there are
    no more than five. Runs of one value are never apart.

    :param x: float[n]
    """
    ends = np.unique(x)
    if len(ends) > _GROUPS:
        ends = np.unique(np.quantile(
            x, np.arange(1, _GROUPS + 1) / _GROUPS, method='inverted_cdf'))
    group = np.searchsorted(ends, x)
    return [np.flatnonzero(group == i) for i in range(len(ends))]


def _span(x: calibrate.Floats) -> str:
    low, high = f'{x.min():.3g}', f'{x.max():.3g}'
    return low if low == high else f'{low} to {high}'
