# SPDX-License-Identifier: Apache-2.0
"""Makes the runs of a design, one after another, and loses none.

The dataset is the journal: a finished run is on disk before the next one
begins, and what is on disk is not run again.
"""

from __future__ import annotations

import collections
from collections.abc import Callable
from collections.abc import Iterator
from collections.abc import Sequence
import contextlib
import dataclasses
import fcntl
import pathlib
import time

from serifos.design import design as dn
from serifos import errors
from serifos.model import dataset as ds
from serifos import store
from serifos import workload as wl

Measure = Callable[[Sequence[wl.Workload], float], ds.Sample]

IN_A_ROW = 3
"""Runs that may fail one after another before the build stops."""


@dataclasses.dataclass(frozen=True)
class Progress:
    """How far a build is; seconds_left is what its runs will take."""

    done: int
    total: int
    failed: int
    seconds_left: float


@dataclasses.dataclass(frozen=True)
class Ports:
    """What a campaign needs of the world.

    :param measure: makes one run; a ToolError costs that run only
    :param progress: told after every run
    :param stop: whether the user wants to stop after the run in hand
    """

    measure: Measure
    progress: Callable[[Progress], None]
    stop: Callable[[], bool]
    clock: Callable[[], float] = time.monotonic


def begin(path: pathlib.Path, header: ds.Header) -> tuple[ds.Sample, ...]:
    """The runs that a dataset holds already; a new dataset where none is.

    :raises InputError: where it is of another machine or other times
    """
    if path.exists():
        store.drop_cut_line(path)
    if not path.exists() or not path.stat().st_size:
        store.begin_dataset(path, header)
        return ()
    was = store.read_dataset(path)
    apart = was.header.differences(header) + [
        f'{name} {getattr(was.header, name)} and {getattr(header, name)}'
        for name in ('runtime_s', 'valid_round')
        if getattr(was.header, name) != getattr(header, name)]
    if apart:
        raise errors.InputError(
            f'{path} cannot be resumed here: it has {"; ".join(apart)}. Give '
            'another --output, or the options that it was begun with.')
    return was.samples


def run(design: dn.Design, path: pathlib.Path, header: ds.Header,
        ports: Ports) -> int:
    """Makes every run of every round that the dataset lacks.

    A run that fails is tried once more at the end.

    :returns: how many runs failed twice and are missing
    :raises Interrupted: after the run in hand, where the user stops
    :raises ToolError: where runs fail three times in a row
    """
    with _alone(path):
        had = begin(path, header)
        pending = list(_missing(design, had))
        total = design.total * design.rounds
        done, failed, in_a_row = total - len(pending), 0, 0
        overhead = _Mean()
        queue = collections.deque((*one, False) for one in pending)
        while queue:
            workloads, number, again = queue.popleft()
            if ports.stop():
                raise errors.Interrupted(
                    f'Stopped with {done} of {total} runs made; they are in '
                    f'{path}, and the same command resumes.')
            began = ports.clock()
            try:
                sample = ports.measure(
                    workloads, design.seconds(len(workloads)))
                store.append_sample(path, dataclasses.replace(
                    sample, round=number))
                in_a_row, done = 0, done + 1
            except errors.ToolError as exc:
                in_a_row += 1
                if in_a_row == IN_A_ROW:
                    raise errors.ToolError(
                        f'{IN_A_ROW} runs failed in a row, the last with: '
                        f'{exc} The runs made are in {path}; mend the cause '
                        'and give the same command to resume.') from None
                if again:
                    failed += 1
                else:
                    queue.append((workloads, number, True))
            overhead.add(ports.clock() - began
                         - design.seconds(len(workloads)))
            ports.progress(Progress(done, total, failed, sum(
                design.seconds(len(w)) + overhead.value
                for w, *_ in queue)))
    return failed


class _Mean:
    """The running mean of what a run takes beside its runtime."""

    def __init__(self) -> None:
        self._sum, self._number = 0.0, 0

    def add(self, value: float) -> None:
        self._sum, self._number = self._sum + value, self._number + 1

    @property
    def value(self) -> float:
        return max(0.0, self._sum / self._number)


def _missing(design: dn.Design, had: Sequence[ds.Sample]
             ) -> Iterator[tuple[dn.Run, int]]:
    """(workloads, round) of the runs that are not in the dataset."""
    made = collections.Counter((s.key, s.round) for s in had)
    for number in range(1, design.rounds + 1):
        for workloads in design.runs:
            name = ds.key(workloads), number
            if made[name]:
                made[name] -= 1
            else:
                yield workloads, number


@contextlib.contextmanager
def _alone(path: pathlib.Path) -> Iterator[None]:
    lock = path.with_name(f'.{path.name}.lock')
    try:
        file = open(lock, 'w')
    except OSError as exc:
        raise errors.InputError(
            f'{path} cannot be written: {exc.strerror}.') from None
    with file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            raise errors.InputError(
                f'Another build writes to {path}; wait for it, or give '
                'another --output.') from None
        try:
            yield
        finally:
            lock.unlink()
