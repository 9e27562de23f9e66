# SPDX-License-Identifier: Apache-2.0
"""Options of the verbs that search for settings."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from collections.abc import Mapping
import contextlib
import pathlib
from typing import Any
from typing import TYPE_CHECKING

from serifos.cmd import options as cmd_options
from serifos.cmd import progress
from serifos import errors

if TYPE_CHECKING:  # scipy and statsmodels take a second to import
    from serifos.lab.tuning import search
    from serifos.lab.tuning import tuner


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options that :func:`options` reads."""
    group = parser.add_argument_group('the search for settings')
    cmd_options.add_number(group, '--iterations', 10, 'N',
                           'stop after N iterations')
    cmd_options.add_number(
        group, '--least-gain', 0.0, 'FRACTION',
        'stop also where three iterations in a row lower the error by less '
        'than this, such as 0.001; the first ones seldom lower it; 0 makes '
        'all iterations')
    cmd_options.add_number(
        group, '--splits', 4, 'K',
        'values tried of each setting between two known ones, in each '
        'iteration')
    cmd_options.add_number(
        group, '--explorations', 5, 'N',
        'search next around the N best settings found so far')
    cmd_options.add_jobs(group)


def options(args: argparse.Namespace) -> search.SearchOptions:
    """:raises InputError: where one is out of bounds"""
    from serifos.lab.tuning import search
    cmd_options.check_jobs(args.jobs)
    return search.SearchOptions(
        args.splits, args.explorations, args.iterations, args.least_gain)


def refuse_without_tune(args: argparse.Namespace) -> None:
    """:raises InputError: where there are options of a search"""
    given = cmd_options.given(args, cmd_options.standard(add_arguments))
    if given:
        raise errors.InputError(
            f'{", ".join(given)} would change nothing; give --tune to search '
            'for settings, too.')


@contextlib.contextmanager
def ready(args: argparse.Namespace, path: pathlib.Path,
          facts: Mapping[str, Any]) -> Iterator[tuner.Searcher]:
    """A searcher as :func:`.tuner.ready` makes it, with progress shown."""
    from serifos.lab.tuning import tuner
    with (progress.Stop() as stop, progress.shown() as shown,
          tuner.ready(options(args), args.jobs, path, facts, shown,
                      stop) as searcher):
        yield searcher
