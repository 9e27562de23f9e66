# SPDX-License-Identifier: Apache-2.0
"""Runs checks inside a guest and prints what they saw as JSON."""

from __future__ import annotations

from collections.abc import Callable
import contextlib
import faulthandler
import functools
import io
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
import traceback
from typing import Any


def main(*checks: Callable[[], Any]) -> None:
    """Prints, by name of a check, what it saw or raised, and its seconds."""
    said = {}
    for check in checks:
        print(check.__name__, file=sys.stderr, flush=True)
        began = time.monotonic()
        try:
            outcome = {'saw': check()}
        except Exception:
            outcome = {'raised': traceback.format_exc()}
        said[check.__name__] = {
            **outcome, 'seconds': round(time.monotonic() - began, 1)}
    json.dump(said, sys.stdout)


def start_udev() -> None:
    """Starts udevd, which keeps a database of devices as on a host."""
    # The guest's programs live in a chroot, where udev would do nothing.
    os.environ['SYSTEMD_IGNORE_CHROOT'] = '1'
    sh('/lib/systemd/systemd-udevd', '--daemon')
    sh('udevadm', 'trigger', '--action=add', '--subsystem-match=block')
    sh('udevadm', 'settle')


def sh(*argv: str, given: str | None = None) -> str:
    """The output of a program that must succeed."""
    done = subprocess.run(argv, input=given, capture_output=True, text=True)
    if done.returncode:
        raise RuntimeError(f'{argv}: {done.stderr}{done.stdout}')
    return done.stdout


class Serifos:
    """serifos-model with these arguments, in a process of its own.

    Forked, because imports are what takes long in an emulated machine.
    """

    def __init__(self, *argv: str) -> None:
        self._main = _main()
        self._words = tempfile.TemporaryFile()
        self.code: int | None = None
        self.pid = os.fork()
        if not self.pid:
            self._run(argv)

    def _run(self, argv: tuple[str, ...]) -> None:
        code = 70
        try:
            os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
            os.dup2(self._words.fileno(), 1)
            os.dup2(self._words.fileno(), 2)
            faulthandler.enable()
            code = self._main(argv)
        except BaseException:
            traceback.print_exc()
        finally:
            sys.stdout.flush()
            os._exit(code)

    def ended(self) -> bool:
        if self.code is None:
            pid, status = os.waitpid(self.pid, os.WNOHANG)
            if pid:
                self.code = os.waitstatus_to_exitcode(status)
        return self.code is not None

    def end(self) -> dict[str, Any]:
        """Waits for its exit code and its words."""
        try:
            until(self.ended)
        except TimeoutError:
            os.kill(self.pid, signal.SIGABRT)  # it says where it is
        until(self.ended)
        self._words.seek(0)
        return {'code': self.code, 'words': self._words.read().decode()}


@functools.cache
def _main() -> Callable[[tuple[str, ...]], int]:
    """The command, with all that it imports."""
    # A guest that runs no command does without: minutes where it is emulated.
    from serifos.cmd import model
    with contextlib.redirect_stdout(io.StringIO()):
        model.main(('build', '--help'))
    return model.main


def serifos(*argv: str) -> dict[str, Any]:
    return Serifos(*argv).end()


def until(true: Callable[[], bool], seconds: float = 600) -> None:
    deadline = time.monotonic() + seconds
    while not true():
        if time.monotonic() > deadline:
            raise TimeoutError(f'not so after {seconds} s')
        time.sleep(0.1)
