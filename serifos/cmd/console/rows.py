# SPDX-License-Identifier: Apache-2.0
"""Rows of names and numbers that fit the width of a terminal.

Numbers are always whole; where the width is too little for all, a part of
names is left out: of what the names of a column begin with alike, else their
middle.
"""

from __future__ import annotations

from collections.abc import Collection
from collections.abc import Iterator
from collections.abc import Sequence
import dataclasses
import os

from rich import cells
from rich.text import Text

from serifos.report import wording

_GAP = '  '
_LEAST = 6
"""Columns of a name that are always shown."""


@dataclasses.dataclass(frozen=True)
class Rows:
    """A table without lines.

    :param names: the columns of names, aligned left; others are of numbers
    :param bold: the rows that stand out; empty for none
    """

    header: Sequence[str]
    rows: Sequence[Sequence[str]]
    names: Collection[int] = (0,)
    bold: Sequence[bool] = ()

    def lines(self, width: int | None) -> Iterator[Text]:
        """Its header and its rows, each of them one line.

        :param width: None for as wide as they are
        """
        widths = self._fitted(width)
        alike = [len(os.path.commonprefix(column)) if len({*column}) > 1
                 else 0 for column in zip(*self.rows)]
        yield Text(self._line(self.header, widths, [0] * len(widths)),
                   style='bold', no_wrap=True)
        for row, bold in zip(self.rows, [*self.bold] or [False] * len(
                self.rows)):
            yield Text(self._line(row, widths, alike),
                       style='bold' if bold else '', no_wrap=True)

    def _line(self, texts: Sequence[str], widths: Sequence[int],
              alike: Sequence[int]) -> str:
        return _GAP.join(
            cells.set_cell_size(_cut(text, wide, same), wide)
            if i in self.names else text.rjust(wide)
            for i, (text, wide, same) in enumerate(zip(
                texts, widths, alike))).rstrip()

    def _fitted(self, width: int | None) -> list[int]:
        """The width of each column."""
        found = [max(map(cells.cell_len, column))
                 for column in zip(self.header, *self.rows)]
        if width is None:
            return found
        over = sum(found) + len(_GAP) * (len(found) - 1) - width
        while over > 0:
            widest = max(self.names, key=found.__getitem__)
            if found[widest] <= _LEAST:
                break
            found[widest] -= 1
            over -= 1
        return found


def _cut(name: str, width: int, alike: int) -> str:
    """A name in so many columns.

    :param alike: how many at its beginning tell it from no other
    """
    over = cells.cell_len(name) - width
    return (f'{name[:alike - over - 1]}…{name[alike:]}' if 0 < over < alike
            else wording.name(name, width))
