# SPDX-License-Identifier: Apache-2.0
"""serifos-model study and design: effects of parameters, and the runs.

``study`` prints the models of section 4 of the Serifos paper: Tables 3 to 5
and Eq. 6 to 13. ``design`` prints how many runs a design has, and the hours
that they take.
"""

from __future__ import annotations

import argparse
import collections
from collections.abc import Iterator
from collections.abc import Mapping
from collections.abc import Sequence
import dataclasses
import os
import pathlib
from typing import Any
from typing import TYPE_CHECKING

from cliff import lister

from serifos.cmd import app
from serifos.cmd import measuring
from serifos.cmd.model import design_options
from serifos.cmd import options
from serifos.cmd import output
from serifos.design import design
from serifos.design import design as run_design
from serifos import errors
from serifos.facts.dataset import Dataset
from serifos.files import documents
from serifos.modeler import campaign

if TYPE_CHECKING:
    from serifos.lab.study import study

HEADER = ('model', 'term', 'coefficient', 'effect_ms', 'p_value',
          'significant')

LEGEND = """\
W: writes, %; X: random requests, %; S: block size, KiB; INTCP: intercept.
coefficient: microseconds for one more of it. effect_ms: by how much latency
changes over the range of it that was measured. p_value: that it would look
so if it had no effect (type-III ANOVA); significant at 0.05."""

CONDITIONS = """\
F: file set, GiB; E: 1 by the I/O scheduler {1}, 0 by {0}."""

TOGETHER = """\
separate: terms of each workload; sums: of all workloads added. The row
"separate terms" asks whether these explain more than the sums (F test): with
"no", the sums may stand for them."""

_SCRATCH = 'serifos-study.bin'
_ONE = {'iodepths': '--iodepths', 'think_times_us': '--think-times'}


class Study(app.Fails, lister.Lister):
    """Print the effects of workloads' parameters on their latency.

    TARGET is as for build, a directory, for a scratch file in it, or the
    dataset of a finished study, NAME.jsonl.
    A short study of one workload is measured unless options say otherwise,
    40 runs in about ten minutes; --counts 2 asks about two that run together.
    """

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        parser = super().get_parser(prog_name)
        measuring.add_arguments(parser)
        add_arguments(parser)
        return parser

    def take_action(self, parsed_args: argparse.Namespace) -> Any:
        # Fails before hours of measuring where it is not installed.
        from serifos.lab.study import study
        target = parsed_args.target
        if target.endswith('.jsonl') and not target.startswith('file:'):
            refuse_measured(parsed_args)
            path: pathlib.Path | None = pathlib.Path(target)
        else:
            refuse_two_sizes(parsed_args)
            name_scratch_file(parsed_args)
            path = measuring.measure(
                parsed_args, chosen(parsed_args))
        if path is None:
            return (), ()
        dataset = documents.read_dataset(path)
        models = study.models(dataset)
        measuring.say(LEGEND)
        _say_conditions(dataset)
        if any(model.separate_p is not None for model in models):
            measuring.say(TOGETHER)
        return HEADER, list(_rows(models))


def _say_conditions(dataset: Dataset) -> None:
    from serifos.model import conditions
    found = conditions.of([s.condition for s in dataset.valid()])
    if found is not None:
        measuring.say(CONDITIONS.format(*found.schedulers)
                      if found.schedulers
                      else CONDITIONS.partition(';')[0] + '.')


def _rows(models: Sequence[study.Model]) -> Iterator[tuple[object, ...]]:
    """A row for each term of each model, its adjusted R² first."""
    for model in models:
        yield _row(model.name, 'adj. R²', model.anova.adj_r2, '.4f')
        for term, value in model.anova.coefficients.items():
            effect_us = model.effects_us.get(term)
            yield _row(model.name, term, value, '.5g',
                       None if effect_us is None else effect_us / 1000,
                       model.anova.p_values[term])
        if model.separate_p is not None:
            yield _row(model.name, 'separate terms', p=model.separate_p)


def _row(model: str, term: str, value: float | None = None, form: str = '',
         effect_ms: float | None = None,
         p: float | None = None) -> tuple[object, ...]:
    from serifos.model.linear import ols
    return (model, term, output.number(value, form, '–'),
            output.number(effect_ms, '.3g', '–'), output.number(p, '.3g', '–'),
            '–' if p is None else 'yes' if p <= ols.ALPHA else 'no')


if TYPE_CHECKING:
    from serifos.lab.study import runs as study_runs


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


class Design(app.Fails, lister.Lister):
    """Print how many runs a design has, and the hours they take."""

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        parser = super().get_parser(prog_name)
        design_options.add_arguments(parser)
        parser.add_argument(
            '--study', action='store_true',
            help='print what serifos-model study measures with these options: '
                 'short studies, or all runs with --full')
        design_options.add_conditions(parser.add_argument_group(
            'with --study'))
        return parser

    def take_action(self, parsed_args: argparse.Namespace) -> Any:
        return (('workloads', 'sets', 'rounds', 'seconds', 'hours'),
                [*_numbers(_design(parsed_args))])


def _design(args: argparse.Namespace) -> run_design.Design:
    """The design that the options ask for."""
    if args.study:
        for name in 'tests', 'enough_error', 'enough_gain':
            if getattr(args, name) is not None:
                raise errors.InputError(
                    f'--{name.replace("_", "-")} is not of a study; leave '
                    'it or --study out.')
        return chosen(args)
    if design_options.conditions(args):
        raise errors.InputError(
            '--file-set-gibs and --schedulers are of a study; give '
            '--study, or leave them out.')
    return design_options.chosen(args)[0]


def _numbers(chosen: run_design.Design) -> list[tuple[object, ...]]:
    """A row for each count, and the total."""
    return [
        *((count, number, chosen.rounds, chosen.seconds(count),
           round(chosen.hours(count), 2))
          for count, number in chosen.numbers.items()),
        ('total', chosen.total, chosen.rounds, output.Cell(None, '–'),
         round(chosen.hours(), 2))]
