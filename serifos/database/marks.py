# SPDX-License-Identifier: Apache-2.0
"""Detect a journal that was deleted, or replaced by an old backup.

Such a journal knows nothing of it. So the last observation, the history and
the directory of the lock remember which journal it was, and how far it went.
"""

from __future__ import annotations

from collections.abc import Callable
from collections.abc import Sequence
import contextlib
import dataclasses
import json
import pathlib
import re
from typing import Protocol

from oslo_db import exception
from oslo_log import log
import sqlalchemy

from serifos.database import columns
from serifos.database import connection
from serifos import errors
from serifos.facts import fields
from serifos.facts import journal
from serifos.facts import strict_json
from serifos.files import atomic

LOG = log.getLogger(__name__)

_METADATA = sqlalchemy.MetaData()

SEEN = sqlalchemy.Table(
    'serifos_journal_seen', _METADATA,
    sqlalchemy.Column('id', sqlalchemy.Integer, primary_key=True,
                      autoincrement=False),
    sqlalchemy.Column('journal', columns.Name(64), nullable=False),
    sqlalchemy.Column('entry', columns.Whole, nullable=False),
    mysql_engine='InnoDB', mysql_charset='utf8mb4')

_MOST_BYTES = 2 ** 16
_MARK = re.compile(r'"journal"\s*:\s*(\{[^{}]*\})')


class Keeper(Protocol):
    """A place that remembers a mark."""

    @property
    def name(self) -> str:
        """Its name in a sentence."""

    def read(self) -> journal.Mark | None:
        """None where nothing is remembered, or it cannot be read."""

    def keep(self, mark: journal.Mark) -> None:
        """Remembers another one, where that can be written."""


@dataclasses.dataclass(frozen=True)
class Observation:
    """``cluster.json``, which each observation writes with its mark."""

    file: pathlib.Path

    @property
    def name(self) -> str:
        return str(self.file)

    def read(self) -> journal.Mark | None:
        """As :meth:`Keeper.read`; what comes before the pools is read."""
        with contextlib.suppress(errors.SerifosError, OSError, ValueError), (
                atomic.open_text(self.file, 'cluster')) as file:
            head, _, _ = file.read(_MOST_BYTES).partition('"pools"')
            said = _MARK.search(head)
            if said is not None:
                return journal.Mark.from_json(fields.Field(
                    strict_json.loads(said[1])))
        return None

    def keep(self, mark: journal.Mark) -> None:
        """The observer writes it."""


@dataclasses.dataclass(frozen=True)
class Lock:
    """A file in the directory of the lock, where there is one."""

    directory: pathlib.Path

    @property
    def file(self) -> pathlib.Path:
        return self.directory / 'journal.json'

    @property
    def name(self) -> str:
        return str(self.file)

    def read(self) -> journal.Mark | None:
        """As :meth:`Keeper.read`."""
        with contextlib.suppress(errors.SerifosError, ValueError):
            return journal.Mark.from_json(fields.Field(strict_json.loads(
                atomic.read_text(self.file, 'mark', _MOST_BYTES))))
        return None

    def keep(self, mark: journal.Mark) -> None:
        """As :meth:`Keeper.keep`."""
        if self.directory.is_dir() and not self.directory.is_symlink() and (
                self.read() != mark):
            with contextlib.suppress(errors.InputError):
                atomic.replace(self.file, json.dumps(mark.to_json()) + '\n')


@dataclasses.dataclass(frozen=True)
class History:
    """A row in the database of the history.

    :param database: () → that; it raises where it cannot be used
    """

    database: Callable[[], connection.Database]
    name: str = 'the history'

    def read(self) -> journal.Mark | None:
        """As :meth:`Keeper.read`."""
        try:
            database = self.database()
            return database.run(_mark) if database.exists() else None
        except errors.SerifosError as exc:
            LOG.warning('Which journal the history is of is not known: %s',
                        exc)
            return None

    def keep(self, mark: journal.Mark) -> None:
        """As :meth:`Keeper.keep`."""
        def write(made: sqlalchemy.Connection) -> None:
            row = {'journal': mark.journal, 'entry': mark.entry}
            if not made.execute(sqlalchemy.update(SEEN).values(row)).rowcount:
                with contextlib.suppress(exception.DBDuplicateEntry):
                    made.execute(sqlalchemy.insert(SEEN).values(id=1, **row))

        with contextlib.suppress(errors.SerifosError):
            database = self.database()
            database.make(SEEN)
            if database.run(_mark) != mark:
                database.run(write, write=True)


def _is_there(made: sqlalchemy.Connection) -> bool:
    return sqlalchemy.inspect(made).has_table(SEEN.name)


def _mark(made: sqlalchemy.Connection) -> journal.Mark | None:
    if not _is_there(made):
        return None
    found = made.execute(
        sqlalchemy.select(SEEN.c.journal, SEEN.c.entry)).first()
    return None if found is None else journal.Mark(*found)


Remembered = tuple[str, journal.Mark]
"""A place that remembers a mark, and the mark."""


class Memory:
    """The marks of a journal, by this process and beside it."""

    def __init__(self, keepers: Sequence[Keeper] = ()) -> None:
        self._keepers = keepers
        self._read: list[Remembered] | None = None

    def missing(self, now: journal.Mark) -> list[Remembered]:
        """The marks that a journal does not continue, and what has each.

        They are read once; then this process knows what it wrote.
        """
        if self._read is None:
            self._read = [(keeper.name, mark) for keeper in self._keepers
                          if (mark := keeper.read()) is not None]
        return [(name, mark) for name, mark in self._read
                if not now.continues(mark)]

    def know(self, mark: journal.Mark) -> None:
        """Remembers a mark in this process."""
        self._read = [('this process', mark)]

    def keep(self, mark: journal.Mark) -> None:
        """Remembers a mark beside the journal, too."""
        self.know(mark)
        for keeper in self._keepers:
            keeper.keep(mark)
