# SPDX-License-Identifier: Apache-2.0
"""Progress of a long command: a bar on a terminal, lines elsewhere."""

from __future__ import annotations

from collections.abc import Iterator
import contextlib
import signal
import sys
import time

import rich.console
import rich.progress

from serifos.cmd import output
from serifos.modeler import campaign

_LINE_EVERY_S = 10.0


@contextlib.contextmanager
def shown() -> Iterator[campaign.Show]:
    """A bar with its estimate on a terminal, else a line now and then.

    With -q nothing.
    """
    if output.is_quiet():
        yield lambda *_: None
        return
    console = rich.console.Console(stderr=True)
    if not console.is_terminal:
        yield _lines()
        return
    columns = rich.progress.Progress(
        rich.progress.TextColumn('{task.description}'),
        rich.progress.BarColumn(), rich.progress.TaskProgressColumn(),
        rich.progress.TextColumn('{task.fields[left]}'), console=console,
        refresh_per_second=1)  # drawing takes time from what is measured
    tasks: dict[str, rich.progress.TaskID] = {}

    def show(what: str, done: int, total: int,
             seconds_left: float | None = None) -> None:
        if what not in tasks:
            tasks[what] = columns.add_task(what, total=total, left='')
        columns.update(tasks[what], completed=done, total=total,
                       left=_left(seconds_left))
    with columns:
        yield show


def _lines() -> campaign.Show:
    last = {'what': '', 'at': 0.0}

    def show(what: str, done: int, total: int,
             seconds_left: float | None = None) -> None:
        now = time.monotonic()
        if (what != last['what'] or done == total
                or now - last['at'] >= _LINE_EVERY_S):
            last.update(what=what, at=now)
            print(f'{what}: {done} of {total}  {_left(seconds_left)}'.strip(),
                  file=sys.stderr, flush=True)
    return show


def _left(seconds: float | None) -> str:
    return '' if seconds is None else f'{duration(seconds)} left'


def duration(seconds: float) -> str:
    """Such as '3 h 05 min', '4 min 10 s' or '12 s'."""
    minutes, rest = divmod(round(seconds), 60)
    if minutes >= 60:
        return f'{minutes // 60} h {minutes % 60:02d} min'
    return f'{minutes} min {rest:02d} s' if minutes else f'{rest} s'


class Stop:
    """Ctrl-C finishes the step in hand; a second one ends it at once."""

    def __init__(self) -> None:
        self.asked = False

    def __call__(self) -> bool:
        return self.asked

    def __enter__(self) -> Stop:
        self._was = {name: signal.signal(name, self._ask)
                     for name in (signal.SIGINT, signal.SIGTERM)}
        return self

    def __exit__(self, *args: object) -> None:
        for name, handler in self._was.items():
            signal.signal(name, handler)

    def _ask(self, *args: object) -> None:
        if self.asked:
            raise KeyboardInterrupt
        self.asked = True
        print('Stopping after the step in hand; once more to stop at once.',
              file=sys.stderr, flush=True)
