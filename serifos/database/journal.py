# SPDX-License-Identifier: Apache-2.0
"""The journal, in a database, with the fencing token of the leader.

An entry is committed before :meth:`Journal.write` returns, so that whoever
starts after a crash knows what may be under way. Under a token an entry is
written only where no other balancer has taken the lead since: the check and
the entry are one transaction, which waits for whoever is taking it. So a
leader that was paused, or whose lock was lost, adds nothing to the journal of
the next one, and the next one has all that the last one wrote.
"""

from __future__ import annotations

from collections.abc import Callable
import dataclasses
import pathlib
from typing import Any
from typing import TypeVar

from oslo_db import exception
from oslo_log import log
import sqlalchemy as sa

from serifos.database import connection as cn
from serifos.database import old_journal
from serifos.database import tables
from serifos import errors
from serifos.facts import journal as jn
from serifos.facts import times

LOG = log.getLogger(__name__)

T = TypeVar('T')

LONG = 20_000
"""Entries beyond which those that no longer matter are deleted."""


@dataclasses.dataclass(frozen=True)
class Journal:
    """A journal that several processes write, on several hosts.

    :param clock: seconds of the epoch
    :param old_file: an earlier release's, imported by the first write
    :param token: of the lead under which it is written; None for what a
        person writes, whoever leads
    """

    database: cn.Database
    clock: Callable[[], float]
    old_file: pathlib.Path | None = None
    token: int | None = None
    long: int = LONG

    def write(self, kind: str, **facts: Any) -> jn.Entry:
        """One entry, committed before this returns.

        :raises NotLeading: where another balancer has taken the lead
        :raises SerifosError: where it cannot be written
        """
        try:
            entry = jn.Entry.checked(self._now(), kind, facts)
            row = tables.row(entry)
        except ValueError as exc:
            raise errors.InputError(
                f'The journal takes no such entry: {exc}.') from None

        def add(connection: sa.Connection) -> None:
            number = self._next(connection)
            connection.execute(
                sa.insert(tables.ENTRIES), {**row, 'id': number})
            if number % max(1, self.long // 10) == 0:
                self._shorten(connection)
        self._prepare()
        self.database.run(add, write=True)
        return entry

    def entries(self) -> tuple[jn.Entry, ...]:
        """All of them, the oldest first; nothing is changed by this.

        :raises SerifosError: where they cannot be read
        """
        # In this order: what is imported in between is found in both.
        old = old_journal.read(self.old_file)
        rows, known = (self.database.run(self._read)
                       if self.database.exists() else ([], set()))
        if old is None or old.digest in known:
            return tuple(rows)
        return tuple(old_journal.merged(old.entries, rows))

    def take_lead(self, member: str) -> Journal:
        """The journal, to be written by the balancer that now leads.

        Whoever led until now writes nothing any more.
        """
        def take(connection: sa.Connection) -> int:
            connection.execute(sa.update(tables.HEAD).values(
                token=tables.HEAD.c.token + 1, leader=member[:255],
                since=self._now()))
            return connection.scalar(sa.select(tables.HEAD.c.token))
        self._prepare()
        return dataclasses.replace(
            self, token=self.database.run(take, write=True))

    def leader(self) -> str:
        """Who took the lead last; empty where nobody has."""
        self._make()
        return self.database.run(lambda connection: connection.scalar(
            sa.select(tables.HEAD.c.leader)))

    def last_lead(self) -> tuple[str, str] | None:
        """Who took the lead last, and when; nothing is changed by this."""
        def read(connection: sa.Connection) -> tuple[str, str] | None:
            if not tables.are_there(connection):
                return None
            head = connection.execute(sa.select(tables.HEAD)).first()
            return (head.leader, head.since) if head and head.leader else None
        return self.database.run(read) if self.database.exists() else None

    def prove(self) -> None:
        """:raises NotLeading: where another balancer has taken the lead"""
        self.database.run(self._refuse_stale)

    @property
    def local_file(self) -> pathlib.Path | None:
        """What it is in; None where other hosts reach it too."""
        return self.database.file

    def _now(self) -> str:
        return times.text(self.clock(), 'milliseconds')

    def _next(self, connection: sa.Connection) -> int:
        """The next entry's number; nobody else writes until we have."""
        ours = sa.update(tables.HEAD).values(
            last_entry=tables.HEAD.c.last_entry + 1)
        if self.token is not None:
            ours = ours.where(tables.HEAD.c.token == self.token)
        if connection.execute(ours).rowcount != 1:
            self._refuse_stale(connection)
            raise errors.FormatError(
                f'{tables.HEAD.name} of {self.database.name} has no row.')
        return connection.scalar(sa.select(tables.HEAD.c.last_entry))

    def _refuse_stale(self, connection: sa.Connection) -> None:
        head = connection.execute(sa.select(tables.HEAD)).one()
        if head.token != self.token:
            raise errors.NotLeading(
                f'Another balancer, {head.leader}, has taken the lead, at '
                f'{head.since}; this one stops acting.')

    def _read(self, connection: sa.Connection
              ) -> tuple[list[jn.Entry], set[str]]:
        if not tables.are_there(connection):
            return [], set()
        before = old_journal.imports(connection)
        rows = tables.rows(connection, self.database.name)
        after = old_journal.imports(connection)
        if before != after:
            raise exception.DBDeadlock()  # imported just now: read again
        return [entry for _, entry in rows], after

    def _prepare(self) -> None:
        """Makes the tables, and imports what an earlier release wrote."""
        self._make()
        old = old_journal.read(self.old_file)
        if old is None:
            return

        def add(connection: sa.Connection) -> bool:
            last = dataclasses.replace(self, token=None)._next(connection)
            return old.add_to(connection, last, self.database.name)
        if self.database.run(add, write=True):
            LOG.info('%d entries of %s are in %s now.', len(old.entries),
                     old.path, self.database.name)
        old.put_aside()

    def _make(self) -> None:
        self.database.prepare(tables.are_there, tables.make)

    def _shorten(self, connection: sa.Connection) -> None:
        rows = tables.rows(connection, self.database.name)
        if len(rows) <= self.long:
            return
        kept = {id(entry) for entry in jn.still_matter(
            [entry for _, entry in rows], self.long // 2)}
        gone = [number for number, entry in rows if id(entry) not in kept]
        for begin in range(0, len(gone), tables.AT_ONCE):
            connection.execute(sa.delete(tables.ENTRIES).where(
                tables.ENTRIES.c.id.in_(gone[begin:begin + tables.AT_ONCE])))
        LOG.info('The journal was long; %d entries that no longer matter are '
                 'deleted.', len(gone))
