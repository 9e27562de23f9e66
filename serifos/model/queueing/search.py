# SPDX-License-Identifier: Apache-2.0
"""Least squares of the relative error for the times of two stations.

No coefficient is negative. Gauss-Newton steps, each a least-squares problem
of its own, then backward elimination by p-values.
"""

from __future__ import annotations

from collections.abc import Iterable
from collections.abc import Mapping
from collections.abc import Sequence
import dataclasses
import functools
import types
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import optimize
from scipy import stats

from serifos.facts.workload import Load
from serifos.model.queueing import cases
from serifos.model.queueing import predict as queueing
from serifos.model.queueing import two_stations

Floats = npt.NDArray[np.float64]

_STEPS = 40
_ENOUGH = 1e-5   # share of the sum of squares that a step must remove
_EXACT = 1e-16
_LEAST_STEP = 1e-3


@dataclasses.dataclass(frozen=True)
class Data:
    """n runs: clients, the measured values, and the columns of the fit.

    :param rows: float[n, m]; a station's times are a = rows @ θa and
        b = rows @ θb
    :param labels: the class and the terms (of a, of b) of each column
    :param visits: float[n, m], the share of the requests of a column that
        come to the second station; None where it is the same in all runs
    :param media: run → the share of its time at the second station, where
        it is known; of runs of one client, who waits for no other
    """

    clients: Floats
    y: Floats
    rows: Floats
    labels: tuple[tuple[str, str, str], ...]
    visits: Floats | None = None
    media: Mapping[int, float] = dataclasses.field(default_factory=dict)

    @property
    def each(self) -> tuple[Floats, ...]:
        """The rows of a1, b1, a2, b2."""
        media = self.rows if self.visits is None else self.rows * self.visits
        return self.rows, self.rows, media, media

    def times(self, theta: Floats) -> list[Floats]:
        return [rows @ its for rows, its in zip(
            self.each, theta.reshape(4, -1))]

    @functools.cached_property
    def runs(self) -> npt.NDArray[np.intp]:
        """The run of each figure that is fitted: of ``y``, then of a visit."""
        its = list(self.media)
        return np.array([*range(len(self.y)), *its, *its])

    def misfit(self, theta: Floats) -> Floats:
        """(predicted - measured) / measured, of each run and known visit."""
        return np.concatenate([
            two_stations.responses_us(
                self.clients, *self.times(theta)) / self.y - 1,
            self._visits @ theta - 1])

    @functools.cached_property
    def _visits(self) -> Floats:
        """float[2 k, 4 m]: predicted over measured times of k known visits."""
        its = list(self.media)
        share = np.array(list(self.media.values()))[:, None]
        y = self.y[its][:, None]
        nothing = np.zeros((len(its), 2 * self.rows.shape[1]))
        cache, media = (np.hstack([each[its]] * 2)
                        for each in self.each[1:3])
        return np.vstack([
            np.hstack([cache / (1 - share) / y, nothing]),
            np.hstack([nothing, media / share / y])])

    def slopes(self, theta: Floats) -> Floats:
        """float[n, 4 m]: of the misfit by the coefficients."""
        times = self.times(theta)
        n, step = len(self.y), 1e-6 * sum(times) + 1e-9
        moved = [np.tile(each, 5) for each in times]
        for i, each in enumerate(moved):
            each[(i + 1) * n:(i + 2) * n] += step
        here, *there = two_stations.responses_us(
            np.tile(self.clients, 5), *moved).reshape(5, n)
        return np.vstack([np.hstack([
            ((each - here) / step / self.y)[:, None] * rows
            for each, rows in zip(there, self.each)]), self._visits])


def single(data: Data) -> Floats:
    """A single station, a and b of it; the second takes no time."""
    rows = np.hstack([data.rows * data.clients[:, None], data.rows])
    return np.concatenate([
        least(rows / data.y[:, None], np.ones(len(data.y))),
        np.zeros(rows.shape[1])])


def two(data: Data) -> Floats:
    """Two stations, from the better of the :func:`_starts`."""
    return min((fitted(data, start, start >= 0)
                for start in _starts(data, single(data))),
               key=lambda theta: schwarz(data, theta))


