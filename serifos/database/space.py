# SPDX-License-Identifier: Apache-2.0
"""Used space of pools, four times a day, and the pool of each volume."""

from __future__ import annotations

from collections.abc import Mapping
from collections.abc import Sequence
import dataclasses

from oslo_db import exception
import sqlalchemy

from serifos.database import columns
from serifos.database.connection import Database
from serifos.database.connection import pieces
from serifos.facts.space import Home
from serifos.facts.space import Moved
from serifos.facts.space import Used

_METADATA = sqlalchemy.MetaData()
_OPTIONS = {'mysql_engine': 'InnoDB', 'mysql_charset': 'utf8mb4',
            'mysql_collate': 'utf8mb4_bin'}

USED = sqlalchemy.Table(
    'serifos_pool_space', _METADATA,
    sqlalchemy.Column('slot', columns.Whole, primary_key=True,
                      autoincrement=False),
    sqlalchemy.Column('pool', columns.Name(255), primary_key=True),
    sqlalchemy.Column('at', columns.Number, nullable=False),
    sqlalchemy.Column('used_gib', columns.Number, nullable=False), **_OPTIONS)
"""``slot``: how many times :data:`SLOT_S` since the epoch."""

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

SLOT_S = 6 * 3600

_AHEAD_S = 3600
"""What is later than this from now was written by a wrong clock; what is less
by another balancer, whose clock or whose observation is ahead of ours."""


@dataclasses.dataclass(frozen=True)
class Space:
    """The port :class:`.facts.space.Space` over a database.

    :param keep_s: for how long it is kept
    """

    database: Database
    keep_s: float

    def note(self, used: Used) -> None:
        """Keeps it, as far as nothing is kept of that pool and time."""
        slot = int(used.at // SLOT_S)
        query = sqlalchemy.select(USED.c.pool).where(USED.c.slot == slot)
        self.database.make(USED)
        known = {*self.database.run(
            lambda connection: connection.scalars(query).all())}
        new = [{'slot': slot, 'pool': pool, 'at': used.at, 'used_gib': gib}
               for pool, gib in used.gib.items() if pool not in known]

        def add(connection: sqlalchemy.Connection) -> None:
            try:
                for some in pieces(new):
                    connection.execute(sqlalchemy.insert(USED), some)
            except exception.DBDuplicateEntry:
                return  # another balancer was faster
            if not known:
                self._tidy(connection, slot)

        if new:
            self.database.run(add, write=True)

    def earliest(self, begin: float, end: float) -> list[Used]:
        """The first that is kept of each pool from begin to end."""
        first = sqlalchemy.select(
            USED.c.pool, sqlalchemy.func.min(USED.c.at).label('at')).where(
                USED.c.at >= begin, USED.c.at <= end).group_by(
                    USED.c.pool).subquery()
        query = sqlalchemy.select(USED).join(first, sqlalchemy.and_(
            USED.c.pool == first.c.pool, USED.c.at == first.c.at))
        self.database.make(USED)
        found: dict[float, dict[str, float]] = {}
        for row in self.database.run(
                lambda connection: connection.execute(query).all()):
            found.setdefault(row.at, {})[row.pool] = row.used_gib
        return [Used(at, gib) for at, gib in sorted(found.items())]

    def _tidy(self, connection: sqlalchemy.Connection, slot: int) -> None:
        """Deletes two slots of long ago, and one that lies in the future.

        So what a wrong clock writes, or takes for old, is soon over.
        """
        oldest = slot - self.keep_s // SLOT_S
        for which, order, most in (
                (USED.c.slot < oldest, USED.c.slot, 2),
                (USED.c.slot > slot, USED.c.slot.desc(), 1)):
            gone = connection.scalars(
                sqlalchemy.select(USED.c.slot).distinct().where(
                    which).order_by(order).limit(most)).all()
            connection.execute(
                sqlalchemy.delete(USED).where(USED.c.slot.in_(gone)))


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
        self.database.make(MOVES)
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
                for some in pieces(new):
                    connection.execute(sqlalchemy.insert(HOMES), some)
            except exception.DBDuplicateEntry:
                # Another balancer was faster. MariaDB would keep our half.
                connection.rollback()
                return
            for some in pieces(gone):
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
        self.database.make(MOVES)
        return [Moved(**row._mapping) for row in self.database.run(
            lambda connection: connection.execute(query).all())]


def _begin(connection: sqlalchemy.Connection, before: Sequence[Moved]) -> None:
    """Writes what is known of moves, where nothing is kept of any."""
    if before and connection.scalar(
            sqlalchemy.select(sqlalchemy.func.count()).select_from(
                MOVES)) == 0:
        for some in pieces([*{(move.volume, move.at): dataclasses.asdict(
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
