# SPDX-License-Identifier: Apache-2.0
"""Output of verbs: the options --out and -q, and cells of tables."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from collections.abc import Iterator
from collections.abc import Mapping
import contextlib
import contextvars
import json
import os
import shutil
import sys
from typing import Any

from cliff import columns

from serifos.facts import phrases
from serifos.files import atomic
from serifos.report import table
from serifos.report import wording

_NAME, _TEXT = 30, 42  # together the width of a terminal of 80 columns

_quiet: contextvars.ContextVar[bool] = contextvars.ContextVar(
    'quiet', default=False)


def add_out(parser: Any, what: str) -> None:
    """``--out``.

    :param what: is written, for the help
    """
    parser.add_argument('--out', metavar='FILE',
                        help=f'also write {what} to this file, as JSON')


def refuse_unwritable(args: argparse.Namespace, kind: str = '') -> None:
    """Checks ``--out`` before the work begins.

    :param kind: of document that is written, as its schema names it
    :raises InputError: where the file cannot be written
    """
    if args.out:
        atomic.refuse_unwritable(args.out, kind)


def write(args: argparse.Namespace, document: Any) -> None:
    """The document to the file of ``--out``, where one was asked for.

    :raises InputError: where it cannot be written
    """
    if args.out:
        atomic.replace(args.out, json.dumps(
            document, indent=1, allow_nan=False) + '\n')


@contextlib.contextmanager
def voice(quiet: bool, silent: bool) -> Iterator[None]:
    """Within it, tables fit the terminal, and -q is obeyed.

    :param quiet: whether there are no notes and no progress
    :param silent: whether nothing is printed on standard output either
    """
    width = (shutil.get_terminal_size().columns - 1
             if sys.stdout.isatty() else None)
    token = _quiet.set(quiet)
    try:
        with contextlib.ExitStack() as stack:
            stack.enter_context(table.narrowed(width))
            if silent:
                stack.enter_context(contextlib.redirect_stdout(
                    stack.enter_context(open(os.devnull, 'w'))))
            yield
    finally:
        _quiet.reset(token)


def is_quiet() -> bool:
    """Whether -q was given to the program that runs."""
    return _quiet.get()


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
    return _flat(cell)


def of_csv(cell: Any) -> Any:
    """A cell for ``-f csv``: nothing where there is no value."""
    if isinstance(cell, Cell) and cell.machine_readable() is None:
        return None
    return _flat(cell)


def _flat(value: Any) -> Any:
    """Lists and mappings as JSON."""
    return json.dumps(value, allow_nan=False) if isinstance(
        value, (list, dict)) else value


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
    return f'{phrases.ms(value)} ms' if unit == 'us' else f'{value:.4g}'


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
