# SPDX-License-Identifier: Apache-2.0
"""The option --seed."""

from __future__ import annotations

from typing import Any

from serifos import errors


def add_argument(parser: Any, of: str) -> None:
    """``--seed``.

    :param parser: a parser, or a group of one
    :param of: what is random, for the help
    """
    parser.add_argument('--seed', type=int, default=0,
                        help=f'seed of {of} (default: 0)')


def check(seed: int, below: int | None = None) -> None:
    """:raises InputError: where it is negative, or not below a bound"""
    if seed < 0 or (below is not None and seed >= below):
        most = 'or more' if below is None else f'to {below - 1}'
        raise errors.InputError(
            f'A --seed of {seed} cannot be used; give 0 {most}.')
