# SPDX-License-Identifier: Apache-2.0
"""Run many simulations at once, with progress and options."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from collections.abc import Iterable
from collections.abc import Iterator
from collections.abc import Sequence
from concurrent import futures
import pathlib
import signal
import sys
import time
from typing import Any

from rich import progress

from serifos.cmd import options
from serifos.cmd import output
from serifos import errors

Mapper = Callable[[str, Callable[[Any], Any], Sequence[Any]], Iterable[Any]]
"""(title, function, items) → results in the items' order."""

_LINE_EVERY_S = 10.0


def add_arguments(parser: argparse.ArgumentParser, files: str) -> None:
    """``--seed``, ``--jobs``, ``--out`` and ``--format``.

    :param files: what is written to the directory ``--out``, for the help
    """
    options.add_seed(parser, 'all random numbers')
    options.add_jobs(parser)
    parser.add_argument('--out', metavar='DIR',
                        help=f'write {files} to this directory')


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


def took(began: float, page: pathlib.Path | None) -> None:
    """Prints how long it took, and where the page is; not with -q."""
    if not output.is_quiet():
        print(f'Took {time.monotonic() - began:.0f} s.', file=sys.stderr)
        if page is not None:
            print(page.resolve(), file=sys.stderr)


class Processes:
    """A pool of processes, stopped by Ctrl-C, with progress on stderr."""

    def __init__(self, number: int) -> None:
        options.check_jobs(number)
        self._pool = futures.ProcessPoolExecutor(
            number, initializer=_begin)

    def __enter__(self) -> Processes:
        return self

    def __exit__(self, kind: type[BaseException] | None,
                 *args: object) -> None:
        self._pool.shutdown(wait=kind is None, cancel_futures=True)
        if kind is KeyboardInterrupt:
            raise errors.Interrupted(
                'It was stopped and nothing was kept; the same '
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
            console=progress.Console(stderr=True),
            disable=output.is_quiet()) as shown:
        yield from shown.track(done, total=total, description=title)


def _lines(title: str, done: Iterator[Any], total: int) -> Iterator[Any]:
    began = printed = time.monotonic()
    for number, result in enumerate(done, 1):
        yield result
        now = time.monotonic()
        if now - printed >= _LINE_EVERY_S and number < total and (
                not output.is_quiet()):
            printed = now
            left = (now - began) / number * (total - number)
            print(f'{title}: {number} of {total}, about {left:.0f} s left',
                  file=sys.stderr)
