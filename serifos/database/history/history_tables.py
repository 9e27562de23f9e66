# SPDX-License-Identifier: Apache-2.0
"""The tables of the history: its head, the volumes, the slots of time.

The head is one row. It says until when the history is written, which every
write moves on: two that write the same minutes are in each other's way there,
and one of them writes nothing.

A row of the slots holds what up to 1,024 volumes did in one slot. They are
found by their numbers, which are given anew once nothing is known any more of
the volume that had it.
"""

from __future__ import annotations

from collections.abc import Callable
from collections.abc import Mapping
import dataclasses

import sqlalchemy

from serifos.database import columns
from serifos import errors

_METADATA = sqlalchemy.MetaData()
_OPTIONS = {'mysql_engine': 'InnoDB', 'mysql_charset': 'utf8mb4',
            'mysql_collate': 'utf8mb4_bin'}

HEAD = sqlalchemy.Table(
    'serifos_history', _METADATA,
    sqlalchemy.Column('id', sqlalchemy.Integer, primary_key=True,
                      autoincrement=False),
    sqlalchemy.Column('version', columns.Whole, nullable=False),
    sqlalchemy.Column('until', columns.Whole, nullable=False), **_OPTIONS)

VOLUMES = sqlalchemy.Table(
    'serifos_history_volumes', _METADATA,
    sqlalchemy.Column('number', sqlalchemy.Integer, primary_key=True,
                      autoincrement=False),
    sqlalchemy.Column('volume', columns.Name(255), nullable=False,
                      unique=True),
    sqlalchemy.Column('gone_at', columns.Whole), **_OPTIONS)

SLOTS = sqlalchemy.Table(
    'serifos_history_slots', _METADATA,
    sqlalchemy.Column('step_s', columns.Whole, primary_key=True,
                      autoincrement=False),
    sqlalchemy.Column('begin', columns.Whole, primary_key=True,
                      autoincrement=False),
    sqlalchemy.Column('part', columns.Whole, primary_key=True,
                      autoincrement=False),
    sqlalchemy.Column('figures', sqlalchemy.LargeBinary, nullable=False),
    **_OPTIONS)
"""``begin``: seconds of the epoch; ``part``: a volume's number by 1,024."""


@dataclasses.dataclass(frozen=True)
class Schema:
    """A version of the tables, and how older ones become it.

    :param upgrades: version → what makes the next one of it
    """

    version: int
    upgrades: Mapping[int, Callable[[sqlalchemy.Connection], None]] = (
        dataclasses.field(default_factory=dict))

    def is_there(self, connection: sqlalchemy.Connection) -> bool:
        """Whether there is a history of this version.

        :raises FormatError: where it is of a newer one
        """
        found = version(connection)
        if found is not None and found > self.version:
            raise errors.FormatError(
                f'The table {HEAD.name} is of version {found}; this serifos '
                f'knows versions up to {self.version}. Install the serifos '
                'that wrote it, or name another database in [history] '
                'connection.')
        return found == self.version

    def make(self, connection: sqlalchemy.Connection) -> None:
        """Makes an empty history, or one of this version of an older one.

        Another process may be doing the same.
        """
        found = version(connection)
        if found is None:
            _METADATA.create_all(connection)
            connection.execute(sqlalchemy.insert(HEAD).values(
                id=1, version=self.version, until=0))
            return
        for older in range(found, self.version):
            self.upgrades[older](connection)
        connection.execute(
            sqlalchemy.update(HEAD).values(version=self.version))


def version(connection: sqlalchemy.Connection) -> int | None:
    """Of the tables that are there; None where there are none."""
    if not sqlalchemy.inspect(connection).has_table(HEAD.name):
        return None
    return connection.scalar(sqlalchemy.select(HEAD.c.version))


SCHEMA = Schema(1)
