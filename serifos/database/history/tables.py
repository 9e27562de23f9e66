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

import sqlalchemy as sa

from serifos.database import columns
from serifos import errors

_METADATA = sa.MetaData()
_OPTIONS = {'mysql_engine': 'InnoDB', 'mysql_charset': 'utf8mb4',
            'mysql_collate': 'utf8mb4_bin'}

HEAD = sa.Table(
    'serifos_history', _METADATA,
    sa.Column('id', sa.Integer, primary_key=True, autoincrement=False),
    sa.Column('version', columns.Whole, nullable=False),
    sa.Column('until', columns.Whole, nullable=False), **_OPTIONS)

VOLUMES = sa.Table(
    'serifos_history_volumes', _METADATA,
    sa.Column('number', sa.Integer, primary_key=True, autoincrement=False),
    sa.Column('volume', columns.Name(255), nullable=False, unique=True),
    sa.Column('gone_at', columns.Whole), **_OPTIONS)

SLOTS = sa.Table(
    'serifos_history_slots', _METADATA,
    sa.Column('step_s', columns.Whole, primary_key=True, autoincrement=False),
    sa.Column('begin', columns.Whole, primary_key=True, autoincrement=False),
    sa.Column('part', columns.Whole, primary_key=True, autoincrement=False),
    sa.Column('figures', sa.LargeBinary, nullable=False), **_OPTIONS)
"""``begin``: seconds of the epoch; ``part``: a volume's number by 1,024."""


@dataclasses.dataclass(frozen=True)
class Schema:
    """A version of the tables, and how older ones become it.

    :param upgrades: version → what makes the next one of it
    """

    version: int
    upgrades: Mapping[int, Callable[[sa.Connection], None]] = (
        dataclasses.field(default_factory=dict))

    def is_there(self, connection: sa.Connection) -> bool:
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

    def make(self, connection: sa.Connection) -> None:
        """Makes an empty history, or one of this version of an older one.

        Another process may be doing the same.
        """
        found = version(connection)
        if found is None:
            _METADATA.create_all(connection)
            connection.execute(sa.insert(HEAD).values(
                id=1, version=self.version, until=0))
            return
        for older in range(found, self.version):
            self.upgrades[older](connection)
        connection.execute(sa.update(HEAD).values(version=self.version))


def version(connection: sa.Connection) -> int | None:
    """Of the tables that are there; None where there are none."""
    if not sa.inspect(connection).has_table(HEAD.name):
        return None
    return connection.scalar(sa.select(HEAD.c.version))


SCHEMA = Schema(1)
