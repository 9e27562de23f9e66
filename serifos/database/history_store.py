# SPDX-License-Identifier: Apache-2.0
"""The history in a database: written once a round, read in one query.

A round is one transaction, so that after a crash it is there or not. What is
added goes to the slots of every length, each of which so is complete up to
that round. Nothing is written twice: a write says from when on it goes, and
is none where the history goes on from elsewhere.

The head is one row. It says until when the history is written, which every
write moves on: two that write the same minutes are in each other's way there,
and one of them writes nothing. A row of the slots holds what up to 1,024
volumes did in one slot. They are found by their numbers, which are given anew
once nothing is known any more of the volume that had it.
"""

from __future__ import annotations

from collections.abc import Collection
from collections.abc import Iterator
from collections.abc import Sequence
from collections.abc import Set
import dataclasses
import itertools

import numpy as np
import numpy.typing as npt
from oslo_log import log
import sqlalchemy

from serifos.database import columns
from serifos.database.connection import Database
from serifos.database.connection import pieces
from serifos import errors
from serifos.facts import activity
from serifos.facts import history
from serifos.facts.history import Series

LOG = log.getLogger(__name__)

VERSION = 1

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

_SLOTS_AT_ONCE = 100
"""Rows that one statement writes or fetches, 30 KiB each."""

_MOST_PARTS = 500
"""That a query names; of more it asks for all."""

_MOST_NAMED = 500
"""The same of volumes."""

_FIGURES = sqlalchemy.type_coerce(SLOTS.c.figures,
                                  sqlalchemy.types.NullType()).label(
    'figures')  # as the driver has them: they may be anything

# Of one text for all slots: to make it anew takes longer than to run it.
_ROWS = sqlalchemy.select(SLOTS.c.begin, SLOTS.c.part, _FIGURES).where(
    SLOTS.c.step_s == sqlalchemy.bindparam('step_s'),
    SLOTS.c.begin >= sqlalchemy.bindparam('begin'),
    SLOTS.c.begin < sqlalchemy.bindparam('end'))
_NEW = sqlalchemy.insert(SLOTS)
_MORE = sqlalchemy.update(SLOTS).where(
    SLOTS.c.step_s == sqlalchemy.bindparam('its_step_s'),
    SLOTS.c.begin == sqlalchemy.bindparam('its_begin'),
    SLOTS.c.part == sqlalchemy.bindparam('its_part')).values(
        figures=sqlalchemy.bindparam('figures'))

Numbers = npt.NDArray[np.int64]

PART = 1024
"""Volumes of a part, by their numbers."""

_PLACE, _FIGURE = np.dtype('<u2'), np.dtype('<f4')
BYTES = _PLACE.itemsize + len(history.FIGURES) * _FIGURE.itemsize
"""Of a volume that was seen in a slot."""


