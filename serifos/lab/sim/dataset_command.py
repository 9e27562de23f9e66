# SPDX-License-Identifier: Apache-2.0
"""serifos-sim dataset: the runs of a simulated device."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
import dataclasses
import os

from cliff import command

from serifos.cmd import app
from serifos.cmd.model import design_options
from serifos.cmd import options
from serifos.design import alone
from serifos.design import d_optimal
from serifos.design import design
from serifos.design import full
from serifos.design import random_runs
from serifos import errors
from serifos.facts import fields
from serifos.files import atomic
from serifos.files import documents
from serifos.lab.sim import devices
from serifos.lab.sim import modeler
from serifos.lab.study import runs as study_runs
from serifos.model import kinds

_DEVICES = {ssd.name: ssd for ssd in (*devices.NAMED, devices.PAGED)}
_RUNS = 80
_MOST_RUNS = 10_000
_MOST_ROUNDS = 100
_MOST_VOLUMES = 64
_SAMPLED_S = 10.0  # the runtime of a random run


class Dataset(app.Fails, command.Command):
    """Write the dataset that a build would measure on a simulated device."""

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        parser = super().get_parser(prog_name)
        parser.add_argument('device', metavar='DEVICE', choices=_DEVICES,
                            help=f'one of {", ".join(_DEVICES)}')
        parser.add_argument('out', metavar='OUT',
                            help='the file to write, NAME.jsonl')
        parser.add_argument(
            '--study', action='store_true',
            help='the runs of serifos-model study instead of those of build: '
                 "the paper's 660 of one workload and, with --counts 2, 4,356 "
                 'of two, or fewer by --runs or --sampled')
        runs = parser.add_mutually_exclusive_group()
        runs.add_argument('--runs', type=int, metavar='N',
                          help=f'runs of the short design (default: {_RUNS}); '
                               'with --study, of each count')
        runs.add_argument('--sampled', type=int, metavar='N',
                          help='random runs instead, as build --sampled or '
                               'study --sampled')
        runs.add_argument('--full', action='store_true',
                          help='every set of the vectors instead, as build '
                          '--full')
        runs.add_argument('--mail', type=int, metavar='N',
                          help='N random runs of a mail server instead: two '
                          'to four workloads at once, of small requests; '
                          'relate --test tests relations on it')
        parser.add_argument(
            '--kind', choices=kinds.names(),
            help='begin the short design with the runs that build --kind '
                 'makes for this kind of model: those of only reads and of '
                 'only writes for queueing, none for the others')
        parser.add_argument('--rounds', type=int, default=1, metavar='N',
                            help='make every run N times; the last one '
                            'counts (default: 1)')
        parser.add_argument(
            '--counts', type=design_options.list_of(int), metavar='LIST',
            help='numbers of workloads that run together, such as 2,3,4')
        parser.add_argument(
            '--block-kibs', type=design_options.list_of(float),
            metavar='LIST', help='block sizes that workloads may have, KiB')
        parser.add_argument(
            '--write-pcts', type=design_options.list_of(float),
            metavar='LIST', help='percentages of writes of a workload')
        parser.add_argument(
            '--iodepths', type=design_options.list_of(float),
            metavar='LIST', help='numbers of outstanding requests of a '
            'workload')
        parser.add_argument(
            '--random-pcts', type=design_options.list_of(float),
            metavar='LIST', help='percentages of random requests of a '
            'workload, such as 0,100')
        parser.add_argument(
            '--split', type=int, default=1, metavar='N',
            help='spread the outstanding requests of each workload over N '
            'volumes (default: 1)')
        options.add_seed(parser, 'the choice of runs')
        parser.add_argument(
            '--chance', type=int, default=0, metavar='SEED',
            help='another one is another unit of the device (default: 0)')
        return parser

    def take_action(self, parsed_args: argparse.Namespace) -> None:
        args, ssd = parsed_args, _DEVICES[parsed_args.device]
        atomic.refuse_unwritable(args.out, 'dataset')
        _refuse_measured(args.out)
        for name, value, least, most in (
                ('--runs', args.runs, _least(args), _MOST_RUNS),
                ('--sampled', args.sampled, 1, _MOST_RUNS),
                ('--mail', args.mail, 1, _MOST_RUNS),
                ('--rounds', args.rounds, 1, _MOST_ROUNDS),
                ('--split', args.split, 1, _MOST_VOLUMES),
                ('--seed', args.seed, 0, 2 ** 32),
                ('--chance', args.chance, 0, 2 ** 32)):
            if value is not None:
                fields.refuse_outside(name, value, least, most)
        purpose, seconds = (
            (modeler.Purpose.SHORT, {})
            if args.sampled is None and args.mail is None
            else (modeler.Purpose.TEST, {'runtime_s': _SAMPLED_S}))
        runs = [modeler.split(run, args.split)
                for run in (*_for_kind(args), *_runs(args))]
        found = modeler.dataset(ssd, purpose, runs, args.chance,
                                rounds=args.rounds, **seconds)
        documents.write_dataset(args.out, found)
        print(args.out)


def _refuse_measured(path: str) -> None:
    """:raises InputError: where it is no dataset that was simulated

    An empty file, such as mktemp makes, is nothing to be lost.
    """
    if not (os.path.exists(path) and os.path.getsize(path)):
        return
    try:
        was = documents.read_dataset(path).header.device
    except errors.FormatError:
        raise errors.InputError(f'{path} would be lost, which is no whole '
                                'dataset; name another.') from None
    if was.get('serial') != 'simulated':
        raise errors.InputError(
            f'{path} would be lost, which was measured on '
            f'{was.get("model") or "a device"}; name another.')


def _for_kind(args: argparse.Namespace) -> Sequence[design.Run]:
    if args.kind is None or not kinds.of(args.kind).distributions:
        return ()
    for name, given in (
            ('full', args.full), ('study', args.study),
            ('sampled', args.sampled is not None),
            ('mail', args.mail is not None)):
        if given:
            raise errors.InputError(
                f'--kind {args.kind} adds runs to the short design, and '
                f'--{name} makes others; leave out one of the two.')
    return alone.runs(_asked(args, alone.SPACE))


def _least(args: argparse.Namespace) -> int:
    return 1 if args.study else d_optimal.LEAST


def _runs(args: argparse.Namespace) -> Sequence[design.Run]:
    for name, given in ('mail', args.mail is not None), ('full', args.full):
        if args.study and given:
            raise errors.InputError(
                f'--study and --{name} contradict each other; give one of '
                'them.')
    if args.study:
        return _of_study(args)
    if args.full:
        space = _asked(args, full.TRAINING)
        number = sum(full.number(space, n) for n in set(space.counts))
        if number > _MOST_RUNS:
            raise errors.InputError(
                f'These vectors have {number:,} sets, more than the '
                f'{_MOST_RUNS:,} that can be made; narrow them by --counts, '
                '--block-kibs, --write-pcts, --iodepths and --random-pcts.')
        return [*full.sets(space)]
    if args.mail is not None:
        return random_runs.runs(
            args.mail, _asked(args, random_runs.MAIL), args.seed)
    if args.sampled is not None:
        return random_runs.runs(
            args.sampled, _asked(args, random_runs.PAPER), args.seed)
    return d_optimal.runs(_RUNS if args.runs is None else args.runs,
                          _asked(args, d_optimal.WIDE), args.seed)


def _asked(args: argparse.Namespace, space: design.Space) -> design.Space:
    """The space with the vectors that the options give."""
    return dataclasses.replace(space, **{
        name: values for name in (
            'counts', 'block_kibs', 'write_pcts', 'iodepths', 'random_pcts')
        if (values := getattr(args, name)) is not None})


def _of_study(args: argparse.Namespace) -> Sequence[design.Run]:
    spaces = [dataclasses.replace(_asked(args, study_runs.vectors(n)),
                                  counts=(n,))
              for n in sorted(set(args.counts or (1,)))]
    if args.runs is not None or args.sampled is not None:
        return study_runs.some(spaces, args.runs, args.sampled, args.seed)
    number = sum(study_runs.number(space, *space.counts) for space in spaces)
    if number > _MOST_RUNS:
        raise errors.InputError(
            f'The study has {number:,} runs of these counts, more than the '
            f'{_MOST_RUNS:,} that can be made; choose some by --runs or '
            '--sampled.')
    return [run for space in spaces for run in study_runs.every(space)]
