# SPDX-License-Identifier: Apache-2.0
"""Options of the verbs that search for settings."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from collections.abc import Mapping
import contextlib
import os
import pathlib
from typing import Any
from typing import TYPE_CHECKING

from serifos.cmd import progress

if TYPE_CHECKING:  # scipy and statsmodels take a second to import
    from serifos.lab.tuning import tuner


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options that :func:`options` reads."""
    group = parser.add_argument_group('the search for settings')
    group.add_argument(
        '--iterations', type=int, default=10, metavar='N',
        help='after which it stops (default: 10)')
    group.add_argument(
        '--least-gain', type=float, default=0.0, metavar='FRACTION',
        help='stop also where three iterations in a row lower the error by '
             'less than this, such as 0.001; the first ones seldom lower '
             'it (default: 0, make them all)')
    group.add_argument(
        '--splits', type=int, default=4, metavar='K',
        help='splitting points of each parameter in an iteration '
             '(default: 4)')
    group.add_argument(
        '--explorations', type=int, default=5, metavar='N',
        help='best points around which the next iteration looks '
             '(default: 5)')
    group.add_argument(
        '--jobs', type=int, default=os.cpu_count() or 1, metavar='N',
        help='processes (default: one a core); the result does not '
             'depend on it')


def options(args: argparse.Namespace) -> tuner.Options:
    """:raises InputError: where one is absurd"""
    from serifos.lab.tuning import tuner
    return tuner.Options(args.iterations, args.least_gain, args.splits,
                         args.explorations, args.jobs)


@contextlib.contextmanager
def ready(args: argparse.Namespace, path: pathlib.Path,
          facts: Mapping[str, Any]) -> Iterator[tuner.Searcher]:
    """A searcher as :func:`.tuner.ready` makes it, with progress shown."""
    from serifos.lab.tuning import tuner
    with (progress.Stop() as stop, progress.shown() as shown,
          tuner.ready(options(args), path, facts, shown, stop) as searcher):
        yield searcher
