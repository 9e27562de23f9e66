# SPDX-License-Identifier: Apache-2.0
"""The history in a database: written once a round, read in one query.

A round is one transaction, so that after a crash it is there or not. What is
added goes to the slots of every length, each of which so is complete up to
that round. Nothing is written twice: a write says from when on it goes, and
is none where the history goes on from elsewhere.
"""

from __future__ import annotations

from collections.abc import Sequence
from collections.abc import Set
import dataclasses
import itertools

import numpy as np
from oslo_log import log
import sqlalchemy

from serifos.database.connection import Database
from serifos.database.connection import pieces
from serifos.database import history_tables
from serifos.database.history_tables import Tier
from serifos.database.history_tables import VOLUMES
from serifos import errors
from serifos.facts import activity
from serifos.facts.history import Series

LOG = log.getLogger(__name__)

_HOUR, _DAY = 3600, 86400

TIERS = (Tier(60, 6 * _HOUR), Tier(300, 8 * _DAY),
         Tier(_HOUR, 56 * _DAY))

_MOST_NAMED = 500
"""Volumes that a query names; of more it asks for all."""


@dataclasses.dataclass(frozen=True)
class Store:
    """The port :class:`.facts.history.History` over a database.

    :param tiers: the shortest slots first, each length a multiple of the one
        before
    """

    database: Database
    tiers: Sequence[Tier] = TIERS

    def until(self) -> int:
        """Until when the history is written, seconds of the epoch; 0 if new.

        :raises SerifosError: where it cannot be read
        """
        if not self._is_there():
            return 0
        return self.database.run(lambda connection: connection.scalar(
            sqlalchemy.select(history_tables.HEAD.c.until)))

    def add(self, series: Series, after: int) -> bool:
        """Adds what all volumes did since; those not in it are gone.

        :param series: of slots as short as the shortest that are kept
        :param after: what :meth:`until` said
        :returns: whether it was added, and not by another process just now
        :raises SerifosError: where it cannot be written
        """
        def work(connection: sqlalchemy.Connection) -> bool:
            ours = sqlalchemy.update(history_tables.HEAD).where(
                history_tables.HEAD.c.until == after).values(until=series.end)
            if connection.execute(ours).rowcount != 1:
                return False
            self._write(connection, series)
            return True
        self._prepare()
        return self.database.run(work, write=True)

    def read(self, places: Sequence[activity.MeasuredVolume], begin: float,
             end: float, step_s: int) -> Series:
        """As :meth:`.facts.history.History.read`."""
        tier = max((tier for tier in self.tiers if step_s % tier.step_s == 0),
                   key=lambda tier: tier.step_s, default=None)
        if tier is None or step_s <= 0:
            raise errors.InputError(
                f'The history has no slots of {step_s} s; give a multiple '
                f'of {self.tiers[0].step_s} s.')
        found = Series.empty([place.volume for place in places], begin,
                             end, step_s)
        if places and self._is_there():
            self.database.run(
                lambda connection: self._read(connection, tier, found))
        return found

    def _is_there(self) -> bool:
        """Whether there is a history."""
        if not self.database.exists() or (
                self.database.run(history_tables.version) is None):
            return False
        self._prepare()
        return True

    def _prepare(self) -> None:
        self.database.prepare(history_tables.is_there, history_tables.make)

    @staticmethod
    def _read(connection: sqlalchemy.Connection, tier: Tier,
              found: Series) -> None:
        """Fills a series; again from the beginning where it is tried again."""
        found.sums[:] = 0
        numbers = numbers_of(connection, set(found.volumes))
        if not numbers:
            return
        parts = {number // history_tables.PART for number in numbers.values()}
        columns = np.full((max(parts) + 1) * history_tables.PART, -1)
        for column, volume in enumerate(found.volumes):
            if volume in numbers:
                columns[numbers[volume]] = column
        for begin, part, data in tier.rows(
                connection, found.begin, found.end, parts):
            if part not in parts:
                continue
            try:
                places, figures = history_tables.unpack(data)
            except errors.FormatError as exc:
                LOG.warning('Slots of %d s, begin %d, part %d: %s',
                            tier.step_s, begin, part, exc)
                continue
            there = columns[part * history_tables.PART + places]
            found.sums[:, (begin - found.begin) // found.step_s,
                       there[there >= 0]] += figures[:, there >= 0]

    def _write(self, connection: sqlalchemy.Connection,
               series: Series) -> None:
        ends = [span for tier in self.tiers
                if (span := tier.ends(connection)) is not None]
        now = max([series.end, *(last for _, last in ends)])
        numbers = update(connection, series.volumes, now)
        if ends:
            forget(connection, min(first for first, _ in ends))
        of = np.array([numbers[volume] for volume in series.volumes], int)
        for tier in self.tiers:
            tier.tidy(connection, series.end, tier.add(
                connection, series.rolled_up(tier.step_s), of))


def numbers_of(connection: sqlalchemy.Connection,
               volumes: Set[str]) -> dict[str, int]:
    """The numbers of those of these volumes that have one."""
    query = sqlalchemy.select(VOLUMES.c.volume, VOLUMES.c.number)
    if len(volumes) <= _MOST_NAMED:
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
    for some in pieces(added):
        connection.execute(sqlalchemy.insert(VOLUMES), some)
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
    for some in pieces(found):
        connection.execute(sqlalchemy.update(VOLUMES).where(
            VOLUMES.c.number.in_(some)).values(gone_at=gone_at))
