# SPDX-License-Identifier: Apache-2.0
"""Cells of printed tables: a value for programs, its text for people."""

from __future__ import annotations

from collections.abc import Callable
from collections.abc import Mapping
from typing import Any

from cliff import columns

from serifos.report import wording

_NAME, _TEXT = 30, 42  # together the width of a terminal of 80 columns


class Cell(columns.FormattableColumn[Any]):
    """A value, as ``-f json`` has it, and the text of a table."""

    def __init__(self, value: Any, text: str) -> None:
        super().__init__(value)
        self._text = text

    def human_readable(self) -> str:
        return self._text


def of_value(cell: Any) -> Any:
    """A cell for ``-f value``: where there is no value, what people read."""
    if isinstance(cell, Cell) and cell.machine_readable() is None:
        return cell.human_readable() or cell
    return cell


def of_csv(cell: Any) -> Any:
    """A cell for ``-f csv``: nothing where there is no value."""
    if isinstance(cell, Cell) and cell.machine_readable() is None:
        return None
    return cell


def number(value: float | None, form: str, unknown: str = '') -> Cell:
    """A number in a format such as ``.3g`` or ``.1%``, which is percent."""
    if value is None:
        return Cell(value, unknown)
    return Cell(value, f'{100 * value:{form[:-1]}f} %' if form.endswith('%')
                else f'{value:{form}}')


def percent(fraction: float | None) -> Cell:
    """0.12 to a program, 12.0 % to a person."""
    return number(fraction, '.1%', 'unknown')


def figure(value: float, unit: str) -> str:
    """A figure as people read it: latencies in ms with three digits.

    :param unit: such as ``us``, ``iops`` or ``mib_s``
    """
    return f'{wording.ms(value)} ms' if unit == 'us' else f'{value:.4g}'


def named(values: Mapping[str, Any],
          text: Callable[[Any], str] = str) -> Cell:
    """Values after their names, such as 'power 2, minsplit 40'."""
    return Cell(values, ', '.join(
        f'{name} {text(value)}' for name, value in values.items()))


def figures(values: Mapping[str, float | None]) -> Cell:
    """Numbers after their names."""
    return named(values, lambda value: (
        'unknown' if value is None else f'{value:.6g}'))


def ranges(values: Mapping[str, tuple[float, float]]) -> Cell:
    """From and to after the names."""
    return named(values, lambda ends: f'{ends[0]:g} to {ends[1]:g}')


def folded(facts: Mapping[str, Any]) -> dict[str, Any]:
    """The same facts, in lines that a terminal of 80 columns holds."""
    def fold(text: str, width: int) -> str:
        return '\n'.join(wording.folded(text, width))

    def cell(value: Any) -> Any:
        if isinstance(value, Cell):
            return Cell(value.machine_readable(),
                        fold(value.human_readable(), _TEXT))
        return fold(value, _TEXT) if isinstance(value, str) else value
    return {fold(name, _NAME): cell(value) for name, value in facts.items()}
