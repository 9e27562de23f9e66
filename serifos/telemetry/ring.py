# SPDX-License-Identifier: Apache-2.0
"""The latest readings of all hosts, kept on disk in two files.

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
import errno
import fcntl
import json
import math
import os
import pathlib
import stat
from typing import Any
from typing import BinaryIO

from oslo_log import log as logging

from serifos import errors
from serifos.telemetry import counters as cn
from serifos.telemetry import ring_line

LOG = logging.getLogger(__name__)

SCHEMA = 'serifos-telemetry/1'

_MODE = 0o640
_AT = b'{"at":'
_MOST_OF_FILE = 2 ** 30
"""Bytes, then a new one is begun: half an hour of 50,000 volumes."""
_MOST_BYTES = 2 ** 23
"""Of a line: 10,000 volumes are a fifth of it."""


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
        lines = ''.join(ring_line.text(host, reading)
                        for host, reading in readings.items())
        try:
            with self._locked():
                begun = self._begun()
                if begun is None or not (
                        0 <= newest - begun <= self._keep_s
                        and os.stat(self._file).st_size < _MOST_OF_FILE):
                    self._begin(newest)
                _append(self._file, lines)
        except OSError as exc:
            raise errors.InputError(
                f'{self._file} cannot be written: '
                f'{_why(self._file, exc)}.') from None

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
        handle = _open(self._file.with_suffix('.lock'),
                       os.O_RDWR | os.O_CREAT)
        try:
            fcntl.flock(handle, fcntl.LOCK_EX)
            yield
        finally:
            os.close(handle)


def _open(path: pathlib.Path, flags: int) -> int:
    """A regular file, by no link; the owner of its directory is its own.

    So what root makes does not lock out the user of the daemon.
    """
    handle = os.open(path, flags | os.O_CLOEXEC | os.O_NOFOLLOW
                     | os.O_NONBLOCK | os.O_NOCTTY, _MODE)
    info = os.fstat(handle)
    if not stat.S_ISREG(info.st_mode):
        os.close(handle)
        raise OSError(errno.EINVAL, 'it is not a regular file')
    if flags & os.O_CREAT and not os.geteuid() and not info.st_size:
        home = os.stat(path.parent)
        os.fchown(handle, home.st_uid, home.st_gid)
    return handle


def _append(path: pathlib.Path, text: str) -> None:
    handle = _open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND)
    with open(handle, 'r+b', buffering=0) as file:
        end = os.fstat(handle).st_size
        cut = end and os.pread(handle, 1, end - 1) != b'\n'
        file.write((b'\n' if cut else b'')
                   + text.encode(errors='backslashreplace'))


def _readings(path: pathlib.Path,
              since: float) -> Iterator[tuple[str, cn.Reading]]:
    documents = _documents(path, since)
    next(documents, None)
    for doc in documents:
        found = ring_line.reading(doc)
        if found is not None:
            yield found


def _documents(path: pathlib.Path,
               since: float = 0.0) -> Iterator[dict[str, Any]]:
    """The header, if there is one, and then every whole line since then.

    :raises FormatError: where the header is of another version
    """
    try:
        with open(_open(path, os.O_RDONLY), 'rb') as file:
            lines = _lines(file)
            header = ring_line.document(next(lines, b''))
            if not _is_header(path, header):
                return
            yield header
            for line in lines:
                if _time_of(line) < since:
                    continue
                doc = ring_line.document(line)
                if doc is None:
                    LOG.debug('A line of %s is cut short', path)
                else:
                    yield doc
    except FileNotFoundError:
        return
    except OSError as exc:
        raise errors.InputError(
            f'{path} cannot be read: {_why(path, exc)}.') from None


def _lines(file: BinaryIO) -> Iterator[bytes]:
    """The lines, each cut to the length that ours have at most."""
    while line := file.readline(_MOST_BYTES):
        yield line
        while line and not line.endswith(b'\n'):
            line = file.readline(_MOST_BYTES)


def _is_header(path: pathlib.Path, doc: dict[str, Any] | None) -> bool:
    if doc is None or 'schema' not in doc:
        return False
    if doc['schema'] != SCHEMA:
        raise errors.FormatError(
            f'{path} is of schema {doc["schema"]}; this serifos reads '
            f'{SCHEMA}. Remove the file: its readings are short-lived.')
    return cn.is_time(doc.get('begun'))


def _time_of(line: bytes) -> float:
    """The time that a line begins with, without parsing all of it."""
    try:
        return float(line[:40].removeprefix(_AT).partition(b',')[0])
    except ValueError:
        return math.inf


def _why(path: pathlib.Path, exc: OSError) -> str:
    """The cause of an error, and the remedy where it is known."""
    if exc.errno == errno.ELOOP:
        return 'it is a symbolic link; remove it'
    if exc.errno in (errno.EACCES, errno.EPERM):
        with contextlib.suppress(OSError):
            return (f'{exc.strerror}; it belongs to user '
                    f'{os.stat(path).st_uid} and we are {os.geteuid()}, let '
                    'its owner be the user of serifos-balancer (chown)')
    return exc.strerror or str(exc)
