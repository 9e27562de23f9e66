# SPDX-License-Identifier: Apache-2.0
"""What the times of two stations are fitted to: columns by class and case."""

from __future__ import annotations

from collections.abc import Iterable
from collections.abc import Mapping
from collections.abc import Sequence
import dataclasses
import types
from typing import Any

import numpy as np
import numpy.typing as npt

from serifos.facts.workload import Load
from serifos.model.queueing import cases
from serifos.model.queueing import predict as queueing
from serifos.model.queueing import search

Floats = npt.NDArray[np.float64]


def data(loads: Sequence[Load], y: Floats, gib: Floats | None,
         cached: Mapping[str, float],
         shares: Mapping[str, cases.Share],
         media: Mapping[int, float] = types.MappingProxyType({})
         ) -> search.Data:
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
    return search.Data(clients, y, np.column_stack(rows), tuple(labels),
                       _visits(clients, [label for label, *_ in labels],
                               shares, load.count), media)


def merged(data: search.Data, nearest: Mapping[str, str]) -> search.Data:
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
