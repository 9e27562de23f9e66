# SPDX-License-Identifier: Apache-2.0
"""Activity of volumes as CSV for ``serifos-sim backtest``."""

from __future__ import annotations

from collections.abc import Iterator
from collections.abc import Mapping
import gzip
import os

from serifos.facts.history import Series
from serifos.files import atomic

COLUMNS = ('volume', 'begin', 'seconds', 'read_iops', 'write_iops',
           'read_mib_s', 'write_mib_s')
"""Each volume and slot; ``begin`` in seconds of the epoch."""

SIZE = 'size_gib'


def header() -> str:
    return ','.join((*COLUMNS, SIZE)) + '\n'


def lines(series: Series,
          size_gib: Mapping[str, float]) -> Iterator[str]:
    """A line for each volume and slot of which anything was seen.

    Of a slot that was seen in part, the rates of that part.
    """
    rates = [(figure / by).T for figure, by in (
        (series.read_iops, 1), (series.write_iops, 1),
        (series.read_kib_s, 1024), (series.write_kib_s, 1024))]
    for at, volume in enumerate(series.volumes):
        size = size_gib.get(volume)
        end = '\n' if size is None else f'{size:g}\n'
        for begin, *its in zip(series.begins, *(
                rate[at].tolist() for rate in rates)):
            if its[0] == its[0]:
                its = ','.join(f'{value:.6g}' for value in its)
                yield f'{volume},{begin},{series.step_s},{its},{end}'


def write(path: str | os.PathLike[str], text: str) -> None:
    """Replaces a file, compressed where its name ends in ``.gz``.

    :raises InputError: where it cannot be written
    """
    atomic.replace(path, gzip.compress(text.encode()) if str(path).endswith(
        '.gz') else text)
