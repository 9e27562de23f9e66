# SPDX-License-Identifier: Apache-2.0
"""A server with its tenants, and whether all of them are well."""

from __future__ import annotations

from collections.abc import Mapping

from tests.testbed import layout
from tests.testbed import marks
from tests.testbed.nova import servers
from tests.testbed.nova import tenants
from tests.testbed import testbed

ROOT = 'root'
"""Name of the volume that the server boots from."""


class Tenancy:
    """One server; ``volumes`` are those of its tenants, by name.

    Each is made with a mark and a job before the server boots.
    """

    def __init__(self, on: testbed.Testbed) -> None:
        self.servers = servers.Servers(on)
        self.volumes: dict[str, str] = {}
        self.server = ''
        self.console: tenants.Console
        self._on = on
        self._marks: Mapping[str, str] = {}

    def add(self, name: str, host: layout.Host,
            job: tenants.TenantJob) -> str:
        """The id of a new volume for a tenant, on this host."""
        volume = (self.servers.create_root(name, host) if name == ROOT else
                  self.servers.volumes.create_volume(name, host=host))
        self.volumes[name] = volume
        marks.write(self._on, volume)
        tenants.assign(self._on, volume, job)
        return volume

    def begin(self, seconds: int) -> None:
        """Boots the server; waits until each tenant told of some seconds."""
        self._marks = self._checksums()
        self.server = self.servers.boot('vm', self.volumes[ROOT])
        self.console = tenants.Console(self.servers.console(self.server))
        for name, volume in self.volumes.items():
            if name != ROOT:
                self.servers.attach(self.server, volume)
        self.wait_more(seconds)

    def end(self) -> None:
        """The server and the volumes are deleted."""
        left = set(self.volumes.values())
        if self.server:
            self.servers.delete(self.server)
            left.discard(self.volumes[ROOT])
        self._on.delete_volumes(left)

    def count(self) -> dict[str, int]:
        """Name → the seconds of which the tenant has told."""
        return {name: len(self.console.seconds(volume))
                for name, volume in self.volumes.items()}

    def wait_more(self, seconds: int) -> None:
        """Until each tenant has told of so many more."""
        for name, count in self.count().items():
            self.console.wait_seconds(self.volumes[name], count + seconds)

    def faults(self) -> list[str]:
        """What is not as it should be, a clause each."""
        found = [f'the mark of {name} has changed' for name, mark in
                 self._checksums().items() if mark != self._marks[name]]
        attached = self.servers.attached(self.server)
        for name, volume in self.volumes.items():
            last = self.console.seconds(volume)[-1]
            if volume not in attached:
                # Requests under way at the detach fail, which is no fault.
                found.append(f'{name} is not attached')
            elif last.wrong or last.errors:
                found.append(f'{name} has {last.wrong} wrong blocks and '
                             f'{last.errors} failed requests')
        status = self.servers.status(self.server)
        if status != 'ACTIVE':
            found.append(f'the server is {status}')
        if self.console.said().count(b'server is up') > 1:
            found.append('the server booted again')
        return found

    def _checksums(self) -> dict[str, str]:
        return {name: marks.checksum(self._on, volume)
                for name, volume in self.volumes.items()}
