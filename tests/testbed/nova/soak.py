# SPDX-License-Identifier: Apache-2.0
"""Volumes in use are moved one after the other, as often as is asked for.

A server has three tenants, each on a volume of 1 GiB on another host. The
balancer evacuates a host, then the next, and so on; after each of these
evacuations all blocks, marks and records are looked at.
"""

from __future__ import annotations

from collections.abc import Sequence
import dataclasses
import statistics
import time

from tests.testbed import balancer
from tests.testbed import layout
from tests.testbed import network
from tests.testbed.nova import config
from tests.testbed.nova import tenancy
from tests.testbed.nova import tenants
from tests.testbed import testbed

LIGHT = tenants.TenantJob(write_pct=30, block_kib=4, iodepth=1, pause_us=5000)
TENANTS = {
    tenancy.ROOT: (1, LIGHT),
    'hot': (2, tenants.TenantJob(write_pct=50, block_kib=16, iodepth=4,
                                 pause_us=5000)),
    'light': (3, LIGHT),
}
"""Name → the host where it begins, and what it does."""

SECONDS = 5
"""Of each tenant, before the blocks are looked at."""

REST_S = 900
"""Within which a migration ends that was under way at a Ctrl-C."""

FRUITLESS = 3
"""Evacuations in a row that may move nothing."""


@dataclasses.dataclass(frozen=True)
class Moved:
    """The outcome of one move, as the balancer's journal has it."""

    volume: str
    source: str
    target: str
    result: str
    reason: str
    seconds: float

    @classmethod
    def of(cls, entry: dict) -> Moved:
        return cls(**{field.name: entry[field.name]
                      for field in dataclasses.fields(cls)})


class Soak:
    """So many moves of the volumes of one server."""

    def __init__(self, on: testbed.Testbed, moves: int,
                 say: testbed.Say) -> None:
        self._on = on
        self._moves = moves
        self._say = say
        self._balancer = balancer.Balancer(on, config.auth('admin', 'admin'))
        self._tenancy = tenancy.Tenancy(on)
        self._began = time.monotonic()
        self.moved: list[Moved] = []
        self.lost: list[str] = []
        self.stuck: list[str] = []

    def begin(self) -> None:
        """Boots the server, with all its tenants at work."""
        self._balancer.forget()
        self._balancer.assume_models()
        self._balancer.configure(
            allow_attached=True, back_off=0, max_failures=1000)
        for name, (host, job) in TENANTS.items():
            self._tenancy.add(name, self._on.host(host), job)
        self._tenancy.begin(SECONDS)
        self._began = time.monotonic()

    def run(self) -> None:
        """Moves until there were enough, or one is lost or stuck."""
        fruitless = 0
        while not (self.lost or self.stuck or fruitless == FRUITLESS
                   or len(self.moved) >= self._moves):
            before = len(self.moved)
            said = self._evacuate(self._next())
            self._note()
            fruitless = 0 if len(self.moved) > before else fruitless + 1
            if fruitless:
                self._say(f'Nothing was moved: {said}')
            self._look()

    def _next(self) -> str:
        """The pool of the volume that has been longest where it is."""
        when = {one.volume: number for number, one in enumerate(self.moved)}
        volume = min(self._tenancy.volumes.values(),
                     key=lambda each: when.get(each, -1))
        return self._on.host_of(volume).pool

    def _evacuate(self, pool: str) -> str:
        """What the balancer said last."""
        process = self._balancer.start('evacuate', pool, '--yes')
        try:
            out, err = process.communicate()
        except KeyboardInterrupt:
            process.terminate()
            process.communicate()
            self._note()
            raise
        return ((err or out).strip().splitlines() or ['nothing'])[-1]

    def _note(self) -> None:
        """Takes over what the journal has of moves that are over."""
        names = {volume: name
                 for name, volume in self._tenancy.volumes.items()}
        over = [Moved.of(entry) for entry in self._balancer.journal()
                if entry['kind'] == 'outcome']
        for one in over[len(self.moved):]:
            self.moved.append(one)
            left = max(0, self._moves - len(self.moved))
            each_s = (time.monotonic() - self._began) / len(self.moved)
            self._say(
                f'{len(self.moved):3} of {self._moves}  '
                f'{names[one.volume]:5} {one.source} -> {one.target}  '
                f'{one.result}, {one.seconds / 60:.1f} min; about '
                f'{left * each_s / 60:.0f} min left')
            if one.result != 'success':
                self._say(f'           {one.reason}')

    def _look(self) -> None:
        for name, volume in self._tenancy.volumes.items():
            found = self._on.api.volume(volume)
            status = found['status'], found['migration_status']
            if status not in (('in-use', None), ('in-use', 'success'),
                              ('in-use', 'error')):
                self.stuck.append(f'{name} is {status[0]}, {status[1]}')
        self.stuck += [f"copy {copy['id']} is {copy['status']}"
                       for copy in self._on.copies()]
        if not self.stuck:
            self._tenancy.wait_more(SECONDS)
        self.lost += self._tenancy.faults()
        for problem in self.stuck + self.lost:
            self._say(f'           {problem}')

    def wait_rest(self) -> None:
        """Until no migration is under way."""
        network.wait_for(
            'the migration under way ends', lambda: not self._on.copies()
            and not any(volume['migration_status'] not in (
                None, 'success', 'error')
                for volume in self._on.api.volumes()), REST_S, every=1)

    def end(self) -> None:
        """The server and its volumes go, but not what went wrong."""
        if self.lost or self.stuck:
            self._say('The server and its volumes are left to look at.')
        else:
            self._tenancy.end()

    def summary(self) -> list[str]:
        return summary(
            self.moved, self._moves, time.monotonic() - self._began,
            len(self.stuck), len(self.lost))

    @property
    def well(self) -> bool:
        return not (errors(self.moved) or self.lost or self.stuck
                    or len(self.moved) < self._moves)


def summary(moved: Sequence[Moved], wanted: int, seconds: float,
            stuck: int, lost: int) -> list[str]:
    """What became of these moves, which took so long together."""
    minutes = [one.seconds / 60 for one in moved] or [0.0]
    return [
        f'{len(moved)} of {wanted} moves in {seconds / 60:.0f} min: '
        f'{errors(moved)} errors, {stuck} stuck, {lost} findings of lost '
        'data or a server that stopped',
        f'minutes of a move: mean {statistics.mean(minutes):.1f}, worst '
        f'{max(minutes):.1f}']


def errors(moved: Sequence[Moved]) -> int:
    """How many of these moves did not succeed."""
    return sum(one.result != 'success' for one in moved)


def tell(on: testbed.Testbed, moves: int, say: testbed.Say) -> int:
    """0 where all moves succeeded and no block is wrong.

    After a Ctrl-C the migration under way ends before the server goes.
    """
    if len(on.hosts) < len(TENANTS):
        raise layout.TestbedError(
            f'soak needs {len(TENANTS)} storage hosts; start the testbed by '
            f'tools/testbed up --nova --hosts {len(TENANTS)}.')
    soak = Soak(on, moves, say)
    say(f'A server boots, with {len(TENANTS)} tenants.')
    soak.begin()
    code = 0
    try:
        soak.run()
    except KeyboardInterrupt:
        say('Stopped; waiting until the migration under way is over.')
        soak.wait_rest()
        code = 130
    for line in soak.summary():
        say(line)
    soak.end()
    return code or (0 if soak.well else 1)
