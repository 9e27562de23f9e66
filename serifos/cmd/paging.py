# SPDX-License-Identifier: Apache-2.0
"""The option --page: the results of a verb as an HTML page."""

from __future__ import annotations

import argparse
from collections.abc import Callable
import os
import pathlib
from typing import Any

from serifos.cmd import output
from serifos import errors
from serifos.files import atomic
from serifos.report import page


def add_argument(parser: Any, shows: str) -> None:
    """``--page``.

    :param parser: a parser, or a group of one
    :param shows: what is on the page, for the help
    """
    parser.add_argument('--page', metavar='PAGE',
                        help=f'write an HTML page with {shows} to this file')


def refuse_absurd(args: argparse.Namespace) -> None:
    """Checks the option before the work begins.

    :raises InputError: where the page could not be written
    :raises ToolError: where what draws it is missing
    """
    if args.page:
        atomic.refuse_unwritable(args.page)
        out = getattr(args, 'out', None)
        if out and os.path.realpath(out) == os.path.realpath(args.page):
            raise errors.InputError(
                f'{args.page} is given for both --out and --page; give two '
                'files.')
        page.check_tools()


def write(args: argparse.Namespace, draw: Callable[[], str],
          say: Callable[[str], None]) -> None:
    """The page, where one was asked for.

    :param say: is called with where it is, but not with -q
    """
    if args.page:
        path = pathlib.Path(args.page)
        atomic.replace(path, draw())
        if not output.is_quiet():
            say(f'The page is {path.resolve()}.')
