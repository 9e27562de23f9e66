# SPDX-License-Identifier: Apache-2.0
"""All that serifos does for tenants, once, on a real Cinder.

A model of each host's SSD is measured; tenants overload the slowest host;
a new volume is placed; the balancer migrates; what the tenants see is
measured before and after, and every byte that must not change is compared.
There are two such stories: of volumes that are available, and of volumes in
use by servers. ``tools/testbed demo`` tells them.
"""

from __future__ import annotations

from collections.abc import Mapping
from collections.abc import Sequence
import contextlib
import time
from typing import Any

from serifos import errors
from serifos.facts import phrases
from tests.testbed import balancer
from tests.testbed import cinder
from tests.testbed import layout
from tests.testbed import testbed

MIN_GAIN = 0.1
"""Of each move: the models here are rough, a migration takes minutes."""

WINDOW_S = 30
"""Seconds of activity that the balancer looks at."""


class Story:
    """The steps that both stories share; each returns what it found.

    :param credentials: options of [cinder], as for balancer.Balancer

    ``volumes`` are the tenants', by name.
    """

    MOVE_IN = ''
    """What tenants() does, a sentence."""

    SETTLE_S = 0
    """Seconds after migrations, until nothing of them is observed."""

    def __init__(self, on: testbed.Testbed,
                 say: testbed.Say = lambda _: None,
                 credentials: Mapping[str, object] | None = None) -> None:
        self.on = on
        self.balancer = balancer.Balancer(on, credentials)
        self.volumes: dict[str, str] = {}
        self._say = say

    def tenants(self) -> None:
        """Volumes with a mark, most of them on the slowest host; then I/O."""
        raise NotImplementedError

    def felt(self) -> Any:
        """What the tenants see now; says it."""
        raise NotImplementedError

    def intact(self) -> dict[str, bool]:
        """Tenant → whether its data is; says it."""
        raise NotImplementedError

    def end(self) -> None:
        """The tenants leave."""
        raise NotImplementedError

    def compared(self, before: Any, after: Any,
                 moves: Sequence[Mapping]) -> list[str]:
        """Tables of what felt() gave before and after these moves."""
        raise NotImplementedError

    def moving(self, moves: Sequence[Mapping],
               ) -> contextlib.AbstractContextManager:
        """Around the migration of these."""
        return contextlib.nullcontext()

    def models(self, *numbers: int) -> dict[str, dict]:
        """A model of each host's volume group, with real fio.

        :param numbers: the hosts whose models are measured; of the others,
            if any, they are assumed
        """
        self.balancer.configure(min_gain=MIN_GAIN)
        self.balancer.assume_models()
        found = self.balancer.build_models(
            [self.on.host(number) for number in numbers] or self.on.hosts)
        for name, model in found.items():
            self._say(f'{name}: a model of kind {model["kind"]}, error '
                      f'{100 * model["quality"]["mre"]:.0f} % in '
                      'cross-validation')
        return found

    def observe(self) -> dict:
        """cluster.json, after watching the tenants."""
        status, out, err = self.balancer.run('observe', '--window', WINDOW_S)
        if status:
            raise layout.TestbedError(
                f'observe ended with {status}: {err}')
        return self.balancer.cluster()

    def place(self) -> str:
        """The host where the scheduler puts a new volume."""
        self.on.restart_scheduler(cinder.DRIVER)
        volume = self.on.create_volume('new')
        pool = self.on.host_of(volume).name
        self._say(f'The scheduler put the new volume on {pool}.')
        self.on.api.delete_volume(volume)
        return pool

    def balance(self) -> list[dict]:
        """Plans and applies until there is nothing more to move."""
        moved: list[dict] = []
        while True:
            plan = self.plan()
            if plan is None:
                self._say('There is nothing more to move.')
                return moved
            self._say('The plan moves '
                      f'{phrases.count(len(plan["moves"]), "volume")}: '
                      'worst latency '
                      f'{plan["max_us"]["before"] / 1e3:.1f} -> '
                      f'{plan["max_us"]["after"] / 1e3:.1f} ms, predicted')
            self.apply(plan)
            moved += plan['moves']
            time.sleep(self.SETTLE_S)

    def plan(self) -> dict | None:
        """What one round in mode advise plans, None for nothing."""
        before = self.balancer.plan()
        status, out, err = self.balancer.run('run', '--once', '--window',
                                             WINDOW_S)
        # A host of a busy machine is slower than its model assumes.
        if status not in (0, errors.UNEXPLAINED):
            raise layout.TestbedError(
                f'run --once ended with {status}: {err}')
        plan = self.balancer.plan()
        return None if 'nothing to move' in out or plan == before else plan

    def apply(self, plan: dict) -> None:
        """Carries a plan out."""
        names = {volume: name for name, volume in self.volumes.items()}
        for move in plan['moves']:
            self._say(f'{names.get(move["volume"], move["volume"])}: '
                      f'{move["from"]} -> {move["to"]} ({move["reason"]})')
            for line in predicted(move):
                self._say(line)
        began = time.monotonic()
        with self.moving(plan['moves']):
            status, out, err = self.balancer.run('apply', plan['id'], '--yes')
        if status:
            raise layout.TestbedError(
                f'apply ended with {status}: {out}\n{err}')
        self._say(f'Carried out in {time.monotonic() - began:.0f} s.')


def change(name: str, was: float, then: float) -> str:
    """A line of a table: a figure before and after, and the change in %."""
    return f'{name:25} {was:8.1f} {then:8.1f}' + (
        f'  {100 * (then / was - 1):+5.0f} %' if was else '')


def predicted(move: Mapping) -> list[str]:
    """What the plan says of both devices: before, during and after."""
    return [
        f'predicted for the device of {move[end].partition("@")[0]}: '
        f'{move[f"{part}_before_us"] / 1e3:.1f} ms, '
        f'{move[f"{part}_during_us"] / 1e3:.1f} while it is copied, then '
        f'{move[f"{part}_after_us"] / 1e3:.1f}'
        for end, part in (('from', 'source'), ('to', 'target'))]
