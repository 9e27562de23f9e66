# SPDX-License-Identifier: Apache-2.0
"""The journal, in a database, with the fencing token of the leader.

An entry is committed before :meth:`Journal.write` returns, so that whoever
starts after a crash knows what may be under way. Under a token an entry is
written only where no other balancer has taken the lead since: the check and
the entry are one transaction, which waits for whoever is taking it. So a
leader that was paused, or whose lock was lost, adds nothing to the journal of
the next one, and the next one has all that the last one wrote.

Before it is written the journal is compared with what is remembered of it.
One that lacks entries, as it was deleted or is an old backup, begins with a
pause that says so.

The head is one row that every write changes, which is what makes writers
wait for one another; where servers replicate (Galera) two writes at once
conflict in it too. It counts the entries, so that their ids are in the order
in which they were committed, and it holds the identity that the journal was
made with, and the fencing token: the number of times that a balancer took
the lead.
"""

from __future__ import annotations

from collections.abc import Callable
from collections.abc import Iterable
from collections.abc import Sequence
import dataclasses
import json
import pathlib
from typing import Any
from typing import TypeVar
import uuid

from oslo_log import log
import sqlalchemy

from serifos.database import columns
from serifos.database.connection import Database
from serifos.database.connection import pieces
from serifos.database import marks
from serifos import errors
from serifos.facts import journal
from serifos.facts import strict_json
from serifos.facts import times

LOG = log.getLogger(__name__)

T = TypeVar('T')

LONG = 20_000
"""Entries beyond which those that no longer matter are deleted."""

SCHEMA = 'serifos-journal/3'

_METADATA = sqlalchemy.MetaData()
_OPTIONS = {'mysql_engine': 'InnoDB', 'mysql_charset': 'utf8mb4'}

HEAD = sqlalchemy.Table(
    'serifos_journal', _METADATA,
    sqlalchemy.Column('id', sqlalchemy.Integer, primary_key=True,
                      autoincrement=False),
    sqlalchemy.Column('version', sqlalchemy.String(64), nullable=False),
    sqlalchemy.Column('identity', columns.Name(64), nullable=False),
    sqlalchemy.Column('token', columns.Whole, nullable=False),
    sqlalchemy.Column('leader', columns.Name(255), nullable=False),
    sqlalchemy.Column('since', columns.Name(40), nullable=False),
    sqlalchemy.Column('mode', columns.Name(20), nullable=False),
    sqlalchemy.Column('last_entry', columns.Whole, nullable=False), **_OPTIONS)

ENTRIES = sqlalchemy.Table(
    'serifos_journal_entries', _METADATA,
    sqlalchemy.Column('id', sqlalchemy.BigInteger, primary_key=True,
                      autoincrement=False),
    sqlalchemy.Column('written_at', sqlalchemy.String(40), nullable=False),
    sqlalchemy.Column('kind', sqlalchemy.String(20), nullable=False),
    sqlalchemy.Column('facts', sqlalchemy.Text, nullable=False), **_OPTIONS)


