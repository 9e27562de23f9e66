# SPDX-License-Identifier: Apache-2.0
"""Output of verbs: the options -f, -c, --out and -q, and cells of tables.

As cliff's own listings, to which verbs do not lend themselves whose text is
more than one table: ``json`` and ``yaml`` are a document, ``value`` its values
only, the rows of a list in a line each.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from collections.abc import Iterable
from collections.abc import Iterator
from collections.abc import Mapping
from collections.abc import Sequence
import contextlib
import contextvars
import itertools
import json
import os
import shutil
import sys
from typing import Any

from cliff import columns

from serifos import errors
from serifos.facts import phrases
from serifos.files import atomic
from serifos.report import table
from serifos.report import wording

_NAME, _TEXT = 30, 42  # together the width of a terminal of 80 columns

FORMATS = ('table', 'json', 'yaml', 'value')

_quiet: contextvars.ContextVar[bool] = contextvars.ContextVar(
    'quiet', default=False)


def add_format(parser: Any, document: str, rows: str) -> None:
    """``--format`` and ``--column``.

    :param parser: a parser, or a group of one
    :param document: what json and yaml are, for the help
    :param rows: of what columns are, for the help
    """
    parser.add_argument(
        '-f', '--format', choices=FORMATS, default='table',
        help=f'json and yaml are {document}, value its values only '
             '(default: table)')
    parser.add_argument(
        '-c', '--column', action='append', dest='columns', default=[],
        metavar='COLUMN', help=f'show only this column of {rows}, as json '
        'calls it; may be given several times')


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


def show(args: argparse.Namespace, document: Any, text: Callable[[], str],
         rows: Sequence[Mapping[str, Any]] | None = None,
         names: Iterable[str] = ()) -> None:
    """Prints a result in the form that was asked for.

    :param document: mappings, lists, texts and numbers
    :param text: what ``table`` prints
    :param rows: of the document, for ``value`` and ``--column``; None where
        the document is itself the rows, or one row
    :param names: of the columns that there are, also where there is no row
    :raises InputError: where a column is not there
    """
    chosen = document if rows is None else rows
    if args.columns:
        document = chosen = _picked(chosen, args.columns, names)
    if args.format == 'json':
        print(json.dumps(document, indent=1, allow_nan=False))
    elif args.format == 'yaml':
        import yaml  # is slow
        encoding = sys.stdout.encoding or 'utf-8'
        print(yaml.safe_dump(
            _plain(document), sort_keys=False,
            allow_unicode=encoding.lower().startswith('utf')), end='')
    elif args.format == 'value':
        for line in _values(chosen):
            print(line)
    elif args.columns and chosen:
        its = chosen if isinstance(chosen, list) else [chosen]
        print(table.as_text(table.Table(args.columns, [
            [_cell(row[name]) for name in args.columns]
            for row in its])).lstrip('\n'))
    else:
        print(text(), end='')


def write(args: argparse.Namespace, document: Any) -> None:
    """The document to the file of ``--out``, where one was asked for.

    :raises InputError: where it cannot be written
    """
    if args.out:
        atomic.replace(args.out, json.dumps(
            document, indent=1, allow_nan=False) + '\n')


def _picked(chosen: Any, columns: Sequence[str],
            names: Iterable[str]) -> Any:
    if isinstance(chosen, Mapping):
        _refuse_unknown(columns, chosen)
        return _of_row(chosen, columns)
    known = dict.fromkeys(itertools.chain(names, *chosen))
    _refuse_unknown(columns, known)
    return [_of_row(row, columns) for row in chosen]


def _refuse_unknown(columns: Sequence[str],
                    known: Mapping[str, Any]) -> None:
    for name in columns:
        if known and name not in known:
            raise errors.InputError(
                f'There is no column {errors.one_line(name)}; there are '
                f'{", ".join(known)}.')


def _of_row(row: Mapping[str, Any],
            columns: Sequence[str]) -> dict[str, Any]:
    return {name: row.get(name) for name in columns}


def _plain(document: Any) -> Any:
    """The document with numpy's numbers as Python's."""
    return json.loads(json.dumps(document, allow_nan=False))


def _values(chosen: Any) -> Iterator[str]:
    if isinstance(chosen, Mapping):
        yield from (_value(value) for value in chosen.values())
        return
    names = dict.fromkeys(name for row in chosen for name in row)
    for row in chosen:
        yield ' '.join(_value(row.get(name)) for name in names)


def _value(value: Any) -> str:
    """A text as it is, all else as JSON writes it, None for nothing."""
    if value is None or isinstance(value, str):
        return str(value)
    return json.dumps(value, allow_nan=False)


def _cell(value: Any) -> Any:
    return value if value is None or isinstance(
        value, (str, int, float)) else json.dumps(value, allow_nan=False)


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
