# SPDX-License-Identifier: Apache-2.0
"""Servers, each with a root volume and the data volumes of its tenants."""

from __future__ import annotations

from collections.abc import Mapping
import pathlib
import shutil
from typing import Any

from tests.testbed import layout
from tests.testbed import network
from tests.testbed.nova import config
from tests.testbed.nova import identity
from tests.testbed.nova import image
from tests.testbed import rest
from tests.testbed import testbed
from tests.testbed import volumes

VERSION = 'compute 2.90'
FLAVOR = {'id': 'tiny', 'name': 'tiny', 'ram': 96, 'vcpus': 1, 'disk': 0}
READY_S = 300


class Servers:
    """Servers of the project admin; ``volumes`` are the project's.

    Each method waits for the outcome.
    """

    def __init__(self, on: testbed.Testbed) -> None:
        if not on.nova:
            raise layout.TestbedError(
                'the testbed has no Nova; start it by tools/testbed up '
                '--nova.')
        self._testbed = on
        self._identity = on.nova.identity
        self.volumes = volumes.Volumes(
            identity.KeystoneRest(network.Network(on.layout.network),
                                  self._identity), on.hosts)

    def ask(self, method: str, path: str,
            body: Mapping[str, Any] | None = None) -> Any:
        """A request to nova-api: the answer's JSON."""
        return self._identity.ask(method, config.NOVA_PORT, f'/v2.1{path}',
                                  body, VERSION)

    def create_root(self, name: str, host: layout.Host) -> str:
        """The id of a new volume that a server can boot from."""
        volume = self.volumes.create_volume(name, host=host)
        # A guest sees what is new in the testbed's own directory alone.
        disk = self._testbed.layout.node(host) / 'server.img'
        shutil.copy(image.fetch(), disk)
        self._testbed.guest(host.number).call(
            f'dd if={disk} of={self._testbed.device_of(volume)} bs=1M '
            'oflag=direct conv=notrunc status=none')
        disk.unlink()
        self.volumes.api.ask('POST', f'/volumes/{volume}/action', {
            'os-set_bootable': {'bootable': True}})
        return volume

    def boot(self, name: str, root: str) -> str:
        """The id of a new server, with which its root volume will go."""
        self.have_flavor(FLAVOR)
        server = self.ask('POST', '/servers', {'server': {
            'name': name, 'flavorRef': FLAVOR['id'], 'networks': 'none',
            'block_device_mapping_v2': [{
                'uuid': root, 'source_type': 'volume', 'boot_index': 0,
                'destination_type': 'volume',
                'delete_on_termination': True}]}})['server']['id']
        self.wait(server, 'ACTIVE')
        return server

    def have_flavor(self, flavor: Mapping[str, Any]) -> None:
        """Creates a flavor, unless there is one of its id."""
        try:
            self.ask('POST', '/flavors', {'flavor': flavor})
        except rest.Refused as refused:
            if refused.status != 409:
                raise

    def status(self, server: str) -> str:
        return self.show(server)['status']

    def show(self, server: str) -> dict:
        return self.ask('GET', f'/servers/{server}')['server']

    def wait(self, server: str, status: str,
             seconds: float = READY_S) -> None:
        def reached() -> bool:
            found = self.show(server)
            if found['status'] == 'ERROR' != status:
                raise layout.TestbedError(
                    f"server {found['name']} is in ERROR: "
                    f"{found.get('fault', {}).get('message')}")
            return (found['status'] == status
                    and not found['OS-EXT-STS:task_state'])

        network.wait_for(f'server {server} is {status}', reached, seconds,
                         every=0.5)

    def attach(self, server: str, volume: str) -> None:
        self.ask('POST', f'/servers/{server}/os-volume_attachments',
                 {'volumeAttachment': {'volumeId': volume}})
        self._wait_volume(volume, 'in-use')

    def detach(self, server: str, volume: str) -> None:
        self.ask('DELETE',
                 f'/servers/{server}/os-volume_attachments/{volume}')
        self._wait_volume(volume, 'available')

    def attached(self, server: str) -> list[str]:
        """The ids of its volumes, as Nova knows them."""
        return [one['volumeId'] for one in self.ask(
            'GET', f'/servers/{server}/os-volume_attachments')
            ['volumeAttachments']]

    def _wait_volume(self, volume: str, status: str) -> None:
        network.wait_for(
            f'volume {volume} is {status}', lambda: self.volumes.api.volume(
                volume)['status'] == status, READY_S, every=0.5)

    def delete(self, server: str) -> None:
        """And its root volume; data volumes become available."""
        taken = {volume['id'] for volume in self.volumes.api.volumes()
                 if any(one['server_id'] == server
                        for one in volume['attachments'])}
        self.ask('DELETE', f'/servers/{server}')

        def left() -> bool:
            return not self._exists(server) and not any(
                volume['status'] in ('in-use', 'detaching', 'deleting')
                for volume in self.volumes.api.volumes()
                if volume['id'] in taken)

        network.wait_for(f'server {server} is deleted', left, READY_S,
                         every=0.5)

    def _exists(self, server: str) -> bool:
        try:
            self.show(server)
        except rest.Refused as refused:
            if refused.status != 404:
                raise
            return False
        return True

    def console(self, server: str) -> pathlib.Path:
        """What its serial console has said, in a file that grows."""
        return (self._testbed.layout.node(layout.COMPUTE) / 'instances'
                / server / 'console.log')
