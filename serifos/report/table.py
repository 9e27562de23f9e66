# SPDX-License-Identifier: Apache-2.0
"""A table of results, and its cells as text, for a page or a terminal.

Within :func:`narrowed`, as numpy has it with ``printoptions``, tables are no
wider than that: the columns that fit stand beside one another, the others
below their row with their names. Nothing is cut. Widths are columns of a
terminal, of which some characters take two.
"""

from __future__ import annotations

from collections.abc import Iterator
from collections.abc import Sequence
import contextlib
import contextvars
import dataclasses
import re
import textwrap
from typing import Any

from rich import cells

_INDENT = ' ' * 4
_WIDE = '\0'
"""Stands for the second column of a character while lines are wrapped."""

_LEAST = 40
"""Columns of the narrowest terminal that tables are fitted to."""

_width: contextvars.ContextVar[int | None] = contextvars.ContextVar(
    'width', default=None)


@dataclasses.dataclass(frozen=True)
class Table:
    """Rows under a header; numbers are aligned right and shortened.

    :param hints: on a page, of each row, where a pointer rests on it
    """

    header: Sequence[str]
    rows: Sequence[Sequence[object]]
    caption: str = ''
    hints: Sequence[str] = ()


def percent(fraction: float | None, form: str = '.1f') -> str | None:
    """0.123 as 12.3 %, or in this format; None for None."""
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


@contextlib.contextmanager
def narrowed(width: int | None) -> Iterator[None]:
    """Within it, tables are at most so wide; None for as wide as they are."""
    token = _width.set(None if width is None else max(width, _LEAST))
    try:
        yield
    finally:
        _width.reset(token)


def width() -> int | None:
    """How wide tables may be; None for as wide as they are."""
    return _width.get()


def as_text(table: Table) -> str:
    """A table as lines of text, columns of numbers aligned right."""
    columns = [_column([name, *map(shown, column)])
               for name, column in zip(table.header, zip(*table.rows))]
    if not columns:
        return _filled(table.caption)
    fits = _fitting([cells.cell_len(column[0]) for column in columns])
    head, rule, *rows = ('  '.join(line).rstrip()
                         for line in zip(*columns[:fits]))
    return '\n'.join([_filled(table.caption), head, rule, *(
        line for row, whole in zip(rows, table.rows)
        for line in (row, *_below(table.header[fits:], whole[fits:])))])


def _filled(caption: str) -> str:
    """A caption in lines of at most 79 columns."""
    most = min(79, _width.get() or 79)
    return '\n'.join(line for part in caption.split('\n')
                     for line in wrapped(part, most) or [''])


def _fitting(widths: Sequence[int]) -> int:
    """How many of the columns stand beside one another, at least one."""
    most, used = _width.get(), -2
    for number, width in enumerate(widths):
        used += width + 2
        if most is not None and used > most and number:
            return number
    return len(widths)


def _below(names: Sequence[str], values: Sequence[object]) -> list[str]:
    """The rest of a row, without what is not known."""
    said = [f'{name} {shown(value)}' for name, value in zip(names, values)
            if shown(value) not in ('–', '')]
    return wrapped(
        ', '.join(said), _width.get() or 0, initial_indent=_INDENT,
        subsequent_indent=_INDENT, break_long_words=False,
        break_on_hyphens=False) if said else []


def _column(texts: Sequence[str]) -> list[str]:
    width = max(map(cells.cell_len, texts))
    align = str.rjust if all(map(is_number, texts[1:])) else (
        cells.set_cell_size)
    head, *rest = (align(text, width) for text in texts)
    return [head, '-' * width, *rest]


def wrapped(text: str, width: int, **options: Any) -> list[str]:
    """As textwrap.wrap, by the columns of a terminal."""
    wide = ''.join(c if c.isascii() else c + _WIDE * (
        cells.cell_len(c) - 1) for c in text)
    return [line.replace(_WIDE, '')
            for line in textwrap.wrap(wide, width, **options)]
