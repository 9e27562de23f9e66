# SPDX-License-Identifier: Apache-2.0
"""Count the rounds of each balancer by their result."""

from __future__ import annotations

from collections.abc import Callable
import dataclasses
import math
from typing import NamedTuple

from oslo_db import exception
import sqlalchemy

from serifos.database.connection import Database
from serifos.facts import fields

_METADATA = sqlalchemy.MetaData()

ROUNDS = sqlalchemy.Table(
    'serifos_rounds', _METADATA,
    sqlalchemy.Column('host', sqlalchemy.String(255), primary_key=True),
    sqlalchemy.Column('result', sqlalchemy.String(20), primary_key=True),
    sqlalchemy.Column('number', sqlalchemy.BigInteger, nullable=False),
    sqlalchemy.Column('last_at', sqlalchemy.Float(53), nullable=False),
    mysql_engine='InnoDB', mysql_charset='utf8mb4',
    mysql_collate='utf8mb4_bin')

KEEP_S = 30 * 86400
"""After which a host that makes no rounds is forgotten."""


class Counted(NamedTuple):
    """Rounds of one host with one result.

    :param last_at: when the last of them ended, seconds of the epoch
    """

    host: str
    result: str
    number: int
    last_at: float


@dataclasses.dataclass(frozen=True)
class Rounds:
    """The rounds in a database.

    :param clock: seconds of the epoch
    """

    database: Database
    clock: Callable[[], float]

    def count(self, host: str, result: str) -> None:
        """Counts one more that ended now.

        :raises SerifosError: where it cannot be written
        """
        now, host = self.clock(), host[:255]
        which = (ROUNDS.c.host == host) & (ROUNDS.c.result == result)

        def add(connection: sqlalchemy.Connection) -> None:
            known = connection.execute(
                sqlalchemy.update(ROUNDS).where(which).values(
                    number=ROUNDS.c.number + 1, last_at=now)).rowcount
            connection.execute(sqlalchemy.delete(ROUNDS).where(
                ROUNDS.c.last_at < now - KEEP_S, ROUNDS.c.host != host))
            if not known:
                try:
                    connection.execute(sqlalchemy.insert(ROUNDS).values(
                        host=host, result=result, number=1, last_at=now))
                except exception.DBDuplicateEntry:
                    return  # another process of this host was faster

        self.database.make(ROUNDS)
        self.database.run(add, write=True)

    def every(self) -> list[Counted]:
        """Of all hosts; nothing is changed by this.

        A row that nobody wrote so is left out.

        :raises SerifosError: where it cannot be read
        """
        def read(connection: sqlalchemy.Connection) -> list[Counted]:
            if not _is_there(connection):
                return []
            return [Counted(*row) for row in connection.execute(
                sqlalchemy.select(ROUNDS).order_by(
                    ROUNDS.c.host, ROUNDS.c.result)) if _can_be_read(row)]
        return self.database.run(read) if self.database.exists() else []


def _can_be_read(row: sqlalchemy.Row) -> bool:
    return isinstance(row.host, str) and isinstance(row.result, str) and (
        fields.is_number(row.number, 0, math.inf)
        and fields.is_number(row.last_at, 0, math.inf))


def _is_there(connection: sqlalchemy.Connection) -> bool:
    return sqlalchemy.inspect(connection).has_table(ROUNDS.name)
