# SPDX-License-Identifier: Apache-2.0
"""serifos-model relate and similar: devices measured on the same runs."""

from __future__ import annotations

import argparse
from collections.abc import Iterable
from collections.abc import Iterator
from collections.abc import Mapping
from collections.abc import Sequence
import os
import pathlib
from typing import Any
from typing import TYPE_CHECKING

from cliff import lister

from serifos.cmd import app
from serifos.cmd import options
from serifos.cmd import output
from serifos.cmd import paging
from serifos import errors
from serifos.facts.dataset import Dataset
from serifos.facts import fields
from serifos.files import atomic
from serifos.files import documents

if TYPE_CHECKING:
    from serifos.lab.relative import common
    from serifos.lab.relative import relative


class Relate(app.Fails, lister.Lister):
    """Print how well one device's runs predict another's.

    From every device to every other one, by the conventional model (CM) and
    by absolute and scaled relative fitness (ARF, SRF); from workload
    characteristics (WC), service observations (SO), or both. Errors are
    medians over the runs, of trees that were fitted on others.
    """

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        parser = super().get_parser(prog_name)
        _add_datasets(parser)
        options.add_seed(parser, 'the halves of the runs')
        parser.add_argument(
            '--test', nargs='+', default=[], metavar='OTHER',
            help='datasets of the same devices, in the same order, on other '
            'runs, such as of another sort of workload; also print the mean '
            'errors there, of trees fitted on all runs of the DATASETs')
        parser.add_argument(
            '--best', action='store_true',
            help='of a run that was made in several rounds take the one with '
            'the most IOPS (default: that of the valid round)')
        paging.add_argument(parser, 'distributions, trees and errors')
        parser.add_argument(
            '--out', metavar='RELATION', help='write the relation from the '
            'first to the second of two devices to this file')
        return parser

    def take_action(self, parsed_args: argparse.Namespace) -> Any:
        # numpy and scikit-learn take a second to import.
        from serifos.lab.relative import common
        from serifos.lab.relative import relative
        from serifos.lab.relative import relative_page
        args = parsed_args
        _refuse_absurd(args)
        cached = not args.out
        datasets = _datasets(args.dataset, cached)
        devices = common.joined(datasets, args.best)
        others = args.test and common.joined(
            _others(args.test, datasets.values(), cached), args.best)
        if args.out:
            documents.write_json(args.out, relative.relation(
                devices, args.seed).to_json())
            self.note(f'The relation from {devices.names[0]} to '
                      f'{devices.names[1]} is in {args.out}.')
        self.note(f'{devices.runs} runs in common; each half of them is '
                  'predicted by trees fitted on the other.')
        tested = relative.unseen(devices, others) if others else []
        if others:
            self.note(f'{others.runs} runs to test; they are predicted by '
                      'trees fitted on all of the others.')
        found = relative.evaluate(devices, args.seed)
        paging.write(args,
                     lambda: relative_page.page_of(devices, found, tested),
                     self.say)
        return (('table', 'of', 'technique', 'average', *common.INPUTS[1:]),
                [*_rows([*relative.groups(found),
                         *relative.tested(tested)])])


def _refuse_absurd(args: argparse.Namespace) -> None:
    fields.refuse_outside('--seed', args.seed, 0)
    if args.out and len(args.dataset) != 2:
        raise errors.InputError(
            'A relation is from one device to one other; give two '
            'datasets with --out.')
    if args.test and len(args.test) != len(args.dataset):
        raise errors.InputError(
            f'--test has {len(args.test)} datasets for {len(args.dataset)} '
            'devices; give one of each device, in the same order.')
    if args.out:
        atomic.refuse_unwritable(args.out, 'relation')
    paging.refuse_absurd(args)


class Similar(app.Fails, lister.Lister):
    """Print which devices may share a model.

    Two devices are alike where the factor 1 lies within the 90 % interval
    of the latency of one over that of the other, and where the error of
    taking one's latency for the other's is small.
    """

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        parser = super().get_parser(prog_name)
        _add_datasets(parser)
        parser.add_argument(
            '--within', type=float, default=0.10, metavar='FRACTION',
            help='devices are alike where the mean relative error is at most '
                 'this (default: 0.10)')
        return parser

    def take_action(self, parsed_args: argparse.Namespace) -> Any:
        from serifos.lab.relative import common
        within = parsed_args.within
        if not 0 < within < 1:
            raise errors.InputError(
                f'A --within of {within:g} cannot be used; give a fraction '
                'such as 0.10.')
        datasets = _datasets(parsed_args.dataset)
        devices = common.joined(datasets)
        rows = []
        for one in common.likenesses(devices):
            whole, left = _hours(datasets[one.first], datasets[one.second])
            alike = one.alike(within)
            if alike:
                self.note(_saved(one, whole, left))
            rows.append((
                one.first, one.second, devices.runs, round(one.factor, 4),
                [round(end, 4) for end in one.interval],
                output.number(one.error, '.1%', '-'),
                output.Cell(alike, 'yes' if alike else 'no'), whole, left))
        return (('first', 'second', 'runs', 'factor', 'interval', 'error',
                 'alike', 'build_hours', 'left_hours'), rows)


def _add_datasets(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        'dataset', nargs='+', metavar='DATASET',
        help='datasets of two or more devices, NAME.jsonl, as build writes '
             'them, measured on the same runs')


def _datasets(paths: Sequence[str],
              cached: bool = False) -> dict[str, Dataset]:
    """By the stem of the file, or by its path where stems are the same."""
    if len(paths) < 2:
        raise errors.InputError(
            'Only one dataset was given; give those of two or '
            'more devices.')
    if len({*map(os.path.realpath, paths)}) < len(paths):
        raise errors.InputError(
            'A dataset is given twice; give each of them once.')
    stems = [pathlib.PurePath(path).stem for path in paths]
    names = stems if len(set(stems)) == len(stems) else paths
    return {name: documents.read_dataset(path, cached)
            for name, path in zip(names, paths)}


def _others(paths: Sequence[str],
            trained: Iterable[Dataset],
            cached: bool) -> dict[str, Dataset]:
    """The datasets to test on, in the order of those to train on."""
    found = _datasets(paths, cached)
    for path, other, one in zip(paths, found.values(), trained):
        other.refuse_common(one, path)
    return found


def _rows(groups: Sequence[relative.Group]
          ) -> Iterator[tuple[Any, ...]]:
    from serifos.lab.relative import common
    from serifos.lab.relative import relative
    for table, of, its in groups:
        for technique in relative.TECHNIQUES:
            yield (table, of, technique, *(_error(
                its, technique, what) for what in common.INPUTS))


def _error(medians: Mapping[tuple[str, str], float], technique: str,
           what: str) -> output.Cell:
    value = medians.get((technique, what))
    return output.number(value, '.1%', '-')


def _hours(first: Dataset, second: Dataset
           ) -> tuple[float | None, float | None]:
    """Of the second's build were it as long, and what is left of it."""
    seconds = first.header.runtime_s
    if seconds is None:
        return None, None
    whole = seconds * len(first.samples) / 3600
    left = max(0, len(first.samples) - len(second.samples)) * seconds / 3600
    return round(whole, 2), round(left, 2)


def _saved(one: common.Likeness, whole: float | None,
           left: float | None) -> str:
    text = f'{one.second} may share the model of {one.first}'
    if whole is None:
        return f'{text}; its build is saved.'
    return (f'{text}; its build of {whole:.2f} h is saved, {left:.2f} h of '
            'which are not measured yet.')
