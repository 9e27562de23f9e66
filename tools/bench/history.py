# SPDX-License-Identifier: Apache-2.0
"""Section ``history``: what a day of volumes costs to keep and to read."""

from __future__ import annotations

from collections.abc import Callable
from collections.abc import Iterator
from collections.abc import Sequence
from concurrent import futures
import json
import math
import multiprocessing
import os
import pathlib
import re
import statistics
import tempfile
import time
from typing import Any

import numpy as np

from serifos.database import connection
from serifos.database.history_store import Store
from serifos.database.history_store import TIERS
from serifos.facts import activity
from serifos.facts import history

SIZES = (1_000, 10_000, 100_000)
MOST_LINES = 10_000
"""Volumes up to which JSON lines are tried; beyond, a day takes minutes."""

BEGIN, ROUND_S, HOUR_S, DAY_S = 1_800_000_000, 300, 3600, 86400
_ROUNDS = 5


def names_of(volumes: int) -> list[str]:
    return [f'{n:08x}-0000-4000-8000-{n:012x}' for n in range(volumes)]


def done(volumes: int, begin: int, end: int, step_s: int,
         rng: np.random.Generator) -> history.Series:
    """What volumes did, random rates."""
    found = history.Series.empty(names_of(volumes), begin, end, step_s)
    found.sums[0] = step_s
    for figure, most in zip(found.sums[1:], (100, 100, 1e6, 1e6, 0.2, 0.2)):
        figure[:] = most * step_s * rng.random(figure.shape, np.float32)
    return found


class _Store:
    """What ``serifos-balancer run`` keeps, in SQLite."""

    def __init__(self, directory: pathlib.Path) -> None:
        self.database = connection.Database(
            f'sqlite:///{directory}/history.sqlite',
            content=connection.HISTORY)
        self.store = Store(self.database)
        self.file = directory / 'history.sqlite'

    def fill(self, series: history.Series) -> None:
        """A day that is over: no minutes are kept of it."""
        store = Store(self.database, tuple(
            tier for tier in TIERS if tier.step_s >= series.step_s))
        store.add(series, store.until())

    def write(self, series: history.Series) -> None:
        self.store.add(series, self.store.until())

    def read(self, names: Sequence[str], step_s: int) -> history.Series:
        return self.store.read(
            [activity.MeasuredVolume(name, name, '') for name in names],
            BEGIN, BEGIN + DAY_S, step_s)


class _Lines:
    """The baseline: a line of JSON for each volume and five minutes."""

    def __init__(self, directory: pathlib.Path) -> None:
        self.file = directory / 'history.jsonl'

    def fill(self, series: history.Series) -> None:
        self.write(series)

    def write(self, series: history.Series) -> None:
        series = series.rolled_up(ROUND_S)
        with self.file.open('a') as file:
            for begin, figures in zip(series.begins,
                                      series.sums.swapaxes(0, 1)):
                file.writelines(
                    json.dumps({'at': begin, 'volume': volume,
                                **dict(zip(history.FIGURES, each))}) + '\n'
                    for volume, each in zip(series.volumes,
                                            figures.T.tolist()))
            file.flush()
            os.fsync(file.fileno())

    def read(self, names: Sequence[str], step_s: int) -> history.Series:
        found = history.Series.empty(names, BEGIN, BEGIN + DAY_S, step_s)
        place = {volume: nth for nth, volume in enumerate(names)}
        with self.file.open() as file:
            for line in file:
                doc = json.loads(line)
                slot = (doc['at'] - BEGIN) // step_s
                if slot < found.count:
                    found.sums[:, slot, place[doc['volume']]] += [
                        doc[name] for name in history.FIGURES]
        return found


def _written(kind: str, volumes: int, directory: str) -> dict[str, float]:
    """Bytes of a day, and seconds of the rounds after it."""
    rng = np.random.default_rng(0)
    kept = KINDS[kind](pathlib.Path(directory))
    for begin in range(BEGIN, BEGIN + DAY_S, HOUR_S):
        kept.fill(done(volumes, begin, begin + HOUR_S, ROUND_S, rng))
    size, end = kept.file.stat().st_size, BEGIN + DAY_S
    return {'bytes': size, 'write': statistics.median(
        _seconds(kept.write, done(volumes, at, at + ROUND_S, 60, rng))[0]
        for at in range(end, end + _ROUNDS * ROUND_S, ROUND_S))}


