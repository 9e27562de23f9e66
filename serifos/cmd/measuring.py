# SPDX-License-Identifier: Apache-2.0
"""Options and dialogue of the verbs that measure."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from collections.abc import Iterator
from collections.abc import Mapping
import contextlib
import pathlib
import sys
from typing import Any

from serifos.bench import fio
from serifos.bench import precondition
from serifos.bench import purge
from serifos.bench.target import Target
from serifos.bench.target import TargetOptions
from serifos.cmd import options
from serifos.cmd import output
from serifos.cmd import progress
from serifos.design.design import Design
from serifos import errors
from serifos.modeler import build
from serifos.modeler import campaign
from serifos.modeler import design_runs


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options that all verbs that measure have."""
    parser.add_argument(
        'target', metavar='TARGET',
        help='a block device, a volume group or file:PATH')
    group = parser.add_argument_group('measuring')
    group.add_argument(
        '--name', help='name of the dataset and of the model (default: taken '
        'from the device or the file)')
    group.add_argument(
        '--output', metavar='DATASET', help='write the dataset to this '
        'file, or resume it (default: NAME.jsonl in the current directory)')
    group.add_argument(
        '--precondition', choices=('skip', 'auto', 'only'), default='auto',
        help='auto: purge a device, fill it and write to it until it is in '
        'steady state; discard and fill scratch volumes and bring them to '
        'steady state; do nothing with a file. skip: measure the target as '
        'it is. only: stop after preconditioning (default: auto)')
    group.add_argument(
        '--purge', choices=('auto', *purge.NAMES), default='auto',
        help='how to purge a device before it is filled (default: auto, the '
        'strongest way that it offers)')
    options.add_number(
        group, '--settle-rounds', 25, 'N',
        'give up where the device is not in steady state after N rounds')
    options.add_number(group, '--settle-seconds', 60.0, 'SECONDS',
                       'length of each of these rounds')
    group.add_argument(
        '--ioengine', choices=('libaio', 'io_uring'), default='libaio',
        help='I/O engine that fio uses (default: libaio)')
    add_hang_after(group, fio.HANG_S)
    group.add_argument(
        '--observe-host', action='store_true',
        help='record the CPU time, context switches and interrupts of the '
        'whole machine during each run')
    options.add_number(group, '--size-gib', 4.0, 'GIB',
                       'size of the scratch file')
    options.add_number(group, '--lv-size-gib', 4.0, 'GIB',
                       'size of each scratch volume in a volume group')
    group.add_argument('--keep', action='store_true',
                       help='do not remove the scratch file afterwards')
    add_yes_destroy(group)


def add_hang_after(parser: Any, default: float) -> None:
    """``--hang-after``, which :func:`.fio.refuse_hang` checks."""
    options.add_number(
        parser, '--hang-after', default, 'SECONDS',
        'kill fio where it has not ended this long after a run should have')


def add_yes_destroy(parser: Any) -> None:
    """``--yes-destroy``, for :func:`confirm`."""
    parser.add_argument(
        '--yes-destroy', metavar='WORD',
        help='do not ask for confirmation; WORD is what the prompt asks for, '
        'such as the serial number of the device')


def measure(args: argparse.Namespace, design: Design,
            adaptive: design_runs.Adaptive | None = None,
            ready: Callable[[], object] = lambda: None,
            again: design_runs.Again | None = None,
            cache: fio.PageCache | None = None) -> pathlib.Path | None:
    """Makes the runs of a design; their dataset, or None with ``only``.

    Everything is looked at, shown and confirmed before anything is
    touched.

    :param adaptive: which runs follow the first of the design, if not simply
        the others
    :param ready: called before anything is touched; it raises what would
        make hours of measuring useless
    :param again: which runs are made once more after the others
    :param cache: see :class:`.build.BuildOptions`
    :raises SerifosError: where it cannot be done, or is interrupted
    """
    job = build.look(_options(args, design, cache), design, adaptive, again)
    only = args.precondition == 'only'
    if job.complete and not only:
        say(f'All {job.made} runs are in {job.path} already.')
        return job.path
    show(job.facts)
    with stopped_at_once(job.path):
        confirm(job.target, args.yes_destroy)
        ready()
        with progress.Stop() as stop, progress.shown() as shown:
            job.run(campaign.Ports(shown, stop), say, warn)
    return None if only else job.path


def _options(args: argparse.Namespace, design: Design,
             cache: fio.PageCache | None) -> build.BuildOptions:
    return build.BuildOptions(
        args.target,
        TargetOptions(
            max(design.numbers), args.size_gib, args.lv_size_gib,
            args.ioengine, args.keep,
            'none' if args.precondition == 'skip' else args.purge),
        precondition.Rounds(args.settle_seconds, args.settle_rounds),
        args.precondition, args.name, args.output, args.hang_after,
        args.observe_host, cache)


@contextlib.contextmanager
def stopped_at_once(path: pathlib.Path) -> Iterator[None]:
    """Says where the runs are when a second Ctrl-C ends a campaign."""
    try:
        yield
    except KeyboardInterrupt:
        raise errors.Interrupted(
            f'Stopped at once; the runs made so far are in {path}, if any, '
            'and the same command resumes.') from None


def confirm(target: Target, given: str | None) -> None:
    """Asks for the word that allows a target to be overwritten.

    :param given: what --yes-destroy said, None to ask the person
    :raises DeviceError: where the word is not the right one
    """
    word = target.word
    if word is None:
        return
    if not target.fresh:
        (warn if given is None else say)(
            f'EVERYTHING on {target.name} will be lost.')
    if given is None:
        print(f'Type {word} to go on: ', end='', file=sys.stderr,
              flush=True)
        line = sys.stdin.readline()
        if not line.endswith('\n'):
            warn('')
        given = line.strip()
    if given != word:
        raise errors.DeviceError(
            f'{given!r} is not {word!r}; nothing was touched.' if given
            else f'Nothing was touched: type {word} when asked, or give '
                 f'--yes-destroy {word}.')


def show(facts: Mapping[str, str]) -> None:
    """Shows facts in a column."""
    width = max(map(len, facts)) + 1
    for name, value in facts.items():
        say(f'{name + ":":<{width}} {value}')


def say(text: str) -> None:
    """To the person, not with -q; standard output is for the result."""
    if not output.is_quiet():
        warn(text)


def warn(text: str) -> None:
    """The same of what is wrong, or is asked: with -q, too."""
    print(text, file=sys.stderr, flush=True)
