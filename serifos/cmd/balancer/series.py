# SPDX-License-Identifier: Apache-2.0
"""What one volume did, slot by slot, as a table and as JSON."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from serifos.facts.history import Series
from serifos.facts import times
from serifos.report import table

ACTIVITIES = ('read_iops', 'write_iops', 'read_kib_s', 'write_kib_s',
              'latency_us', 'outstanding')
"""Of :class:`.facts.history.Series`, in the order in which they are shown."""

_HEADER = ('slot', 'seen', 'reads/s', 'writes/s', 'KiB read/s',
           'KiB written/s', 'ms', 'outstanding')


def documents(series: Series) -> list[dict[str, Any]]:
    """A document for each slot of the only volume; unknown is None."""
    columns = {name: getattr(series, name)[:, 0] for name in ACTIVITIES}
    return [{'at': times.text(begin), 'seconds': round(float(seen), 3),
             **{name: _number(column[slot])
                for name, column in columns.items()}}
            for slot, (begin, seen) in enumerate(zip(
                series.begins, series.seconds[:, 0]))]


def text(series: Series) -> str:
    """A table with a line a slot; of a run of unseen ones the first."""
    return table.as_text(table.Table(
        _HEADER, list(_rows(series)),
        f'{series.volumes[0]}, slots of {series.step_s} s'))


def _rows(series: Series) -> Iterator[tuple[object, ...]]:
    unseen = False
    for doc in documents(series):
        at, seconds, *figures = doc.values()
        if unseen and not seconds:
            continue
        unseen = not seconds
        yield at, table.percent(min(seconds / series.step_s, 1), '.0f'), *(
            value / 1e3 if name == 'latency_us' and value is not None
            else value for name, value in zip(ACTIVITIES, figures))


def _number(value: np.float32) -> float | None:
    return None if np.isnan(value) else round(float(value), 3)