@dataclasses.dataclass(frozen=True)
class Journal:
    """A journal that several processes write, on several hosts.

    :param clock: seconds of the epoch
    :param token: of the lead under which it is written; None for what a
        person writes, whoever leads
    :param identity: of the journal in which that lead was taken
    :param memory: what is remembered of it
    """

    database: Database
    clock: Callable[[], float]
    token: int | None = None
    identity: str = ''
    long: int = LONG
    memory: marks.Memory = dataclasses.field(default_factory=marks.Memory)

    def write(self, kind: str, **facts: Any) -> journal.Entry:
        """One entry, committed before this returns.

        :raises NotLeading: where another balancer has taken the lead
        :raises SerifosError: where it cannot be written, or this balancer
            leads and the journal was replaced meanwhile
        """
        try:
            entry = journal.Entry.checked(self._now(), kind, facts)
            row = row_of(entry)
        except ValueError as exc:
            raise errors.InputError(
                f'The journal takes no such entry: {exc}.') from None

        def add(connection: sqlalchemy.Connection) -> int:
            number = self._next(connection)
            connection.execute(
                sqlalchemy.insert(ENTRIES), {**row, 'id': number})
            if number % max(1, self.long // 10) == 0:
                self._shorten(connection)
            return number
        mark, why = self._prepare()
        if why is not None and self.token is not None:
            raise errors.InputError(f'This balancer stops acting: {why}.')
        self.memory.know(dataclasses.replace(
            mark, entry=self.database.run(add, write=True)))
        return entry

    def entries(self) -> tuple[journal.Entry, ...]:
        """All of them, the oldest first; nothing is changed by this.

        :raises SerifosError: where they cannot be read
        """
        return tuple(self.database.run(self._read)
                     if self.database.exists() else ())

    def mark(self) -> journal.Mark:
        """As :meth:`.facts.journal.Journal.mark`.

        :raises SerifosError: where it cannot be written
        """
        mark, _ = self._prepare()
        self.memory.keep(mark)
        return mark

    def missing(self) -> str | None:
        """A clause: what it lacks and nobody has noted; None where nothing.

        Nothing is changed by this.
        """
        mark = (self.database.run(mark_of) if self.database.exists()
                else None) or journal.Mark('', 0)
        lost = self._unknown(self.memory.missing(mark), self.entries())
        return self._why(lost, mark) if lost else None

    def take_lead(self, member: str, mode: str) -> Journal:
        """The journal, to be written by the balancer that now leads.

        Whoever led until now writes nothing any more.

        :param mode: of the daemon, or the verb that leads
        """
        def take(connection: sqlalchemy.Connection) -> int:
            connection.execute(sqlalchemy.update(HEAD).values(
                token=HEAD.c.token + 1, leader=member[:255],
                since=self._now(), mode=mode[:20]))
            return connection.scalar(sqlalchemy.select(HEAD.c.token))
        mark, _ = self._prepare()
        return dataclasses.replace(
            self, token=self.database.run(take, write=True),
            identity=mark.journal)

    def give_lead_back(self) -> None:
        """Says that nobody leads, unless another balancer took the lead."""
        if self.database.exists():
            self.database.run(lambda connection: connection.execute(
                sqlalchemy.update(HEAD).where(self._ours).values(
                    leader='', since='', mode='')), write=True)

    @property
    def _ours(self) -> sqlalchemy.ColumnElement[bool]:
        """Whether the head is of the lead under which this is written."""
        return (HEAD.c.token == self.token) & (
            HEAD.c.identity == self.identity)

    def leader(self) -> journal.Leader | None:
        """The leader, unless its process ended; None without one.

        Nothing is changed by this.
        """
        def read(connection: sqlalchemy.Connection) -> journal.Leader | None:
            if mark_of(connection) is None:
                return None
            head = connection.execute(sqlalchemy.select(HEAD)).one()
            return journal.Leader(head.leader, head.since, head.mode) if (
                head.leader) else None
        return self.database.run(read) if self.database.exists() else None

    def prove(self) -> None:
        """Proves that nobody took the lead since.

        :raises NotLeading: where another balancer has
        :raises InputError: where the journal is gone, or another one
        """
        if not self.database.exists():
            raise errors.InputError(
                f'The journal {self.database.name} is gone.')
        self.database.run(self._refuse_stale)

    @property
    def local_file(self) -> pathlib.Path | None:
        """What it is in; None where other hosts reach it too."""
        return self.database.file

    def _now(self) -> str:
        return times.text(self.clock(), 'milliseconds')

    def _next(self, connection: sqlalchemy.Connection) -> int:
        """The next entry's number; nobody else writes until we have."""
        ours = sqlalchemy.update(HEAD).values(
            last_entry=HEAD.c.last_entry + 1)
        if self.token is not None:
            ours = ours.where(self._ours)
        if connection.execute(ours).rowcount != 1:
            self._refuse_stale(connection)
            raise errors.FormatError(
                f'{HEAD.name} of {self.database.name} has no row.')
        return connection.scalar(sqlalchemy.select(HEAD.c.last_entry))

    def _refuse_stale(self, connection: sqlalchemy.Connection) -> None:
        head = connection.execute(sqlalchemy.select(HEAD)).one()
        if head.identity != self.identity:
            raise errors.InputError(
                f'The journal {self.database.name} is not the one in which '
                'this balancer took the lead; it stops acting.')
        if head.token != self.token:
            raise errors.NotLeading(
                f'Another balancer, {head.leader}, has taken the lead, at '
                f'{head.since}; this one stops acting.' if head.leader else
                'Another balancer has taken the lead meanwhile; this one '
                'stops acting.')

    def _read(self, connection: sqlalchemy.Connection) -> list[journal.Entry]:
        if mark_of(connection) is None:
            return []
        return [entry for _, entry in rows_of(
            connection, self.database.name)]

    def _prepare(self) -> tuple[journal.Mark, str | None]:
        """Makes the tables, and compares them with what is remembered.

        :returns: the mark, and what is missing where that is noted just now
        """
        mark = self.database.prepare(mark_of, make_tables)
        lost = self.memory.missing(mark)
        return self._noted(lost) if lost else (mark, None)

    def _noted(self, lost: Sequence[marks.Remembered]
               ) -> tuple[journal.Mark, str | None]:
        """Notes what is missing, unless that is known."""
        def note(connection: sqlalchemy.Connection) -> tuple[journal.Mark,
                                                             str | None]:
            connection.execute(sqlalchemy.update(HEAD).values(
                last_entry=HEAD.c.last_entry))  # others wait
            mark = mark_of(connection)
            unknown = self._unknown(
                [(name, each) for name, each in lost
                 if not mark.continues(each)],
                [entry for _, entry in rows_of(
                    connection, self.database.name)])
            if not unknown:
                return mark, None
            # No number that is remembered is given once more.
            number = 1 + max(mark.entry, *(
                each.entry for _, each in unknown
                if each.journal == mark.journal), 0)
            why = self._why(unknown, mark)
            connection.execute(sqlalchemy.update(HEAD).values(
                last_entry=number))
            connection.execute(sqlalchemy.insert(ENTRIES), {
                **row_of(journal.Entry(self._now(), 'pause', {
                    'reason': why, 'doubt': True, 'lost': [
                        each.to_json() for _, each in unknown]})),
                'id': number})
            return dataclasses.replace(mark, entry=number), why
        mark, why = self.database.run(note, write=True)
        self.memory.know(mark)
        if why is not None:
            LOG.error('Nothing is moved: %s. Look at serifos-balancer '
                      'history, then serifos-balancer resume.', why)
        return mark, why

    @staticmethod
    def _unknown(lost: Sequence[marks.Remembered],
                 entries: Iterable[journal.Entry]) -> list[marks.Remembered]:
        """The missing journals that were not noted, the longest first."""
        noted = [*journal.known_lost(entries)]
        return sorted(
            ((name, mark) for name, mark in lost
             if not any(each.continues(mark) for each in noted)),
            key=lambda each: each[1].entry, reverse=True)

    def _why(self, lost: Sequence[marks.Remembered], now: journal.Mark) -> str:
        name, mark = lost[0]
        return (f'the journal {self.database.name} ' + (
            f'is older than {name} remembers it: it has {now.entry} of '
            f'{mark.entry} entries' if mark.journal == now.journal else
            f'is not the one that {name} remembers: that had {mark.entry} '
            f'entries, this has {now.entry}')
            + '; cool-downs, back-offs, pauses, approvals and open requests '
            'may be missing')

    def _shorten(self, connection: sqlalchemy.Connection) -> None:
        rows = rows_of(connection, self.database.name)
        if len(rows) <= self.long:
            return
        kept = {id(entry) for entry in journal.still_matter(
            [entry for _, entry in rows], self.long // 2)}
        gone = [number for number, entry in rows if id(entry) not in kept]
        for some in pieces(gone):
            connection.execute(sqlalchemy.delete(ENTRIES).where(
                ENTRIES.c.id.in_(some)))
        LOG.info('The journal was long; %d entries that no longer matter are '
                 'deleted.', len(gone))


def mark_of(connection: sqlalchemy.Connection) -> journal.Mark | None:
    """How far the journal goes; None where there is none.

    :raises FormatError: where it is of another version
    """
    if not sqlalchemy.inspect(connection).has_table(HEAD.name):
        return None
    version = connection.scalar(sqlalchemy.select(HEAD.c.version))
    if version not in (None, SCHEMA):
        raise errors.FormatError(
            f'The table {HEAD.name} is of schema {version}; this serifos '
            f'reads {SCHEMA}: use the release that wrote it, or name another '
            'database in [database] connection.')
    found = connection.execute(sqlalchemy.select(
        HEAD.c.identity, HEAD.c.last_entry)).first() if version else None
    return None if found is None else journal.Mark(*found)


def make_tables(connection: sqlalchemy.Connection) -> None:
    """Makes an empty journal; another process may be doing the same."""
    _METADATA.create_all(connection)
    if connection.scalar(sqlalchemy.select(HEAD.c.id)) is None:
        connection.execute(sqlalchemy.insert(HEAD).values(
            id=1, version=SCHEMA, identity=uuid.uuid4().hex, token=0,
            leader='', since='', mode='', last_entry=0))


def row_of(entry: journal.Entry) -> dict[str, Any]:
    """An entry as a row, without its id."""
    return {'written_at': entry.at, 'kind': entry.kind,
            'facts': json.dumps(entry.facts, allow_nan=False)}


def rows_of(connection: sqlalchemy.Connection,
            where: str) -> list[tuple[int, journal.Entry]]:
    """The id and the entry of every row, the oldest first.

    Kinds that this release does not know are left out. What a broken row
    said is not known, so that in its place stands a pause: nothing moves.

    :param where: names the database, for sentences
    """
    found, at = [], times.text(0)
    for row in connection.execute(
            sqlalchemy.select(ENTRIES).order_by(ENTRIES.c.id)):
        if isinstance(row.kind, str) and row.kind not in journal.KINDS:
            continue
        try:
            entry = _entry(row)
        except ValueError as exc:
            entry = journal.Entry(_time(row) or at, 'pause', {'reason': (
                f'the journal {where} has a broken entry, id {row.id} of '
                f'{ENTRIES.name}: {errors.one_line(str(exc))}; fix or delete '
                'that row'), 'doubt': True})
        at = entry.at
        found.append((row.id, entry))
    return found


def _time(row: sqlalchemy.Row) -> str | None:
    try:
        times.parse(row.written_at, zone_needed=True)
        return row.written_at
    except ValueError:
        return None


def _entry(row: sqlalchemy.Row) -> journal.Entry:
    """:raises ValueError: with a clause that says what is wrong"""
    if not isinstance(row.facts, (str, bytes)):
        raise ValueError('its facts are not a JSON object')
    facts = strict_json.loads(row.facts)
    if not isinstance(facts, dict):
        raise ValueError('its facts are not a JSON object')
    return journal.Entry.checked(row.written_at, row.kind, facts)
