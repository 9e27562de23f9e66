# SPDX-License-Identifier: Apache-2.0
"""serifos-model build and study: measure a target."""

from __future__ import annotations

import argparse
import dataclasses
import datetime
import pathlib
import platform
import re
import sys
from typing import Any

from cliff import lister
from cliff import show

from serifos.bench import campaign
from serifos.bench import device
from serifos.bench import fio
from serifos.bench import precondition
from serifos.bench import target as tg
from serifos.cmd import app
from serifos.cmd import design_options
from serifos.cmd import model_fit
from serifos.cmd import progress
from serifos.cmd import study_table
from serifos.design import design as dn
from serifos import errors
from serifos.model import dataset as ds
from serifos import store


class Build(app.Fails, show.ShowOne):
    """Measure a device with fio and fit its latency model.

    TARGET is a block device (everything on it is lost), the name of a
    volume group (scratch volumes are made in its free space and removed), or
    file:PATH (a scratch file is made and removed).
    """

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        parser = super().get_parser(prog_name)
        add_arguments(parser)
        return parser

    def take_action(self, parsed_args: argparse.Namespace) -> Any:
        design = design_options.chosen(parsed_args)
        path = measure(parsed_args, design)
        if path is None:
            return (), ()
        # statsmodels takes a second to import.
        from serifos.model import fit
        model = fit.fit(store.read_dataset(path), 'auto', path.stem,
                        dataset_facts={'sha256': store.digest(path)})
        out = path.with_suffix('.json')
        store.write_model(out, model)
        _say(f'The model is in {out}, the runs in {path}.')
        return zip(*model_fit.summary(model).items())


