# SPDX-License-Identifier: Apache-2.0
"""The storage hosts of the testbed, and their cinder-volume services."""

from __future__ import annotations

from collections.abc import Sequence

from serifos.facts import names
from tests.testbed import guest
from tests.testbed import layout
from tests.testbed import records
from tests.testbed import rest
from tests.testbed import volumes

READY_S = 240
"""Seconds that cinder-volume may take until its driver works."""


class Hosts(volumes.Volumes):
    """These hosts, each a guest with one backend."""

    def __init__(self, where: layout.Layout, hosts: Sequence[layout.Host],
                 api: rest.Rest, started: records.Records) -> None:
        super().__init__(api, hosts)
        self.layout = where
        self.guests = tuple(
            guest.Guest(host, where, started) for host in self.hosts)

    def guest(self, number: int) -> guest.Guest:
        return self.guests[self.host(number).number - 1]

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
        self.guest(number).call('service cinder-volume start')
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
        self.guest(number).call('service cinder-volume stop')

    def kill_cinder_volume(self, number: int) -> None:
        """By SIGKILL; its host goes on."""
        self.guest(number).call('service cinder-volume kill')

    def wait_backend_down(self, number: int) -> None:
        """Until Cinder has noticed, which takes it half a minute."""
        service = self.host(number).service
        self._wait(f'{service} down',
                   lambda: service not in self.api.backends_up(), 300)

    def kill_guest(self, number: int) -> None:
        """A power failure of the host."""
        self.guest(number).kill()

    def boot_guest(self, number: int) -> None:
        """Boots a host that was killed, and starts its cinder-volume."""
        found = self.guest(number)
        found.boot()
        found.wait_up()
        self.start_cinder_volume(number)

    def wait_backends(self,
                      hosts: Sequence[layout.Host] | None = None) -> None:
        """Until the drivers of these hosts (default: all) work."""
        wanted = {host.service for host in hosts or self.hosts}
        self._wait('backends up', lambda: wanted <= set(
            self.api.backends_up()), READY_S)

    def wait_pools(self) -> None:
        """Until the scheduler knows a pool of each backend that is up."""
        self._wait('pools known to the scheduler', lambda: {
            names.backend(name) for name in self.api.pools()
        } >= set(self.api.backends_up()), READY_S)
