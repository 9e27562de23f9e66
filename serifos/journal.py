# SPDX-License-Identifier: Apache-2.0
"""What was asked of Cinder, and what became of it? ``journal.jsonl``.

A line is on disk before :meth:`Journal.write` returns, so that whoever
starts after a crash knows what may be under way. The first line names the
schema; a last line that a crash cut short never happened. A journal that has
grown long is shortened to what still matters; ``journal.jsonl.1`` is then
what it was before.

The kinds, and the facts beside ``volume``: ``request`` (source, target,
plan, size_gib), ``accepted``, ``refused`` and ``unknown`` (reason),
``outcome`` (result, reason, source, target, seconds), ``back-off`` (until),
``pause`` and ``resume`` (reason), ``recover`` (result, reason).
"""

from __future__ import annotations

from collections.abc import Callable
from collections.abc import Collection
from collections.abc import Iterable
from collections.abc import Mapping
from collections.abc import Sequence
import dataclasses
import datetime
import json
import os
import pathlib
from typing import Any
from typing import BinaryIO

from oslo_log import log

from serifos import errors
from serifos import store

LOG = log.getLogger(__name__)

JOURNAL_SCHEMA = 'serifos-journal/1'

FAILED = ('error', 'denied', 'timeout', 'recovered')
"""Results of an outcome that count as failures of the cloud."""

NOTHING_DONE = ('not started', 'refused', 'denied', 'busy')
"""Results of an outcome before which Cinder did nothing."""

LONG_BYTES = 4_000_000
"""Of a file that is shortened; about 20,000 lines."""

_TWO_LINES_BYTES = 400

_HEADER = json.dumps({'schema': JOURNAL_SCHEMA})
_MODE = 0o640


@dataclasses.dataclass(frozen=True)
class Entry:
    """One line. :param at: ISO 8601, UTC"""

    at: str
    kind: str
    facts: Mapping[str, Any]

    def to_json(self) -> dict[str, Any]:
        return {'at': self.at, 'kind': self.kind, **self.facts}

    @classmethod
    def from_json(cls, doc: Mapping[str, Any]) -> Entry:
        facts = {key: value for key, value in doc.items()
                 if key not in ('at', 'kind')}
        return cls(doc['at'], doc['kind'], facts)


class Journal:
    """A journal that one process writes and any may read.

    :param clock: seconds of the epoch
    :param long_bytes: beyond which the file is shortened
    :raises InputError: where the file is not a journal of ours
    """

    def __init__(self, path: str | os.PathLike[str],
                 clock: Callable[[], float],
                 long_bytes: int = LONG_BYTES) -> None:
        self._path, self._clock = pathlib.Path(path), clock
        self._long = long_bytes
        read(self._path)

    def write(self, kind: str, **facts: Any) -> Entry:
        """One entry, on disk before this returns.

        :raises InputError: where it cannot be written
        """
        at = datetime.datetime.fromtimestamp(
            self._clock(), datetime.UTC).isoformat(timespec='milliseconds')
        entry = Entry(at.replace('+00:00', 'Z'), kind, facts)
        try:
            self._shorten()
            self._append(_line(entry))
        except OSError as exc:
            raise errors.InputError(
                f'{self._path} cannot be written: {exc.strerror}.') from None
        return entry

    def entries(self) -> tuple[Entry, ...]:
        """All of them, the oldest first."""
        return read(self._path)

    def _shorten(self) -> None:
        if (not self._path.exists()
                or self._path.stat().st_size <= self._long):
            return
        kept = still_matter(self.entries(), self._long // _TWO_LINES_BYTES)
        before = self._path.with_name(f'{self._path.name}.1')
        before.unlink(missing_ok=True)
        os.link(self._path, before)
        store.write_text(self._path, ''.join(
            f'{line}\n' for line in (_HEADER, *map(_line, kept))))
        self._long = max(self._long, 2 * self._path.stat().st_size)
        LOG.info('%s was long and holds %d entries now; %s is what it was.',
                 self._path, len(kept), before)

    def _append(self, line: str) -> None:
        handle = os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_APPEND,
                         _MODE)
        with open(handle, 'rb+') as file:
            _drop_cut_line(file, self._path)
            if file.seek(0, os.SEEK_END) == 0:
                line = f'{_HEADER}\n{line}'
            file.write(f'{line}\n'.encode())
            file.flush()
            os.fsync(file.fileno())
        directory = os.open(self._path.parent, os.O_RDONLY)
        try:
            os.fsync(directory)
        finally:
            os.close(directory)


def _line(entry: Entry) -> str:
    return json.dumps(entry.to_json(), allow_nan=False)


def _drop_cut_line(file: BinaryIO, path: pathlib.Path) -> None:
    end = file.seek(0, os.SEEK_END)
    file.seek(max(0, end - 1))
    if file.read(1) in (b'', b'\n'):
        return
    file.seek(0)
    file.truncate(file.read().rfind(b'\n') + 1)
    LOG.warning('The last line of %s was cut short and is dropped.', path)