@dataclasses.dataclass(frozen=True)
class Tier:
    """Slots of a length, and for how long they are kept, both seconds."""

    step_s: int
    keep_s: float

    def add(self, connection: sqlalchemy.Connection, series: Series,
            numbers: Numbers) -> int:
        """Adds to the slots; how many did not exist yet.

        :param series: of slots of this length
        :param numbers: of its volumes, each once
        """
        order = np.argsort(numbers)
        parts, firsts = np.unique(numbers[order] // PART,
                                  return_index=True)
        groups = list(zip(parts.tolist(), np.split(order, firsts[1:])))
        begun = 0
        for figures, begin in zip(series.sums.swapaxes(0, 1), series.begins):
            known = {part: data for _, part, data in self.rows(
                connection, begin, begin + self.step_s)}
            changed = [
                (part, pack_more(known.get(part), numbers[group] % PART,
                                 figures[:, group]))
                for part, group in groups if (figures[0, group] > 0).any()]
            self._write(connection, begin, changed, known)
            begun += bool(changed and not known)
        return begun

    def rows(self, connection: sqlalchemy.Connection, begin: int, end: int,
             parts: Collection[int] = ()) -> Iterator[
                 tuple[int, int, object]]:
        """Begin, part and figures of the rows of some time.

        :param parts: those that are wanted; none for all
        """
        query = _ROWS
        if 0 < len(parts) <= _MOST_PARTS:
            query = query.where(SLOTS.c.part.in_(parts))
        for row in connection.execute(
                query, {'step_s': self.step_s, 'begin': begin, 'end': end},
                execution_options={'yield_per': _SLOTS_AT_ONCE}):
            yield row.begin, row.part, row.figures

    def tidy(self, connection: sqlalchemy.Connection, now: int,
             begun: int) -> None:
        """Deletes what is older than is kept, or lies in the future.

        Of the old ones two for each slot that was begun, of those in the
        future, which a wrong clock wrote, one. So a clock that is wrong for
        an hour costs no more than it wrote.
        """
        old, ahead = SLOTS.c.begin + self.step_s <= now - self.keep_s, (
            SLOTS.c.begin >= now)
        for which, order, most in (
                (old, SLOTS.c.begin, 2 * begun),
                (ahead, SLOTS.c.begin.desc(), begun)):
            found = connection.scalars(
                sqlalchemy.select(SLOTS.c.begin).distinct().where(
                    SLOTS.c.step_s == self.step_s, which
                ).order_by(order).limit(most)).all() if most else ()
            for begin in found:
                connection.execute(sqlalchemy.delete(SLOTS).where(
                    SLOTS.c.step_s == self.step_s, SLOTS.c.begin == begin))

    def ends(self, connection: sqlalchemy.Connection) -> tuple[int,
                                                               int] | None:
        """Where the first slot begins and the last one ends."""
        first, last = (connection.scalar(
            sqlalchemy.select(SLOTS.c.begin).where(SLOTS.c.step_s
                                                   == self.step_s)
            .order_by(order).limit(1))
            for order in (SLOTS.c.begin, SLOTS.c.begin.desc()))
        return None if first is None else (first, last + self.step_s)

    def _write(self, connection: sqlalchemy.Connection, begin: int,
               changed: Sequence[tuple[int, bytes]],
               known: Collection[int]) -> None:
        for statement, rows in (
                (_NEW, [{'step_s': self.step_s, 'begin': begin,
                         'part': part, 'figures': figures}
                        for part, figures in changed if part not in known]),
                (_MORE, [{'its_step_s': self.step_s, 'its_begin': begin,
                          'its_part': part, 'figures': figures}
                         for part, figures in changed if part in known])):
            for some in pieces(rows, _SLOTS_AT_ONCE):
                connection.execute(statement, some)


_HOUR, _DAY = 3600, 86400

TIERS = (Tier(60, 6 * _HOUR), Tier(300, 8 * _DAY),
         Tier(_HOUR, 56 * _DAY))


