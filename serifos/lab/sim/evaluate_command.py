# SPDX-License-Identifier: Apache-2.0
"""serifos-sim evaluate: the paper's evaluation on simulated devices."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from collections.abc import Iterator
from collections.abc import Sequence
from concurrent import futures
import json
import os
import pathlib
import signal
import sys
import time
from typing import Any

from cliff import command
from rich import progress

from serifos.cmd import app
from serifos import errors
from serifos.files import atomic as files
from serifos.files import documents as store
from serifos.report import table as tb

_MOST_JOBS = 256
_LINE_EVERY_S = 10.0


class Evaluate(app.Fails, command.Command):
    """Compare planners with Cinder's placement on simulated devices."""

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        parser = super().get_parser(prog_name)
        parser.add_argument('--cases', type=int, default=50, metavar='N',
                            help='random cases a testbed (default: 50)')
        parser.add_argument('--seed', type=int, default=0,
                            help='of all random numbers (default: 0)')
        parser.add_argument(
            '--truth', choices=('paper', 'other', 'both'), default='both',
            help='paper: two SSDs fitted to Table 6 of the paper; other: '
                 'two that are not (default: both)')
        parser.add_argument(
            '--kind', action='append', dest='kinds',
            choices=('consolidation', 'outstanding', 'auto'),
            help="the planners' models; may be given again. consolidation "
                 "is built from the paper's sets, the others from the short "
                 'design (default: consolidation and auto)')
        parser.add_argument(
            '--sets', type=int, metavar='N',
            help='build consolidation from a seeded choice of N of the '
                 "paper's 6,187 sets (default: all)")
        parser.add_argument(
            '--tests', type=int, default=100, metavar='N',
            help='random runs of each count from 1 to 5 that the models are '
                 'tested on, and twice as many of 6 to 10 (default: 100)')
        parser.add_argument('--jobs', type=int, default=os.cpu_count() or 1,
                            metavar='N', help='processes (default: one a '
                            'core); the results do not depend on it')
        parser.add_argument('--out', metavar='DIR',
                            help='write evaluation.html, with Figures 2 to 6, '
                                 'and evaluation.json to this directory')
        parser.add_argument('-f', '--format', choices=('table', 'json'),
                            default='table')
        return parser

    def take_action(self, parsed_args: argparse.Namespace) -> None:
        # The models' statsmodels and scipy take a second to import.
        from serifos.lab.sim import evaluation
        from serifos.lab.sim import page
        from serifos.lab.sim import tables
        began = time.monotonic()
        out = directory(parsed_args.out)
        settings = _settings(evaluation.Settings, parsed_args)
        with Processes(parsed_args.jobs) as processes:
            found = evaluation.run(settings, processes.map)
        if out is not None:
            store.write_json(out / 'evaluation.json', found.to_json())
            files.replace(out / 'evaluation.html', page.page_of(
                found, _again(parsed_args)))
        if parsed_args.format == 'json':
            print(json.dumps(found.brief(), indent=1))
        else:
            print('\n\n'.join(map(tb.as_text, tables.every(found))))
        print(f'Took {time.monotonic() - began:.0f} s.', file=sys.stderr)
        if out is not None:
            print((out / 'evaluation.html').resolve(), file=sys.stderr)


class Processes:
    """A pool of processes, stopped by Ctrl-C, with progress on stderr."""

    def __init__(self, number: int) -> None:
        if not 1 <= number <= _MOST_JOBS:
            raise errors.InputError(
                f'{number} jobs cannot be run; give 1 to {_MOST_JOBS}.')
        self._pool = futures.ProcessPoolExecutor(
            number, initializer=_begin)

    def __enter__(self) -> Processes:
        return self

    def __exit__(self, kind: type[BaseException] | None,
                 *args: object) -> None:
        self._pool.shutdown(wait=kind is None, cancel_futures=True)
        if kind is KeyboardInterrupt:
            raise errors.Interrupted(
                'The evaluation was stopped and nothing was kept; the same '
                'command starts it again.')

    def map(self, title: str, function: Callable[[Any], Any],
            items: Sequence[Any]) -> Iterator[Any]:
        """The results in the items' order."""
        done = self._pool.map(function, items)
        if sys.stderr.isatty():
            return _bar(title, done, len(items))
        return _lines(title, done, len(items))


def _begin() -> None:
    """Ignores Ctrl-C, which the parent handles; one thread for numpy."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    # More threads are slower where every core has a process of its own.
    import threadpoolctl
    threadpoolctl.threadpool_limits(1)


def _bar(title: str, done: Iterator[Any], total: int) -> Iterator[Any]:
    with progress.Progress(
            *progress.Progress.get_default_columns(),
            console=progress.Console(stderr=True)) as shown:
        yield from shown.track(done, total=total, description=title)


def _lines(title: str, done: Iterator[Any], total: int) -> Iterator[Any]:
    began = told = time.monotonic()
    for number, result in enumerate(done, 1):
        yield result
        now = time.monotonic()
        if now - told >= _LINE_EVERY_S and number < total:
            told = now
            left = (now - began) / number * (total - number)
            print(f'{title}: {number} of {total}, about {left:.0f} s left',
                  file=sys.stderr)


def _settings(kind: Any, args: argparse.Namespace) -> Any:
    return kind(
        cases=args.cases, seed=args.seed, sets=args.sets, tests=args.tests,
        testbeds=(('paper', 'other') if args.truth == 'both'
                  else (args.truth,)),
        kinds=tuple(dict.fromkeys(
            args.kinds or ('consolidation', 'auto'))))


def directory(name: str | None) -> pathlib.Path | None:
    # Before the work, so that a mistyped directory fails at once.
    if name is None:
        return None
    try:
        pathlib.Path(name).mkdir(parents=True, exist_ok=True)
    except OSError as exc:
        raise errors.InputError(
            f'The directory {name} cannot be made: {exc.strerror}.'
        ) from None
    return pathlib.Path(name)


def _again(args: argparse.Namespace) -> str:
    words = ['serifos-sim evaluate', f'--cases {args.cases}',
             f'--seed {args.seed}', f'--truth {args.truth}',
             *(f'--kind {kind}' for kind in args.kinds or ())]
    if args.sets is not None:
        words.append(f'--sets {args.sets}')
    if args.tests != 100:
        words.append(f'--tests {args.tests}')
    return ' '.join(words)
