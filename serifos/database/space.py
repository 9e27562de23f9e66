# SPDX-License-Identifier: Apache-2.0
"""Used space of pools, recorded four times a day."""

from __future__ import annotations

import dataclasses

from oslo_db import exception
import sqlalchemy

from serifos.database import columns
from serifos.database.connection import Database
from serifos.facts.space import Used

_METADATA = sqlalchemy.MetaData()

USED = sqlalchemy.Table(
    'serifos_pool_space', _METADATA,
    sqlalchemy.Column('slot', columns.Whole, primary_key=True,
                      autoincrement=False),
    sqlalchemy.Column('pool', columns.Name(255), primary_key=True),
    sqlalchemy.Column('at', columns.Number, nullable=False),
    sqlalchemy.Column('used_gib', columns.Number, nullable=False),
    mysql_engine='InnoDB', mysql_charset='utf8mb4',
    mysql_collate='utf8mb4_bin')
"""``slot``: how many times :data:`SLOT_S` since the epoch."""

SLOT_S = 6 * 3600

_AT_ONCE = 500


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
        self._prepare()
        known = {*self.database.run(
            lambda connection: connection.scalars(query).all())}
        new = [{'slot': slot, 'pool': pool, 'at': used.at, 'used_gib': gib}
               for pool, gib in used.gib.items() if pool not in known]

        def add(connection: sqlalchemy.Connection) -> None:
            try:
                for first in range(0, len(new), _AT_ONCE):
                    connection.execute(
                        sqlalchemy.insert(USED), new[first:first + _AT_ONCE])
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
        self._prepare()
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

    def _prepare(self) -> None:
        self.database.prepare(
            lambda connection: sqlalchemy.inspect(connection).has_table(
                USED.name),
            _METADATA.create_all)