def _starts(data: Data, one: Floats) -> list[Floats]:
    """Starting points of the search for two stations.

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


def least(rows: Floats, y: Floats) -> Floats:
    """Least squares without a negative coefficient."""
    scale = np.maximum(np.sqrt((rows ** 2).sum(axis=0)), 1e-300)
    return optimize.nnls(rows / scale, y)[0] / scale


def fitted(data: Data, theta: Floats,
           kept: npt.NDArray[np.bool_]) -> Floats:
    """Gauss-Newton from here, with only the kept coefficients."""
    theta = np.where(kept, theta, 0.0)
    misfit = data.misfit(theta)
    for _ in range(_STEPS):
        slopes = data.slopes(theta)[:, kept]
        aim = np.zeros(len(theta))
        aim[kept] = least(slopes, slopes @ theta[kept] - misfit)
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


def pruned(data: Data, theta: Floats, alpha: float) -> Floats:
    """Backward elimination by the p-values of Wald's test.

    The last term of a class stays.
    """
    classes = np.tile([label for label, *_ in data.labels], 4)
    kept = theta > 0
    while True:
        theta = fitted(data, theta, kept)
        kept = theta > 1e-9 * theta.max()
        p = _p_values(data, theta, kept)
        for label in set(classes):
            if (kept & (classes == label)).sum() == 1:
                p[classes == label] = 0.0
        worst = int(np.argmax(np.where(kept, p, -1.0)))
        if p[worst] <= alpha:
            return np.where(kept, theta, 0.0)
        kept[worst] = False


def _p_values(data: Data, theta: Floats, kept: npt.NDArray[np.bool_]
              ) -> Floats:
    p = np.zeros(len(theta))
    free = len(data.runs) - int(kept.sum())
    if free > 0:
        slopes, misfit = data.slopes(theta)[:, kept], data.misfit(theta)
        scale = np.maximum(np.sqrt((slopes ** 2).sum(axis=0)), 1e-300)
        rows = slopes / scale
        std_error = np.sqrt(np.maximum(np.diag(np.linalg.pinv(
            rows.T @ rows)) * (misfit @ misfit) / free, 1e-300))
        p[kept] = 2 * stats.t.sf(theta[kept] * scale / std_error, free)
    return p


def schwarz(data: Data, theta: Floats) -> float:
    """Schwarz's criterion (BIC) of a fit; the least is the best."""
    n, misfit = len(data.runs), data.misfit(theta)
    return float(n * np.log(max(misfit @ misfit, _EXACT * n))
                 + np.log(n) * (theta > 0).sum())


def data(loads: Sequence[Load], y: Floats, gib: Floats | None,
         cached: Mapping[str, float],
         shares: Mapping[str, cases.Share],
         media: Mapping[int, float] = types.MappingProxyType({})
         ) -> Data:
    """The runs on file sets of the sizes ``gib``.

    :param cached: class → the largest of case s1, where it has one
    :param shares: class → the share of its requests that need the media
    :param media: run → the share of its time at the media, where known
    """
    load = Load(*np.array([load.vector for load in loads]).T)
    parts, kib = queueing.mix(load, np.maximum)
    a_kib, a, b_kib, b = cases.TERMS
    rows, labels = [], []
    for label, part, s in zip(queueing.CLASSES, parts, kib):
        for suffix, log in _of_sizes(gib, cached.get(label)):
            for size, terms in ((s, (a_kib, b_kib)), (1.0, (a, b))):
                if (column := part * size * log).any():
                    rows.append(column)
                    labels.append((label, *(t + suffix for t in terms)))
    clients = np.maximum(load.sum_iodepth, 1.0)
    return Data(clients, y, np.column_stack(rows), tuple(labels),
                _visits(clients, [label for label, *_ in labels],
                        shares, load.count), media)


def merged(data: Data, nearest: Mapping[str, str]) -> Data:
    """The same where classes have the times of others.

    :param nearest: class → whose times it has
    """
    labels = [(nearest[label], *terms) for label, *terms in data.labels]
    alike = {to: [i for i, of in enumerate(labels) if of == to]
             for to in labels}
    rows, media = (np.column_stack([
        each[:, its].sum(axis=1) for its in alike.values()])
        for each in data.each[1:3])
    return dataclasses.replace(
        data, rows=rows, labels=tuple(alike),
        visits=None if data.visits is None else np.divide(
            media, rows, out=np.ones_like(rows), where=rows > 0))


def _visits(clients: Floats, labels: Sequence[str],
            shares: Mapping[str, cases.Share], volumes: Floats
            ) -> Floats | None:
    """The share of the requests that come to the media, over p1."""
    found = np.ones((len(clients), len(labels)))
    for column, label in enumerate(labels):
        its = shares.get(label)
        if its is not None and its.volumes is not None:
            found[:, column] = np.maximum(0.0, 1 - its.volumes / volumes)
        elif its is not None and its.p1_few is not None:
            found[clients <= its.clients, column] = its.p1_few / its.p1
    return None if (found == 1).all() else found


def _of_sizes(gib: Floats | None, cached: float | None
              ) -> list[tuple[str, Any]]:
    """How the terms of a class change with the file set: (suffix, factor).

    :param cached: the largest of case s1, GiB, None without that case
    """
    if gib is None:
        return [('', 1.0)]
    log = np.log(np.maximum(gib, 1.0))
    if cached is None:
        return [('', 1.0), (cases.LN, log)]
    beyond = gib > cached
    both = [(cases.CACHED, ~beyond), ('', beyond)]
    return both if np.ptp(gib[beyond]) == 0 else [
        *both, (cases.LN, beyond * log)]


def by_size(labels: Iterable[tuple[str, str, str]]) -> list[tuple[str, bool]]:
    """(class, whether of case s1 by size) of the columns."""
    return sorted({(label, cases.CACHED in term) for label, term, _ in labels})
