# SPDX-License-Identifier: Apache-2.0
"""Append-only files of JSON lines: one object a line, the first a header.

A line is whole when its line end is on disk. One that a crash cut short is
dropped by whoever resumes the file.
"""

from __future__ import annotations

from collections.abc import Iterable
from collections.abc import Iterator
from collections.abc import Mapping
import contextlib
import fcntl
import json
import os
from typing import Any
from typing import BinaryIO

from oslo_log import log

from serifos import errors
from serifos.facts import strict_json
from serifos.files import atomic

LOG = log.getLogger(__name__)


def parse(text: str | bytes, path: atomic.Path,
          remedy: str) -> Iterator[tuple[str, dict[str, Any]]]:
    """The place of each line, ``FILE, line N``, and its object.

    :param path: whose text it is, for errors
    :param remedy: what to do about a line that is broken, a clause
    :raises FormatError: where a line is broken or cut short
    """
    if isinstance(text, str):
        text = text.encode(errors='surrogatepass')
    *lines, cut = text.split(b'\n')
    for number, line in enumerate(lines, 1):
        where = f'{path}, line {number}'
        if not line.strip():
            continue
        try:
            doc = document(line)
        except ValueError as exc:
            raise errors.FormatError(f'{where}: {exc}; {remedy}.') from None
        yield where, doc
    if cut:
        raise errors.FormatError(
            f'{path}, line {len(lines) + 1} is cut short (a write was '
            'interrupted); run again what writes the file to resume it, or '
            'delete that line.')


def document(line: str | bytes, checks: bool = False) -> dict[str, Any]:
    """The object of a line.

    :param checks: as of :func:`.strict_json.loads`
    :raises ValueError: with a clause that says why it has none
    """
    doc = strict_json.loads(line, checks)
    if not isinstance(doc, dict):
        raise ValueError('it is not a JSON object')
    return doc


def whole(data: bytes) -> bytes:
    """What was written to the end: all but a last line cut short."""
    return data[:data.rfind(b'\n') + 1]


def begun(path: atomic.Path, work: str) -> bool:
    """Whether there is a file with a line; one cut short is dropped.

    :param work: what it is a journal of, such as a build
    :raises InputError: where another command writes to it, or it cannot be
        written
    """
    if not os.path.exists(path):
        return False
    with atomic.open_text(path, 'journal') as file:
        data = file.buffer.read()
    if data.endswith(b'\n'):
        return True
    with _locked(path, work) as file:
        return _has_lines(file)


def begin(path: atomic.Path, header: Mapping[str, Any]) -> None:
    """A new file, of only a header.

    :raises InputError: where it cannot be written
    """
    write(path, [header])


def write(path: atomic.Path, docs: Iterable[Mapping[str, Any]]) -> None:
    """A new file of these lines, whole or not at all.

    :raises InputError: where it cannot be written
    """
    atomic.replace(path, ''.join(map(_line, docs)))


def append(path: atomic.Path, doc: Mapping[str, Any]) -> None:
    """One line, on disk before this returns.

    :raises InputError: where it cannot be written
    """
    try:
        with open(path, 'a', encoding='utf-8') as file:
            file.write(_line(doc))
            file.flush()
            os.fsync(file.fileno())
    except OSError as exc:
        raise errors.InputError(
            f'{path} cannot be written ({exc.strerror}); make room, and the '
            'same command resumes.') from None


@contextlib.contextmanager
def resumed(path: atomic.Path, header: Mapping[str, Any],
            work: str) -> Iterator[None]:
    """A file to append to, begun where it is not, with no other writer.

    :param header: the first line of a new file
    :param work: what it is a journal of, such as a build
    :raises InputError: where another command writes to it, or it cannot be
        written
    """
    if not os.path.exists(path):
        begin(path, header)
    with _locked(path, work) as file:
        if not _has_lines(file):
            append(path, header)
        yield


@contextlib.contextmanager
def _locked(path: atomic.Path, work: str) -> Iterator[BinaryIO]:
    atomic.open_text(path, 'journal').close()  # only a regular file
    try:
        file = open(path, 'r+b')
    except OSError as exc:
        raise errors.InputError(
            f'{path} cannot be written: {exc.strerror}.') from None
    with file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            raise errors.InputError(
                f'Another {work} writes to {path}; wait for its end, or give '
                'another file.') from None
        yield file


def _has_lines(file: BinaryIO) -> bool:
    """Whether any line is whole; a last one cut short is dropped."""
    data = file.read()
    size = len(whole(data))
    if size < len(data):
        file.truncate(size)
        os.fsync(file.fileno())
        LOG.warning('The last line of %s was cut short and is dropped; what '
                    'it told of is done again.', file.name)
    return size > 0


def _line(doc: Mapping[str, Any]) -> str:
    return json.dumps(doc, allow_nan=False) + '\n'
