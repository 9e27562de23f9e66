# SPDX-License-Identifier: Apache-2.0
"""Record the pool of each volume, present and former."""

from __future__ import annotations

from collections.abc import Iterator
from collections.abc import Mapping
from collections.abc import Sequence
import dataclasses
from typing import Any

from oslo_db import exception
import sqlalchemy

from serifos.database import columns
from serifos.database.connection import Database
from serifos.facts.space import Home
from serifos.facts.space import Moved

_METADATA = sqlalchemy.MetaData()
_OPTIONS = {'mysql_engine': 'InnoDB', 'mysql_charset': 'utf8mb4',
            'mysql_collate': 'utf8mb4_bin'}

HOMES = sqlalchemy.Table(
    'serifos_volume_homes', _METADATA,
    sqlalchemy.Column('volume', columns.Name(255), primary_key=True),
    sqlalchemy.Column('pool', columns.Name(255), nullable=False),
    sqlalchemy.Column('gib', columns.Number, nullable=False), **_OPTIONS)

MOVES = sqlalchemy.Table(
    'serifos_volume_moves', _METADATA,
    sqlalchemy.Column('volume', columns.Name(255), primary_key=True),
    sqlalchemy.Column('at', columns.Number, primary_key=True),
    sqlalchemy.Column('source', columns.Name(255), nullable=False),
    sqlalchemy.Column('target', columns.Name(255), nullable=False),
    sqlalchemy.Column('gib', columns.Number, nullable=False), **_OPTIONS)

_AT_ONCE = 500

_AHEAD_S = 3600
"""What is later than this from now was written by a wrong clock; what is less
by another balancer, whose clock or whose observation is ahead of ours."""


@dataclasses.dataclass(frozen=True)
class Homes:
    """The port :class:`.facts.space.Homes` over a database.

    :param keep_s: for how long moves are kept
    """

    database: Database
    keep_s: float

    def note(self, homes: Mapping[str, Home], at: float,
             before: Sequence[Moved]) -> None:
        """As :meth:`.facts.space.Homes.note`."""
        self._prepare()
        known = {row.volume: Home(row.pool, row.gib)
                 for row in self.database.run(lambda connection:
                                              connection.execute(
                                                  sqlalchemy.select(
                                                      HOMES)).all())}
        new = [{'volume': volume, **dataclasses.asdict(home)}
               for volume, home in homes.items() if volume not in known]
        changed = {volume: home for volume, home in homes.items()
                   if known.get(volume, home) != home}
        gone = [volume for volume in known if volume not in homes]

        def write(connection: sqlalchemy.Connection) -> None:
            try:
                if not known:
                    _begin(connection, before)
                for volume, home in changed.items():
                    _change(connection, volume, known[volume], home, at)
                for some in _pieces(new):
                    connection.execute(sqlalchemy.insert(HOMES), some)
            except exception.DBDuplicateEntry:
                # Another balancer was faster. MariaDB would keep our half.
                connection.rollback()
                return
            for some in _pieces(gone):
                connection.execute(
                    sqlalchemy.delete(HOMES).where(HOMES.c.volume.in_(some)))
            connection.execute(sqlalchemy.delete(MOVES).where(sqlalchemy.or_(
                MOVES.c.at > at + _AHEAD_S,
                MOVES.c.at < at - self.keep_s)))

        if new or changed or gone:
            self.database.run(write, write=True)

    def moves(self, begin: float) -> list[Moved]:
        """As :meth:`.facts.space.Homes.moves`."""
        query = sqlalchemy.select(MOVES).where(MOVES.c.at >= begin).order_by(
            MOVES.c.at)
        self._prepare()
        return [Moved(**row._mapping) for row in self.database.run(
            lambda connection: connection.execute(query).all())]

    def _prepare(self) -> None:
        self.database.prepare(
            lambda connection: sqlalchemy.inspect(connection).has_table(
                MOVES.name),
            _METADATA.create_all)


def _begin(connection: sqlalchemy.Connection, before: Sequence[Moved]) -> None:
    """Writes what is known of moves, where nothing is kept of any."""
    if before and connection.scalar(
            sqlalchemy.select(sqlalchemy.func.count()).select_from(
                MOVES)) == 0:
        for some in _pieces([*{(move.volume, move.at): dataclasses.asdict(
                move) for move in before}.values()]):
            connection.execute(sqlalchemy.insert(MOVES), some)


def _change(connection: sqlalchemy.Connection, volume: str, old: Home,
            new: Home, at: float) -> None:
    """Writes a volume's home; a move, unless another balancer did just now."""
    ours = connection.execute(sqlalchemy.update(HOMES).where(
        HOMES.c.volume == volume, HOMES.c.pool == old.pool).values(
            **dataclasses.asdict(new))).rowcount == 1
    if ours and new.pool != old.pool:
        connection.execute(sqlalchemy.insert(MOVES).values(
            **dataclasses.asdict(Moved(
                at, old.pool, new.pool, old.gib, volume))))


def _pieces(rows: Sequence[Any]) -> Iterator[Sequence[Any]]:
    return (rows[first:first + _AT_ONCE]
            for first in range(0, len(rows), _AT_ONCE))
