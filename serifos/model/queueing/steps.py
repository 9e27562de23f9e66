# SPDX-License-Identifier: Apache-2.0
"""Work of a class that steps up at a number of clients.

The paper's cases s1 and s2 by threads, apart at 30, where only times show
them. Beyond the step a request has the work of before, and more: were it
less, a device would be better for more load.
"""

from __future__ import annotations

from collections.abc import Mapping
import dataclasses

import numpy as np
import numpy.typing as npt

from serifos.model.queueing import cases
from serifos.model.queueing import search

Floats = npt.NDArray[np.float64]

LEAST = 6
"""Runs with requests of the class on either side of a step."""

_TRIED = 12


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


def best(data: search.Data, theta: Floats, label: str) -> Step | None:
    """The step of a class that fits best; None where runs are too few.

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
