# SPDX-License-Identifier: Apache-2.0
"""Standard streams that are closed, full, or lack letters."""

from __future__ import annotations

from collections.abc import Callable
import contextlib
import io
import os
import sys
from typing import Any


class _Output:
    """Standard output; the program ends where it cannot be written.

    It ends by SystemExit, as cliff and oslo.upgradecheck catch any other
    exception, and print it.
    """

    def __init__(self, stream: Any, name: str, code: int) -> None:
        self._stream = stream
        self._name = name
        self._code = code

    def write(self, text: str) -> int:
        return self._tried(self._stream.write, text)

    def flush(self) -> None:
        self._tried(self._stream.flush)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)

    def _tried(self, do: Callable[..., Any], *args: str) -> Any:
        try:
            return do(*args)
        except OSError as exc:
            why = exc
        # What is left of it would be written, and fail, at the very end.
        os.dup2(os.open(os.devnull, os.O_WRONLY), self._stream.fileno())
        if not isinstance(why, BrokenPipeError):  # who reads has enough
            print(f'{self._name}: The output cannot be written: '
                  f'{why.strerror}.', file=sys.stderr)
        raise SystemExit(self._code)


def guarded(name: str, run: Callable[[], int], failed: int = 1) -> int:
    """The exit code of a program, of which the output may not be written.

    Letters that the output has no code for are written as escapes.

    :param failed: the code where it cannot be written
    """
    if sys.stdin is None:
        sys.stdin = open(os.devnull)
    if sys.stdout is None:
        # Of programs that we run, a file opened now would be the output.
        print(f'{name}: The standard output is closed; send it to /dev/null '
              'where nobody reads it.', file=sys.stderr)
        return failed
    if sys.stderr is None:
        sys.stderr = open(os.devnull, 'w')  # else print takes stdout for it
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors='backslashreplace')
    with contextlib.redirect_stdout(_Output(sys.stdout, name, failed)):
        code = run()
        sys.stdout.flush()
    return code
