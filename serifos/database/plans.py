# SPDX-License-Identifier: Apache-2.0
"""Plans, in the database of the journal, one row each.

Their documents are compressed; what a list of plans shows has columns of its
own. A row that cannot be read is left as it is.
"""

from __future__ import annotations

from collections.abc import Callable
from collections.abc import Collection
from collections.abc import Iterator
from collections.abc import Sequence
import dataclasses
import json
import math
import re
from typing import Any
import zlib

from oslo_db import exception
import sqlalchemy

from serifos.database import columns
from serifos.database.connection import Database
from serifos.database.connection import pieces
from serifos.database import journal
from serifos import errors
from serifos.facts import strict_json
from serifos.files import atomic
from serifos.files import documents
from serifos.plan.plan import Change
from serifos.plan.plan import Listed
from serifos.plan.plan import Plan
from serifos.plan.plan import PLAN_SCHEMA

KEPT_S = 7 * 86400.0
"""How long a plan is kept after it has expired."""

_AHEAD_S = 3600.0
"""What was made later than this from now, a wrong clock dated."""

_METADATA = sqlalchemy.MetaData()

PLANS = sqlalchemy.Table(
    'serifos_plans', _METADATA,
    sqlalchemy.Column('number', sqlalchemy.BigInteger, primary_key=True,
                      autoincrement=False),
    sqlalchemy.Column('id', columns.Name(255), nullable=False, unique=True),
    sqlalchemy.Column('created_at', columns.Number, nullable=False),
    sqlalchemy.Column('expires_at', columns.Number, nullable=False),
    sqlalchemy.Column('planner', columns.Name(255), nullable=False),
    sqlalchemy.Column('move_count', columns.Whole, nullable=False),
    sqlalchemy.Column('size_gib', columns.Number, nullable=False),
    sqlalchemy.Column('max_us_before', columns.Number, nullable=False),
    sqlalchemy.Column('max_us_after', columns.Number, nullable=False),
    sqlalchemy.Column('document', sqlalchemy.LargeBinary(2 ** 32 - 1),
                      nullable=False),
    mysql_engine='InnoDB', mysql_charset='utf8mb4',
    mysql_collate='utf8mb4_bin')
"""Each takes the next ``number``: of two that are stored at once only one is,
and the other looks again."""

_DOCUMENT = sqlalchemy.type_coerce(PLANS.c.document,
                                   sqlalchemy.types.NullType()).label(
    'document')  # as the driver has it: it may be anything
_LISTED = [PLANS.c[name] for name in (
    'id', 'created_at', 'expires_at', 'planner', 'move_count', 'size_gib',
    'max_us_before', 'max_us_after')]
_ID = re.compile(r'[A-Za-z0-9_.-]{1,255}')
_AT_ONCE = 20


@dataclasses.dataclass(frozen=True)
class Plans:
    """The port :class:`.balancer.plans.Plans` over a database."""

    database: Database

    def keep(self, plan: Plan, now: float,
             say: Callable[[str], None]) -> Plan:
        """As :meth:`.balancer.plans.Plans.keep`."""
        row = _row(plan)

        def add(connection: sqlalchemy.Connection) -> Plan:
            _delete(connection, PLANS.c.number.in_(sqlalchemy.select(
                _oldest(now).c.number)))
            # Before the last one is read: what is stored after that takes it.
            number = _next(connection)
            last = connection.execute(
                sqlalchemy.select(PLANS.c.id, _DOCUMENT).where(
                    PLANS.c.expires_at > now,
                    PLANS.c.created_at < now + _AHEAD_S).order_by(
                        PLANS.c.created_at.desc(), PLANS.c.number.desc()
                        ).limit(1)).all()
            for old in self._readable(last, say):
                if old.steps == plan.steps:
                    return old
            _delete(connection, PLANS.c.id == plan.id)
            _insert(connection, {**row, 'number': number})
            return plan
        self._prepare()
        return self.database.run(add, write=True)

    def every(self, say: Callable[[str], None],
              expires_after: float = -math.inf,
              ids: Collection[str] | None = None) -> list[Plan]:
        """As :meth:`.balancer.plans.Plans.every`."""
        query = _later(sqlalchemy.select(PLANS.c.number, PLANS.c.id),
                       expires_after)

        def read(connection: sqlalchemy.Connection) -> list[Plan]:
            if not _are_there(connection):
                return []
            numbers = [row.number for row in connection.execute(query)
                       if ids is None or row.id in ids]
            return [plan for some in pieces(numbers, _AT_ONCE)
                    for plan in self._readable(connection.execute(
                        sqlalchemy.select(PLANS.c.id, _DOCUMENT).where(
                            PLANS.c.number.in_(some)).order_by(
                                PLANS.c.number)).all(), say)]
        return self.database.run(read) if self.database.exists() else []

    def listed(self, expires_after: float = -math.inf) -> list[Listed]:
        """Lines of the list of plans, by columns: no plan is read.

        :param expires_after: only those that expire later, seconds of the
            epoch
        """
        def read(connection: sqlalchemy.Connection) -> list[Listed]:
            return [Listed(*row[:-2], Change(*row[-2:]))
                    for row in connection.execute(_later(
                        sqlalchemy.select(*_LISTED), expires_after))
                    ] if _are_there(connection) else []
        return self.database.run(read) if self.database.exists() else []

    def stored(self, plan_id: str) -> Plan:
        """As :meth:`.balancer.plans.Plans.stored`."""
        said: list[str] = []
        if _ID.fullmatch(plan_id):
            for plan in self.every(said.append, ids=[plan_id]):
                return plan
            for sentence in said:
                raise errors.FormatError(sentence)
        raise errors.InputError(
            f'There is no plan {plan_id}, neither as a file nor by this id '
            f'in {self.database.name}; serifos-balancer plans lists those '
            'that there are.')

    def _readable(self, rows: Sequence[sqlalchemy.Row],
                  say: Callable[[str], None]) -> Iterator[Plan]:
        for row in rows:
            try:
                yield _plan(row)
            except ValueError as exc:
                say(f'The stored plan {row.id} cannot be read: {exc}; delete '
                    f'that row of {PLANS.name} in {self.database.name}.')

    def _prepare(self) -> None:
        self.database.prepare(_are_there, _METADATA.create_all)


