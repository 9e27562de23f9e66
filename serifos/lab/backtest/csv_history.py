# SPDX-License-Identifier: Apache-2.0
"""Histories as CSV: what volumes asked for, slot by slot.

The columns are ``volume,begin,seconds,read_iops,write_iops,read_mib_s,
write_mib_s``, in any order, and ``size_gib`` where it is known. ``begin`` is
in seconds of the epoch or ISO 8601; lines may come in any order. A name that
ends in ``.gz`` is compressed. The file is read line by line; what is kept is
four bytes a column, volume and slot.
"""

from __future__ import annotations

import array
from collections.abc import Iterable
from collections.abc import Iterator
from collections.abc import Mapping
from collections.abc import Sequence
import contextlib
import csv
import dataclasses
import gzip
import math
import os
from typing import TextIO
import zlib

import numpy as np
import numpy.typing as npt

from serifos import errors
from serifos.facts import times
from serifos.files import atomic
from serifos.files import history_csv
from serifos.lab.backtest.rates import COLUMNS
from serifos.lab.backtest.rates import Rates

_NEEDED, _SIZE = history_csv.COLUMNS, history_csv.SIZE
_RATES = _NEEDED[3:]

_MOST_BYTES = 2 ** 36
_MOST_NUMBER = 1e12
_LONGEST_S = 86400.0
_LONG_FIELD = 4096
_OFF_GRID = 0.1  # of a slot, that a begin may be away from it

MOST_CELLS = 250_000_000
"""Volumes times slots of a history, at most: 12 GB while it is read."""

FEW_CELLS = 5_000_000
"""Of which any may be empty: 0.1 GB."""

_EMPTY = 300  # of more, for each line


@dataclasses.dataclass(frozen=True, eq=False)
class History:
    """What volumes asked for.

    :param series: without outstanding I/Os, which are a device's answer
    :param size_gib: volume → its greatest size; without those that have none
    """

    series: Rates
    size_gib: Mapping[str, float]


def read(path: str | os.PathLike[str]) -> History:
    """A history; its slots are as long as its first line says.

    :raises InputError: where the file cannot be read
    :raises FormatError: where a line is wrong, which it names
    """
    with _opened(path) as file:
        try:
            return parsed(file, str(path))
        except UnicodeDecodeError:
            raise errors.FormatError(
                f'{path} is not UTF-8 text, so it is no history.') from None
        except (OSError, EOFError, zlib.error) as exc:
            raise errors.FormatError(
                f'The history {path} cannot be read to its end: '
                f'{errors.one_line(str(exc))}.') from None


@contextlib.contextmanager
def _opened(path: str | os.PathLike[str]) -> Iterator[TextIO]:
    with atomic.open_text(path, 'history', _MOST_BYTES) as plain:
        if not str(path).endswith('.gz'):
            yield plain
            return
        with gzip.open(plain.buffer, 'rt', encoding='utf-8',
                       newline='') as file:
            yield file


def parsed(lines: Iterable[str], name: str) -> History:
    """A history from its lines.

    :param name: of the file, for sentences
    :raises FormatError: where a line is wrong
    """
    found, had = _Lines(), {}
    reader = csv.reader(lines)
    number = 1
    try:
        place = _columns(next(reader, []))
        for row in reader:
            number = reader.line_num
            if row:
                _take(row, number, place, found, had)
        if not found.volumes:
            raise errors.FormatError(f'The history {name} has no lines.')
        return History(found.series(), had)
    except (_Wrong, csv.Error) as exc:
        at = getattr(exc, 'line', None) or number
        raise errors.FormatError(
            f'Line {at} of the history {name} cannot be used: '
            f'{errors.one_line(str(exc))}.') from None


def _columns(header: Sequence[str]) -> dict[str, int]:
    names = [name.strip().lower().lstrip('\ufeff') for name in header]
    missing = [name for name in _NEEDED if name not in names]
    if missing:
        raise _Wrong(f'the header has no column {" and no ".join(missing)}')
    return {name: names.index(name) for name in (*_NEEDED, _SIZE)
            if name in names}