@dataclasses.dataclass(frozen=True)
class Store:
    """The port :class:`.facts.activity.KeptHistory` over a database.

    :param tiers: the shortest slots first, each length a multiple of the one
        before
    """

    database: Database
    tiers: Sequence[Tier] = TIERS

    @property
    def step_s(self) -> int:
        """As :attr:`.facts.activity.KeptHistory.step_s`."""
        return self.tiers[0].step_s

    @property
    def is_local(self) -> bool:
        """As :attr:`.facts.activity.KeptHistory.is_local`."""
        return self.database.file is not None

    def until(self) -> int:
        """As :meth:`.facts.activity.KeptHistory.until`."""
        if not self._is_there():
            return 0
        return self.database.run(lambda connection: connection.scalar(
            sqlalchemy.select(HEAD.c.until)))

    def add(self, series: Series, after: int) -> bool:
        """As :meth:`.facts.activity.KeptHistory.add`."""
        def work(connection: sqlalchemy.Connection) -> bool:
            ours = sqlalchemy.update(HEAD).where(
                HEAD.c.until == after).values(until=series.end)
            if connection.execute(ours).rowcount != 1:
                return False
            self._write(connection, series)
            return True
        self._prepare()
        return self.database.run(work, write=True)

    def read(self, places: Sequence[activity.MeasuredVolume], begin: float,
             end: float, step_s: int) -> Series:
        """As :meth:`.facts.activity.History.read`."""
        tier = max((tier for tier in self.tiers if step_s % tier.step_s == 0),
                   key=lambda tier: tier.step_s, default=None)
        if tier is None or step_s <= 0:
            raise errors.InputError(
                f'The history has no slots of {step_s} s; give a multiple '
                f'of {self.step_s} s.')
        found = Series.empty([place.volume for place in places], begin,
                             end, step_s)
        if places and self._is_there():
            self.database.run(
                lambda connection: self._read(connection, tier, found))
        return found

    def _is_there(self) -> bool:
        """Whether there is a history."""
        if not self.database.exists() or (
                self.database.run(version) is None):
            return False
        self._prepare()
        return True

    def _prepare(self) -> None:
        self.database.prepare(is_there, make)

    @staticmethod
    def _read(connection: sqlalchemy.Connection, tier: Tier,
              found: Series) -> None:
        """Fills a series; again from the beginning where it is tried again."""
        found.sums[:] = 0
        numbers = numbers_of(connection, set(found.volumes))
        if not numbers:
            return
        parts = {number // PART for number in numbers.values()}
        columns = np.full((max(parts) + 1) * PART, -1)
        for column, volume in enumerate(found.volumes):
            if volume in numbers:
                columns[numbers[volume]] = column
        for begin, part, data in tier.rows(
                connection, found.begin, found.end, parts):
            if part not in parts:
                continue
            try:
                places, figures = unpack(data)
            except errors.FormatError as exc:
                LOG.warning('Slots of %d s, begin %d, part %d: %s',
                            tier.step_s, begin, part, exc)
                continue
            there = columns[part * PART + places]
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


def is_there(connection: sqlalchemy.Connection) -> bool:
    """Whether there is a history.

    :raises FormatError: where it is of a newer version
    """
    found = version(connection)
    if found is not None and found > VERSION:
        raise errors.FormatError(
            f'The table {HEAD.name} is of version {found}; this serifos '
            f'knows versions up to {VERSION}. Install the serifos that '
            'wrote it, or name another database in [history] connection.')
    return found is not None


def make(connection: sqlalchemy.Connection) -> None:
    """Make an empty history; another process may be doing the same."""
    _METADATA.create_all(connection)
    connection.execute(sqlalchemy.insert(HEAD).values(
        id=1, version=VERSION, until=0))


def version(connection: sqlalchemy.Connection) -> int | None:
    """Of the tables that are there; None where there are none."""
    if not sqlalchemy.inspect(connection).has_table(HEAD.name):
        return None
    return connection.scalar(sqlalchemy.select(HEAD.c.version))


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


def pack(places: Numbers, figures: history.Array) -> bytes:
    """Figures (7, n) of n volumes, those that were seen."""
    seen = figures[0] > 0
    return (places[seen].astype(_PLACE).tobytes()
            + figures[:, seen].astype(_FIGURE).tobytes())


def unpack(data: object) -> tuple[Numbers, history.Array]:
    """Numbers (n) and figures (7, n).

    :raises FormatError: where it is not what we wrote
    """
    if not isinstance(data, (bytes, memoryview)):
        raise errors.FormatError(
            'A slot of the history is no bytes; delete that row.')
    count, rest = divmod(len(data), BYTES)
    split = count * _PLACE.itemsize
    places = np.frombuffer(data[:split], _PLACE).astype(np.int64)
    if rest or (places >= PART).any():
        raise errors.FormatError(
            f'A slot of the history has {len(data)} bytes that cannot be '
            'read; delete that row.')
    return places, np.frombuffer(data[split:], _FIGURE).reshape(
        len(history.FIGURES), count)


def pack_more(data: object, places: Numbers, figures: history.Array) -> bytes:
    """The packed values with more of the same slot.

    :param data: None for nothing; what cannot be unpacked is lost
    """
    if data is None:
        return pack(places, figures)
    both = np.zeros((len(history.FIGURES), PART), np.float32)
    try:
        earlier, known = unpack(data)
    except errors.FormatError:
        return pack(places, figures)
    both[:, earlier] = known
    both[:, places] += figures
    return pack(np.arange(PART), both)
