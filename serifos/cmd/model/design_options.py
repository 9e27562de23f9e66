# SPDX-License-Identifier: Apache-2.0
"""The options by which `design` and `build` choose their runs."""

from __future__ import annotations

import argparse
import collections
import dataclasses
import re

from serifos.cmd import options
from serifos.design import alone
from serifos.design import design
from serifos.design import full
from serifos.design import stopping
from serifos import errors
from serifos.facts.dataset import Condition
from serifos.facts import fields

MOST = 200_000
FULL_S = 60, 30  # of one or two workloads, of more


def add_arguments(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group('which runs')
    group.add_argument(
        '--runs', type=int, metavar='N',
        help='make a fixed, D-optimal design of N runs, instead of at most '
             f'{stopping.MOST} that are chosen one after another')
    group.add_argument(
        '--enough-error', type=float, metavar='FRACTION',
        help='stop where the cross-validated error of the model is below '
             f'this; 0 for never (default: {stopping.ERROR:g})')
    group.add_argument(
        '--enough-gain', type=float, metavar='FRACTION',
        help=f'stop where the last {stopping.BATCH * stopping.WINDOW} '
             'runs lowered that error by less than this share of it; 0 for '
             f'never (default: {stopping.GAIN:g})')
    group.add_argument(
        '--full', action='store_true',
        help="make the paper's design: every set of 1 to 5 of its 12 "
             'workloads, in 5 rounds of which the 5th counts')
    group.add_argument(
        '--sampled', type=int, metavar='N',
        help='make N random runs within the ranges of the lists below, of '
             'one workload each unless --counts says otherwise; relate and '
             'similar compare devices on these')
    group.add_argument(
        '--tests', type=int, metavar='N',
        help="make the paper's random tests, N of each count from 1 to 5 "
             'and 2 N of 6 to 10, to check models on; with --counts N of '
             'each of those only')
    options.add_seed(group, 'the choice of runs')
    add_vectors(group)


def add_vectors(group: argparse._ArgumentGroup) -> None:
    """Which workloads there are, and how often and how long each runs."""
    for name, kind, what in (
            ('write-pcts', float, 'percentages of writes that workloads may '
             'have, such as 25,50,75'),
            ('block-kibs', float, 'block sizes that workloads may have, KiB'),
            ('iodepths', float, 'numbers of outstanding requests that '
             'workloads may have'),
            ('random-pcts', float, 'percentages of random requests that '
             'workloads may have'),
            ('think-times', float, 'microseconds to wait after each request '
             'before the next is made, such as 0,100,1000 (default: 0)'),
            ('counts', int, 'numbers of workloads that run together')):
        group.add_argument(f'--{name}', type=list_of(kind),
                           metavar='LIST', help=what)
    group.add_argument('--rounds', type=int, metavar='N',
                       help='make every run N times (default: 1; 5 with '
                            '--full)')
    group.add_argument('--valid-round', type=int, metavar='N',
                       help='fit the model to this round (default: the last)')
    group.add_argument('--runtime', type=float, metavar='SECONDS',
                       help='length of a run (default: 15; with --full 60 '
                            'for one and two workloads, 30 for more)')


def paper() -> design.Design:
    """The paper's design as it is."""
    return _of_sets(full.TRAINING, rounds=5, valid_round=5,
                    seconds=lambda count: FULL_S[count > 2])


def is_short(args: argparse.Namespace) -> bool:
    """Whether each run is made once, and none of those of a paper."""
    return not (args.full or args.sampled is not None
                or args.tests is not None or (args.rounds or 1) > 1)


def refuse_several(args: argparse.Namespace) -> None:
    """Refuses more than one way to choose runs.

    :raises InputError: where several of them are given
    """
    given = vars(args)
    asked = [f'--{name}' for name in ('full', 'runs', 'sampled', 'tests')
             if given.get(name) not in (None, False)]
    if len(asked) > 1:
        raise errors.InputError(
            f'{" and ".join(asked)} contradict each other; give one of '
            'them.')
    fields.refuse_outside('--seed', args.seed, 0)


def chosen(args: argparse.Namespace, alone_first: bool = False) -> tuple[
        design.Design, stopping.SequentialDesign | None]:
    """The design that the options ask for, the first runs first.

    :param alone_first: whether runs of only reads and of only writes come
        before those that are chosen one after another
    :returns: the design, and what chooses its runs one after another, or
        None where all are made anyway
    :raises InputError: where they are absurd or contradict each other
    """
    one_by_one = args.runs is None and is_short(args)
    _refuse_absurd(args, one_by_one)
    if args.full:
        return _full(args, full.TRAINING), None
    # scipy, which two of them need, is imported where it is.
    plan: stopping.SequentialDesign | None = None
    if args.sampled is not None:
        from serifos.design import random_runs
        runs = random_runs.runs(
            args.sampled, space(args, random_runs.PAPER), args.seed)
    elif args.tests is not None:
        from serifos.design import random_tests
        runs = tuple(random_tests.runs(
            args.tests, 0 if args.counts else 2 * args.tests,
            space(args, random_tests.PAPER), args.seed))
    elif one_by_one:
        from serifos.design import sequential
        asked = vectors(args)
        plan = sequential.Sequential(
            dataclasses.replace(sequential.CORE, **asked) if asked else None,
            args.seed)
        if alone_first:
            plan = alone.AloneFirst(
                alone.runs(space(args, alone.SPACE)), plan)
        runs = plan.runs
    else:
        from serifos.design import d_optimal
        number = stopping.MOST if args.runs is None else args.runs
        runs = d_optimal.runs(number, space(args, d_optimal.WIDE), args.seed)
    return design.Design(
        numbers=dict(sorted(collections.Counter(map(len, runs)).items())),
        choose=lambda: runs, **times(args, rounds=1, short=15, long=15)), plan


def _refuse_absurd(args: argparse.Namespace, one_by_one: bool) -> None:
    refuse_several(args)
    if not one_by_one and (args.enough_error is not None
                           or args.enough_gain is not None):
        raise errors.InputError(
            '--enough-error and --enough-gain end a build whose runs are '
            'chosen one after another; leave them out, or --full, --runs, '
            '--sampled, --tests and --rounds.')
    enough(args)


def enough(args: argparse.Namespace) -> stopping.Enough:
    """The bounds at which a build ends.

    :raises InputError: where the options are absurd
    """
    return stopping.Enough(
        stopping.ERROR if args.enough_error is None else args.enough_error,
        stopping.GAIN if args.enough_gain is None else args.enough_gain)


def _full(args: argparse.Namespace, default: design.Space) -> design.Design:
    asked = space(args, default)
    total = sum(full.number(asked, n) for n in set(asked.counts))
    if total > MOST:
        raise errors.InputError(
            f'These vectors make {total:,} sets, more than '
            f'the {MOST:,} that can be run; narrow them, or use --runs.')
    return _of_sets(asked, **times(
        args, rounds=5, short=FULL_S[0], long=FULL_S[1]))


def _of_sets(drawn: design.Space, **its: object) -> design.Design:
    return design.Design(
        numbers={n: full.number(drawn, n)
                 for n in sorted(set(drawn.counts))},
        choose=lambda: full.sets(drawn), **its)


def times(args: argparse.Namespace, rounds: int, short: float,
          long: float) -> dict[str, object]:
    """Rounds and seconds of a design, by the options or these defaults."""
    rounds = rounds if args.rounds is None else args.rounds
    runtime = args.runtime
    if runtime is not None:
        fields.refuse_outside('--runtime', runtime, 0.5, 86400, 's')
    return {
        'rounds': rounds,
        'valid_round': (rounds if args.valid_round is None
                        else args.valid_round),
        'seconds': lambda count: runtime or (short if count <= 2 else long)}


def space(args: argparse.Namespace, default: design.Space) -> design.Space:
    """A space with the vectors that the options give in place of its own."""
    asked = vectors(args)
    return dataclasses.replace(default, **asked) if asked else default


def vectors(args: argparse.Namespace) -> dict[str, tuple[float, ...]]:
    """The vectors that the options give."""
    asked = {name: getattr(args, name)
             for name in ('write_pcts', 'block_kibs', 'iodepths',
                          'random_pcts', 'counts')}
    asked['think_times_us'] = args.think_times
    return {name: value for name, value in asked.items()
            if value is not None}


def list_of(kind: type) -> object:
    def parse(text: str) -> tuple[float, ...]:
        try:
            return tuple(kind(part) for part in text.split(',') if part)
        except ValueError:
            raise argparse.ArgumentTypeError(
                f'{text!r} is not a list of numbers such as 25,50,75'
            ) from None
    return parse


def add_conditions(group: argparse._ArgumentGroup) -> None:
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
        'and the previous one is restored')


def conditions(args: argparse.Namespace) -> tuple[Condition, ...]:
    """Every condition that the options ask for; none where they ask for none.

    :raises InputError: where they are absurd
    """
    sizes, names = args.file_set_gibs, args.schedulers
    for size in sizes or ():
        fields.refuse_outside('--file-set-gibs', size, 0.01, 2 ** 20)
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
