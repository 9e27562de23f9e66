# SPDX-License-Identifier: Apache-2.0
"""A table of results, and its cells as text, for a page or a terminal."""

from __future__ import annotations

from collections.abc import Sequence
import dataclasses
import re


@dataclasses.dataclass(frozen=True)
class Table:
    """Rows under a header; numbers are aligned right and shortened."""

    header: Sequence[str]
    rows: Sequence[Sequence[object]]
    caption: str = ''


def percent(fraction: float | None, form: str = '.1f') -> str | None:
    """0.123 as 12.3 %, or as its format says; None for None."""
    return None if fraction is None else f'{100 * fraction:{form}} %'


def shown(value: object) -> str:
    """A cell as text: 12,390; 5.95; 0.082; an en dash for None."""
    if value is None:
        return '–'
    if isinstance(value, float):
        return f'{value:,.0f}' if abs(value) >= 100 else f'{value:.3g}'
    if isinstance(value, int) and not isinstance(value, bool):
        return f'{value:,}'
    return str(value)


def is_number(value: object) -> bool:
    """Whether a cell is a number, or a text such as -12 % or 5.95 ms."""
    return re.fullmatch(r'[-+]?[\d.,]+(e[-+]?\d+)?( ?\S{1,3})?|–',
                        shown(value)) is not None


def as_text(table: Table) -> str:
    """A table as lines of text, columns of numbers aligned right."""
    columns = [_column([name, *map(shown, cells)])
               for name, cells in zip(table.header, zip(*table.rows))]
    return '\n'.join([table.caption, *(
        '  '.join(line).rstrip() for line in zip(*columns))])


def _column(cells: Sequence[str]) -> list[str]:
    width = max(map(len, cells))
    align = str.rjust if all(map(is_number, cells[1:])) else str.ljust
    head, *rest = (align(cell, width) for cell in cells)
    return [head, '-' * width, *rest]
