# SPDX-License-Identifier: Apache-2.0
"""Histories as CSV: what volumes asked for, slot by slot.

The columns are ``volume,begin,seconds,read_iops,write_iops,read_mib_s,
write_mib_s``, in any order, and ``size_gib`` where it is known. ``begin`` is
in seconds of the epoch or ISO 8601; lines may come in any order. A name that
ends in ``.gz`` is compressed. The file is read line by line; what is kept is
four bytes a column, volume and slot.
"""

from __future__ import annotations

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

from serifos import errors
from serifos.facts import series as sr
from serifos.facts import times
from serifos.files import atomic

_NEEDED = ('volume', 'begin', 'seconds', 'read_iops', 'write_iops',
           'read_mib_s', 'write_mib_s')
_SIZE = 'size_gib'
_RATES = _NEEDED[3:]

MOST_CELLS = 250_000_000
"""Volumes times slots of a history, at most: 5 GB."""

_MOST_BYTES = 2 ** 36
_MOST_NUMBER = 1e12
_OFF_GRID = 0.1  # of a slot, that a begin may be away from it
_LONGEST_S = 86400.0
_LONG_FIELD = 4096


@dataclasses.dataclass(frozen=True, eq=False)
class History:
    """What volumes asked for.

    :param series: without outstanding I/Os, which are a device's answer
    :param size_gib: volume → its greatest size; without those that have none
    """

    series: sr.Series
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
    grid, sizes = _Grid(), {}
    reader = csv.reader(lines)
    number = 1
    try:
        place = _columns(next(reader, []))
        for row in reader:
            number = reader.line_num
            if row:
                _take(row, place, grid, sizes)
        grid.flush()
    except (_Wrong, csv.Error) as exc:
        at = getattr(exc, 'line', None) or number
        raise errors.FormatError(
            f'Line {at} of the history {name} cannot be used: '
            f'{errors.one_line(str(exc))}.') from None
    if not grid.volumes:
        raise errors.FormatError(f'The history {name} has no lines.')
    return History(grid.series(), sizes)


class _Wrong(Exception):
    """What is wrong with a line, a clause.

    :ivar line: its number where it is not the last one read
    """

    def __init__(self, clause: str, line: int | None = None) -> None:
        super().__init__(clause)
        self.line = line


def _columns(header: Sequence[str]) -> dict[str, int]:
    names = [name.strip().lower().lstrip('\ufeff') for name in header]
    missing = [name for name in _NEEDED if name not in names]
    if missing:
        raise _Wrong(f'the header has no column {" and no ".join(missing)}')
    return {name: names.index(name) for name in (*_NEEDED, _SIZE)
            if name in names}


def _take(row: Sequence[str], place: Mapping[str, int], grid: _Grid,
          sizes: dict[str, float]) -> None:
    if len(row) <= max(place[name] for name in _NEEDED):
        raise _Wrong(f'it has {len(row)} fields, fewer than the header')
    volume = row[place['volume']].strip()
    if not volume or len(volume) > _LONG_FIELD:
        raise _Wrong('its volume has no name')
    seconds = _number(row, place, 'seconds')
    if not 1 <= seconds <= _LONGEST_S:
        raise _Wrong(f'its seconds are {seconds:g}; give 1 to '
                     f'{_LONGEST_S:g}')
    grid.add(volume, _begin(row[place['begin']]), seconds,
             [_number(row, place, name) for name in _RATES])
    if place.get(_SIZE, len(row)) < len(row) and row[place[_SIZE]].strip():
        sizes[volume] = max(sizes.get(volume, 0.0),
                            _number(row, place, _SIZE))


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


