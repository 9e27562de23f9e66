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

from serifos import errors
from serifos.facts import times
from serifos.files import atomic
from serifos.files import history_csv
from serifos.lab.backtest.grid import Grid
from serifos.lab.backtest.grid import Wrong
from serifos.lab.backtest.rates import Rates

_NEEDED, _SIZE = history_csv.COLUMNS, history_csv.SIZE
_RATES = _NEEDED[3:]

_MOST_BYTES = 2 ** 36
_MOST_NUMBER = 1e12
_LONGEST_S = 86400.0
_LONG_FIELD = 4096


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
    grid, had = Grid(), {}
    reader = csv.reader(lines)
    number = 1
    try:
        place = _columns(next(reader, []))
        for row in reader:
            number = reader.line_num
            if row:
                _take(row, place, grid, had)
        grid.flush()
    except (Wrong, csv.Error) as exc:
        at = getattr(exc, 'line', None) or number
        raise errors.FormatError(
            f'Line {at} of the history {name} cannot be used: '
            f'{errors.one_line(str(exc))}.') from None
    if not grid.volumes:
        raise errors.FormatError(f'The history {name} has no lines.')
    return History(grid.series(), had)


def _columns(header: Sequence[str]) -> dict[str, int]:
    names = [name.strip().lower().lstrip('\ufeff') for name in header]
    missing = [name for name in _NEEDED if name not in names]
    if missing:
        raise Wrong(f'the header has no column {" and no ".join(missing)}')
    return {name: names.index(name) for name in (*_NEEDED, _SIZE)
            if name in names}


def _take(row: Sequence[str], place: Mapping[str, int], grid: Grid,
          had: dict[str, float]) -> None:
    if len(row) <= max(place[name] for name in _NEEDED):
        raise Wrong(f'it has {len(row)} fields, fewer than the header')
    volume = row[place['volume']].strip()
    if not volume or len(volume) > _LONG_FIELD:
        raise Wrong('its volume has no name')
    seconds = _number(row, place, 'seconds')
    if not 1 <= seconds <= _LONGEST_S:
        raise Wrong(f'its seconds are {seconds:g}; give 1 to '
                    f'{_LONGEST_S:g}')
    grid.add(volume, _begin(row[place['begin']]), seconds,
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
        raise Wrong(f'its {name} {text[:40]!r} is no number from 0')
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
        raise Wrong(f'its begin {text[:40]!r} is neither seconds of the '
                    'epoch nor an ISO 8601 time')
    return value


def lines(series: Rates,
          size_gib: Mapping[str, float]) -> Iterator[str]:
    """The lines of a file with a history, slot by slot."""
    yield history_csv.header()
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


def write(path: str | os.PathLike[str], series: Rates,
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
