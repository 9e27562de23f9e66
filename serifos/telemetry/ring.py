# SPDX-License-Identifier: Apache-2.0
"""The latest readings of all hosts, kept on disk in two files.

Two files of JSON lines: ``telemetry.jsonl`` grows until its first reading
is older than what is to be kept, then it is renamed to
``telemetry.old.jsonl`` in that one's place. So both together hold at least
that much and at most twice as much, a rename being all there is to shrink
them. A line that a crash cut short costs only that line.
"""

from __future__ import annotations

from collections.abc import Collection
from collections.abc import Iterator
from collections.abc import Mapping
from collections.abc import Sequence
import contextlib
import fcntl
import itertools
import json
import math
import os
import pathlib
import re
import sys
from typing import Any

from oslo_log import log as logging

from serifos import errors
from serifos.files import jsonl
from serifos.files import owners
from serifos.telemetry import counters

LOG = logging.getLogger(__name__)

SCHEMA = 'serifos-telemetry/1'

_MOST_OF_FILE = 2 ** 30
"""Bytes, then a new one is begun: half an hour of 50,000 volumes."""
_MOST_BYTES = 2 ** 23
"""Of a line: 10,000 volumes are a fifth of it."""

_AT = b'{"at":'

_BEGINS = re.compile(rb'\{"at":[0-9.]+,"host":"([^"\\\x00-\x1f\x7f-\xff]+)"')


class Ring:
    """Readings per host.

    :param directory: where the files are, the state directory
    :param keep_s: seconds of readings to keep at least
    """

    def __init__(self, directory: str | os.PathLike[str],
                 keep_s: float) -> None:
        self._file = pathlib.Path(directory, 'telemetry.jsonl')
        self._old = pathlib.Path(directory, 'telemetry.old.jsonl')
        self._keep_s = keep_s

    def append(self, readings: Mapping[str, counters.Reading]) -> None:
        """Adds a reading of each host.

        :raises InputError: where the files cannot be written, or are of a
            version that this serifos does not know
        """
        newest = max((r.at for r in readings.values()), default=0.0)
        lines = ''.join(line_of(host, reading)
                        for host, reading in readings.items())
        try:
            with self._locked():
                begun = _begun(self._file, _lines(self._file))
                if begun is None or not (
                        0 <= newest - begun <= self._keep_s
                        and os.stat(self._file).st_size < _MOST_OF_FILE):
                    self._begin(newest)
                _append(self._file, lines)
        except OSError as exc:
            path = pathlib.Path(exc.filename or self._file)
            raise errors.InputError(
                f'{path} cannot be written: '
                f'{owners.why_not(path) or exc.strerror}.') from None

    def read(self, since: float = 0.0) -> Readings:
        """Host → its readings since then, oldest first.

        :param since: seconds of the epoch
        :raises InputError: where a file cannot be read
        """
        hosts: dict[str, list[bytes]] = {}
        for path in (self._old, self._file):
            for line in _lines_since(path, since):
                host = host_of(line)
                if host is None:
                    LOG.debug('A line of %s is not a reading', path)
                else:
                    hosts.setdefault(host, []).append(line)
        return Readings(hosts)

    def _begin(self, at: float) -> None:
        with contextlib.suppress(FileNotFoundError):
            os.replace(self._file, self._old)
        _append(self._file, json.dumps(
            {'schema': SCHEMA, 'begun': at}) + '\n')

    @contextlib.contextmanager
    def _locked(self) -> Iterator[None]:
        """One writer at a time; a daemon and a command may meet here."""
        handle = owners.open_regular(self._file.with_suffix('.lock'),
                                     os.O_RDWR | os.O_CREAT)
        try:
            fcntl.flock(handle, fcntl.LOCK_EX)
            yield
        finally:
            os.close(handle)


def _append(path: pathlib.Path, text: str) -> None:
    handle = owners.open_regular(
        path, os.O_RDWR | os.O_CREAT | os.O_APPEND)
    with open(handle, 'r+b', buffering=0) as file:
        end = os.fstat(handle).st_size
        cut = end and os.pread(handle, 1, end - 1) != b'\n'
        file.write((b'\n' if cut else b'')
                   + text.encode(errors='backslashreplace'))


class Readings(Mapping[str, list[counters.Reading]]):
    """Host → its readings, made of their lines whenever they are asked for.

    So those of one host are in memory at a time, not those of all.
    """

    def __init__(self, lines: Mapping[str, Sequence[bytes]]) -> None:
        self._lines = lines

    def __getitem__(self, host: str) -> list[counters.Reading]:
        found = (parsed(line) for line in self._lines[host])
        return sorted((reading for its, reading in filter(None, found)
                       if its == host), key=lambda reading: reading.at)

    def __contains__(self, host: object) -> bool:
        return host in self._lines

    def __iter__(self) -> Iterator[str]:
        return iter(self._lines)

    def __len__(self) -> int:
        return len(self._lines)


