# SPDX-License-Identifier: Apache-2.0
"""The slots of one length: added to, read, and deleted where they are old."""

from __future__ import annotations

from collections.abc import Collection
from collections.abc import Iterator
from collections.abc import Sequence
import dataclasses

import numpy as np
import numpy.typing as npt
import sqlalchemy

from serifos.database.history.history_tables import SLOTS
from serifos.database.history import packed
from serifos.facts.history import Series

_AT_ONCE = 100
"""Rows that one statement writes or fetches, 30 KiB each."""

_MOST_PARTS = 500
"""That a query names; of more it asks for all."""

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
        parts, firsts = np.unique(numbers[order] // packed.PART,
                                  return_index=True)
        groups = list(zip(parts.tolist(), np.split(order, firsts[1:])))
        begun = 0
        for figures, begin in zip(series.sums.swapaxes(0, 1), series.begins):
            known = {part: data for _, part, data in self.rows(
                connection, begin, begin + self.step_s)}
            changed = [
                (part, packed.add(known.get(part), numbers[group]
                                  % packed.PART, figures[:, group]))
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
                execution_options={'yield_per': _AT_ONCE}):
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
            for first in range(0, len(rows), _AT_ONCE):
                connection.execute(statement, rows[first:first + _AT_ONCE])