class _Grid:
    """Values by volume and slot, which grow as lines come."""

    def __init__(self) -> None:
        self.volumes: dict[str, int] = {}
        self._step = 0.0
        self._begin = 0.0
        self._slots = (0, 0)  # the first, and the one after the last
        self._values = np.empty((0, 0, 4), np.float32)
        self._first = 0  # the slot of the first column
        self._lines: list[tuple[int, int, int, float, float, float, float]]
        self._lines = []
        self._read = 1

    def add(self, volume: str, begin: float, seconds: float,
            rates: Sequence[float]) -> None:
        self._read += 1
        if not self._step:
            self._step, self._begin = seconds, begin
        if seconds != self._step:
            raise _Wrong(f'it lasts {seconds:g} s, others {self._step:g} s; '
                         'all lines must be of slots of one length')
        at = (begin - self._begin) / self._step
        slot = round(at)
        if abs(at - slot) > _OFF_GRID:
            raise _Wrong(f'it begins between two slots of {self._step:g} s '
                         f'counted from {times.text(self._begin)}')
        if volume not in self.volumes:
            self.volumes[volume] = len(self.volumes)
        low, high = self._slots
        self._slots = min(low, slot), max(high, slot + 1)
        cells = (self._slots[1] - self._slots[0]) * len(self.volumes)
        if cells > MOST_CELLS:
            raise _Wrong(f'{len(self.volumes):,} volumes from the first to '
                         f'the last slot are more than {MOST_CELLS:,} '
                         'values; shorten it')
        self._lines.append((self.volumes[volume], slot, self._read, *rates))
        if len(self._lines) >= 65536:
            self.flush()

    def flush(self) -> None:
        """Puts the lines that wait into the array."""
        if not self._lines:
            return
        self._grow()
        lines = np.array(self._lines)
        who, slot, at = lines[:, :3].astype(np.intp).T
        slot -= self._first
        flat = who * self._values.shape[1] + slot
        values = self._values.reshape(-1, 4)
        order = np.argsort(flat, kind='stable')
        twice = order[1:][np.diff(flat[order]) == 0]
        again = np.flatnonzero(~np.isnan(values[flat, 0]))
        if len(twice) or len(again):
            raise _Wrong('its volume has this slot twice', int(
                at[np.concatenate([twice, again])].min()))
        values[flat] = lines[:, 3:]
        self._lines.clear()

    def _grow(self) -> None:
        volumes, slots = self._values.shape[:2]
        low, high = self._slots
        if (len(self.volumes) <= volumes and low >= self._first
                and high <= self._first + slots):
            return
        # A quarter more, so that copies stay few.
        first = min(low, self._first) if slots else low
        if low < self._first:
            first -= (high - low) // 4
        more = max(slots, high - first)
        more += more // 4 if more > slots > 0 else 0
        rows = len(self.volumes)
        rows = rows if rows <= volumes else rows + rows // 4
        grown = np.full((max(rows, volumes), more, 4), np.nan, np.float32)
        shift = self._first - first
        grown[:volumes, shift:shift + slots] = self._values[
            :, :more - shift]
        self._values, self._first = grown, first

    def series(self) -> sr.Series:
        low, high = (slot - self._first for slot in self._slots)
        seen = self._values[:len(self.volumes), low:high]
        values = np.empty((*seen.shape[:2], len(sr.COLUMNS)), np.float32)
        values[..., :2] = seen[..., :2]
        values[..., 2] = 1024 * (seen[..., 2] + seen[..., 3])
        # Where requests went is not in the file: at random, the usual case.
        values[..., 3] = seen[..., 0] + seen[..., 1]
        values[..., 4] = np.nan
        return sr.Series(self._begin + self._slots[0] * self._step,
                         self._step, tuple(self.volumes), values)


def lines(series: sr.Series,
          size_gib: Mapping[str, float]) -> Iterator[str]:
    """The lines of a file with a history, slot by slot."""
    yield ','.join((*_NEEDED, _SIZE)) + '\n'
    for slot in range(series.slots):
        begin = f'{series.begin + slot * series.step_s:.0f}'
        for volume, (reads, writes, kib, *_) in zip(
                series.volumes, series.values[:, slot].tolist()):
            if reads != reads:
                continue
            mib = kib / 1024 / max(reads + writes, 1e-12)
            size = size_gib.get(volume)
            yield (f'{volume},{begin},{series.step_s:g},{reads:.4g},'
                   f'{writes:.4g},{reads * mib:.4g},{writes * mib:.4g},'
                   f'{"" if size is None else f"{size:g}"}\n')


def write(path: str | os.PathLike[str], series: sr.Series,
          size_gib: Mapping[str, float]) -> None:
    """Writes a history to a new file, compressed where it ends in ``.gz``.

    :raises InputError: where it cannot be written
    """
    try:
        with contextlib.ExitStack() as stack:
            if str(path).endswith('.gz'):
                raw = stack.enter_context(open(path, 'wb'))
                # Without a time, so that the same week is the same file.
                file = stack.enter_context(gzip.GzipFile(
                    '', 'wb', fileobj=raw, mtime=0))
                file.writelines(line.encode()
                                for line in lines(series, size_gib))
            else:
                plain = stack.enter_context(
                    open(path, 'w', encoding='utf-8'))
                plain.writelines(lines(series, size_gib))
    except OSError as exc:
        raise errors.InputError(
            f'{path} cannot be written: {exc.strerror or exc}.') from None
