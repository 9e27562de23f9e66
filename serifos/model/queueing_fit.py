# SPDX-License-Identifier: Apache-2.0
"""Which closed network do end-to-end response times describe?

Noorshams, Rostami, Kounev, Reussner: I/O Performance Modeling of
Virtualized Storage Systems. Eq. 1-3 are fitted by least squares and lose
their terms of p > 0.05.

The times of a dataset are end-to-end, so that the coefficients of both
stations are sought at once: least squares of the *relative* error, no
coefficient negative, by Gauss-Newton steps that are least squares of their
own. Two stations stay where they explain more than one does, by Schwarz's
criterion; else the model has one, and says so.
"""

from __future__ import annotations

from collections.abc import Callable
from collections.abc import Sequence
import dataclasses
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import optimize
from scipy import stats

from serifos.model import queueing
from serifos.model import queueing_pair as pair
from serifos import workload as wl

Floats = npt.NDArray[np.float64]

_STEPS = 40
_ENOUGH = 1e-5   # of the sum of squares that a step must take off
_EXACT = 1e-16
_LEAST_STEP = 1e-3

# With fewer runs for each possible coefficient the search for two stations
# was as often worse than better than one station, on simulated devices
# (16 runs of 16), and better in two of three designs from here on (24).
_RUNS_PER_TERM = 1.5


@dataclasses.dataclass(frozen=True)
class _Data:
    """n runs: clients, what was measured, and what coefficients multiply.

    :param rows: float[n, m]; a station's times are a = rows @ θa and
        b = rows @ θb
    :param labels: the class and the terms (of a, of b) of each column
    """

    clients: Floats
    y: Floats
    rows: Floats
    labels: tuple[tuple[str, str, str], ...]

    def times(self, theta: Floats) -> list[Floats]:
        return [self.rows @ each for each in theta.reshape(4, -1)]

    def misfit(self, theta: Floats) -> Floats:
        """(predicted - measured) / measured."""
        return pair.responses_us(
            self.clients, *self.times(theta)) / self.y - 1

    def slopes(self, theta: Floats) -> Floats:
        """float[n, 4 m]: of the misfit by the coefficients."""
        times = self.times(theta)
        n, step = len(self.y), 1e-6 * sum(times) + 1e-9
        moved = [np.tile(each, 5) for each in times]
        for i, each in enumerate(moved):
            each[(i + 1) * n:(i + 2) * n] += step
        here, *there = pair.responses_us(
            np.tile(self.clients, 5), *moved).reshape(5, n)
        return np.hstack([((each - here) / step / self.y)[:, None]
                          * self.rows for each in there])


def fit(loads: Sequence[wl.Load], y: Floats, stations: float = 2,
        alpha: float = 0.05) -> dict[str, Any]:
    """The parameters of a model file.

    :param loads: the Loads of n runs
    :param y: float[n], what the runs measured, positive
    :param stations: 1, or 2 where the runs tell them apart
    :param alpha: the p-value above which a term is removed
    """
    return calibrated(loads, y, None, stations, alpha)


def calibrated(loads: Sequence[wl.Load], y: Floats,
               gib: Floats | None = None, stations: float = 2,
               alpha: float = 0.05) -> dict[str, Any]:
    """The same from runs on file sets of several sizes (Eq. 2 and 3).

    Eq. 3 is Eq. 2 without terms that the fit may remove. The model
    describes a file set of the largest size.

    :param gib: float[n], the file set of each run, None where all are alike
    """
    data = _data(loads, y, gib)
    found = [_told_apart(data, _single, alpha)]
    if stations > 1 and len(y) >= _RUNS_PER_TERM * 4 * len(data.labels):
        found.append(_told_apart(data, _two, alpha))
    best, theta = min(found, key=lambda each: _schwarz(*each))
    return _parameters(best, theta.reshape(2, 2, -1), gib)


def _told_apart(data: _Data, search: Callable[[_Data], Floats],
                alpha: float) -> tuple[_Data, Floats]:
    """A pruned fit in which every class that was measured has a term.

    Where every run has the same share of writes, say, least squares may
    give all the time to one class and none to another. A model without a
    class takes for it the times of the one that is nearest (it reads as if
    it had not been measured); so they are fitted together.
    """
    while True:
        theta = _pruned(data, search(data), alpha)
        has = {label for (label, *_), used in zip(
            data.labels, theta.reshape(4, -1).any(axis=0)) if used}
        nearest = {label: queueing.nearest(label, has)
                   for label, *_ in data.labels if has}
        if all(label == to for label, to in nearest.items()):
            return data, theta
        columns: dict[tuple[str, str, str], Floats] = {}
        for column, (label, *terms) in zip(data.rows.T, data.labels):
            to = (nearest[label], *terms)
            columns[to] = columns.get(to, 0.0) + column
        data = dataclasses.replace(
            data, rows=np.column_stack([*columns.values()]),
            labels=tuple(columns))


def _data(loads: Sequence[wl.Load], y: Floats, gib: Floats | None) -> _Data:
    columns = dict(zip(wl.FEATURES,
                       np.array([load.vector for load in loads]).T))
    clients = columns['sum_iodepth']
    shares, kib = queueing.mixes(columns, clients)
    logs = [('', np.ones(len(y)))]
    if gib is not None:
        logs.append((queueing.LN, np.log(np.maximum(gib, 1.0))))
    a_kib, a, b_kib, b = queueing.TERMS
    rows, labels = [], []
    for label, share, s in zip(queueing.CLASSES, shares, kib):
        for suffix, log in logs:
            for size, terms in ((s, (a_kib, b_kib)), (1.0, (a, b))):
                if (column := share * size * log).any():
                    rows.append(column)
                    labels.append((label, *(t + suffix for t in terms)))
    return _Data(np.maximum(clients, 1.0), y, np.column_stack(rows),
                 tuple(labels))


