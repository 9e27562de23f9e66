# SPDX-License-Identifier: Apache-2.0
"""Fit of a queueing network to end-to-end response times.

Noorshams, Rostami, Kounev, Reussner: I/O Performance Modeling of
Virtualized Storage Systems. Eq. 1-3 are fitted by least squares and lose
their terms of p > 0.05.

The times of a dataset are end-to-end, so that the coefficients of both
stations are sought at once: least squares of the *relative* error, no
coefficient negative, by Gauss-Newton steps that are least squares of their
own. The two modes of a single request's distribution are the times at each
station, and are fitted with them. Without these a model has two stations where
they fit better than one by Schwarz's criterion.
"""

from __future__ import annotations

from collections.abc import Callable
from collections.abc import Mapping
from collections.abc import Sequence
import dataclasses
import types
from typing import Any

import numpy as np
import numpy.typing as npt

from serifos.facts.dataset import Sample
from serifos.facts.workload import Load
from serifos.model.queueing import cases
from serifos.model.queueing import hits
from serifos.model.queueing import predict as queueing
from serifos.model.queueing import search

Floats = npt.NDArray[np.float64]

# With fewer runs for each possible coefficient the search for two stations
# was as often worse than better than one station, on simulated devices
# (16 runs of 16), and better in two of three designs from here on (24).
_RUNS_PER_TERM = 1.5
_LEAST_SIZES = 3

# How much less Schwarz's criterion has to be for a step by clients (strong
# evidence), and what the squares of the misfit may be with it, of those
# without. The criterion by itself takes for a step what no network says of a
# device: 9 of 24 random devices without any had one, and 4 of them were
# predicted worse. Times at the stations count unless without them the squares
# are less than that half.
_STRONG = 6.0
_CLEAR = 0.5

LEAST = 6
"""Runs with requests of the class on either side of a step."""

_TRIED = 12


@dataclasses.dataclass(frozen=True)
class _Fit:
    """A fit of some cases.

    :param cached: class → the largest file set of case s1, GiB
    :param few: class → the most clients of case s1
    """

    data: search.Data
    theta: Floats
    cached: Mapping[str, float] = dataclasses.field(default_factory=dict)
    few: Mapping[str, float] = dataclasses.field(default_factory=dict)

    @property
    def criterion(self) -> float:
        """Schwarz's; the bound of a case is one more parameter."""
        return search.schwarz(self.data, self.theta) + float(
            np.log(len(self.data.y)) * (len(self.cached) + len(self.few)))

    @property
    def squares(self) -> float:
        """Of the relative errors end to end."""
        misfit = self.data.misfit(self.theta)[:len(self.data.y)]
        return float(misfit @ misfit)

    @property
    def cases(self) -> list[tuple[str, bool]]:
        """(class, whether of case s1 by size) of the columns in use."""
        used = self.theta.reshape(4, -1).any(axis=0)
        return search.by_size(label for label, its in zip(
            self.data.labels, used) if its)


def fit(loads: Sequence[Load], y: Floats,
        samples: Sequence[Sample] = (), stations: float = 2,
        alpha: float = 0.05) -> dict[str, Any]:
    """The parameters of a model file.

    :param loads: the Loads of n runs
    :param y: float[n], what the runs measured, positive
    :param samples: the same runs, whose distributions tell p1
    :param stations: 1, or 2 where the runs tell them apart
    :param alpha: the p-value above which a term is removed
    """
    judged = hits.judged(hits.times(samples))
    shares = hits.shares(hits.found(judged))
    return calibrated(loads, y, None, stations, alpha, shares,
                      hits.media(judged, shares))


def calibrated(loads: Sequence[Load], y: Floats,
               gib: Floats | None = None, stations: float = 2,
               alpha: float = 0.05,
               shares: Mapping[str, cases.Share] = types.MappingProxyType({}),
               media: Mapping[int, float] = types.MappingProxyType({})
               ) -> dict[str, Any]:
    """The same from runs on file sets of several sizes (Eq. 2 and 3).

    Eq. 3 is Eq. 2 without terms that the fit may remove. The model
    describes a file set of the largest size. A class has the cases s1 (the
    cache holds the file set: Eq. 1) and s2 where Schwarz's criterion is the
    less for them, one more for the size at which they part. So it has by the
    number of clients: see :func:`best_step`.

    :param gib: float[n], the file set of each run, None where all are alike
    :param shares: class → the share of its requests that need the media,
        where it is known
    :param media: run → the share of its time at the media, where its two
        modes are those of a cache and of media
    """
    def best(shares: Mapping[str, cases.Share]) -> _Fit:
        blind, apart = (_best(loads, y, gib, stations, alpha, shares, its)
                        for its in ({}, media if stations > 1 else {}))
        return apart if blind.squares >= _CLEAR * apart.squares else blind
    found = best(shares)
    spread = {label: its.spread for label, its in shares.items()}
    if spread != shares and any(load.count > 1 for load in loads):
        other = best(spread)
        if other.squares < found.squares:
            found, shares = other, spread
    return _parameters(_stepped(found, alpha, shares), gib, shares)


