# SPDX-License-Identifier: Apache-2.0
"""The options by which `study` chooses its runs."""

from __future__ import annotations

import argparse
import collections
from collections.abc import Mapping
from collections.abc import Sequence
import dataclasses
import os
import pathlib
from typing import Any
from typing import TYPE_CHECKING

from serifos.cmd import measuring
from serifos.cmd.model import design_options
from serifos.cmd import options
from serifos.design import design
from serifos import errors
from serifos.modeler import campaign

if TYPE_CHECKING:
    from serifos.lab.study import runs as study_runs

_SCRATCH = 'serifos-study.bin'
_ONE = {'iodepths': '--iodepths', 'think_times_us': '--think-times'}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group('which runs')
    group.add_argument(
        '--runs', type=int, metavar='N',
        help='make N runs of each count, D-optimal for the terms of the '
             'study (default: 40; of one workload up to 80 where file sets '
             'and schedulers vary)')
    group.add_argument(
        '--full', action='store_true',
        help="make the paper's design in 5 rounds: 660 runs of one workload; "
             '4,356 of two, with --counts 2')
    group.add_argument(
        '--sampled', type=int, metavar='N',
        help='make N random runs within the ranges of the lists below')
    options.add_seed(group, 'the choice of runs')
    design_options.add_vectors(group)
    design_options.add_conditions(group)


def refuse_measured(args: argparse.Namespace) -> None:
    """Refuses options of a measurement where there is a dataset already.

    :raises InputError: names them
    """
    given = options.given(args, _standard())
    if given:
        raise errors.InputError(
            f'{args.target} is measured already, so leave out '
            f'{", ".join(given)}; name a target to measure it.')


def _standard() -> dict[str, Any]:
    """The standard value of every option of a measurement."""
    found = options.standard(measuring.add_arguments, add_arguments,
                             positional=['TARGET'])
    del found['target']
    return found


def refuse_two_sizes(args: argparse.Namespace) -> None:
    """:raises InputError: where two options size the scratch file"""
    if args.file_set_gibs and args.size_gib not in (
            _standard()['size_gib'], max(args.file_set_gibs)):
        raise errors.InputError(
            'The scratch file is as large as the largest of --file-set-gibs, '
            f'{max(args.file_set_gibs):g} GiB; leave --size-gib out.')


def name_scratch_file(args: argparse.Namespace) -> None:
    """Puts a scratch file in the place of a directory that is the target.

    The dataset is then named after the directory.

    :raises DeviceError: where there is nothing of the target's name
    """
    if not args.target or args.target.startswith('file:'):
        return
    directory = pathlib.Path(args.target)
    if '/' in args.target and not os.path.lexists(args.target):
        raise errors.DeviceError(
            f'There is neither a file, directory nor device {args.target}; '
            'name a directory or a device to measure it, or a dataset, '
            'NAME.jsonl, that was measured.')
    if directory.is_dir():
        args.target = f'file:{directory.absolute() / _SCRATCH}'
        args.name = args.name or campaign.stem(
            directory.absolute().name, 'study')


def chosen(args: argparse.Namespace) -> design.Design:
    """The design that the options ask for.

    :raises InputError: where they are absurd or contradict each other
    """
    from serifos.lab.study import runs as study_runs  # needs scipy
    design_options.refuse_several(args)
    counts = args.counts or (1,)
    spaces = [dataclasses.replace(
        design_options.space(args, study_runs.vectors(count)),
        counts=(count,)) for count in sorted(set(counts))]
    conditions = design_options.conditions(args)
    _refuse_uncontrolled(spaces, 2 if conditions else 3)
    if args.full:
        numbers = {n: study_runs.number(space, n) * (len(conditions) or 1)
                   for space in spaces for n in space.counts}
        if sum(numbers.values()) > design_options.MOST:
            raise errors.InputError(
                f'These vectors make {sum(numbers.values()):,} runs, more '
                f'than the {design_options.MOST:,} that can be made; leave '
                'out --full, or give shorter lists.')
        times = design_options.times(args, 5, *design_options.FULL_S)
        if conditions:
            return _of(study_runs.all_pairs(spaces, conditions, args.seed),
                       times)
        return design.Design(
            numbers=numbers, choose=lambda: [
                run for space in spaces for run in study_runs.every(space)],
            **times)
    if args.sampled is not None:
        study_runs.refuse_few(spaces, args.sampled, conditions)
    return _of(study_runs.pairs(spaces, args.runs, args.sampled, args.seed,
                                conditions),
               design_options.times(args, 1, 15, 15), bool(conditions))


def _of(pairs: Sequence[study_runs.Pair], times: Mapping[str, Any],
        conditioned: bool = True) -> design.Design:
    runs = [run for run, _ in pairs]
    return design.Design(
        numbers=dict(collections.Counter(map(len, runs))),
        choose=lambda: runs, conditions=tuple(
            one for _, one in pairs) if conditioned else (), **times)


def _refuse_uncontrolled(spaces: list[design.Space],
                         random_pcts: int) -> None:
    """Refuses lists that the terms of a study do not tell apart.

    :param random_pcts: how many of these a study of one workload needs
    """
    for space in spaces:
        together = space.counts[0] > 1
        one = {**_ONE, **({'random_pcts': '--random-pcts'} if together
                          else {})}
        for name, option in one.items():
            if len(set(getattr(space, name))) > 1:
                raise errors.InputError(
                    f'{option} has more than one value, and the study '
                    f'{"of workloads together " * together}has no term for '
                    'it; give one.')
        varied = {'--write-pcts': space.write_pcts,
                  '--block-kibs': space.block_kibs,
                  **({} if together else {'--random-pcts':
                                          space.random_pcts})}
        for option, values in varied.items():
            least = random_pcts if option == '--random-pcts' else 3
            if len(set(values)) < least:
                raise errors.InputError(
                    f'{option} needs at least {least} different values: the '
                    'study asks what they change.')
