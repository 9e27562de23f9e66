# SPDX-License-Identifier: Apache-2.0
"""Options that verbs have in common, and options of one number."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from collections.abc import Mapping
from collections.abc import Sequence
import os
from typing import Any

from serifos.facts import fields


def add_number(parser: Any, name: str, default: float, metavar: str,
               what: str) -> None:
    """An option of one number, of the type of its default.

    :param parser: a parser, or a group of one
    :param what: the help, to which the default is added
    """
    parser.add_argument(name, type=type(default), default=default,
                        metavar=metavar,
                        help=f'{what} (default: {default:g})')


def add_seed(parser: Any, of: str) -> None:
    """``--seed``.

    :param of: what is random, for the help
    """
    add_number(parser, '--seed', 0, 'SEED', f'seed of {of}')


def add_observation(parser: Any, what: str = 'the observation') -> None:
    """``--cluster`` and ``--models``, which adapters turn into both.

    :param what: the file is, for the help
    """
    parser.add_argument(
        '--cluster', metavar='FILE', help=f'{what} (default: cluster.json in '
        '[serifos] state_dir)')
    parser.add_argument(
        '--models', metavar='DIR', help='directory of the latency models '
        '(default: [serifos] models_dir)')


def add_long(parser: Any) -> None:
    """``--long``, which :meth:`.app.Fails.run` obeys."""
    parser.add_argument(
        '--long', action='store_true', help='show all columns, and whole '
        'names of pools, also in tables')


def add_trust(parser: Any) -> None:
    """``--trust-models``."""
    parser.add_argument(
        '--trust-models', action='store_true', help='plan by models even '
        'where measured latencies contradict them')


def add_jobs(parser: Any) -> None:
    """``--jobs``, which :func:`check_jobs` checks."""
    parser.add_argument(
        '--jobs', type=int, default=os.cpu_count() or 1, metavar='N',
        help='number of processes (default: one per core); results do not '
             'depend on it')


def check_jobs(number: int) -> None:
    """:raises InputError: where so many processes cannot be started"""
    fields.refuse_outside('--jobs', number, 1, 256)


def standard(*add: Callable[[argparse.ArgumentParser], object],
             positional: Sequence[str] = ()) -> dict[str, Any]:
    """The value of each option that is not given.

    :param add: add the options to a parser
    :param positional: arguments that it cannot do without
    """
    parser = argparse.ArgumentParser()
    for each in add:
        each(parser)
    return vars(parser.parse_args(positional))


def given(args: argparse.Namespace,
          standards: Mapping[str, Any]) -> list[str]:
    """The options, such as --size-gib, that are not at their standard."""
    return [f'--{name.replace("_", "-")}' for name, value in standards.items()
            if getattr(args, name) != value]