class Study(app.Fails, lister.Lister):
    """Tell which parameters of one workload decide its latency.

    TARGET is as for build, or the .jsonl dataset of a study made before.
    """

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        parser = super().get_parser(prog_name)
        add_arguments(parser)
        return parser

    def take_action(self, parsed_args: argparse.Namespace) -> Any:
        path: pathlib.Path | None = pathlib.Path(parsed_args.target)
        if parsed_args.target.endswith('.jsonl'):
            dataset = store.read_dataset(path)
        else:
            path = measure(parsed_args, design_options.study(parsed_args))
            if path is None:
                return (), ()
            dataset = store.read_dataset(path)
        return study_table.HEADER, study_table.rows(dataset)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options of everything that measures."""
    parser.add_argument('target', metavar='TARGET')
    parser.add_argument('--name', help='of the dataset and the model '
                        "(default: from the device's model)")
    parser.add_argument('--output', metavar='DATASET', help='the dataset to '
                        'write or resume (default: NAME.jsonl here); the '
                        'model is written beside it')
    parser.add_argument('--precondition', choices=('skip', 'auto', 'only'),
                        default='auto', help='auto: purge, fill and settle '
                        'a device, discard, fill and settle scratch volumes, '
                        'nothing for a file; only: then stop')
    parser.add_argument('--settle-rounds', type=int, default=25, metavar='N',
                        help='rounds in which it must settle (default: 25)')
    parser.add_argument('--settle-seconds', type=float, default=60.0,
                        metavar='S', help='of a round (default: 60)')
    parser.add_argument('--ioengine', choices=('libaio', 'io_uring'),
                        default='libaio')
    parser.add_argument('--size-gib', type=float, default=4.0, metavar='GIB',
                        help='of a scratch file (default: 4)')
    parser.add_argument('--lv-size-gib', type=float, default=4.0,
                        metavar='GIB', help='of each scratch volume in a '
                        'volume group (default: 4)')
    parser.add_argument('--keep', action='store_true',
                        help='leave the scratch file where it is')
    parser.add_argument('--yes-destroy', metavar='WORD', help='what would be '
                        "typed to confirm: the device's serial or the word "
                        'that is asked for')
    design_options.add_arguments(parser)


def measure(args: argparse.Namespace,
            design: dn.Design) -> pathlib.Path | None:
    """Makes the runs of a design; the dataset, None with ``only``."""
    if args.settle_rounds < 5 or not 0.5 <= args.settle_seconds <= 86400:
        raise errors.InputError(
            'Settling needs at least 5 rounds of 0.5 to 86400 s; mend '
            '--settle-rounds or --settle-seconds.')
    version = fio.version()
    target = tg.find(args.target, max(design.numbers), args.size_gib,
                     args.lv_size_gib, args.ioengine, args.keep)
    path = _dataset(args, target)
    will_precondition = (args.precondition != 'skip'
                         and target.purge is not None)
    if args.precondition == 'only' and not will_precondition:
        raise errors.InputError(
            'A scratch file is filled when it is made and has nothing else '
            'to precondition; leave --precondition only out.')
    _show(target, design, path, will_precondition, args)
    if target.word is not None:
        device.confirm(target.word, args.yes_destroy or _ask(target.word))
    with progress.Stop() as stop, target.open() as area:
        header = ds.Header(
            dict(target.identity), platform.node(), platform.release(),
            version, design.seconds(max(design.numbers)),
            design.valid_round, _now())
        with progress.shown() as shown:
            if will_precondition:
                state = precondition.precondition(
                    target, area, args.ioengine, precondition.Rounds(
                        args.settle_seconds, args.settle_rounds),
                    path.with_suffix('.precondition.json'),
                    precondition.Ports(shown, stop))
                header = dataclasses.replace(header, device={
                    **header.device, 'precondition': state.words})
                if args.precondition == 'only':
                    return None
            failed = campaign.run(design, path, header, campaign.Ports(
                fio.measurer(area.regions, args.ioengine),
                lambda p: shown('measure', p.done, p.total, p.seconds_left),
                stop))
    if failed:
        _say(f'{failed} runs failed twice and are missing; the same command '
             'tries them again.')
    return path


def _dataset(args: argparse.Namespace, target: tg.Target) -> pathlib.Path:
    name = args.name or (
        pathlib.Path(target.name).stem if target.word is None
        else str(target.identity['model'] or target.name))
    slug = re.sub(r'[^a-z0-9]+', '-', name.lower()).strip('-') or 'model'
    if args.name and not re.fullmatch(r'[A-Za-z0-9][\w.-]*', args.name):
        raise errors.InputError(
            f'{args.name!r} cannot name a file; use letters, digits, - and '
            '_, or give --output.')
    path = pathlib.Path(args.output or f'{args.name or slug}.jsonl')
    if path.suffix != '.jsonl':
        raise errors.InputError(
            f'--output {path} should end in .jsonl, as datasets do.')
    if not path.absolute().parent.is_dir():
        raise errors.InputError(
            f'There is no directory {path.absolute().parent} for the '
            'dataset; make it first.')
    return path


def _show(target: tg.Target, design: dn.Design, path: pathlib.Path,
          will_precondition: bool, args: argparse.Namespace) -> None:
    facts = dict(target.facts)
    if will_precondition:
        facts['preconditioning'] = (
            f'{target.purge.how}; {precondition.TIMES} sequential fills; '
            f'rounds of {args.settle_seconds:g} s until steady')
    times = sorted({design.seconds(n) for n in design.numbers})
    facts['runs'] = (
        f'{design.total} x {design.rounds} round'
        f'{"s" if design.rounds > 1 else ""} of '
        f'{" or ".join(f"{t:g}" for t in times)} s: '
        f'{design.hours():.2f} h')
    facts['dataset'] = str(path)
    for name, value in facts.items():
        _say(f'{name + ":":<17} {value}')
    if target.word is not None:
        _say('EVERYTHING on this device will be lost.'
             if not target.fresh else
             'Only our own scratch volumes will be written.')


def _ask(word: str) -> str:
    if not sys.stdin.isatty():
        raise errors.DeviceError(
            'Nobody is at the terminal to confirm; give --yes-destroy '
            f'{word} if this is the target you mean.')
    print(f'Type {word} to go on: ', end='', file=sys.stderr, flush=True)
    return sys.stdin.readline().strip()


def _now() -> str:
    return datetime.datetime.now(datetime.timezone.utc).strftime(
        '%Y-%m-%dT%H:%M:%SZ')


def _say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)
