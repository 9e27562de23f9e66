# SPDX-License-Identifier: Apache-2.0
"""Fit of a queueing network to end-to-end response times.

Noorshams, Rostami, Kounev, Reussner: I/O Performance Modeling of
Virtualized Storage Systems. Eq. 1-3 are fitted by least squares and lose
their terms of p > 0.05.

The times of a dataset are end-to-end, so that the coefficients of both
stations are sought at once: least squares of the *relative* error, no
coefficient negative, by Gauss-Newton steps that are least squares of their
own. A model has two stations where they fit better than one by Schwarz's
criterion.
"""

from __future__ import annotations

from collections.abc import Callable
from collections.abc import Mapping
from collections.abc import Sequence
import dataclasses
from typing import Any

import numpy as np
import numpy.typing as npt

from serifos.facts import workload as wl
from serifos.model.queueing import predict as queueing
from serifos.model.queueing import search

Floats = npt.NDArray[np.float64]

# With fewer runs for each possible coefficient the search for two stations
# was as often worse than better than one station, on simulated devices
# (16 runs of 16), and better in two of three designs from here on (24).
_RUNS_PER_TERM = 1.5
_LEAST_SIZES = 3


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
    describes a file set of the largest size. A class has the cases s1 (the
    cache holds the file set: Eq. 1) and s2 where Schwarz's criterion is the
    less for them, one more for the size at which they part.

    :param gib: float[n], the file set of each run, None where all are alike
    """
    found = [(*each, {}) for each in _networks(
        _data(loads, y, gib, {}), stations, alpha)]
    if gib is not None and (cached := _cached_gib(loads, y, gib)):
        data = _data(loads, y, gib, cached)
        found += [(*each, cached) for each in _networks(data, stations, alpha)
                  if _cases(data) == _cases(*each)]
    best, theta, its = min(found, key=lambda each: _criterion(*each))
    return _parameters(best, theta.reshape(2, 2, -1), gib, its)


def _networks(data: search.Data, stations: float, alpha: float
              ) -> list[tuple[search.Data, Floats]]:
    """Fits of one station and, where the runs are enough, of two."""
    found = [_told_apart(data, search.single, alpha)]
    if stations > 1 and len(data.y) >= _RUNS_PER_TERM * 4 * len(data.labels):
        found.append(_told_apart(data, search.two, alpha))
    return found


def _criterion(data: search.Data, theta: Floats,
               cached: Mapping[str, float]) -> float:
    return search.schwarz(data, theta) + len(cached) * float(
        np.log(len(data.y)))


def _cached_gib(loads: Sequence[wl.Load], y: Floats,
                gib: Floats) -> dict[str, float]:
    """Class → the largest file set that the cache holds, where one shows.

    By a single station, class after class: a time that steps up between two
    sizes does so whatever the stations are. Two sizes tell no step from a
    slope.
    """
    def criterion(cached: Mapping[str, float]) -> float:
        data = _data(loads, y, gib, cached)
        return _criterion(data, search.single(data), cached)
    sizes = np.unique(gib).tolist()
    if len(sizes) < _LEAST_SIZES:
        return {}
    found: dict[str, float] = {}
    for label in dict(_cases(_data(loads, y, gib, {}))):
        found = min([found, *({**found, label: size} for size in sizes[:-1])],
                    key=criterion)
    return found


def _cases(data: search.Data, theta: Floats | None = None
           ) -> list[tuple[str, bool]]:
    """(class, whether of case s1) of the columns; of those in use."""
    used = np.full(len(data.labels), True) if theta is None else (
        theta.reshape(4, -1).any(axis=0))
    return sorted({(label, term.endswith(queueing.CACHED)) for (
        label, term, _), its in zip(data.labels, used) if its})


def _told_apart(data: search.Data, seek: Callable[[search.Data], Floats],
                alpha: float) -> tuple[search.Data, Floats]:
    """A pruned fit in which every class that was measured has a term.

    Where every run has the same share of writes, say, least squares may
    give all the time to one class and none to another. A model without a
    class takes for it the times of the one that is nearest (it reads as if
    it had not been measured); so they are fitted together.
    """
    while True:
        theta = search.pruned(data, seek(data), alpha)
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


def _data(loads: Sequence[wl.Load], y: Floats, gib: Floats | None,
          cached: Mapping[str, float]) -> search.Data:
    load = wl.Load(*np.array([load.vector for load in loads]).T)
    shares, kib = queueing.mix(load, np.maximum)
    a_kib, a, b_kib, b = queueing.TERMS
    rows, labels = [], []
    for label, share, s in zip(queueing.CLASSES, shares, kib):
        for suffix, log in _of_sizes(gib, cached.get(label)):
            for size, terms in ((s, (a_kib, b_kib)), (1.0, (a, b))):
                if (column := share * size * log).any():
                    rows.append(column)
                    labels.append((label, *(t + suffix for t in terms)))
    return search.Data(np.maximum(load.sum_iodepth, 1.0), y,
                       np.column_stack(rows), tuple(labels))


def _of_sizes(gib: Floats | None, cached: float | None
              ) -> list[tuple[str, Any]]:
    """How the terms of a class change with the file set: (suffix, factor).

    :param cached: the largest of case s1, GiB, None without that case
    """
    if gib is None:
        return [('', 1.0)]
    log = np.log(np.maximum(gib, 1.0))
    if cached is None:
        return [('', 1.0), (queueing.LN, log)]
    beyond = gib > cached
    cases = [(queueing.CACHED, ~beyond), ('', beyond)]
    return cases if np.ptp(gib[beyond]) == 0 else [
        *cases, (queueing.LN, beyond * log)]


def _parameters(data: search.Data, theta: Floats, gib: Floats | None,
                cached: Mapping[str, float]) -> dict[str, Any]:
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
            **({} if gib is None else {'file_set_gib': float(gib.max())}),
            **({'cached_gib': dict(cached)} if cached else {})}


def _cache_first(data: search.Data, theta: Floats) -> list[int]:
    """The stations' indices, that of the cache first.

    Times cannot tell. Media are what works on more requests at once, or
    else what is slower for one alone; a single station is the cache.
    """
    a, b = (np.median(data.rows @ theta[:, i].T, axis=0) for i in (0, 1))
    alone = a + b
    return sorted(range(2), key=lambda i: (
        not theta[i].any(), b[i] / alone[i] if alone[i] else 0.0, alone[i]))