def read(path: str | os.PathLike[str]) -> tuple[Entry, ...]:
    """The entries of a file, none where there is no file.

    :raises InputError: where it is not a journal of ours, or cannot be read
    """
    try:
        text = pathlib.Path(path).read_text(encoding='utf-8')
    except FileNotFoundError:
        return ()
    except (OSError, UnicodeDecodeError) as exc:
        raise errors.InputError(
            f'The journal {path} cannot be read: {exc}.') from None
    header, *lines = text.split('\n')[:-1] or [_HEADER]
    if _parse(path, 1, header).get('schema') != JOURNAL_SCHEMA:
        raise errors.FormatError(
            f'{path} is not of schema {JOURNAL_SCHEMA}, which this serifos '
            'reads; move it away to begin a new one.')
    return tuple(_entry(path, number, line)
                 for number, line in enumerate(lines, 2))


def _entry(path: object, number: int, line: str) -> Entry:
    try:
        return Entry.from_json(_parse(path, number, line))
    except KeyError as exc:
        raise errors.FormatError(
            f'{path}, line {number} has no {exc}; mend the file, or move it '
            'away to begin a new one.') from None


def _parse(path: object, number: int, line: str) -> dict[str, Any]:
    try:
        doc = json.loads(line)
    except (ValueError, RecursionError):
        doc = None
    if not isinstance(doc, dict):
        raise errors.FormatError(
            f'{path}, line {number} is no JSON object; mend the file, or '
            'move it away to begin a new one.')
    return doc


def seconds(at: str) -> float:
    """An entry's time as seconds of the epoch."""
    return datetime.datetime.fromisoformat(at).timestamp()


def still_matter(entries: Sequence[Entry],
                 newest: int) -> tuple[Entry, ...]:
    """The newest, and of the older what any question here asks for.

    That is the requests without an outcome, each volume's last success and
    what failed since, its last back-off, the last pause and the last resume.
    """
    begin = max(0, len(entries) - newest)
    older = entries[:begin]
    asked = {id(entry) for entry in open_moves(entries)}
    since: dict[tuple[str, Any], list[Entry]] = {}
    for entry in older:
        volume = entry.facts.get('volume')
        if entry.kind in ('pause', 'resume'):
            since[entry.kind, None] = [entry]
        elif entry.kind == 'back-off':
            since['back-off', volume] = [entry]
        elif entry.kind == 'outcome':
            result, key = entry.facts['result'], ('outcome', volume)
            if result == 'success':
                since[key] = [entry]
            elif result not in ('not started', 'busy'):
                since.setdefault(key, []).append(entry)
    wanted = asked.union(*(map(id, kept) for kept in since.values()))
    return (*(entry for entry in older if id(entry) in wanted),
            *entries[begin:])


def open_moves(entries: Iterable[Entry]) -> tuple[Entry, ...]:
    """The requests that have no outcome yet, the oldest first."""
    asked: dict[str, Entry] = {}
    for entry in entries:
        if entry.kind in ('request', 'outcome'):
            asked.pop(entry.facts['volume'], None)
        if entry.kind == 'request':
            asked[entry.facts['volume']] = entry
    return tuple(asked.values())


def last_moves(entries: Iterable[Entry]) -> dict[str, float]:
    """Volume → when it was last moved, seconds of the epoch.

    One that was not over in time may have ended well since.
    """
    return {entry.facts['volume']: seconds(entry.at) for entry in entries
            if entry.kind == 'outcome'
            and entry.facts['result'] in ('success', 'timeout')}


def last_outcome(entries: Iterable[Entry]) -> float:
    """When a migration last ended that did anything; 0 for never."""
    return max((seconds(entry.at) for entry in entries
                if entry.kind == 'outcome'
                and entry.facts['result'] not in NOTHING_DONE), default=0.0)


def back_offs(entries: Iterable[Entry], now: float) -> dict[str, float]:
    """Volume → until when it is left alone, of those still in force."""
    until = {entry.facts['volume']: seconds(entry.facts['until'])
             for entry in entries if entry.kind == 'back-off'}
    return {volume: at for volume, at in until.items() if now < at}


def failures_of(entries: Iterable[Entry], volume: str) -> int:
    """Outcomes of one volume, failed or refused, since its last success."""
    return _in_a_row((entry for entry in entries
                      if entry.facts.get('volume') == volume),
                     (*FAILED, 'refused'))


def failures_in_a_row(entries: Iterable[Entry]) -> int:
    """Outcomes that failed, since the last success or resume."""
    return _in_a_row(entries)


def _in_a_row(entries: Iterable[Entry],
              results: Collection[str] = FAILED) -> int:
    count = 0
    for entry in entries:
        result = entry.facts.get('result')
        if entry.kind == 'resume' or (
                entry.kind == 'outcome' and result == 'success'):
            count = 0
        elif entry.kind == 'outcome' and result in results:
            count += 1
    return count


def paused(entries: Iterable[Entry]) -> bool:
    """Whether the balancer paused and nobody had it go on since."""
    last = [entry.kind for entry in entries
            if entry.kind in ('pause', 'resume')]
    return last[-1:] == ['pause']
