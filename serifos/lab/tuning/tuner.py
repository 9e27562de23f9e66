# SPDX-License-Identifier: Apache-2.0
"""Searches for settings, in many processes, resumed from a journal.

The journal, ``STEM.tune.jsonl``, has a header with the facts of the runs, then
a line for each evaluated point.
"""

from __future__ import annotations

from collections.abc import Callable
from collections.abc import Iterator
from collections.abc import Mapping
from collections.abc import Sequence
from concurrent import futures
from concurrent.futures import process
import contextlib
import dataclasses
import functools
import math
import os
import pathlib
import signal
import time
from typing import Any

from serifos import errors
from serifos.files import atomic
from serifos.files import jsonl
from serifos.lab.tuning import search
from serifos.model import fit_runs
from serifos.model import kinds

TUNE_SCHEMA = 'serifos-tune/1'

_REMEDY = 'delete the file to search anew'

_SAID = {'method': 'method of fitting'}

_Key = tuple[str, str, tuple[tuple[str, float], ...]]

Point = Mapping[str, float]


class SearchJournal:
    """The evaluated points of one dataset; made by :func:`opened`."""

    def __init__(self, path: pathlib.Path, known: dict[_Key, float]) -> None:
        self._path = path
        self._known = known

    def has(self, kind: str, predicts: str,
            settings: Mapping[str, float]) -> bool:
        return _key(kind, predicts, settings) in self._known

    def rmse(self, kind: str, predicts: str,
             settings: Mapping[str, float]) -> float:
        """The RMSE of settings that were evaluated; NaN where a fit failed.

        :raises KeyError: where they were not evaluated
        """
        return self._known[_key(kind, predicts, settings)]

    def add(self, kind: str, predicts: str, settings: Mapping[str, float],
            rmse: float) -> None:
        """Adds an evaluated point.

        :raises InputError: where it cannot be written
        """
        self._known[_key(kind, predicts, settings)] = rmse
        jsonl.append(self._path, {
            'kind': kind, 'predicts': predicts, 'settings': dict(settings),
            'rmse': rmse if math.isfinite(rmse) else None})


@contextlib.contextmanager
def opened(path: str | os.PathLike[str],
           facts: Mapping[str, Any]) -> Iterator[SearchJournal]:
    """The journal, created where it does not exist, and locked.

    :param facts: common to all points: the dataset's sha256, the seed and
        number of the folds, the methods of fitting, ...
    :raises InputError: where it has other facts, is not a journal,
        or cannot be written
    """
    path = pathlib.Path(path)
    header = {'schema': TUNE_SCHEMA, **facts}
    with jsonl.resumed(path, header, 'search'):
        lines = jsonl.parse(atomic.read_text(path, 'search'), path, _REMEDY)
        _, first = next(lines, ('', {}))
        _refuse_another(path, first, header)
        yield SearchJournal(path, dict(_point(*line) for line in lines))


def _refuse_another(path: pathlib.Path, was: Mapping[str, Any],
                    header: Mapping[str, Any]) -> None:
    if was.get('schema') != TUNE_SCHEMA:
        raise errors.FormatError(
            f'{path} is of schema {was.get("schema")}; this serifos reads '
            f'{TUNE_SCHEMA}: {_REMEDY}.')
    other = [_SAID.get(name, name) for name in header
             if was.get(name) != header[name]]
    if other:
        raise errors.InputError(
            f'{path} is of a search with another {" and ".join(other)}; '
            f'{_REMEDY}.')


def _point(where: str, doc: Mapping[str, Any]) -> tuple[_Key, float]:
    try:
        rmse = doc['rmse']
        if not isinstance(doc['kind'] + doc['predicts'], str):
            raise TypeError('the kind is not a string')
        return (_key(doc['kind'], doc['predicts'], doc['settings']),
                math.nan if rmse is None else float(rmse))
    except (KeyError, TypeError, ValueError, AttributeError):
        raise errors.FormatError(
            f'{where} is not a line of a search; {_REMEDY}.') from None


def _key(kind: str, predicts: str, settings: Mapping[str, float]) -> _Key:
    return kind, predicts, tuple(sorted(
        (name, float(value)) for name, value in settings.items()))


@dataclasses.dataclass(frozen=True)
class Searcher:
    """Runs searches with a journal and processes; made by :func:`ready`."""

    options: search.SearchOptions
    journal: SearchJournal
    path: pathlib.Path
    pool: futures.Executor | None
    shown: Callable[..., None]
    stop: Callable[[], bool]

    def search(self, kind: str, predicts: str, data: fit_runs.Runs, seed: int,
               given: Point) -> search.Trace:
        """The search for the settings of a kind that are not given.

        :raises Interrupted: where the user stops
        :raises InputError: where nothing is left to search
        """
        options = self.options
        cost = functools.partial(search.cost, kind, data, seed)
        searched = [one for one in kinds.of(kind).settings
                    if one.searched and one.name not in given]
        asked: list[int] = []

        def evaluate(points: Sequence[Point]) -> list[float]:
            whole = [{**given, **point} for point in points]
            asked.append(len(whole))
            each = (sum(asked[1:]) / len(asked[1:]) if asked[1:]
                    else (options.splits + 2) ** len(searched))
            later = (options.iterations + 1 - len(asked)) * each
            self._evaluate(kind, predicts, cost, whole,
                           sum(asked) - len(whole), round(later))
            return [self.journal.rmse(kind, predicts, point)
                    for point in whole]
        trace = search.search(searched, evaluate, options)
        self.shown(f'{kind} {predicts}', sum(asked), sum(asked), 0.0)
        return trace

    def _evaluate(self, kind: str, predicts: str,
                  cost: Callable[[Point], float], points: Sequence[Point],
                  before: int, later: int) -> None:
        """Evaluates the points that the journal lacks, and adds them.

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
            f'Stopped; the results so far are in {self.path}, and the same '
            'command resumes.')


@contextlib.contextmanager
def ready(options: search.SearchOptions, jobs: int, path: pathlib.Path,
          facts: Mapping[str, Any], shown: Callable[..., None],
          stop: Callable[[], bool]) -> Iterator[Searcher]:
    """A searcher whose journal and processes are open.

    :param jobs: processes
    :param facts: common to the points of the journal
    :param shown: (what, done, total, seconds left), called after every step
    :param stop: whether the user wants to stop
    :raises InputError: where the journal is another's
    """
    with contextlib.ExitStack() as stack:
        journal = stack.enter_context(opened(
            path, {**facts, 'method': _methods()}))
        pool = (None if jobs == 1 else
                stack.enter_context(_processes(jobs)))
        searcher = Searcher(options, journal, path, pool, shown, stop)
        try:
            yield searcher
        except KeyboardInterrupt:
            raise searcher.interrupted() from None
        except process.BrokenProcessPool:
            raise errors.ToolError(
                'A process of the search was killed, perhaps for want of '
                'memory; give fewer --jobs, and the same command resumes.'
            ) from None


def _methods() -> dict[str, int]:
    """The method of each kind that is no longer fitted by its first."""
    return {name: kind.method for name, kind in kinds.every().items()
            if kind.method > 1}


@contextlib.contextmanager
def _processes(number: int) -> Iterator[futures.Executor]:
    """Processes that ignore Ctrl-C, which this one handles."""
    pool = futures.ProcessPoolExecutor(
        number, initializer=signal.signal,
        initargs=(signal.SIGINT, signal.SIG_IGN))
    try:
        yield pool
    finally:
        pool.shutdown(wait=True, cancel_futures=True)
