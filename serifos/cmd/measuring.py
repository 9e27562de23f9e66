# SPDX-License-Identifier: Apache-2.0
"""What `build` and `study` share: from a target's name to its dataset."""

from __future__ import annotations

import argparse
from collections.abc import Mapping
import contextlib
import dataclasses
import datetime
import functools
import pathlib
import platform
import re
import sys

from serifos.bench import campaign
from serifos.bench import fio
from serifos.bench import host
from serifos.bench import precondition
from serifos.bench import purge
from serifos.bench import target as tg
from serifos.cmd import progress
from serifos.design import design as dn
from serifos import errors
from serifos.model import dataset as ds

_BESIDE_S = 2.0
"""About what a run takes beside its runtime: the ramp, and fio's start."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options of everything that measures."""
    parser.add_argument(
        'target', metavar='TARGET',
        help='a block device, a volume group or file:PATH')
    group = parser.add_argument_group('measuring')
    group.add_argument(
        '--name', help='of the dataset and the model (default: after the '
        'device, or the file)')
    group.add_argument(
        '--output', metavar='DATASET', help='the dataset to write or resume '
        '(default: NAME.jsonl here)')
    group.add_argument(
        '--precondition', choices=('skip', 'auto', 'only'), default='auto',
        help='auto: purge, fill and settle a device; discard, fill and '
        'settle scratch volumes; nothing for a file. only: then stop')
    group.add_argument(
        '--purge', choices=('auto', *purge.NAMES), default='auto',
        help='how a device is purged (default: the strongest that it '
        'offers)')
    group.add_argument(
        '--settle-rounds', type=int, default=25, metavar='N',
        help='rounds in which the device must settle (default: 25)')
    group.add_argument(
        '--settle-seconds', type=float, default=60.0, metavar='SECONDS',
        help='of such a round (default: 60)')
    group.add_argument(
        '--ioengine', choices=('libaio', 'io_uring'), default='libaio',
        help='of fio (default: libaio)')
    group.add_argument(
        '--hang-after', type=float, default=fio.HANG_S, metavar='SECONDS',
        help='seconds beyond its time after which a fio is killed '
        f'(default: {fio.HANG_S:g})')
    group.add_argument(
        '--observe-host', action='store_true',
        help='note the CPU time, context switches and interrupts of the '
        'whole machine during each run')
    group.add_argument(
        '--size-gib', type=float, default=4.0, metavar='GIB',
        help='of a scratch file (default: 4)')
    group.add_argument(
        '--lv-size-gib', type=float, default=4.0, metavar='GIB',
        help='of each scratch volume in a volume group (default: 4)')
    group.add_argument(
        '--keep', action='store_true',
        help='leave the scratch file where it is')
    group.add_argument(
        '--yes-destroy', metavar='WORD',
        help='what would be typed to confirm: the serial of the device, or '
        'the word that is asked for')


def measure(args: argparse.Namespace, design: dn.Design,
            then: campaign.Then | None = None) -> pathlib.Path | None:
    """Makes the runs of a design; their dataset, or None with ``only``.

    Everything is looked at, shown and confirmed before anything is
    touched.

    :param then: which runs follow the first of the design, if not simply
        the others
    :raises SerifosError: where it cannot be done, or is interrupted
    """
    job = _Job.of(args, design, then)
    if job.todo or args.precondition == 'only':
        job.show()
        try:
            confirm(job.target, job.args.yes_destroy)
            return job.run()
        except KeyboardInterrupt:
            raise errors.Interrupted(
                'Stopped at once; the runs made so far are in '
                f'{job.path}, if any, and the same command resumes.'
            ) from None
    say(f'All {job.made if then else design.total * design.rounds} runs are '
        f'in {job.path} already.')
    return job.path


