# SPDX-License-Identifier: Apache-2.0
"""The last readings, on disk, for whoever asks for a window of them.

Two files of JSON lines: ``telemetry.jsonl`` grows until its first reading
is older than what is to be kept, then it is renamed to
``telemetry.old.jsonl`` in that one's place. So both together hold at least
that much and at most twice as much, a rename being all there is to shrink
them. A line that a crash cut short costs that line alone.
"""

from __future__ import annotations

from collections.abc import Iterator
from collections.abc import Mapping
import contextlib
import fcntl
import json
import math
import os
import pathlib
from typing import Any

from oslo_log import log as logging

from serifos import errors
from serifos.telemetry import counters as cn

LOG = logging.getLogger(__name__)

SCHEMA = 'serifos-telemetry/1'

_MODE = 0o640
_AT = '{"at":'


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

    def append(self, readings: Mapping[str, cn.Reading]) -> None:
        """Adds a reading of each host.

        :raises InputError: where the files cannot be written, or are of a
            version that this serifos does not know
        """
        newest = max((r.at for r in readings.values()), default=0.0)
        lines = ''.join(_line(host, r) for host, r in readings.items())
        try:
            with self._locked():
                begun = self._begun()
                if begun is None or not (
                        0 <= newest - begun <= self._keep_s):
                    self._begin(newest)
                _append(self._file, lines)
        except OSError as exc:
            raise errors.InputError(
                f'{self._file} cannot be written: {exc.strerror}.') from None

    def read(self, since: float = 0.0) -> dict[str, list[cn.Reading]]:
        """Host → its readings since then, oldest first.

        :param since: seconds of the epoch
        :raises InputError: where a file cannot be read
        """
        hosts: dict[str, list[cn.Reading]] = {}
        for path in (self._old, self._file):
            for host, reading in _readings(path, since):
                hosts.setdefault(host, []).append(reading)
        return {host: sorted(found, key=lambda reading: reading.at)
                for host, found in hosts.items()}

    def _begun(self) -> float | None:
        """The time of the first reading, or None without a usable file."""
        first = next(_documents(self._file), None)
        return first['begun'] if first else None

    def _begin(self, at: float) -> None:
        with contextlib.suppress(FileNotFoundError):
            os.replace(self._file, self._old)
        _append(self._file, json.dumps(
            {'schema': SCHEMA, 'begun': at}) + '\n')

    @contextlib.contextmanager
    def _locked(self) -> Iterator[None]:
        """One writer at a time; a daemon and a command may meet here."""
        handle = os.open(self._file.with_suffix('.lock'),
                         os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, _MODE)
        try:
            fcntl.flock(handle, fcntl.LOCK_EX)
            yield
        finally:
            os.close(handle)


def _append(path: pathlib.Path, text: str) -> None:
    handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND
                     | os.O_CLOEXEC, _MODE)
    with open(handle, 'r+b', buffering=0) as file:
        end = os.fstat(handle).st_size
        cut = end and os.pread(handle, 1, end - 1) != b'\n'
        file.write((b'\n' if cut else b'') + text.encode())


def _readings(path: pathlib.Path,
              since: float) -> Iterator[tuple[str, cn.Reading]]:
    documents = _documents(path, since)
    next(documents, None)
    for doc in documents:
        with contextlib.suppress(KeyError, TypeError, ValueError,
                                 AttributeError):
            yield doc['host'], _reading(doc)


def _documents(path: pathlib.Path,
               since: float = 0.0) -> Iterator[dict[str, Any]]:
    """The header, if there is one, and then every whole line since then.

    :raises FormatError: where the header is of another version
    """
    try:
        with open(path, encoding='utf-8', errors='replace') as file:
            header = _parse(file.readline())
            if not _is_header(path, header):
                return
            yield header
            for line in file:
                if _time_of(line) < since:
                    continue
                doc = _parse(line)
                if doc is None:
                    LOG.debug('A line of %s is cut short', path)
                else:
                    yield doc
    except FileNotFoundError:
        return
    except OSError as exc:
        raise errors.InputError(
            f'{path} cannot be read: {exc.strerror}.') from None


def _is_header(path: pathlib.Path, doc: dict[str, Any] | None) -> bool:
    if doc is None or 'schema' not in doc:
        return False
    if doc['schema'] != SCHEMA:
        raise errors.FormatError(
            f'{path} is of schema {doc["schema"]}; this serifos reads '
            f'{SCHEMA}. Remove the file: its readings are short-lived.')
    return _is_time(doc.get('begun'))


def _time_of(line: str) -> float:
    """What a line of ours begins with; to parse all of it takes longer."""
    try:
        return float(line.removeprefix(_AT).partition(',')[0])
    except ValueError:
        return math.inf


def _parse(line: str) -> dict[str, Any] | None:
    try:
        doc = json.loads(line)
    except ValueError:
        return None
    return doc if isinstance(doc, dict) else None


def _line(host: str, reading: cn.Reading) -> str:
    doc: dict[str, Any] = {'at': round(reading.at, 3), 'host': host}
    if reading.volumes:
        doc['volumes'] = {lv: c.values for lv, c in reading.volumes.items()}
    if reading.faults:
        doc['faults'] = dict(reading.faults)
    if reading.started is not None:
        doc['started'] = reading.started
    if reading.clock is not None:
        doc['clock'] = reading.clock
    if reading.fault is not None:
        doc['fault'] = reading.fault
    return json.dumps(doc, separators=(',', ':'), allow_nan=False) + '\n'


def _reading(doc: Mapping[str, Any]) -> cn.Reading:
    """:raises ValueError: or its like, where a line is not what we wrote"""
    volumes = {lv_id: cn.Counters(*values)
               for lv_id, values in doc.get('volumes', {}).items()}
    if not (_is_time(doc['at'])
            and all(c.are_sane for c in volumes.values())):
        raise ValueError(doc)
    return cn.Reading(doc['at'], volumes, dict(doc.get('faults', {})),
                      doc.get('started'), doc.get('fault'),
                      doc.get('clock'))


def _is_time(value: object) -> bool:
    return isinstance(value, (int, float)) and math.isfinite(value)