def _take(row: Sequence[str], number: int, place: Mapping[str, int],
          found: _Lines, had: dict[str, float]) -> None:
    if len(row) <= max(place[name] for name in _NEEDED):
        raise _Wrong(f'it has {len(row)} fields, fewer than the header')
    volume = row[place['volume']].strip()
    if not volume or len(volume) > _LONG_FIELD:
        raise _Wrong('its volume has no name')
    seconds = _number(row, place, 'seconds')
    if not 1 <= seconds <= _LONGEST_S:
        raise _Wrong(f'its seconds are {seconds:g}; give 1 to '
                     f'{_LONGEST_S:g}')
    found.add(number, volume, _begin(row[place['begin']]), seconds,
              [_number(row, place, name) for name in _RATES])
    if place.get(_SIZE, len(row)) < len(row) and row[place[_SIZE]].strip():
        had[volume] = max(_number(row, place, _SIZE), had.get(volume, 0.0))


def _number(row: Sequence[str], place: Mapping[str, int],
            name: str) -> float:
    text = row[place[name]]
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not 0 <= value <= _MOST_NUMBER:
        raise _Wrong(f'its {name} {text[:40]!r} is no number from 0')
    return value


def _begin(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        try:
            return times.parse(text.strip())
        except ValueError:
            value = math.nan
    if not abs(value) <= _MOST_NUMBER:
        raise _Wrong(f'its begin {text[:40]!r} is neither seconds of the '
                     'epoch nor an ISO 8601 time')
    return value


class _Wrong(Exception):
    """What is wrong with a line, a clause.

    :ivar line: its number where it is not the last one read
    """

    def __init__(self, clause: str, line: int | None = None) -> None:
        super().__init__(clause)
        self.line = line


class _Lines:
    """The lines of a history, in columns until all of them are read."""

    def __init__(self) -> None:
        self.volumes: dict[str, int] = {}
        self._step_s = self._begin = 0.0
        self._first = self._end = 0  # slots
        self._number, self._who, self._slot, self._rates = map(
            array.array, 'Iiif')

    def add(self, number: int, volume: str, begin: float, seconds: float,
            rates: Sequence[float]) -> None:
        """Adds a line.

        :param number: of the line
        :param rates: requests per second and MiB per second of reads and
            writes
        """
        if not self._step_s:
            self._step_s, self._begin = seconds, begin
        if seconds != self._step_s:
            raise _Wrong(f'it lasts {seconds:g} s, others {self._step_s:g} s; '
                         'all lines must be of slots of one length')
        at = (begin - self._begin) / self._step_s
        slot = round(at)
        if abs(at - slot) > _OFF_GRID:
            raise _Wrong(f'it begins between two slots of {self._step_s:g} s '
                         f'counted from {times.text(self._begin)}')
        who = self.volumes.setdefault(volume, len(self.volumes))
        self._first = min(self._first, slot)
        self._end = max(self._end, slot + 1)
        if self._cells > MOST_CELLS:
            raise _Wrong(f'{len(self.volumes):,} volumes from the first to '
                         f'the last slot are more than {MOST_CELLS:,} '
                         'values; shorten it')
        self._number.append(number)
        self._who.append(who)
        self._slot.append(slot)
        self._rates.extend(rates)

    def series(self) -> Rates:
        self._refuse_empty()
        slots = self._end - self._first
        cell = np.array(self._who, np.int64) * slots + np.array(
            self._slot) - self._first
        self._refuse_twice(cell)
        values = np.full((self._cells, len(COLUMNS)), np.nan, np.float32)
        reads, writes, *mib = np.array(self._rates).reshape(-1, 4).T
        # Where requests went is not in the file: at random, the usual case.
        values[cell, :4] = np.column_stack(
            [reads, writes, 1024 * sum(mib), reads + writes])
        return Rates(self._begin + self._first * self._step_s, self._step_s,
                     tuple(self.volumes), values.reshape(
                         len(self.volumes), slots, len(COLUMNS)))

    @property
    def _cells(self) -> int:
        return (self._end - self._first) * len(self.volumes)

    def _refuse_empty(self) -> None:
        """Refuses a begin that is wrong by years, before memory is taken."""
        lines = len(self._number)
        if self._cells > FEW_CELLS + _EMPTY * lines:
            since, until = (times.text(self._begin + slot * self._step_s)
                            for slot in (self._first, self._end))
            raise _Wrong(f'{lines:,} lines are too few for '
                         f'{len(self.volumes):,} volumes from {since} to '
                         f'{until} in slots of {self._step_s:g} s; correct '
                         'their begins')

    def _refuse_twice(self, cell: npt.NDArray[np.int64]) -> None:
        order = np.argsort(cell, kind='stable')
        twice = order[1:][np.diff(cell[order]) == 0]
        if len(twice):
            raise _Wrong('its volume has this slot twice',
                         self._number[int(twice.min())])