def _best(loads: Sequence[Load], y: Floats, gib: Floats | None,
          stations: float, alpha: float, shares: Mapping[str, cases.Share],
          media: Mapping[int, float]) -> _Fit:
    found = _networks(search.data(loads, y, gib, {}, shares, media), {},
                      stations, alpha)
    if gib is not None and (cached := _cached_gib(loads, y, gib)):
        data = search.data(loads, y, gib, cached, shares, media)
        found += [each for each in _networks(data, cached, stations, alpha)
                  if each.cases == search.by_size(data.labels)]
    return min(found, key=lambda each: each.criterion)


def _networks(data: search.Data, cached: Mapping[str, float],
              stations: float, alpha: float) -> list[_Fit]:
    """Fits of one station and, where the runs are enough, of two.

    Where the times of visits to the media are known there are two.
    """
    if data.media:
        return [_Fit(*_told_apart(data, search.two, alpha), cached)]
    found = [_Fit(*_told_apart(data, search.single, alpha), cached)]
    if stations > 1 and len(data.y) >= _RUNS_PER_TERM * 4 * len(data.labels):
        found.append(_Fit(*_told_apart(data, search.two, alpha), cached))
    return found


def _stepped(best: _Fit, alpha: float,
             shares: Mapping[str, cases.Share]) -> _Fit:
    """The fit with the work that steps up with the clients, if it does."""
    for label in dict(search.by_size(best.data.labels)):
        if label in shares and (shares[label].clients is not None
                                or shares[label].volumes is not None):
            continue
        step = best_step(best.data, best.theta, label)
        if step is not None:
            new = _Fit(step.data, search.pruned(step.data, step.theta, alpha),
                       best.cached, {**best.few, label: step.clients})
            if new.squares < _CLEAR * best.squares and (
                    new.criterion < best.criterion - _STRONG):
                best = new
    return best


def _cached_gib(loads: Sequence[Load], y: Floats,
                gib: Floats) -> dict[str, float]:
    """Class → the largest file set that the cache holds, where one shows.

    By a single station, class after class: a time that steps up between two
    sizes does so whatever the stations are. Two sizes tell no step from a
    slope.
    """
    def criterion(cached: Mapping[str, float]) -> float:
        data = search.data(loads, y, gib, cached, {})
        return _Fit(data, search.single(data), cached).criterion
    sizes = np.unique(gib).tolist()
    if len(sizes) < _LEAST_SIZES:
        return {}
    found: dict[str, float] = {}
    data = search.data(loads, y, gib, {}, {})
    for label in dict(search.by_size(data.labels)):
        found = min([found, *({**found, label: size} for size in sizes[:-1])],
                    key=criterion)
    return found


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
        data = search.merged(data, nearest)


def _parameters(best: _Fit, gib: Floats | None,
                shares: Mapping[str, cases.Share]) -> dict[str, Any]:
    stations = _stations(best)
    media = stations[queueing.STATIONS[1]]
    its = {label: share.stepped(best.few[label]) if label in best.few
           else share for label, share in shares.items() if label in media}
    for label, share in its.items():
        media[label] = {term: value / (
            share.p1_few if term.endswith(cases.FEW) else share.p1)
            for term, value in media[label].items()}
    classes = dict.fromkeys(label for label, *_ in best.data.labels)
    optional = {
        'cached_gib': dict(best.cached),
        'few_clients': {**best.few, **{
            label: share.clients for label, share in its.items()
            if share.clients is not None}},
        'p1_few': {label: share.p1_few for label, share in its.items()
                   if share.p1_few is not None},
        'cached_volumes': {label: share.volumes for label, share in its.items()
                           if share.volumes is not None}}
    return {'stations': {
        name: {label: short(row) for label, row in of.items()}
        for name, of in stations.items()},
            'p1': {label: its[label].p1 if label in its
                   else float(label in media) for label in classes},
            **({} if gib is None else {'file_set_gib': float(gib.max())}),
            **{name: of for name, of in optional.items() if of}}


def _stations(best: _Fit) -> dict[str, dict[str, dict[str, float]]]:
    """Station → class → term → what it is of all requests of the class."""
    data, theta = best.data, best.theta.reshape(2, 2, -1)
    found: dict[str, dict[str, dict[str, float]]] = {
        name: {} for name in queueing.STATIONS}
    for name, number in zip(queueing.STATIONS, _cache_first(data, theta)):
        for column, (label, *terms) in enumerate(data.labels):
            for term, value in zip(terms, theta[number, :, column]):
                if value:
                    found[name].setdefault(label, {})[term] = float(value)
        for label in best.few.keys() & found[name].keys():
            found[name][label] = whole(found[name][label])
    return found


