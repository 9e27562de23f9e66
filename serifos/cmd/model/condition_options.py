# SPDX-License-Identifier: Apache-2.0
"""The options of what a study varies beside its workloads."""

from __future__ import annotations

import argparse
import re

from serifos import errors
from serifos.facts import bounds
from serifos.facts.dataset import Condition


def add_arguments(group: argparse._ArgumentGroup) -> None:
    """What is varied beside the workloads, in a directory."""
    group.add_argument(
        '--file-set-gibs', type=_sizes, metavar='LIST',
        help='sizes of the file set, GiB: how much of a scratch file as large '
        'as the largest is used, such as 0.5,2,8; with a directory or '
        'file:PATH')
    group.add_argument(
        '--schedulers', type=_names, metavar='LIST',
        help='one or two I/O schedulers of the block device below a directory '
        'or file:PATH, such as none,mq-deadline; root sets them for each run, '
        'and the one of before is put back')


def conditions(args: argparse.Namespace) -> tuple[Condition, ...]:
    """Every condition that the options ask for; none where they ask for none.

    :raises InputError: where they are absurd
    """
    sizes, names = args.file_set_gibs, args.schedulers
    for size in sizes or ():
        bounds.refuse_outside('--file-set-gibs', size, 0.01, 2 ** 20)
    if names is not None and not 1 <= len(set(names)) <= 2:
        raise errors.InputError(
            '--schedulers takes one or two, which a study can tell apart; '
            'compare others in a study of their own.')
    if sizes is None and names is None:
        return ()
    return tuple(Condition(size, name)
                 for size in sorted(set(sizes or (None,)))
                 for name in sorted(set(names or (None,))))


def _names(text: str) -> tuple[str, ...]:
    found = tuple(filter(None, text.split(',')))
    if not found or not all(re.fullmatch('[a-z0-9_-]{1,32}', one)
                            for one in found):
        raise argparse.ArgumentTypeError(
            f'{text!r} is not a list of I/O schedulers such as '
            'none,mq-deadline')
    return found


def _sizes(text: str) -> tuple[float, ...]:
    try:
        found = tuple(float(part) for part in text.split(',') if part)
    except ValueError:
        found = ()
    if not found:
        raise argparse.ArgumentTypeError(
            f'{text!r} is not a list of sizes such as 0.5,2,8')
    return found
