# SPDX-License-Identifier: Apache-2.0
"""The errors of predictions, a row for each pool and hour."""

from __future__ import annotations

from collections.abc import Mapping
import dataclasses

from oslo_db import exception
import sqlalchemy

from serifos.database import columns
from serifos.database.connection import Database
from serifos.database.connection import pieces
from serifos.facts import pool_errors

_METADATA = sqlalchemy.MetaData()

_SUMS = ('seen_us', 'predicted_us', 'error')
_COUNTS = ('rounds', 'above', 'below')

ERRORS = sqlalchemy.Table(
    'serifos_pool_errors', _METADATA,
    sqlalchemy.Column('begin', columns.Whole, primary_key=True,
                      autoincrement=False),
    sqlalchemy.Column('pool', columns.Name(255), primary_key=True),
    *(sqlalchemy.Column(name, columns.Whole, nullable=False)
      for name in _COUNTS),
    *(sqlalchemy.Column(name, columns.Number, nullable=False)
      for name in _SUMS),
    mysql_engine='InnoDB', mysql_charset='utf8mb4',
    mysql_collate='utf8mb4_bin')


@dataclasses.dataclass(frozen=True)
class PoolErrors:
    """The port :class:`.facts.pool_errors.PoolErrors` over a database."""

    database: Database

    def note(self, checks: Mapping[str, pool_errors.Check], at: float) -> None:
        """Adds a round to its hour."""
        begin = int(at // pool_errors.HOUR_S) * pool_errors.HOUR_S
        self.database.make(ERRORS)
        known = {*self.database.run(lambda connection: connection.scalars(
            sqlalchemy.select(ERRORS.c.pool).where(ERRORS.c.begin
                                                   == begin)).all())}
        rounds = {pool: pool_errors.Hour(begin).with_one(check)
                  for pool, check in checks.items()}
        names = (*_COUNTS, *_SUMS)
        more = sqlalchemy.update(ERRORS).where(
            ERRORS.c.begin == begin,
            ERRORS.c.pool == sqlalchemy.bindparam('of'),
            ).values({name: ERRORS.c[name]
                      + sqlalchemy.bindparam(f'more_{name}')
                      for name in names})
        old = [{'of': pool, **{f'more_{name}': getattr(hour, name)
                               for name in names}}
               for pool, hour in rounds.items() if pool in known]
        new = [{'pool': pool, **dataclasses.asdict(hour)}
               for pool, hour in rounds.items() if pool not in known]

        def add(connection: sqlalchemy.Connection) -> None:
            try:
                for statement, rows in (more, old), (sqlalchemy.insert(ERRORS),
                                                     new):
                    for some in pieces(rows):
                        connection.execute(statement, some)
            except exception.DBDuplicateEntry:
                return  # another balancer was faster
            if new and not known:
                connection.execute(
                    sqlalchemy.delete(ERRORS).where(sqlalchemy.or_(
                        ERRORS.c.begin > begin,  # a wrong clock wrote it
                        ERRORS.c.begin < begin - pool_errors.KEPT_S)))

        if checks:
            self.database.run(add, write=True)

    def hours(self, begin: float, end: float) -> dict[str,
                                                      list[pool_errors.Hour]]:
        """The hours that begin in a time."""
        query = sqlalchemy.select(ERRORS).where(
            ERRORS.c.begin >= begin, ERRORS.c.begin <= end).order_by(
                ERRORS.c.begin)
        found: dict[str, list[pool_errors.Hour]] = {}
        if self.database.exists():
            self.database.make(ERRORS)
            for row in self.database.run(
                    lambda connection: connection.execute(query).all()):
                facts = dict(row._mapping)
                found.setdefault(facts.pop('pool'), []).append(
                    pool_errors.Hour(**facts))
        return found