@dataclasses.dataclass(frozen=True)
class _Job:
    """What was asked for, looked at and found possible."""

    args: argparse.Namespace
    design: dn.Design
    target: tg.Target
    rounds: precondition.Rounds
    path: pathlib.Path
    header: ds.Header
    then: campaign.Then | None
    todo: tuple[campaign.Run, ...]
    made: int

    @classmethod
    def of(cls, args: argparse.Namespace, design: dn.Design,
           then: campaign.Then | None) -> _Job:
        if not 1 <= args.hang_after <= 86400:
            raise errors.InputError(
                f'A --hang-after of {args.hang_after:g} s cannot be used; '
                'give 1 to 86400.')
        version = fio.version()
        rounds = precondition.Rounds(args.settle_seconds, args.settle_rounds)
        target = tg.find(args.target, tg.Wish(
            max(design.numbers), args.size_gib, args.lv_size_gib,
            args.ioengine, args.keep,
            'none' if args.precondition == 'skip' else args.purge))
        if args.precondition == 'only' and (
                target.purge is None or target.fresh):
            raise errors.InputError(
                f'{target.name} is made anew for every build, so that '
                'preconditioning it alone is lost; leave --precondition '
                'only out.')
        fio.refuse_unrunnable(
            [w for run in design.runs for w in run], target.regions[0],
            target.logical_block)
        path = _dataset(args, target)
        header = _header(design, target, version)
        had = campaign.had(path, header)
        todo = campaign.todo(design, had, then)
        made = (len(had) if then else
                design.total * design.rounds - len(todo))
        return cls(args, design, target, rounds, path, header, then, todo,
                   made)

    @property
    def preconditions(self) -> bool:
        return (self.args.precondition != 'skip'
                and self.target.purge is not None)

    @property
    def record(self) -> pathlib.Path:
        return self.path.with_suffix('.precondition.json')

    def show(self) -> None:
        """Says what will be done, and how long it will take."""
        facts = dict(self.target.facts)
        if self.preconditions:
            facts['preconditioning'] = (
                f'{self.target.purge}; 128 KiB sequential writes over '
                f'{precondition.TIMES} times the capacity; rounds of '
                f'{self.args.settle_seconds:g} s of 4 KiB random writes '
                f'until steady, {self.args.settle_rounds} at the most')
            if self.record.exists() and not self.target.fresh:
                facts['preconditioning'] += (
                    f'; goes on after what {self.record} says was done')
        facts['runs'] = (
            'at the most, ended when it is enough: ' * bool(self.then)
            + arithmetic(self.design))
        if self.made:
            facts['runs'] += f'; {self.made} of them are made already'
        facts['dataset'] = str(self.path)
        show(facts)

    def run(self) -> pathlib.Path | None:
        engine, hang_s = self.args.ioengine, self.args.hang_after
        with contextlib.ExitStack() as stack:
            stop = stack.enter_context(progress.Stop())
            area = stack.enter_context(self.target.open())
            shown = stack.enter_context(progress.shown())
            header = self.header
            if self.preconditions:
                state = precondition.precondition(
                    self.target, area, self.rounds, self.record,
                    precondition.Ports(
                        fio.measurer(area.pieces, engine, hang_s),
                        functools.partial(fio.fill, engine=engine,
                                          hang_s=hang_s), shown, stop))
                header = dataclasses.replace(header, device={
                    **header.device, 'precondition': state.words})
                say(f'Preconditioned: {state.words}.')
            if self.args.precondition == 'only':
                return None
            failed = campaign.run(
                self.design, self.path, header, campaign.Ports(
                    fio.measurer(
                        area.regions, engine, hang_s, host.watched
                        if self.args.observe_host else host.unwatched),
                    lambda p: shown('measure', p.done, p.total,
                                    p.seconds_left), stop), self.then)
        if failed:
            say(f'{failed} runs failed twice and are missing; the same '
                'command tries them again.')
        return self.path


def confirm(target: tg.Target, given: str | None) -> None:
    """Asks for the word that allows a target to be overwritten.

    :param given: what --yes-destroy said, None to ask the person
    :raises DeviceError: where the word is not the right one
    """
    word = target.word
    if word is None:
        return
    if not target.fresh:
        say(f'EVERYTHING on {target.name} will be lost.')
    if given is None:
        print(f'Type {word} to go on: ', end='', file=sys.stderr,
              flush=True)
        line = sys.stdin.readline()
        if not line.endswith('\n'):
            say('')
        given = line.strip()
    if given != word:
        raise errors.DeviceError(
            f'{given!r} is not {word!r}; nothing was touched.' if given
            else f'Nothing was touched: type {word} when asked, or give '
                 f'--yes-destroy {word}.')


def show(facts: Mapping[str, str]) -> None:
    """Facts in a column, as all that measures shows them first."""
    width = max(map(len, facts)) + 1
    for name, value in facts.items():
        say(f'{name + ":":<{width}} {value}')


def hours(seconds: float) -> float:
    """Of one run, with what it takes beside its seconds."""
    return (seconds + _BESIDE_S) / 3600


def arithmetic(design: dn.Design) -> str:
    """Such as '80 sets x 1 round x 15 s = 0.33 h, ...'."""
    seconds = sorted({design.seconds(n) for n in design.numbers})
    number = design.total * design.rounds
    return (f'{design.total} sets x {design.rounds} round'
            f'{"s" * (design.rounds > 1)} x '
            f'{" or ".join(f"{s:g}" for s in seconds)} s = '
            f'{design.hours():.2f} h, and about {_BESIDE_S:g} s a run to '
            f'start and to ramp up ({number * _BESIDE_S / 3600:.2f} h)')


def _header(design: dn.Design, target: tg.Target,
            version: str) -> ds.Header:
    seconds = {design.seconds(n) for n in design.numbers}
    now = datetime.datetime.now(datetime.timezone.utc)
    return ds.Header(
        device=dict(target.identity), host=platform.node(),
        kernel=platform.release(), fio=version,
        runtime_s=seconds.pop() if len(seconds) == 1 else None,
        valid_round=design.valid_round,
        created_at=now.strftime('%Y-%m-%dT%H:%M:%SZ'))


def _dataset(args: argparse.Namespace, target: tg.Target) -> pathlib.Path:
    if args.name and not re.fullmatch(r'[A-Za-z0-9][\w.-]*', args.name):
        raise errors.InputError(
            f'{args.name!r} cannot name a file; use letters, digits, '
            'hyphens, dots and underscores.')
    path = pathlib.Path(args.output or f'{args.name or _named(target)}.jsonl')
    if path.suffix != '.jsonl':
        raise errors.InputError(
            f'--output {path} should end in .jsonl, as datasets do.')
    if not path.absolute().parent.is_dir():
        raise errors.InputError(
            f'There is no directory {path.absolute().parent} for the '
            'dataset; make it first.')
    return path


def _named(target: tg.Target) -> str:
    """A file name after the device's model, else after the target."""
    name = (target.identity['model'] if target.word and not target.fresh
            else None) or pathlib.PurePath(
                target.name.removeprefix('file:')).stem
    return re.sub(r'[^a-z0-9]+', '-', name.lower()).strip('-') or 'model'


def say(text: str) -> None:
    """To the person; standard output is for the result."""
    print(text, file=sys.stderr, flush=True)
