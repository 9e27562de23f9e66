# SPDX-License-Identifier: Apache-2.0
"""Each fault at each stage of an in-use migration, and its outcome.

A result is a line of JSON, so that what was interrupted goes on where it was.
"""

from __future__ import annotations

from collections.abc import Iterator
from collections.abc import Sequence
import contextlib
import json
import pathlib
import signal
import subprocess
import time
from typing import Any

from tests.testbed import balancer
from tests.testbed import layout
from tests.testbed.nova import cases
from tests.testbed.nova import config
from tests.testbed.nova import trial
from tests.testbed import testbed

_ROUNDS = {
    'cool_down': 0, 'back_off': 0, 'max_failures': 1000, 'interval': 120,
    'migration_timeout': trial.APPLY_S, 'migration_timeout_per_gib': 0}

_AUTO = {'mode': 'auto', 'max_gib_per_hour': 0.001}
"""No volume is so small that it would be moved."""


class Matrix:
    """Tries cases, one after the other; ``results`` is a file of lines.

    :param auto: whether what is stuck is left to the balancer in mode auto,
        which moves nothing of its own here
    """

    def __init__(self, on: testbed.Testbed, results: pathlib.Path,
                 auto: bool, say: testbed.Say) -> None:
        self._on = on
        self._results = results
        self._auto = auto
        self._scene: cases.Scene | None = None
        self._say = say
        self._balancer = balancer.Balancer(on, config.auth('admin', 'admin'))

    def run(self, wanted: Sequence[tuple[str, str]], minutes: float) -> None:
        """Those that have no result yet; none begins after the minutes."""
        until = time.monotonic() + 60 * minutes
        done = {(row['fault'], row['stage']) for row in self.rows()}
        self._balancer.forget()
        self._balancer.assume_models()
        self._balancer.configure(**_ROUNDS)
        with self._daemon() as self._running:
            for case in wanted:
                if case not in done and time.monotonic() < until:
                    self._say(f'{case[0]}, {case[1]} ...')
                    self._try(*case)

    def _try(self, fault: str, stage: str) -> None:
        one = trial.Trial(self._on, self._balancer, fault, stage,
                          self._scene,
                          self._in_auto if self._auto else None)
        try:
            one.run(self._keep)
        except layout.TestbedError as error:
            self._say(f'  no result: {error}')
            one.clean_up()
        self._scene = one.scene

    @contextlib.contextmanager
    def _daemon(self) -> Iterator[subprocess.Popen]:
        """serifos-balancer run, which keeps the readings up to date."""
        log = self._on.layout.serifos / 'run.log'
        with open(log, 'w') as file:
            daemon = self._balancer.start('run', stdout=file,
                                          stderr=subprocess.STDOUT)
        try:
            yield daemon
        finally:
            daemon.terminate()
            daemon.communicate(timeout=120)

    @contextlib.contextmanager
    def _in_auto(self) -> Iterator[None]:
        """The daemon leads; beside it there is no apply."""
        self._balancer.configure(**_ROUNDS, **_AUTO)
        self._running.send_signal(signal.SIGHUP)
        try:
            yield
        finally:
            self._balancer.configure(**_ROUNDS)
            self._running.send_signal(signal.SIGHUP)

    def rows(self) -> list[dict[str, Any]]:
        if not self._results.exists():
            return []
        return [json.loads(line)
                for line in self._results.read_text().splitlines()]

    def _keep(self, row: dict[str, Any]) -> None:
        with open(self._results, 'a') as file:
            file.write(json.dumps(row) + '\n')
        self._say(f'  {row["outcome"]}, {row["seconds"]} s; '
                  f'data {row["data"]}; apply: {row["said"]["apply"][-1:]}')