def _read(kind: str, volumes: int, directory: str,
          step_s: int) -> tuple[float, float]:
    """Seconds and MiB of reading that day."""
    kept = KINDS[kind](pathlib.Path(directory))
    names = names_of(volumes)
    pathlib.Path('/proc/self/clear_refs').write_text('5')
    base = _resident_kib('VmRSS')
    seconds, seen = _seconds(kept.read, names, step_s)
    if not (seen.seconds == step_s).all():
        raise AssertionError('what was written was not read')
    return seconds, (_resident_kib('VmHWM') - base) / 1024


def _resident_kib(what: str) -> float:
    """Memory of this process: VmRSS now, VmHWM the most since the reset."""
    status = pathlib.Path('/proc/self/status').read_text()
    return float(re.search(rf'{what}:\s+(\d+) kB', status)[1])


def _seconds(work: Callable[..., Any], *arguments: Any) -> tuple[float, Any]:
    start = time.perf_counter()
    found = work(*arguments)
    return time.perf_counter() - start, found


def _apart(work: Callable[..., Any], *arguments: Any) -> Any:
    """The result of work in a process of its own."""
    with futures.ProcessPoolExecutor(
            1, multiprocessing.get_context('spawn')) as one:
        return one.submit(work, *arguments).result()


def _case(kind: str, volumes: int) -> dict[str, float]:
    with tempfile.TemporaryDirectory(dir='/var/tmp') as directory:
        found = _apart(_written, kind, volumes, directory)
        for what, step_s in ('hours', HOUR_S), ('fives', ROUND_S):
            found[what], found[f'{what}_mib'] = _apart(
                _read, kind, volumes, directory, step_s)
    return found


def lines(quick: bool) -> Iterator[str]:
    """Lines of the section."""
    yield ('volumes  kept as     write a round  bytes a volume and day  '
           'read a day in hours  in five minutes')
    growth: dict[str, list[tuple[float, float]]] = {}
    for volumes in SIZES[:1] if quick else SIZES:
        both = {}
        for kind in KINDS:
            if kind == _LINES and volumes > MOST_LINES:
                continue
            found = both[kind] = _case(kind, volumes)
            yield (f'{volumes:7}  {kind:10}  {found["write"]:11.3f} s  '
                   f'{found["bytes"] / volumes:22,.0f}  '
                   f'{found["hours"]:8.2f} s {found["hours_mib"]:5.0f} MiB  '
                   f'{found["fives"]:5.2f} s {found["fives_mib"]:4.0f} MiB')
            for what, said in _SAID.items():
                growth.setdefault(f'{kind}: {said}', []).append((
                    math.log(volumes), math.log(found[what])))
        if len(both) > 1:
            ours, theirs = both[_OURS], both[_LINES]
            yield (f'{volumes:7}  JSON lines over ours: ' + ', '.join(
                f'{said} {theirs[what] / ours[what]:.1f}'
                for what, said in _SAID.items()))
    yield ''
    for said, points in growth.items():
        if len(points) > 1:
            exponent = np.polyfit(*zip(*points), 1)[0]
            yield f'{said} grow with volumes^{exponent:.2f}'
    yield ('Seconds of a clock; a round is five minutes in slots of one, in '
           'one transaction,')
    yield ('the median of five. Bytes are of slots of five minutes and of an '
           'hour. JSON lines')
    yield ('are one for each volume and five minutes. A history knows '
           'volumes, not pools.')


_OURS, _LINES = 'history', 'JSON lines'
KINDS = {_OURS: _Store, _LINES: _Lines}
_SAID = {'write': 'seconds to write', 'bytes': 'bytes of a day',
         'hours': 'seconds to read hours',
         'fives': 'seconds to read five minutes'}