def _cache_first(data: search.Data, theta: Floats) -> list[int]:
    """The stations' indices, that of the cache first.

    Times cannot tell. Media are what works on more requests at once, or
    else what is slower for one alone; a single station is the cache. Where
    visits to the media are known, the second station has them.
    """
    if data.media or data.visits is not None:
        return [0, 1]
    a, b = (np.median(data.rows @ theta[:, i].T, axis=0) for i in (0, 1))
    alone = a + b
    return sorted(range(2), key=lambda i: (
        not theta[i].any(), b[i] / alone[i] if alone[i] else 0.0, alone[i]))


@dataclasses.dataclass(frozen=True)
class Step:
    """A fit with a step.

    :param clients: the most before it
    :param data: with columns of the work of few clients (:data:`.cases.FEW`)
        and, without that, of what is added beyond them
    """

    clients: float
    data: search.Data
    theta: Floats


def best_step(data: search.Data, theta: Floats, label: str) -> Step | None:
    """The step of a class that fits best; None where runs are too few.

    The paper's cases s1 and s2 by threads, where only times show them.
    Beyond the step a request has the work of before, and more: were it less,
    a device would be better for more load.

    Each is tried by one step of Gauss and Newton from the fit without it;
    the one with the least squares is then fitted, from there and afresh.
    """
    slopes, misfit = data.slopes(theta), data.misfit(theta)
    columns = _columns(data, label)
    one = not theta.reshape(2, -1)[1].any()  # station

    def squares(clients: float) -> float:
        more = np.hstack([slopes, slopes[:, np.tile(columns, 4)] * (
            data.clients[data.runs] > clients)[:, None]])
        if one:
            more = more[:, np.concatenate([
                np.arange(slopes.shape[1]) < slopes.shape[1] // 2,
                np.arange(more.shape[1] - slopes.shape[1])
                < 2 * columns.sum()])]
        left = slopes @ theta - misfit
        wrong = more @ search.least(more, left) - left
        return float(wrong @ wrong)
    bounds = _bounds(data, columns)
    if not bounds:
        return None
    clients = min(bounds, key=squares)
    split, start = _split(data, theta, columns, clients)
    return Step(clients, split, search.single(split) if one else min(
        search.fitted(split, start, start >= 0), search.two(split),
        key=lambda each: search.schwarz(split, each)))


def whole(row: Mapping[str, float]) -> dict[str, float]:
    """The terms of more clients, and of few, of a row of :class:`Step`."""
    terms = dict.fromkeys(term.removesuffix(cases.FEW) for term in row)
    return {name: value for term in terms
            for few in [row.get(term + cases.FEW, 0.0)]
            for name, value in ((term, few + row.get(term, 0.0)),
                                (term + cases.FEW, few))}


def short(row: Mapping[str, float]) -> dict[str, float]:
    """The same without terms of few clients that say nothing new."""
    return {term: value for term, value in row.items() if not (
        term.endswith(cases.FEW)
        and value == row.get(term.removesuffix(cases.FEW)))}


def _columns(data: search.Data, label: str) -> npt.NDArray[np.bool_]:
    return np.array([of == label for of, *_ in data.labels])


def _bounds(data: search.Data, columns: npt.NDArray[np.bool_]
            ) -> list[float]:
    clients = np.sort(data.clients[data.rows[:, columns].any(axis=1)])
    some = np.unique(clients[LEAST - 1:-LEAST])
    some = some[some < (clients[-LEAST:].min() if len(clients) else 0)]
    if len(some) > _TRIED:
        some = np.unique(np.quantile(
            some, np.linspace(0, 1, _TRIED), method='inverted_cdf'))
    return some.tolist()


def _split(data: search.Data, theta: Floats,
           columns: npt.NDArray[np.bool_], clients: float
           ) -> tuple[search.Data, Floats]:
    """The data with columns beyond a step, and the fit without one in it."""
    beyond = data.clients > clients
    labels = [(label, *(term + cases.FEW for term in terms)) if its
              else (label, *terms)
              for its, (label, *terms) in zip(columns, data.labels)]
    added = [of for its, of in zip(columns, data.labels) if its]
    start = np.hstack([theta.reshape(4, -1),
                       np.zeros((4, len(added)))]).ravel()
    return dataclasses.replace(
        data, rows=np.hstack([
            data.rows, data.rows[:, columns] * beyond[:, None]]),
        labels=(*labels, *added),
        visits=None if data.visits is None else np.hstack([
            data.visits, data.visits[:, columns]])), start
