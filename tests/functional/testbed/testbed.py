# SPDX-License-Identifier: Apache-2.0
"""The testbed as one thing: up, down, and what to do with it in between."""

from __future__ import annotations

from collections.abc import Callable
from collections.abc import Mapping
from collections.abc import Sequence
from concurrent import futures
import contextlib
import json
import os
import shutil
import signal
import subprocess
import time

from serifos.facts import names
from tests.functional.testbed import cinder
from tests.functional.testbed import control
from tests.functional.testbed import guest
from tests.functional.testbed import layout
from tests.functional.testbed import machine
from tests.functional.testbed import network
from tests.functional.testbed import records
from tests.functional.testbed import rest
from tests.functional.testbed import volumes

READY_S = 240
"""Seconds that cinder-volume may take until its driver works."""

Say = Callable[[str], None]


class Testbed(volumes.Volumes):
    """One testbed; up() makes it, attach() finds the one that runs."""

    def __init__(self, where: layout.Layout, hosts: Sequence[layout.Host],
                 say: Say = lambda _: None) -> None:
        self._network = network.Network(where.network)
        super().__init__(rest.Rest(self._network), hosts)
        self.layout = where
        self.endpoint = (rest.Rest.url, layout.PROJECT)
        self._say = say
        self._records = records.Records(where.records)
        self._control = control.Control(where, self._records)
        self._cinder = cinder.Cinder(where, self._records)
        self._guests = {
            host.name: guest.Guest(host, where, self._records)
            for host in self.hosts}

    @classmethod
    def up(cls, directory: os.PathLike | str | None = None, *,
           hosts: int = 3, size_gib: int = 6,
           say: Say = lambda _: None) -> Testbed:
        """A new testbed, ready; what an earlier one left is cleaned up.

        Disks and database of one that went down in good order are used
        again, those of one that did not are not.
        """
        where = layout.Layout.at(directory)
        machine.check(where)
        with where.alone():
            return cls._up(where, hosts, size_gib, say)

    @classmethod
    def _up(cls, where: layout.Layout, hosts: int, size_gib: int,
            say: Say) -> Testbed:
        if where.records.exists() or network.Network(where.network).exists:
            say('cleaning up after the last one')
            cls(where, hosts_of(where), say)._down(wipe=True)
        facts = {'hosts': hosts, 'size_gib': size_gib}
        if where.facts.exists() and json.loads(
                where.facts.read_text()) != facts:
            raise layout.TestbedError(
                'the disks that are there are of another number or size; '
                'remove them by tools/testbed down --wipe.')
        where.facts.write_text(json.dumps(facts))
        testbed = cls(where, layout.hosts(hosts), say)
        testbed._bring_up(size_gib)
        return testbed

    @classmethod
    def attach(cls, directory: os.PathLike | str | None = None) -> Testbed:
        """The testbed that runs, of this directory."""
        where = layout.Layout.at(directory)
        if not network.Network(where.network).exists:
            raise layout.TestbedError(
                'the testbed is down; start it by tools/testbed up.')
        return cls(where, hosts_of(where))

    def _bring_up(self, size_gib: int) -> None:
        began = time.monotonic()

        def say(what: str) -> None:
            self._say(f'{time.monotonic() - began:5.1f} s  {what}')

        shutil.copytree(layout.INSIDE, self.layout.inside,
                        dirs_exist_ok=True)
        (self.layout.directory / 'hosts').write_text(
            network.hosts_file(self.hosts))
        self._network.create(self.hosts)
        for each in self._guests.values():
            each.make_disk(size_gib)
        self._cinder.configure(self.hosts)
        with futures.ThreadPoolExecutor() as pool:
            for each in self._guests.values():
                each.boot()
            self._control.start()
            self._control.wait_database()
            say('MariaDB')
            synced = pool.submit(self._cinder.sync_database)
            guests = [pool.submit(each.wait_up)
                      for each in self._guests.values()]
            _all(guests)
            say(f'{len(guests)} guests')
            self._control.wait_queue()
            say('RabbitMQ')
            synced.result()
            say('database schema')
            self._cinder.start_api()
            self._cinder.start_scheduler()
            _all([pool.submit(self.start_cinder_volume, host.number, False)
                  for host in self.hosts])
            self._cinder.wait_api()
            say('cinder-api')
        self.wait_backends()
        say(f'{len(self.hosts)} backends')
        self.wait_pools()
        say('up')

    def down(self, *, wipe: bool = False) -> None:
        """Ends all of it; wipe takes the disks and the database along."""
        with self.layout.alone():
            self._down(wipe)

    def _down(self, wipe: bool) -> None:
        if not wipe:
            self._shut_down_guests()
        names = self._records.names()
        first = [name for name in names if name not in
                 ('mariadb', 'rabbitmq', 'epmd')]
        self._records.stop(*first, seconds=10)
        self._records.stop(*names, number=signal.SIGKILL if wipe
                           else signal.SIGTERM)
        # What a user, or a crash, left inside: it is there by our doing.
        strays = [found for pid in self._network.pids
                  if (found := records.process(pid))]
        records.end(strays, signal.SIGKILL)
        self._network.remove()
        shutil.rmtree(self.layout.directory / 'uml', ignore_errors=True)
        self.layout.records.unlink(missing_ok=True)
        if wipe:
            for host in self.hosts:
                shutil.rmtree(self.layout.node(host), ignore_errors=True)
            for path in (self.layout.control, self.layout.serifos,
                         self.layout.inside):
                shutil.rmtree(path, ignore_errors=True)
            self.layout.facts.unlink(missing_ok=True)

    def _shut_down_guests(self) -> None:
        def shut_down(each: guest.Guest) -> None:
            if each.alive:
                with contextlib.suppress(OSError, layout.TestbedError):
                    each.run('cinder-volume-service stop; sync', 30)

        with futures.ThreadPoolExecutor() as pool:
            _all([pool.submit(shut_down, each)
                  for each in self._guests.values()])

    # Hosts

    def guest(self, number: int) -> guest.Guest:
        return self._guests[self.host(number).name]

    def on(self, node: int | str, script: str,
           timeout: float = 60) -> tuple[int, str]:
        """(exit status, output) of a bash script on a host (2 or node2).

        124 where it took longer than timeout (s); OSError: host is dead.
        """
        return self.guest(volumes.number(node)).run(script, timeout)

    def start_cinder_volume(self, number: int, wait: bool = True) -> None:
        """Ends the one that runs; waits until the driver works."""
        log = self.layout.node(self.host(number)) / 'cinder-volume.log'
        before = log.stat().st_size if log.exists() else 0
        self.guest(number).call('cinder-volume-service start')
        if not wait:
            return

        # A scheduler still says 'up' of one that has just been ended.
        def says_so() -> bool:
            with open(log, 'rb') as file:
                file.seek(before)
                return b'Driver post RPC initialization' in file.read()

        self._wait(f'cinder-volume is ready (see {log})', says_so, READY_S)
        self.wait_backends([self.host(number)])

    def stop_cinder_volume(self, number: int) -> None:
        self.guest(number).call('cinder-volume-service stop')

    def wait_backend_down(self, number: int, seconds: float = 90) -> None:
        """Until Cinder has noticed, which takes it half a minute."""
        service = self.host(number).service
        self._wait(f'{service} down',
                   lambda: service not in self.api.backends_up(), seconds)

    def kill_guest(self, number: int) -> None:
        """A power failure of the host."""
        self.guest(number).kill()

    def boot_guest(self, number: int, wait: bool = True) -> None:
        """Boots a host that was killed, and starts its cinder-volume."""
        found = self.guest(number)
        found.boot()
        found.wait_up()
        self.start_cinder_volume(number, wait)

    # Services

    def restart_scheduler(self, config: cinder.Config = cinder.STOCK,
                          environment: Mapping[str, str] | None = None,
                          ) -> None:
        """Waits until it knows all pools; config goes over our own."""
        self._cinder.start_scheduler(config, environment)
        self.wait_pools()

    def scheduler_log(self) -> str:
        """All that cinder-scheduler said since the testbed is up."""
        return self._cinder.scheduler_log.read_text(errors='replace')

    def restart_rabbitmq(self) -> None:
        """Waits until cinder-api and cinder-scheduler talk again."""
        self._control.restart_queue()
        self.wait_pools()

    def wait_backends(self, hosts: Sequence[layout.Host] | None = None,
                      seconds: float = READY_S) -> None:
        """Until the drivers of these hosts (default: all) work."""
        wanted = {host.service for host in hosts or self.hosts}
        self._wait('backends up', lambda: wanted <= set(
            self.api.backends_up()), seconds)

    def wait_pools(self, seconds: float = READY_S) -> None:
        """Until the scheduler knows a pool of each backend that is up."""
        self._wait('pools known to the scheduler', lambda: {
            names.backend(name) for name in self.api.pools()
        } >= set(self.api.backends_up()), seconds)

    def _wait(self, what: str, ready: Callable[[], bool],
              seconds: float) -> None:
        def quietly() -> bool:
            with contextlib.suppress(OSError, rest.Refused):
                return ready()
            return False

        network.wait_for(what, quietly, seconds, every=0.3)

    def in_network(self, argv: Sequence[object], **options,
                   ) -> subprocess.Popen:
        """Starts a process inside the testbed's network; as Popen.

        Without the proxies of the world outside, unless env is given.
        """
        environment = {name: value for name, value in os.environ.items()
                       if not name.lower().endswith('_proxy')}
        return subprocess.Popen(
            [*self._network.prefix, *map(str, argv)],
            **{'env': environment, **options})

    def status(self) -> dict:
        """What runs: {'processes': {...}, 'backends': [...]}, and so on."""
        processes = {name: self._records.alive(name)
                     for name in sorted(self._records.names())}
        backends: list[str] = []
        with contextlib.suppress(OSError, rest.Refused):
            backends = self.api.backends_up()
        return {'network': self._network.name, 'processes': processes,
                'backends': sorted(backends)}


def _all(running: Sequence[futures.Future]) -> None:
    for each in running:
        each.result()


def hosts_of(where: layout.Layout) -> tuple[layout.Host, ...]:
    try:
        return layout.hosts(json.loads(where.facts.read_text())['hosts'])
    except FileNotFoundError:
        return ()
