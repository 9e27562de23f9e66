# SPDX-License-Identifier: Apache-2.0
"""serifos-model screen: effects of fio's parameters on a target."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
import dataclasses
from typing import Any

from cliff import lister

from serifos.cmd import app
from serifos.cmd import measuring
from serifos.cmd import options
from serifos.cmd import paging
from serifos import errors
from serifos.lab.screening import screening
from serifos.lab.screening.screening import RESPONSES
from serifos.lab.screening.screening import ROUNDS
from serifos.lab.screening.screening import ScreeningOptions
from serifos.lab.screening import screening_page
from serifos.lab.screening import sensitivity

_MEASURING = ('parameters', 'levels', 'seed', 'runtime', 'size_gib', 'output',
              'remount', 'hang_after', 'yes_destroy')
"""Options that say how runs are made, not which of them are read."""


class Screen(app.Fails, lister.Lister):
    """Find the fio parameters that decide the performance of a target.

    TARGET is a directory, in which files are made and removed after a
    question; a block
    device (everything on it is lost, and parameters about files are
    dropped); or the journal of a finished screening, NAME-screening.jsonl,
    which is analysed without making runs. The same command resumes an
    interrupted one.
    """

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        parser = super().get_parser(prog_name)
        _add_arguments(parser)
        return parser

    def take_action(self, parsed_args: argparse.Namespace) -> Any:
        options = ScreeningOptions(**{
            field.name: getattr(parsed_args, field.name)
            for field in dataclasses.fields(ScreeningOptions)})
        _refuse_measured(parsed_args)
        paging.refuse_absurd(parsed_args)
        _refuse_with_compare(parsed_args)
        job = screening.CheckedScreening.of(options)
        others = [screening.CheckedScreening.of(dataclasses.replace(
            options, target=other, rounds=None, keys=None, remount=False))
            for other in parsed_args.compare]
        for other in others:
            _refuse_unlike(job, other)
        if parsed_args.show:
            job.show()
            runs = job.wanted()
            names = [*runs[0][0]]
            return (('run', 'round', *names),
                    [(n, number, *(levels[name] for name in names))
                     for n, (levels, number) in enumerate(runs, 1)])
        found = screening.screened(job)
        for line in found.said:
            (measuring.warn if line.startswith('WARNING')
             else measuring.say)(line)
        if others:
            return _compared(parsed_args, found, others)
        paging.write(parsed_args, lambda: screening_page.page_of(found),
                     measuring.say)
        return screening_page.HEADER, screening_page.rows(found)


def _compared(args: argparse.Namespace, found: screening_page.Found,
              others: Sequence[screening.CheckedScreening]) -> Any:
    compared = [sensitivity.compare(found, screening.screened(other))
                for other in others]
    for line in (line for one in compared for line in one.words):
        measuring.say(line)
    paging.write(args, lambda: sensitivity.page_of(compared),
                 measuring.say)
    return sensitivity.HEADER, sensitivity.rows(compared)


def _refuse_measured(args: argparse.Namespace) -> None:
    if not args.target.endswith('.jsonl'):
        return
    usual = options.standard(_add_arguments, positional=[args.target])
    given = options.given(args, {name: usual[name] for name in _MEASURING})
    if given:
        raise errors.InputError(
            f'{args.target} is measured already, so leave out '
            f'{", ".join(given)}; name a directory or device to measure it.')


def _refuse_with_compare(args: argparse.Namespace) -> None:
    if not args.compare:
        return
    for option in ('show', 'factorial'):
        if getattr(args, option):
            raise errors.InputError(
                f'--{option} and --compare cannot go together; leave one of '
                'them out.')
    for other in args.compare:
        if not other.endswith('.jsonl'):
            raise errors.InputError(
                f'{other} is not the journal of a screening; screen it '
                'first, and give its NAME-screening.jsonl.')


def _refuse_unlike(ours: screening.CheckedScreening,
                   theirs: screening.CheckedScreening) -> None:
    apart = ours.header.unlike(theirs.header)
    if apart:
        raise errors.InputError(
            f'{theirs.path} was measured otherwise: {"; ".join(apart)}; '
            'screen both alike to compare them.')


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        'target', metavar='TARGET',
        help='a directory, a block device or a NAME-screening.jsonl')
    group = parser.add_argument_group('which runs')
    group.add_argument(
        '--runs', type=int, metavar='N',
        help='size of the design, a multiple of 4 up to 48 (default: the '
        'smallest that can vary all parameters; 24 for the 20 of fio)')
    group.add_argument(
        '--foldover', action='store_true',
        help='also make each run with every level reversed: this doubles the '
        'runs, and keeps interactions of two parameters out of the effects')
    group.add_argument(
        '--rounds', type=int, metavar='N', help='make every run N times '
        f'(default: {ROUNDS}; of a journal, as often as it has every run)')
    options.add_seed(group, 'the order of the runs')
    group.add_argument(
        '--parameters', type=_names, metavar='LIST',
        help='parameters to vary, comma separated; the others are held at '
        'their low level (default: all)')
    group.add_argument(
        '--levels', type=levels_of, action='append', default=[],
        metavar='NAME=LOW,HIGH', help='use other levels of a parameter, or '
        'hold it at one level; may be given several times')
    group.add_argument(
        '--factorial', action='store_true',
        help='then make the full factorial of the key parameters, and runs '
        'at a middle level of those that are numbers')
    group.add_argument(
        '--keys', type=_names, metavar='LIST',
        help='the key parameters (default: the fewest that explain half of '
        'the variation, at most 6)')
    group = parser.add_argument_group('measuring')
    options.add_number(group, '--runtime', 10.0, 'SECONDS', 'length of a run')
    options.add_number(
        group, '--size-gib', 4.0, 'GIB',
        'space that all files of a run may take together')
    group.add_argument(
        '--output', metavar='JOURNAL', help='write the journal to this '
        'file, or resume it (default: NAME-screening.jsonl in the current '
        'directory, NAME taken from the target)')
    group.add_argument(
        '--remount', action='store_true',
        help='unmount the file system of the directory, which must be its '
        'mount point, and mount it again before each run; only as root')
    # A run also writes its files.
    measuring.add_hang_after(group, 300.0)
    measuring.add_yes_destroy(group)
    group.add_argument('--show', action='store_true',
                       help='print the runs and how long they take; make '
                       'none')
    group = parser.add_argument_group('analysis and output')
    group.add_argument('--response', choices=RESPONSES, default='bandwidth',
                       help='the result on which effects are computed '
                       '(default: bandwidth)')
    group.add_argument(
        '--scale', choices=('log', 'linear'), default='log',
        help='log: an effect is the factor from low to high; linear: the '
        'difference, in KiB/s, IOPS or µs (default: log)')
    group.add_argument(
        '--compare', action='append', default=[], metavar='JOURNAL',
        help='then compare the effects with those on another device, of '
        'which this is the journal; may be given several times')
    paging.add_argument(
        group, 'a Pareto chart, or with --compare the effects on each device')


def _names(text: str) -> tuple[str, ...]:
    return tuple(filter(None, text.split(',')))


def levels_of(text: str) -> tuple[str, tuple[str, ...]]:
    name, _, levels = text.partition('=')
    found = _names(levels)
    if len(found) not in (1, 2):
        raise argparse.ArgumentTypeError(
            f'{text!r} gives no levels; write NAME=LOW,HIGH, such as '
            'io_depth=1,32, or NAME=LEVEL')
    return name, found