def _are_there(connection: sqlalchemy.Connection) -> bool:
    """:raises FormatError: where the journal beside is of another version"""
    journal.mark_of(connection)
    return sqlalchemy.inspect(connection).has_table(PLANS.name)


def _later(query: sqlalchemy.Select[Any],
           expires_after: float) -> sqlalchemy.Select[Any]:
    """Of the plans that expire later, in the order of their numbers."""
    if expires_after > -math.inf:
        query = query.where(PLANS.c.expires_at > expires_after)
    return query.order_by(PLANS.c.number)


def _delete(connection: sqlalchemy.Connection,
            which: sqlalchemy.ColumnElement[bool]) -> None:
    """Deletes plans. With this a transaction begins.

    SQLite waits for another one with the first statement, if that writes.
    """
    connection.execute(sqlalchemy.delete(PLANS).where(which))


def _next(connection: sqlalchemy.Connection) -> int:
    return 1 + (connection.scalar(
        sqlalchemy.select(sqlalchemy.func.max(PLANS.c.number))) or 0)


def _oldest(now: float) -> sqlalchemy.Subquery:
    """The two oldest of those that expired long ago.

    One is stored with each, so that they are soon gone; but a clock that is
    days ahead does not delete what the other hosts go by.
    """
    return sqlalchemy.select(PLANS.c.number).where(
        PLANS.c.expires_at < now - KEPT_S).order_by(
            PLANS.c.expires_at).limit(2).subquery()


def _insert(connection: sqlalchemy.Connection, row: dict[str, Any]) -> None:
    try:
        connection.execute(sqlalchemy.insert(PLANS), row)
    except exception.DBDuplicateEntry:
        raise exception.DBDeadlock() from None  # another one: look again


def _row(plan: Plan) -> dict[str, Any]:
    """A plan as a row, without its number.

    :raises InputError: where no reader could use it
    """
    document = plan.to_json()
    why = documents.fault('plan', document)
    try:
        text = json.dumps(document, allow_nan=False, ensure_ascii=False,
                          separators=(',', ':')).encode()
    except ValueError:
        why = why or 'a name in it is not UTF-8, or a figure not finite'
    if why is not None:
        raise errors.InputError(f'The plan cannot be stored: {why}.')
    return {'id': plan.id, 'created_at': plan.created_at,
            'expires_at': plan.expires_at, 'planner': plan.planner[:255],
            'move_count': plan.move_count, 'size_gib': plan.size_gib,
            'max_us_before': plan.max_us.before,
            'max_us_after': plan.max_us.after,
            'document': zlib.compress(text)}


def _plan(row: sqlalchemy.Row) -> Plan:
    """:raises ValueError: with a clause that says why it cannot be read"""
    document = strict_json.loads(_text(row.document))
    said = document.get('schema') if isinstance(document, dict) else None
    if said != PLAN_SCHEMA:
        raise ValueError(f'its schema is {said}, and this serifos reads '
                         f'{PLAN_SCHEMA}')
    why = documents.fault('plan', document)
    if why is not None:
        raise ValueError(why)
    try:
        plan = Plan.from_json(document)
    except errors.FormatError as exc:
        raise ValueError(str(exc).rstrip('.')) from None
    if plan.id != row.id:
        raise ValueError(f'it is of plan {plan.id}')
    return plan


def _text(data: object) -> bytes:
    if not isinstance(data, (bytes, memoryview)):
        raise ValueError('it is no compressed document')
    packed = zlib.decompressobj()
    try:
        text = packed.decompress(bytes(data), atomic.MOST_BYTES)
    except zlib.error:
        raise ValueError('it is no compressed document') from None
    if not packed.eof:
        raise ValueError('its document is cut short, or of more than '
                         f'{atomic.MOST_BYTES >> 20} MiB')
    return text
