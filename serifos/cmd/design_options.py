# SPDX-License-Identifier: Apache-2.0
"""The options by which `design` and `build` choose their runs."""

from __future__ import annotations

import argparse
import collections
import dataclasses

from serifos.design import combinations
from serifos.design import design
from serifos import errors

_MOST = 200_000


def add_arguments(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group('which runs')
    group.add_argument(
        '--runs', type=int, metavar='N',
        help='runs of the short, D-optimal design (default: 80)')
    group.add_argument(
        '--full', action='store_true',
        help="the paper's design: every set of 1 to 5 of its 12 patterns, "
             '5 rounds of which the 5th counts')
    group.add_argument(
        '--sampled', type=int, metavar='N',
        help='N random runs between the ends of the vectors, by default of '
             'one workload, as relative fitness compares devices on')
    group.add_argument('--seed', type=int, default=0,
                       help='seed of the short design, or of the random '
                            'runs (default: 0)')
    for name, kind, what in (
            ('write-pcts', float, 'write_pct of the workloads, comma '
             'separated, for example 25,50,75'),
            ('block-kibs', float, 'block_kib of the workloads'),
            ('iodepths', float, 'iodepth of the workloads'),
            ('random-pcts', float, 'random_pct of the workloads'),
            ('think-times', float, 'think_time_us of the workloads, for '
             'example 0,100,1000: what each of its iodepth requesters waits '
             'after a request (default: 0)'),
            ('counts', int, 'numbers of workloads run together')):
        group.add_argument(f'--{name}', type=_list_of(kind),
                           metavar='LIST', help=what)
    group.add_argument('--rounds', type=int, metavar='N',
                       help='how often every run is made (default: 1; '
                            '5 with --full)')
    group.add_argument('--valid-round', type=int, metavar='N',
                       help='the round that counts (default: the last)')
    group.add_argument('--runtime', type=float, metavar='SECONDS',
                       help='seconds of a run (default: 15; with --full 60 '
                            'for one and two workloads, 30 above)')


def study(args: argparse.Namespace) -> design.Design:
    """The paper's single-workload study with these options."""
    return _full(args, combinations.STUDY)


def chosen(args: argparse.Namespace) -> design.Design:
    """The design that the options ask for.

    :raises InputError: where they are absurd or contradict each other
    """
    asked = [name for name, given in (
        ('--full', args.full), ('--runs', args.runs is not None),
        ('--sampled', args.sampled is not None)) if given]
    if len(asked) > 1:
        raise errors.InputError(
            f'{" and ".join(asked)} contradict each other; give one of '
            'them.')
    if args.seed < 0:
        raise errors.InputError(
            f'A --seed of {args.seed} cannot be used; give 0 or more.')
    if args.full:
        return _full(args, combinations.TRAINING)
    if args.sampled is not None:
        from serifos.design import sampled
        return _short(args, sampled.runs(
            args.sampled, _space(args, sampled.PAPER), args.seed))
    # scipy, which the short design needs, is not imported for the full one.
    from serifos.design import optimal
    number = 80 if args.runs is None else args.runs
    return _short(args, optimal.runs(
        number, _space(args, optimal.WIDE), args.seed))


def _short(args: argparse.Namespace,
           runs: tuple[design.Run, ...]) -> design.Design:
    return design.Design(
        numbers=dict(sorted(collections.Counter(map(len, runs)).items())),
        choose=lambda: runs,
        **_times(args, rounds=1, short=15, long=15))


def _full(args: argparse.Namespace, vectors: design.Space) -> design.Design:
    space = _space(args, vectors)
    numbers = {n: combinations.number(space, n)
               for n in sorted(set(space.counts))}
    if sum(numbers.values()) > _MOST:
        raise errors.InputError(
            f'These vectors make {sum(numbers.values()):,} sets, more than '
            f'the {_MOST:,} that can be run; narrow them, or use --runs.')
    return design.Design(
        numbers=numbers, choose=lambda: combinations.sets(space),
        **_times(args, rounds=5, short=60, long=30))


def _times(args: argparse.Namespace, rounds: int, short: float,
           long: float) -> dict[str, object]:
    rounds = rounds if args.rounds is None else args.rounds
    runtime = args.runtime
    if runtime is not None and not 0.5 <= runtime <= 86400:
        raise errors.InputError(
            f'A runtime of {runtime:g} s cannot be used; give 0.5 to 86400.')
    return {
        'rounds': rounds,
        'valid_round': (rounds if args.valid_round is None
                        else args.valid_round),
        'seconds': lambda count: runtime or (short if count <= 2 else long)}


def _space(args: argparse.Namespace, default: design.Space) -> design.Space:
    asked = {name: getattr(args, name)
             for name in ('write_pcts', 'block_kibs', 'iodepths',
                          'random_pcts', 'counts')}
    asked['think_times_us'] = args.think_times
    return dataclasses.replace(
        default, **{name: value for name, value in asked.items()
                    if value is not None})


def _list_of(kind: type) -> object:
    def parse(text: str) -> tuple[float, ...]:
        try:
            return tuple(kind(part) for part in text.split(',') if part)
        except ValueError:
            raise argparse.ArgumentTypeError(
                f'{text!r} is no list of numbers such as 25,50,75') from None
    return parse
