# SPDX-License-Identifier: Apache-2.0
"""The testbed: up, down, and its services in between."""

from __future__ import annotations

from collections.abc import Callable
from collections.abc import Sequence
from concurrent import futures
import contextlib
import os
import shutil
import signal
import subprocess
import time

from tests.testbed import cinder
from tests.testbed import control
from tests.testbed import guest
from tests.testbed.hosts import Hosts
from tests.testbed import layout
from tests.testbed import machine
from tests.testbed import network
from tests.testbed.nova import config as nova_config
from tests.testbed.nova import services
from tests.testbed import records
from tests.testbed import rest

Say = Callable[[str], None]


class Testbed(Hosts):
    """One testbed; up() makes it, attach() finds the one that runs.

    ``nova`` is None where there is no Nova.
    """

    def __init__(self, where: layout.Layout, shape: layout.Shape) -> None:
        self._network = network.Network(where.network)
        self._records = records.Records(where.records)
        super().__init__(where, layout.hosts(shape.hosts),
                         rest.Rest(self._network), self._records)
        self.shape = shape
        self.endpoint = (rest.Rest.url, layout.PROJECT)
        self._control = control.Control(where, self._records)
        self.nova = (services.Services(where, self._records)
                     if shape.nova else None)
        self._cinder = cinder.Cinder(
            where, self._records,
            nova_config.CINDER if shape.nova else cinder.STOCK)

    @classmethod
    def up(cls, directory: os.PathLike | str | None = None,
           shape: layout.Shape = layout.Shape(),
           say: Say = lambda _: None) -> Testbed:
        """A new testbed, ready; what an earlier one left is cleaned up.

        Disks and database of one that went down in good order are used
        again, those of one that did not are not.
        """
        where = layout.Layout.at(directory)
        machine.check(where, shape.nova)
        with where.alone():
            if where.records.exists() or network.Network(
                    where.network).exists:
                say('cleaning up after the last one')
                cls(where, where.shape or shape)._down(wipe=True)
            if where.shape not in (None, shape):
                raise layout.TestbedError(
                    'the disks that are there are of a testbed with other '
                    'options; remove them by tools/testbed down --wipe.')
            where.set_shape(shape)
            testbed = cls(where, shape)
            testbed.start(say)
            return testbed

    @classmethod
    def attach(cls, directory: os.PathLike | str | None = None) -> Testbed:
        """The testbed that runs, of this directory."""
        where = layout.Layout.at(directory)
        # A directory that was removed may have left its network.
        if not (network.Network(where.network).exists
                and where.records.exists()):
            raise layout.TestbedError(
                'the testbed is down; start it by tools/testbed up.')
        return cls(where, where.shape or layout.Shape())

    @property
    def _all_guests(self) -> list[guest.Guest]:
        return [*self.guests, *([self.nova.compute] if self.nova else [])]

    def start(self, say: Say) -> None:
        """Starts everything; waits until Cinder knows all the pools."""
        began = time.monotonic()

        def reached(what: str) -> None:
            say(f'{time.monotonic() - began:5.1f} s  {what}')

        shutil.copytree(layout.INSIDE, self.layout.inside,
                        dirs_exist_ok=True)
        guests = self._all_guests
        hosts = [each.host for each in guests]
        (self.layout.directory / 'hosts').write_text(
            network.hosts_file(hosts))
        self._network.create(hosts)
        for each in guests:
            each.make_disk(self.shape.size_gib)
        self._cinder.configure(self.hosts)
        if self.nova:
            self.nova.configure()
        with futures.ThreadPoolExecutor() as pool:
            for each in guests:
                each.boot()
            self._control.start()
            self._control.wait_database()
            reached('MariaDB')
            synced = pool.submit(self._cinder.sync_database)
            nova = pool.submit(self.nova.start) if self.nova else None
            list(pool.map(guest.Guest.wait_up, guests))
            reached(f'{len(guests)} guests')
            self._control.wait_queue()
            reached('RabbitMQ')
            synced.result()
            reached('database schema')
            self._cinder.start_api()
            self._cinder.start_scheduler()
            list(pool.map(
                lambda host: self.start_cinder_volume(host.number, False),
                self.hosts))
            self._cinder.wait_api()
            reached('cinder-api')
            if self.nova and nova:
                nova.result()
                self.nova.start_cinder_api()
                self.nova.start_compute()
                reached('Keystone and Placement')
        self.wait_backends()
        reached(f'{len(self.hosts)} backends')
        self.wait_pools()
        if self.nova:
            self.nova.wait_up()
            reached('Nova')
        reached('up')

    def down(self, *, wipe: bool = False) -> None:
        """Ends all of it; wipe takes the disks and the database along.

        Those of one with a Nova always go: its servers end here.
        """
        with self.layout.alone():
            self._down(wipe or self.shape.nova)

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
            for each in self._all_guests:
                shutil.rmtree(self.layout.node(each.host),
                              ignore_errors=True)
            for path in (self.layout.control, self.layout.serifos,
                         self.layout.inside):
                shutil.rmtree(path, ignore_errors=True)
            self.layout.set_shape(None)

    def _shut_down_guests(self) -> None:
        def shut_down(each: guest.Guest) -> None:
            if each.alive:
                with contextlib.suppress(OSError, layout.TestbedError):
                    each.run('service cinder-volume stop; sync', 30)

        with futures.ThreadPoolExecutor() as pool:
            list(pool.map(shut_down, self.guests))

    def restart_scheduler(self,
                          config: cinder.Config = cinder.STOCK) -> None:
        """Waits until it knows all pools; config goes over our own."""
        self._cinder.start_scheduler(config)
        self.wait_pools()

    def scheduler_log(self) -> str:
        """All that cinder-scheduler said since the testbed is up."""
        return self._cinder.scheduler_log.read_text(errors='replace')

    def restart_rabbitmq(self) -> None:
        """Waits until cinder-api and cinder-scheduler talk again."""
        self._control.restart_queue()
        self.wait_pools()

    def restart_database(self) -> None:
        """As :meth:`.control.Control.restart_database`."""
        self._control.restart_database()

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
