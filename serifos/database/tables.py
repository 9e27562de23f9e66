# SPDX-License-Identifier: Apache-2.0
"""The tables of the journal: its head and its entries.

The head is one row that every write changes, which is what makes writers
wait for one another; where servers replicate (Galera) two writes at once
conflict in it too. It counts the entries, so that their ids are in the order
in which they were committed, and it holds the identity that the journal was
made with, and the fencing token: the number of times that a balancer took
the lead.
"""

from __future__ import annotations

import json
from typing import Any
import uuid

import sqlalchemy

from serifos.database import columns
from serifos import errors
from serifos.facts import journal
from serifos.facts import strict_json
from serifos.facts import times

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


def mark(connection: sqlalchemy.Connection) -> journal.Mark | None:
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


def make(connection: sqlalchemy.Connection) -> None:
    """Makes an empty journal; another process may be doing the same."""
    _METADATA.create_all(connection)
    if connection.scalar(sqlalchemy.select(HEAD.c.id)) is None:
        connection.execute(sqlalchemy.insert(HEAD).values(
            id=1, version=SCHEMA, identity=uuid.uuid4().hex, token=0,
            leader='', since='', mode='', last_entry=0))


def row(entry: journal.Entry) -> dict[str, Any]:
    """An entry as a row, without its id."""
    return {'written_at': entry.at, 'kind': entry.kind,
            'facts': json.dumps(entry.facts, allow_nan=False)}


def rows(connection: sqlalchemy.Connection,
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
