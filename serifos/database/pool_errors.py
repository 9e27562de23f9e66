# SPDX-License-Identifier: Apache-2.0
"""The errors of predictions, a row for each pool and hour."""

from __future__ import annotations

from collections.abc import Mapping
import dataclasses

from oslo_db import exception
import sqlalchemy as sa

from serifos.database import columns
from serifos.database import connection as cn
from serifos.facts import pool_errors as pe

_METADATA = sa.MetaData()

_SUMS = ('seen_us', 'predicted_us', 'error')
_COUNTS = ('rounds', 'above', 'below')

ERRORS = sa.Table(
    'serifos_pool_errors', _METADATA,
    sa.Column('begin', columns.Whole, primary_key=True, autoincrement=False),
    sa.Column('pool', columns.Name(255), primary_key=True),
    *(sa.Column(name, columns.Whole, nullable=False) for name in _COUNTS),
    *(sa.Column(name, columns.Number, nullable=False) for name in _SUMS),
    mysql_engine='InnoDB', mysql_charset='utf8mb4',
    mysql_collate='utf8mb4_bin')

_AT_ONCE = 500


@dataclasses.dataclass(frozen=True)
class PoolErrors:
    """The port :class:`.facts.pool_errors.PoolErrors` over a database."""

    database: cn.Database

    def note(self, checks: Mapping[str, pe.Check], at: float) -> None:
        """Adds a round to its hour."""
        begin = int(at // pe.HOUR_S) * pe.HOUR_S
        self._prepare()
        known = {*self.database.run(lambda connection: connection.scalars(
            sa.select(ERRORS.c.pool).where(ERRORS.c.begin == begin)).all())}
        rounds = {pool: pe.Hour(begin).with_one(check)
                  for pool, check in checks.items()}
        names = (*_COUNTS, *_SUMS)
        more = sa.update(ERRORS).where(
            ERRORS.c.begin == begin, ERRORS.c.pool == sa.bindparam('of'),
            ).values({name: ERRORS.c[name] + sa.bindparam(f'more_{name}')
                      for name in names})
        old = [{'of': pool, **{f'more_{name}': getattr(hour, name)
                               for name in names}}
               for pool, hour in rounds.items() if pool in known]
        new = [{'pool': pool, **dataclasses.asdict(hour)}
               for pool, hour in rounds.items() if pool not in known]

        def add(connection: sa.Connection) -> None:
            try:
                for statement, rows in (more, old), (sa.insert(ERRORS), new):
                    for first in range(0, len(rows), _AT_ONCE):
                        connection.execute(
                            statement, rows[first:first + _AT_ONCE])
            except exception.DBDuplicateEntry:
                return  # another balancer was faster
            if new and not known:
                connection.execute(sa.delete(ERRORS).where(sa.or_(
                    ERRORS.c.begin > begin,  # a wrong clock wrote it
                    ERRORS.c.begin < begin - pe.KEPT_S)))

        if checks:
            self.database.run(add, write=True)

    def hours(self, begin: float, end: float) -> dict[str, list[pe.Hour]]:
        """The hours that begin in a time."""
        query = sa.select(ERRORS).where(
            ERRORS.c.begin >= begin, ERRORS.c.begin <= end).order_by(
                ERRORS.c.begin)
        found: dict[str, list[pe.Hour]] = {}
        if self.database.exists():
            self._prepare()
            for row in self.database.run(
                    lambda connection: connection.execute(query).all()):
                facts = dict(row._mapping)
                found.setdefault(facts.pop('pool'), []).append(
                    pe.Hour(**facts))
        return found

    def _prepare(self) -> None:
        self.database.prepare(
            lambda connection: sa.inspect(connection).has_table(ERRORS.name),
            _METADATA.create_all)
