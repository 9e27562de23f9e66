# SPDX-License-Identifier: Apache-2.0
"""Makes the runs of a design, one after another, and loses none.

The dataset is the journal: a finished run is on disk before the next one
begins, and what is on disk is not run again.
"""

from __future__ import annotations

import collections
from collections.abc import Callable
from collections.abc import Collection
from collections.abc import Iterator
from collections.abc import Sequence
import contextlib
import dataclasses
import fcntl
import pathlib
import time

from oslo_log import log

from serifos.design import design as dn
from serifos import errors
from serifos.model import dataset as ds
from serifos import store
from serifos import workload as wl

LOG = log.getLogger(__name__)

Measure = Callable[[Sequence[wl.Workload], float], ds.Sample]
Run = tuple[dn.Run, int]
"""Workloads, and the round in which they run."""

Key = tuple[tuple[float, ...], ...]
"""What runs of the same workloads have in common (:func:`.dataset.key`)."""

IN_A_ROW = 3
"""Runs that may fail one after another before the build stops."""

_SAME = ('runtime_s', 'valid_round')
_SAME_DEVICE = ('workload_gib', 'ioengine')


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


def had(path: pathlib.Path, header: ds.Header) -> tuple[ds.Sample, ...]:
    """The runs that a dataset holds already; none where it is not begun.

    :raises InputError: where it is of another machine or made otherwise
    """
    if not path.exists():
        return ()
    if store.drop_cut_line(path):
        LOG.warning('The last line of %s was cut short; that run is made '
                    'again.', path)
    if not path.stat().st_size:
        return ()
    was = store.read_dataset(path)
    apart = was.header.differences(header)
    for names, ours, theirs in (
            (_SAME, vars(was.header), vars(header)),
            (_SAME_DEVICE, was.header.device, header.device)):
        apart += [f'{name} {ours.get(name)} and {theirs.get(name)}'
                  for name in names if ours.get(name) != theirs.get(name)]
    if apart:
        raise errors.InputError(
            f'{path} cannot be resumed by this: {"; ".join(apart)}; give '
            'another --name or --output, or what it was begun with.')
    return was.samples


def missing(design: dn.Design, made: Sequence[ds.Sample]) -> tuple[Run, ...]:
    """The runs of a design, of every round, that are not made yet."""
    counts = collections.Counter((s.key, s.round) for s in made)
    found = []
    for number in range(1, design.rounds + 1):
        for workloads in design.runs:
            name = ds.key(workloads), number
            if counts[name]:
                counts[name] -= 1
            else:
                found.append((workloads, number))
    return tuple(found)


@dataclasses.dataclass(frozen=True)
class Then:
    """Runs that are chosen by what was measured before.

    :param first: runs of the design that are made in any case
    :param choose: (the runs in the order in which they were made, the keys
        of those that failed twice) → the next ones, in order; none where it
        is enough
    """

    first: int
    choose: Callable[[Sequence[ds.Sample], Collection[Key]],
                     Sequence[dn.Run]]


def todo(design: dn.Design, made: Sequence[ds.Sample],
         then: Then | None = None) -> tuple[Run, ...]:
    """What would be run first; none where everything is made."""
    if then is None:
        return missing(design, made)
    return (missing(design.beginning(then.first), made)
            or tuple((run, 1) for run in then.choose(made, ())))


def run(design: dn.Design, path: pathlib.Path, header: ds.Header,
        ports: Ports, then: Then | None = None) -> int:
    """Makes every run of every round that the dataset lacks.

    A run that fails is tried once more at the end: of the design, or of
    those that were chosen with it.

    :param then: what to run after the first of the design, in one round,
        and until it is enough
    :returns: how many runs failed twice and are missing
    :raises Interrupted: after the run in hand, where the user stops
    :raises ToolError: where runs fail three times in a row
    """
    with _alone(path, header):
        made = [*had(path, header)]
        begin = design.beginning(then.first) if then else design
        first, total = missing(begin, made), design.total * design.rounds
        done = len(made) if then else total - len(first)
        work = _Work(design, path, ports, made, done, total)
        work.make(first)
        while then and (more := then.choose(
                tuple(work.made), tuple(work.failed))):
            work.make([(workloads, 1) for workloads in more])
    return len(work.failed)


@dataclasses.dataclass
class _Work:
    """How far a campaign is.

    :param made: everything that the dataset holds
    :param done: of the runs wanted
    """

    design: dn.Design
    path: pathlib.Path
    ports: Ports
    made: list[ds.Sample]
    done: int
    total: int
    failed: list[Key] = dataclasses.field(default_factory=list)
    in_a_row: int = 0
    overheads: list[float] = dataclasses.field(default_factory=list)

    def make(self, runs: Sequence[Run]) -> None:
        queue = collections.deque((*one, False) for one in runs)
        while queue:
            workloads, number, again = queue.popleft()
            if self.ports.stop():
                raise errors.Interrupted(
                    f'Stopped with {self.so_far} made; they are in '
                    f'{self.path}, and the same command resumes.')
            began = self.ports.clock()
            seconds = self.design.seconds(len(workloads))
            if not self._made(workloads, number, seconds, again):
                if again:
                    self.failed.append(ds.key(workloads))
                else:
                    queue.append((workloads, number, True))
            self.overheads.append(self.ports.clock() - began - seconds)
            self._tell([self.design.seconds(len(w)) for w, _, _ in queue])

    @property
    def so_far(self) -> str:
        return f'{self.done} of {self.total} runs'

    def _made(self, workloads: dn.Run, number: int, seconds: float,
              again: bool) -> bool:
        try:
            sample = dataclasses.replace(
                self.ports.measure(workloads, seconds), round=number)
            _append(self.path, sample)
        except errors.ToolError as exc:
            self.in_a_row += 1
            why = str(exc).rstrip('.')
            LOG.warning('A run failed%s: %s.', ' again' if again else '',
                        why)
            if self.in_a_row == IN_A_ROW:
                raise errors.ToolError(
                    f'{IN_A_ROW} runs failed in a row, the last because '
                    f'{why}; the {self.so_far} made are in {self.path}: '
                    'mend the cause, and the same command resumes.'
                ) from None
            return False
        self.in_a_row, self.done = 0, self.done + 1
        self.made.append(sample)
        return True

    def _tell(self, queued: Sequence[float]) -> None:
        each = max(0.0, sum(self.overheads) / len(self.overheads))
        left = self.total - self.done - len(self.failed) - len(queued)
        seconds = [*queued, *[self.design.seconds(1)] * left]
        self.ports.progress(Progress(
            self.done, self.total, len(self.failed),
            sum(seconds) + each * len(seconds)))


def _append(path: pathlib.Path, sample: ds.Sample) -> None:
    try:
        store.append_sample(path, sample)
    except OSError as exc:
        raise errors.InputError(
            f'{path} cannot be written ({exc.strerror}); make room, and '
            'the same command resumes.') from None
    except errors.FormatError as exc:
        raise errors.ToolError(f'fio gave a figure that is none: {exc}'
                               ) from None


@contextlib.contextmanager
def _alone(path: pathlib.Path, header: ds.Header) -> Iterator[None]:
    """The dataset, begun where it is not, and nobody else writing to it."""
    if path.exists():
        store.drop_cut_line(path)
    if not path.exists() or not path.stat().st_size:
        store.begin_dataset(path, header)
    with open(path, 'rb') as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            raise errors.InputError(
                f'Another build writes to {path}; wait for its end, or give '
                'another --output.') from None
        yield
