# SPDX-License-Identifier: Apache-2.0
"""The resumable loop of runs that `build` and `screen` share.

What a run is and where it is kept are the caller's: a finished run is on
disk before the next begins, so that only those that are missing are asked
for when the same command is run again.
"""

from __future__ import annotations

import collections
from collections.abc import Callable
from collections.abc import Iterable
import dataclasses
import pathlib
import platform
import re
import time
from typing import Generic
from typing import Protocol
from typing import TypeVar

from oslo_log import log

from serifos import errors
from serifos.facts import times

LOG = log.getLogger(__name__)

Run = TypeVar('Run')

IN_A_ROW = 3
"""Runs that may fail one after another before a campaign stops."""


class Show(Protocol):
    """Told after every step, and what the rest will take if that is known."""

    def __call__(self, what: str, done: int, total: int,
                 seconds_left: float | None = None) -> None: ...


@dataclasses.dataclass(frozen=True)
class Ports:
    """The user interface and the clock of a campaign.

    :param show: told after every step
    :param stop: whether to stop after the step in hand
    """

    show: Show
    stop: Callable[[], bool]
    clock: Callable[[], float] = time.monotonic


@dataclasses.dataclass
class Campaign(Generic[Run]):
    """Runs that are made one after another.

    :param what: they are, for the user
    :param make_one: makes a run and keeps it on disk; a ToolError costs
        that run only
    :param seconds: of a run, without what it takes to start
    :param path: where the runs are kept, for messages
    :param done: how many are made already
    :param total: how many there will be, those made already among them
    :ivar failed: runs that failed twice
    """

    what: str
    make_one: Callable[[Run], None]
    seconds: Callable[[Run], float]
    path: pathlib.Path
    ports: Ports
    done: int
    total: int
    failed: list[Run] = dataclasses.field(default_factory=list)
    _in_a_row: int = 0
    _starting_s: list[float] = dataclasses.field(default_factory=list)

    def make(self, runs: Iterable[Run]) -> None:
        """Makes runs; one that fails is tried once more after the others.

        :raises Interrupted: after the run in hand, where the user stops
        :raises ToolError: where runs fail three times in a row
        """
        queue = collections.deque((run, False) for run in runs)
        while queue:
            run, again = queue.popleft()
            if self.ports.stop():
                raise errors.Interrupted(
                    f'Stopped with {self._so_far} made; they are in '
                    f'{self.path}, and the same command resumes.')
            began, seconds = self.ports.clock(), self.seconds(run)
            if not self._made(run, again):
                if again:
                    self.failed.append(run)
                else:
                    queue.append((run, True))
            self._starting_s.append(self.ports.clock() - began - seconds)
            queued = [self.seconds(one) for one, _ in queue]
            unchosen = (self.total - self.done - len(self.failed)
                        - len(queued))
            self._tell([*queued, *[seconds] * unchosen])

    @property
    def _so_far(self) -> str:
        return f'{self.done} of {self.total} runs'

    def _made(self, run: Run, again: bool) -> bool:
        try:
            self.make_one(run)
        except errors.ToolError as exc:
            self._in_a_row += 1
            why = str(exc).rstrip('.')
            LOG.warning('A run failed%s: %s.', ' again' * again, why)
            if self._in_a_row == IN_A_ROW:
                raise errors.ToolError(
                    f'{IN_A_ROW} runs failed in a row, the last because '
                    f'{why}; the {self._so_far} made are in {self.path}: '
                    'fix the cause, and the same command resumes.'
                ) from None
            return False
        self._in_a_row, self.done = 0, self.done + 1
        return True

    def _tell(self, left: list[float]) -> None:
        each = sum(self._starting_s) / len(self._starting_s)
        self.ports.show(self.what, self.done, self.total,
                        sum(left) + max(0.0, each) * len(left))


def this_machine() -> dict[str, str]:
    """Header fields: where and when a campaign was begun."""
    return {'host': platform.node(), 'kernel': platform.release(),
            'created_at': times.text(time.time())}


def stem(text: str, default: str) -> str:
    """A file name after what a target is called, without a suffix."""
    return re.sub(r'[^a-z0-9]+', '-', text.lower()).strip('-') or default


def journal_path(text: str, what: str) -> pathlib.Path:
    """Where runs will be kept.

    :param what: dataset or journal, for messages
    :raises InputError: where no such file can be made
    """
    path = pathlib.Path(text)
    if path.suffix != '.jsonl':
        raise errors.InputError(
            f'--output {path} should end in .jsonl, as {what}s do.')
    if not path.absolute().parent.is_dir():
        raise errors.InputError(
            f'There is no directory {path.absolute().parent} for the '
            f'{what}; make it first.')
    return path