def _single(data: _Data) -> Floats:
    """A single station, a and b of it; the second takes no time."""
    rows = np.hstack([data.rows * data.clients[:, None], data.rows])
    return np.concatenate([
        _least(rows / data.y[:, None], np.ones(len(data.y))),
        np.zeros(rows.shape[1])])


def _two(data: _Data) -> Floats:
    """Two stations, from the better of the :func:`_starts`."""
    return min((_fitted(data, start, start >= 0)
                for start in _starts(data, _single(data))),
               key=lambda theta: _schwarz(data, theta))


def _starts(data: _Data, one: Floats) -> list[Floats]:
    """Where the search for two stations begins.

    A station that works on one request at a time before one that works on
    many; and one for reads, one for writes.
    """
    a, b = one.reshape(4, -1)[:2]
    heavy = data.rows.max(axis=0)
    little = 0.01 * np.median(data.y / data.clients) / heavy
    read = np.array([label.endswith('read') for label, *_ in data.labels])
    return [np.concatenate([a, 0 * b, 0.1 * a + little, b + 10 * little]),
            np.concatenate([each + little for half in (read, ~read)
                            for each in (a * half, b * half)])]


def _least(rows: Floats, y: Floats) -> Floats:
    """Least squares without a negative coefficient."""
    scale = np.maximum(np.sqrt((rows ** 2).sum(axis=0)), 1e-300)
    return optimize.nnls(rows / scale, y)[0] / scale


def _fitted(data: _Data, theta: Floats, kept: npt.NDArray[np.bool_]
            ) -> Floats:
    """Gauss-Newton from here, with the kept coefficients alone."""
    theta = np.where(kept, theta, 0.0)
    misfit = data.misfit(theta)
    for _ in range(_STEPS):
        slopes = data.slopes(theta)[:, kept]
        aim = np.zeros(len(theta))
        aim[kept] = _least(slopes, slopes @ theta[kept] - misfit)
        step, was = 1.0, misfit @ misfit
        while step > _LEAST_STEP:
            new = data.misfit(theta + step * (aim - theta))
            if new @ new < was:
                break
            step /= 2
        else:
            return theta
        theta, misfit = theta + step * (aim - theta), new
        if was - misfit @ misfit < _ENOUGH * was or was < _EXACT * len(misfit):
            return theta
    return theta


def _pruned(data: _Data, theta: Floats, alpha: float) -> Floats:
    """Backward elimination by the p-values of Wald's test.

    The last term of a class stays.
    """
    classes = np.tile([label for label, *_ in data.labels], 4)
    kept = theta > 0
    while True:
        theta = _fitted(data, theta, kept)
        kept = theta > 1e-9 * theta.max()
        p = _p_values(data, theta, kept)
        for label in set(classes):
            if (kept & (classes == label)).sum() == 1:
                p[classes == label] = 0.0
        worst = int(np.argmax(np.where(kept, p, -1.0)))
        if p[worst] <= alpha:
            return np.where(kept, theta, 0.0)
        kept[worst] = False


def _p_values(data: _Data, theta: Floats, kept: npt.NDArray[np.bool_]
              ) -> Floats:
    p = np.zeros(len(theta))
    free = len(data.y) - int(kept.sum())
    if free > 0:
        slopes, misfit = data.slopes(theta)[:, kept], data.misfit(theta)
        scale = np.maximum(np.sqrt((slopes ** 2).sum(axis=0)), 1e-300)
        rows = slopes / scale
        spread = np.sqrt(np.maximum(np.diag(np.linalg.pinv(
            rows.T @ rows)) * (misfit @ misfit) / free, 1e-300))
        p[kept] = 2 * stats.t.sf(theta[kept] * scale / spread, free)
    return p


def _schwarz(data: _Data, theta: Floats) -> float:
    n, misfit = len(data.y), data.misfit(theta)
    return float(n * np.log(max(misfit @ misfit, _EXACT * n))
                 + np.log(n) * (theta > 0).sum())


def _parameters(data: _Data, theta: Floats,
                gib: Floats | None) -> dict[str, Any]:
    order = _cache_first(data, theta)
    found: dict[str, dict[str, dict[str, float]]] = {
        name: {} for name in queueing.STATIONS}
    for name, number in zip(queueing.STATIONS, order):
        for column, (label, *terms) in enumerate(data.labels):
            for term, value in zip(terms, theta[number, :, column]):
                if value:
                    found[name].setdefault(label, {})[term] = float(value)
    media = found[queueing.STATIONS[1]]
    classes = dict.fromkeys(label for label, *_ in data.labels)
    return {'stations': found,
            'p1': {label: float(label in media) for label in classes},
            **({} if gib is None else {'file_set_gib': float(gib.max())})}


def _cache_first(data: _Data, theta: Floats) -> list[int]:
    """Which station is called the cache, and which the media.

    Times cannot tell. Media are what works on more requests at once, or
    else what is slower for one alone; a single station is the cache.
    """
    a, b = (np.median(data.rows @ theta[:, i].T, axis=0) for i in (0, 1))
    alone = a + b
    return sorted(range(2), key=lambda i: (
        not theta[i].any(), b[i] / alone[i] if alone[i] else 0.0, alone[i]))
