# SPDX-License-Identifier: Apache-2.0
"""The journal of earlier releases, a file of JSON lines, to be imported.

Its first line names the schema; a last line that a crash cut short never
happened.
"""

from __future__ import annotations

from collections.abc import Iterable
from collections.abc import Sequence
import contextlib
import dataclasses
import hashlib
import os
import pathlib
import stat

import sqlalchemy as sa

from serifos.database import tables
from serifos import errors
from serifos.facts import journal as jn
from serifos.facts import times
from serifos.files import jsonl
from serifos.files import owners

SCHEMA = 'serifos-journal/1'

_REMEDY = 'fix the file, or move it away to begin without it'


@dataclasses.dataclass(frozen=True)
class OldJournal:
    """What such a file holds.

    :param digest: by which it is known again
    """

    path: pathlib.Path
    digest: str
    entries: tuple[jn.Entry, ...]

    def add_to(self, connection: sa.Connection, last: int,
               where: str) -> bool:
        """Adds its entries to the tables; False where they are in them.

        :param last: the id of the last entry there
        :param where: names the database, for errors
        """
        if self.digest in imports(connection):
            return False
        rows = [entry for _, entry in tables.rows(connection, where)]
        if rows:
            connection.execute(sa.delete(tables.ENTRIES))
        together = merged(self.entries, rows)
        for begin in range(0, len(together), tables.AT_ONCE):
            connection.execute(sa.insert(tables.ENTRIES), [
                {**tables.row(entry), 'id': last + number}
                for number, entry in enumerate(
                    together[begin:begin + tables.AT_ONCE], begin)])
        connection.execute(sa.update(tables.HEAD).values(
            last_entry=last + len(together)))
        connection.execute(sa.insert(tables.IMPORTS), {
            'digest': self.digest, 'file': str(self.path)[-255:]})
        return True

    def put_aside(self) -> None:
        """Renames the file, unless it is another one by now."""
        names = [self.path.with_name(f'{self.path.name}.imported{number}')
                 for number in ('', *(f'.{n}' for n in range(2, 100)))]
        with contextlib.suppress(FileNotFoundError):
            if _digest(_bytes(self.path)) != self.digest:
                return
            aside = next(name for name in names if not name.exists())
            try:
                os.rename(self.path, aside)
            except FileNotFoundError:
                raise
            except OSError as exc:
                raise errors.InputError(
                    f'The journal {self.path} is imported, but cannot be '
                    f'renamed: {owners.why_not(self.path) or exc.strerror}.'
                ) from None


def read(path: pathlib.Path | None) -> OldJournal | None:
    """The file, or None where there is none.

    :raises InputError: where it is not a journal, or cannot be read
    """
    if path is None:
        return None
    try:
        data = _bytes(path)
    except FileNotFoundError:
        return None
    except OSError as exc:
        raise errors.InputError(
            f'The journal {path} cannot be read: '
            f'{owners.why_not(path) or exc.strerror}.') from None
    lines = jsonl.parse(jsonl.whole(data), path, _REMEDY)
    _, header = next(lines, ('', {'schema': SCHEMA}))
    if header.get('schema') != SCHEMA:
        raise errors.FormatError(
            f'{path} is not of schema {SCHEMA}, which is imported; {_REMEDY}.')
    return OldJournal(path, _digest(data),
                      tuple(_entry(*line) for line in lines))


def imports(connection: sa.Connection) -> set[str]:
    """The digests of the files that were imported."""
    return set(connection.scalars(sa.select(tables.IMPORTS.c.digest)))


def merged(one: Iterable[jn.Entry],
           other: Sequence[jn.Entry]) -> list[jn.Entry]:
    """The entries of two journals in the order of their times."""
    if not other:
        return list(one)
    return sorted([*one, *other], key=lambda entry: times.parse(entry.at))


def _bytes(path: pathlib.Path) -> bytes:
    # Asked once: between two questions another process may put it aside.
    if not stat.S_ISREG(path.stat().st_mode):
        raise errors.InputError(
            f'The journal {path} is not a regular file; {_REMEDY}.')
    return path.read_bytes()


def _digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def _entry(where: str, doc: object) -> jn.Entry:
    try:
        return jn.Entry.from_json(doc)
    except ValueError as exc:
        raise errors.FormatError(f'{where}: {exc}; {_REMEDY}.') from None
