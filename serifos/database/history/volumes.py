# SPDX-License-Identifier: Apache-2.0
"""The numbers by which volumes are found in the slots."""

from __future__ import annotations

from collections.abc import Sequence
from collections.abc import Set
import itertools

import sqlalchemy

from serifos.database.history.history_tables import VOLUMES

_AT_ONCE = 500
"""Rows that one statement names."""


def numbers(connection: sqlalchemy.Connection,
            volumes: Set[str]) -> dict[str, int]:
    """The numbers of those of these volumes that have one."""
    query = sqlalchemy.select(VOLUMES.c.volume, VOLUMES.c.number)
    if len(volumes) <= _AT_ONCE:
        query = query.where(VOLUMES.c.volume.in_(volumes))
    return {row.volume: row.number for row in connection.execute(query)
            if row.volume in volumes}


def update(connection: sqlalchemy.Connection, volumes: Sequence[str],
           now: int) -> dict[str, int]:
    """The numbers of all volumes that there are; the others are gone.

    :param now: seconds of the epoch, later than all that is known
    """
    rows = connection.execute(sqlalchemy.select(VOLUMES)).all()
    there = set(volumes)
    known = {row.volume: row.number for row in rows}
    taken = set(known.values())
    free = (number for number in itertools.count() if number not in taken)
    new = dict(zip((volume for volume in dict.fromkeys(volumes)
                    if volume not in known), free))
    added = [{'volume': volume, 'number': number}
             for volume, number in new.items()]
    for first in range(0, len(added), _AT_ONCE):
        connection.execute(sqlalchemy.insert(VOLUMES),
                           added[first:first + _AT_ONCE])
    _mark(connection, [row.number for row in rows if row.gone_at is None
                       and row.volume not in there], now)
    _mark(connection, [row.number for row in rows if row.gone_at is not None
                       and row.volume in there], None)
    return known | new


def forget(connection: sqlalchemy.Connection, before: int) -> None:
    """Forgets volumes that were gone before anything that is known."""
    connection.execute(sqlalchemy.delete(VOLUMES).where(VOLUMES.c.gone_at
                                                        < before))


def _mark(connection: sqlalchemy.Connection, found: Sequence[int],
          gone_at: int | None) -> None:
    for first in range(0, len(found), _AT_ONCE):
        connection.execute(
            sqlalchemy.update(VOLUMES).where(VOLUMES.c.number.in_(
                found[first:first + _AT_ONCE])).values(gone_at=gone_at))
