# SPDX-License-Identifier: Apache-2.0
"""Balancers in processes of their own, before one simulated Cinder.

Each runs the daemon's rounds, with its real lock and journal; in place of
observing and planning it moves the volume that has rested longest, so that
there is always something to move.
"""

from __future__ import annotations

import dataclasses
import multiprocessing
from multiprocessing import managers
import pathlib
import secrets
import signal
import threading
import time

from serifos.balancer import daemon
from serifos.balancer.observe import Observer
from serifos.balancer.round import Balancer
from serifos.balancer.round import Decision
from serifos.database import journal
from serifos.database import plans
from serifos.facts import inventory
from serifos.facts.journal import last_moves
from serifos.plan.plan import Move
from serifos.plan.recent import Recent
from tests.fakes import cinder as fake
from tests.fakes import settings
from tests.functional import servers

POOLS = ('a@ssd#ssd', 'b@ssd#ssd')
COOL_DOWN_S = 4.0
_VERBS = tuple(name for name in vars(inventory.Cloud) if name[0] != '_')


class Cloud:
    """A simulated Cinder that records migrations asked for, and faults."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        pools = [inventory.PoolStats(name, 100.0, 100.0, backend_name='ssd',
                                     capabilities={
                                         'volume_backend_name': 'ssd'})
                 for name in POOLS]
        records = [inventory.Record(f'v{n}', 1.0, 'available',
                                    pool=POOLS[n % 2],
                                    project_id='p') for n in range(12)]
        self._cinder = fake.Cinder(pools, records, time.time, gib_per_s=2.0)
        self._moved: dict[str, float] = {}
        self.faults: list[str] = []
        self.asked: list[float] = []

    def __getattr__(self, verb: str):
        def locked(*arguments):
            with self._lock:
                return getattr(self._cinder, verb)(*arguments)
        return locked

    def migrate(self, volume_id: str, pool: str) -> None:
        now = time.time()
        with self._lock:
            busy = [record.id for record in self._cinder.inventory().records
                    if record.migration_status not in (
                        None, 'success', 'error')]
            if busy:
                self.faults.append(f'{volume_id} while {busy} moved')
            rested = now - self._moved.get(volume_id, 0.0)
            if rested < COOL_DOWN_S:
                self.faults.append(f'{volume_id} after {rested:.1f} s')
            self._moved[volume_id] = now
            self.asked.append(now)
            self._cinder.migrate(volume_id, pool)


class _Manager(managers.BaseManager):
    pass


_Manager.register('cloud', exposed=_VERBS)


class Blind(Observer):
    """An observer that looks at nothing while a volume moves."""

    def refresh(self) -> dict[str, str]:
        return {}


class Mover(Balancer):
    """A balancer that always finds something to move."""

    def decide(self, recent: Recent) -> Decision:
        """No plan."""
        return Decision(None, recent)

    def act(self, decision: Decision) -> None:
        self.carrier.settle_open_moves()
        moved = last_moves(self.observer.journal.entries())
        records = sorted(
            (record for record in self.observer.cinder.inventory().records
             if not record.target_of
             and time.time() - moved.get(record.id, 0.0) > COOL_DOWN_S + 1),
            key=lambda record: moved.get(record.id, 0.0))
        for record in records[:1]:
            target = POOLS[record.pool == POOLS[0]]
            self.carrier.carry_out([Move(
                record.id, record.pool, target, 1.0, None, None, 0.0, 0.0,
                'it has rested longest')], 'p')


@dataclasses.dataclass(frozen=True)
class Setting:
    """What a balancer's process is started with."""

    address: tuple[str, int]
    key: bytes
    lock_url: str
    connection: str
    state_dir: pathlib.Path


def _balance(setting: Setting) -> None:
    manager = _Manager(setting.address, setting.key)
    manager.connect()
    cloud = manager.cloud()
    given = settings.balancer(
        setting.state_dir, setting.state_dir, auto=True, interval_s=0.1,
        timeouts=settings.Timeouts(poll_s=0.1, timeout_s=30.0, grace_s=1.0,
                                   unanswered_s=3.0))

    def make(pause):
        database = servers.database(setting.connection)
        return Mover.of(
            Blind(cloud, cloud, journal.Journal(database, time.time), given,
                  time.time), plans.Plans(database), pause)
    made = daemon.Daemon(make, lambda *_: (None, 1.0),
                         lambda: setting.lock_url, lambda result: None)
    signal.signal(signal.SIGTERM, lambda *_: made.stop())
    made.start()
    made.wait()


class Balancers:
    """Two balancers, and the cloud that they share.

    :param test: whose cleanups end them; a MachineTest
    """

    def __init__(self, test, lock_url: str, database: str) -> None:
        self.cloud = Cloud()
        key = secrets.token_bytes(16)
        _Manager.register('cloud', lambda: self.cloud, exposed=_VERBS)
        server = _Manager(('127.0.0.1', 0), key).get_server()
        threading.Thread(target=server.serve_forever, daemon=True).start()
        self.journal = journal.Journal(servers.database(database), time.time)
        context = multiprocessing.get_context('spawn')
        self.processes = [context.Process(target=_balance, args=(Setting(
            server.address, key, lock_url, database, test.directory),))
            for _ in range(2)]
        for process in self.processes:
            process.start()
            test.addCleanup(self._end, process)

    @staticmethod
    def _end(process) -> None:
        process.terminate()
        process.join(20)
        process.kill()

    def leader(self):
        """The process of the present leader."""
        pid = int(self.journal.leader().name.rpartition('-')[2])
        return next(p for p in self.processes if p.pid == pid)

    def more(self, moves: int) -> bool:
        """Whether so many moves have been asked for."""
        return len(self.cloud.asked) >= moves
