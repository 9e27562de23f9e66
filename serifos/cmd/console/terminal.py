# SPDX-License-Identifier: Apache-2.0
"""The terminal that top draws on, which is left as it was found."""

from __future__ import annotations

from collections.abc import Callable
from collections.abc import Iterator
import contextlib
import os
import select
import signal
import sys
import termios
import tty
import types

from rich.console import Console

_ENDS = signal.SIGTERM, signal.SIGHUP
"""What ends top as Ctrl-C does, by no key of the terminal's."""


def screen(width: int | None = None) -> Console:
    """What shows names as they are, none of them read as markup."""
    return Console(markup=False, emoji=False, highlight=False,
                   width=width)


@contextlib.contextmanager
def left_whole(shown: Console) -> Iterator[None]:
    """Within it, a signal ends what is under way, and the terminal is kept.

    Its screen and cursor are those from before afterwards, whatever the
    moment at which the signal came. It may also be gone by then.
    """
    with contextlib.suppress(KeyboardInterrupt, OSError), _interrupted():
        try:
            yield
        finally:
            if shown.is_alt_screen:
                shown.set_alt_screen(False)
                shown.show_cursor(True)


@contextlib.contextmanager
def _interrupted() -> Iterator[None]:
    """Within it, the first signal of those that end us is as Ctrl-C.

    One that follows changes nothing, until the very end of the process.
    """
    told = False

    def once(number: int, _: types.FrameType | None) -> None:
        nonlocal told
        if not told:
            told = True
            raise KeyboardInterrupt

    before = {number: signal.signal(number, once) for number in _ENDS}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, signal.SIG_IGN if told else handler)


@contextlib.contextmanager
def keys() -> Iterator[Callable[[float], bytes | None]]:
    """(seconds) → the key that was pressed within them, None for none."""
    source = sys.stdin.fileno()
    before = termios.tcgetattr(source)

    def key(seconds: float) -> bytes | None:
        ready, _, _ = select.select([source], [], [], seconds)
        return os.read(source, 1) if ready else None

    try:
        tty.setcbreak(source)
        yield key
    finally:
        with contextlib.suppress(termios.error):  # there is no terminal left
            termios.tcsetattr(source, termios.TCSADRAIN, before)
