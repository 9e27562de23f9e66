# SPDX-License-Identifier: Apache-2.0
"""Bases of verbs that print a document, its rows, or a text for people.

Rows have cliff's options: -f, -c, --sort-column, --max-width. Without a
choice of rows ``table`` is the whole text, and json and yaml the document.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from collections.abc import Iterable
from collections.abc import Mapping
from collections.abc import Sequence
import json
import sys
from typing import Any

from cliff import lister
from cliff import show

from serifos.cmd import app
from serifos.report import table

Listed = tuple[Sequence[str], Sequence[Any]]


class _Whole(app.Fails):
    """A verb of which more can be said than its rows.

    :cvar document: what json and yaml are, for the help
    :cvar rows: what columns are of, for the help
    """

    document = 'a list'
    rows = 'it'
    _document: Any
    _text: Callable[[], str]

    def get_epilog(self) -> str:
        return (f'-f json and yaml are {self.document}; columns and -f csv '
                f'and value are of {self.rows}.')

    def produce_output(self, parsed_args: argparse.Namespace,
                       column_names: Sequence[str], data: Any) -> int:
        app.check_columns(parsed_args.columns, column_names)
        form = parsed_args.formatter
        chosen = parsed_args.columns or getattr(
            parsed_args, 'sort_columns', None)
        if form == 'table' and not (chosen and data):
            with table.narrowed(parsed_args.max_width or table.width()):
                print(self._text(), end='')
        elif chosen or form not in ('table', 'json', 'yaml'):
            return super().produce_output(parsed_args, column_names, data)
        elif form == 'json':
            print(json.dumps(
                self._document, allow_nan=False,
                indent=None if parsed_args.noindent else 1))
        else:
            import yaml  # is slow
            encoding = sys.stdout.encoding or 'utf-8'
            print(yaml.safe_dump(
                json.loads(json.dumps(self._document, allow_nan=False)),
                sort_keys=False,
                allow_unicode=encoding.lower().startswith('utf')), end='')
        return 0


class Listing(_Whole, lister.Lister):
    """A verb with rows."""

    def listed(self, document: Any, text: Callable[[], str],
               rows: Sequence[Mapping[str, Any]],
               names: Iterable[str] = ()) -> Listed:
        """The columns and rows of a table, for take_action to return.

        :param document: mappings, lists, texts and numbers
        :param text: what ``table`` prints
        :param names: of the columns that there are, also where there is no
            row
        """
        self._document, self._text = document, text
        columns = [*dict.fromkeys([*names, *(
            name for row in rows for name in row)])]
        return columns, [[row.get(name) for name in columns] for row in rows]


class Single(_Whole, show.ShowOne):
    """A verb of one thing."""

    def shown(self, document: Mapping[str, Any],
              text: Callable[[], str]) -> Listed:
        """The names and values, as :meth:`Listing.listed` has columns."""
        self._document, self._text = document, text
        return [*document], [*document.values()]
