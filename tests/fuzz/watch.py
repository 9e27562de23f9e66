# SPDX-License-Identifier: Apache-2.0
"""Runs one target on one input after another, and keeps what goes wrong.

A finding is an exception that the target may not raise, known by its type
and the place in serifos that it came from, or a hang: more than a second of
processor time, or half a minute by the clock.
"""

from __future__ import annotations

import contextlib
import dataclasses
import hashlib
import os
import pathlib
import signal
import time
import traceback
from typing import Any

from tests.fuzz import targets

HANG_S = 1.0
"""Of the processor's time, so that a busy machine makes no hang."""

_WAIT_S = 30.0


class _Waited(BaseException):
    """A target took too long; no handler of Exception stops this."""


@dataclasses.dataclass
class Watch:
    """Counts of findings so far; calling it runs one input.

    :param directory: where the first input of each finding is kept
    :param tracebacks: 'Type at file:line' → how often
    :param hangs: how many inputs took too long
    """

    name: str
    directory: pathlib.Path | None = None
    inputs: int = 0
    hangs: int = 0
    tracebacks: dict[str, int] = dataclasses.field(default_factory=dict)

    def __call__(self, data: bytes) -> None:
        self.inputs += 1
        began = time.thread_time()
        try:
            with _bounded():
                targets.TARGETS[self.name](data)
        except targets.FINE:
            pass
        except _Waited:
            began = -2 * HANG_S
        except Exception as exc:
            place = place_of(exc)
            self.tracebacks[place] = self.tracebacks.get(place, 0) + 1
            if self.tracebacks[place] == 1:
                self._keep('traceback', data)
        if time.thread_time() - began > HANG_S:
            self.hangs += 1
            self._keep('hang', data)

    def _keep(self, what: str, data: bytes) -> None:
        if self.directory is None:
            return
        self.directory.mkdir(parents=True, exist_ok=True)
        name = hashlib.sha256(data).hexdigest()[:12]
        (self.directory / f'{what}-{name}').write_bytes(data)

    def to_json(self) -> dict[str, Any]:
        return {'inputs': self.inputs, 'hangs': self.hangs,
                'tracebacks': self.tracebacks}


def place_of(exc: BaseException) -> str:
    """Such as 'KeyError at serifos/cloud/api_views.py:20'."""
    frames = traceback.extract_tb(exc.__traceback__)
    ours = [f for f in frames if f'{os.sep}serifos{os.sep}' in f.filename
            and 'site-packages' not in f.filename] or frames
    _, _, file = ours[-1].filename.rpartition(f'{os.sep}serifos{os.sep}')
    return f'{type(exc).__name__} at {file}:{ours[-1].lineno}'


@contextlib.contextmanager
def _bounded():
    def ended(*_: object) -> None:
        raise _Waited
    before = signal.signal(signal.SIGALRM, ended)
    signal.setitimer(signal.ITIMER_REAL, _WAIT_S)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