def _lines_since(path: pathlib.Path, since: float) -> Iterator[bytes]:
    """Every whole line since then."""
    lines = _lines(path)
    if _begun(path, lines) is None:
        return
    for line in lines:
        if time_of(line) >= since:
            yield line


def _begun(path: pathlib.Path, lines: Iterator[bytes]) -> float | None:
    """When a file was begun, by its first line; None where it is no header.

    :raises FormatError: where the header is of another version
    """
    try:
        header = jsonl.document(next(lines, b''))
    except ValueError:
        return None
    if 'schema' not in header:
        return None
    if header['schema'] != SCHEMA:
        raise errors.FormatError(
            f'{path} is of schema {header["schema"]}; this serifos reads '
            f'{SCHEMA}. Remove the file: its readings are short-lived.')
    begun = header.get('begun')
    return begun if counters.is_time(begun) else None


def _lines(path: pathlib.Path) -> Iterator[bytes]:
    """The lines, each cut to the length that ours have at most."""
    try:
        with open(owners.open_regular(path, os.O_RDONLY), 'rb') as file:
            while line := file.readline(_MOST_BYTES):
                yield line
                while line and not line.endswith(b'\n'):
                    line = file.readline(_MOST_BYTES)
    except FileNotFoundError:
        return
    except OSError as exc:
        raise errors.InputError(
            f'{path} cannot be read: '
            f'{owners.why_not(path) or exc.strerror}.') from None


def line_of(host: str, reading: counters.Reading) -> str:
    """A reading as a line; without its numbers where one is not finite."""
    doc: dict[str, Any] = {'at': round(reading.at, 3), 'host': host}
    if reading.volumes:
        doc['volumes'] = dict(reading.volumes)
    if reading.faults:
        doc['faults'] = dict(reading.faults)
    if reading.started is not None:
        doc['started'] = reading.started
    if reading.clock is not None:
        doc['clock'] = reading.clock
    if reading.fault is not None:
        doc['fault'] = reading.fault
    try:
        return json.dumps(doc, separators=(',', ':'), allow_nan=False) + '\n'
    except ValueError:
        return line_of(host, counters.Reading(
            reading.at, fault='its reading holds a number that is not finite'))


def parsed(line: bytes) -> tuple[str, counters.Reading] | None:
    """The host and its reading, None where a line is not what we wrote."""
    try:
        doc = jsonl.document(line, checks=True)
    except ValueError:
        return None
    host, volumes, faults = (doc.get(name, default) for name, default in (
        ('host', None), ('volumes', {}), ('faults', {})))
    started, clock, fault = (
        doc.get(name) for name in ('started', 'clock', 'fault'))
    if not (isinstance(host, str) and counters.is_time(doc.get('at'))
            and isinstance(volumes, dict) and isinstance(faults, dict)
            and all(isinstance(text, str) for text in faults.values())
            and (fault is None or isinstance(fault, str))
            and all(time is None or counters.is_time(time)
                    for time in (started, clock))
            and all(isinstance(values, list) and len(values) == 6
                    for values in volumes.values())
            and _are_figures([*itertools.chain.from_iterable(
                volumes.values())])):
        return None
    return host, counters.Reading(
        doc['at'], {sys.intern(lv_id): counters.Counters(*values)
                    for lv_id, values in volumes.items()},
        faults, started, fault, clock)


def _are_figures(values: Collection[object]) -> bool:
    """As :func:`.counters.is_figure`, of many that are not NaN."""
    return not values or {*map(type, values)} <= {int, float} and (
        0 <= min(values) and max(values) <= counters.MOST)  # type: ignore


def host_of(line: bytes) -> str | None:
    """The host of a line, None where it is no reading.

    A line that begins as ours do is parsed only once somebody asks for it.
    """
    said = _BEGINS.match(line)
    if said is not None and line.endswith(b'}\n'):
        return said[1].decode()
    found = parsed(line) if line.startswith(b'{') else None
    return None if found is None else found[0]


def time_of(line: bytes) -> float:
    """The time that a line begins with, without parsing all of it.

    Infinite where it begins otherwise, so that the line is parsed.
    """
    try:
        return float(line[:40].removeprefix(_AT).partition(b',')[0])
    except ValueError:
        return math.inf
