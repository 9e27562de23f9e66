# SPDX-License-Identifier: Apache-2.0
"""How the verbs that search for settings do it: options, many processes."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from collections.abc import Iterator
from collections.abc import Mapping
from collections.abc import Sequence
from concurrent import futures
from concurrent.futures import process
import contextlib
import dataclasses
import functools
import os
import pathlib
import signal
import time
from typing import Any
from typing import TYPE_CHECKING

from serifos.cmd import progress
from serifos import errors
from serifos.model import kinds
from serifos import tuning

if TYPE_CHECKING:  # scipy and statsmodels take a second to import
    from serifos.model import fit
    from serifos.model import tune

_MOST_JOBS = 256

Point = Mapping[str, float]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options of a search; :func:`refuse_absurd` looks at them."""
    group = parser.add_argument_group('the search for settings')
    group.add_argument(
        '--iterations', type=int, default=10, metavar='N',
        help='after which it stops (default: 10)')
    group.add_argument(
        '--least-gain', type=float, default=0.0, metavar='FRACTION',
        help='stop also where three iterations in a row lower the error by '
             'less than this, such as 0.001; the first ones seldom lower '
             'it (default: 0, make them all)')
    group.add_argument(
        '--splits', type=int, default=4, metavar='K',
        help='splitting points of each parameter in an iteration '
             '(default: 4)')
    group.add_argument(
        '--explorations', type=int, default=5, metavar='N',
        help='best points around which the next iteration looks '
             '(default: 5)')
    group.add_argument(
        '--jobs', type=int, default=os.cpu_count() or 1, metavar='N',
        help='processes (default: one a core); they change no figure')


@dataclasses.dataclass(frozen=True)
class Searcher:
    """Searches, with what they need of the world; made by :func:`ready`."""

    options: argparse.Namespace
    journal: tuning.Journal
    path: pathlib.Path
    pool: futures.Executor | None
    shown: progress.Show
    stop: Callable[[], bool]

    def search(self, kind: str, predicts: str, data: fit.Runs, seed: int,
               given: Point) -> tune.Trace:
        """The search for the settings of a kind that are not given.

        :raises Interrupted: where the user stops
        :raises InputError: where nothing is left to search
        """
        from serifos.model import tune
        args = self.options
        cost = functools.partial(tune.cost, kind, data, seed)
        searched = [one for one in kinds.of(kind).settings
                    if one.name not in given]
        asked: list[int] = []

        def evaluate(points: Sequence[Point]) -> list[float]:
            whole = [{**given, **point} for point in points]
            asked.append(len(whole))
            each = (sum(asked[1:]) / len(asked[1:]) if asked[1:]
                    else (args.splits + 2) ** len(searched))
            later = (args.iterations + 1 - len(asked)) * each
            self._evaluate(kind, predicts, cost, whole,
                           sum(asked) - len(whole), round(later))
            return [self.journal.rmse(kind, predicts, point)
                    for point in whole]
        trace = tune.search(
            searched, evaluate, args.splits, args.explorations,
            args.iterations, args.least_gain)
        self.shown(f'{kind} {predicts}', sum(asked), sum(asked), 0.0)
        return trace

    def _evaluate(self, kind: str, predicts: str,
                  cost: Callable[[Point], float], points: Sequence[Point],
                  before: int, later: int) -> None:
        """Evaluates what the journal lacks, and keeps it there.

        :param before: how many points were asked for before
        :param later: about how many will be
        """
        todo = [point for point in points
                if not self.journal.has(kind, predicts, point)]
        began, total = time.monotonic(), before + len(points) + later
        for number, (point, value) in enumerate(
                self._values(cost, todo), 1):
            self.journal.add(kind, predicts, point, value)
            left = len(todo) - number
            self.shown(f'{kind} {predicts}',
                       before + len(points) - left, total,
                       (time.monotonic() - began) / number * (left + later))
        if self.stop():
            raise self.interrupted()

    def go_on(self, what: str, done: int, total: int) -> None:
        """:raises Interrupted: where the user stops"""
        if self.stop():
            raise self.interrupted()
        self.shown(what, done, total)

    def _values(self, cost: Callable[[Point], float], points: Sequence[Point]
                ) -> Iterator[tuple[Point, float]]:
        """(point, RMSE) as they are found; fewer where the user stops."""
        if self.pool is None:
            for point in points:
                if self.stop():
                    return
                yield point, cost(point)
            return
        asked = {self.pool.submit(cost, point): point for point in points}
        for done in futures.as_completed(asked):
            if self.stop():
                for other in asked:
                    other.cancel()
            if not done.cancelled():
                yield asked[done], done.result()

    def interrupted(self) -> errors.Interrupted:
        return errors.Interrupted(
            f'Stopped; what was evaluated is in {self.path}, and the same '
            'command resumes.')


def refuse_absurd(args: argparse.Namespace) -> None:
    """:raises InputError: before any work is done"""
    from serifos.model import tune
    tune.refuse_absurd(args.splits, args.explorations, args.iterations,
                       args.least_gain)
    if not 1 <= args.jobs <= _MOST_JOBS:
        raise errors.InputError(
            f'{args.jobs} jobs cannot be run; give 1 to {_MOST_JOBS}.')


@contextlib.contextmanager
def ready(args: argparse.Namespace, path: pathlib.Path,
          facts: Mapping[str, Any]) -> Iterator[Searcher]:
    """A searcher whose journal, processes and progress are open.

    :param facts: what the journal's points have in common
    :raises InputError: where an option is absurd or the journal another's
    """
    refuse_absurd(args)
    with contextlib.ExitStack() as stack:
        journal = stack.enter_context(tuning.opened(path, facts))
        pool = (None if args.jobs == 1 else
                stack.enter_context(_processes(args.jobs)))
        stop = stack.enter_context(progress.Stop())
        shown = stack.enter_context(progress.shown())
        searcher = Searcher(args, journal, path, pool, shown, stop)
        try:
            yield searcher
        except KeyboardInterrupt:
            raise searcher.interrupted() from None
        except process.BrokenProcessPool:
            raise errors.ToolError(
                'A process of the search was killed, perhaps for want of '
                'memory; give fewer --jobs, and the same command resumes.'
            ) from None


@contextlib.contextmanager
def _processes(number: int) -> Iterator[futures.Executor]:
    """Processes that leave a Ctrl-C to this one."""
    pool = futures.ProcessPoolExecutor(
        number, initializer=signal.signal,
        initargs=(signal.SIGINT, signal.SIG_IGN))
    try:
        yield pool
    finally:
        pool.shutdown(wait=True, cancel_futures=True)
