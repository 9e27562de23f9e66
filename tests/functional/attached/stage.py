# SPDX-License-Identifier: Apache-2.0
"""What the refusals need: a server, and volumes that stay, each for a reason.

All of them are on one host but the server's root volume. No tenant works.
"""

from __future__ import annotations

import uuid

from tests.testbed import layout
from tests.testbed import network
from tests.testbed.nova import servers
from tests.testbed import testbed

HOST, ROOT_HOST = 3, 1

TYPES = {
    'shared': {'multiattach': '<is> True'},
    'encrypted': {},
    'grouped': {'serifos_model': f'node{HOST}'},
}
"""Volume type → its extra specs. Cinder chooses the host of a group."""

DOWN_S = 120
"""Within which Nova has noticed that a nova-compute is down."""


class Stage:
    """One server and its volumes, by name.

    ``data`` and ``shared`` are attached, of ``shared`` Cinder allows more
    than one attachment. ``encrypted`` is in use by a host itself, as far as
    Cinder knows; ``grouped`` is available.
    """

    def __init__(self, on: testbed.Testbed) -> None:
        self._on = on
        self.servers = servers.Servers(on)
        self.api = self.servers.volumes.api
        self.volumes: dict[str, str] = {}
        self._types: dict[str, str] = {}
        self.server = self._group = self._group_type = ''

    def begin(self) -> None:
        for name, specs in TYPES.items():
            self._types[name] = self.api.create_type(
                name, specs, encrypted=name == 'encrypted')
        self._create_group()
        for name in ('data', 'shared', 'encrypted'):
            self.create(name, volume_type=name if name in TYPES else None)
        self._act('encrypted', 'os-attach', host_name='elsewhere',
                  mountpoint='/dev/vdb')
        self.server = self.servers.boot('vm', self.servers.create_root(
            'root', self._on.host(ROOT_HOST)))
        for name in ('data', 'shared'):
            self.servers.attach(self.server, self.volumes[name])

    def create(self, name: str, **options) -> str:
        """The id of a new volume on the host."""
        self.volumes[name] = self.servers.volumes.create_volume(
            name, host=self._on.host(HOST), **options)
        return self.volumes[name]

    def _act(self, name: str, action: str, **facts: str) -> None:
        self.api.ask('POST', f'/volumes/{self.volumes[name]}/action',
                     {action: facts})

    def _create_group(self) -> None:
        self._group_type = self.api.ask('POST', '/group_types', {
            'group_type': {'name': 'group'}})['group_type']['id']
        kind = self._types['grouped']
        self._group = self.api.ask('POST', '/groups', {'group': {
            'name': 'group', 'group_type': self._group_type,
            'volume_types': [kind]}})['group']['id']
        network.wait_for('the group is available', lambda: self.api.ask(
            'GET', f'/groups/{self._group}')['group']['status']
            == 'available', 300, every=0.5)
        volume = self.volumes['grouped'] = self.api.ask('POST', '/volumes', {
            'volume': {'name': 'grouped', 'size': 1, 'volume_type': kind,
                       'group_id': self._group}})['volume']['id']
        self.servers.volumes.wait_available(volume)

    def end(self) -> None:
        """All of it goes, as far as it came."""
        if self.server:
            self.servers.delete(self.server)
        self.volumes.pop('grouped', None)
        if 'encrypted' in self.volumes:
            self._act('encrypted', 'os-detach')
        self.servers.volumes.delete_volumes(self.volumes.values())
        if self._group:
            self.api.ask('POST', f'/groups/{self._group}/action', {
                'delete': {'delete-volumes': True}})
            # Last of all; until then the list of volumes may be a 404.
            network.wait_for('the group is deleted', lambda: not self.api.ask(
                'GET', '/groups')['groups'], 300, every=0.5)
        if self._group_type:
            self.api.ask('DELETE', f'/group_types/{self._group_type}')
        for each in self._types.values():
            self.api.delete_type(each)

    def act(self, action: str, status: str) -> None:
        """One of the server's actions, such as os-stop, and waits for it."""
        self.ask(action)
        self.servers.wait(self.server, status)

    def ask(self, action: str) -> None:
        self.servers.ask('POST', f'/servers/{self.server}/action',
                         {action: None})

    def stop_compute(self) -> None:
        """Waits until Nova knows it."""
        self._on.nova.stop_nova_compute()
        self._wait_compute('down')

    def start_compute(self) -> None:
        self._on.nova.start_nova_compute()
        self._wait_compute('up')

    def _wait_compute(self, state: str) -> None:
        network.wait_for(f'nova-compute is {state}', lambda: [
            one['state'] for one in self.servers.ask(
                'GET', '/os-services?binary=nova-compute')['services']
            ] == [state], DOWN_S, every=0.5)

    def share(self) -> str:
        """The id of one more attachment of ``shared``, of no server here."""
        made = self.api.ask('POST', '/attachments', {'attachment': {
            'volume_uuid': self.volumes['shared'],
            'instance_uuid': str(uuid.uuid4()),
            'connector': {
                'initiator': 'iqn.2026-01.org.serifos:elsewhere',
                'host': 'elsewhere', 'ip': layout.CONTROL,
                'platform': 'x86_64', 'os_type': 'linux',
                'multipath': False}}})['attachment']['id']
        self.api.ask('POST', f'/attachments/{made}/action', {
            'os-complete': {}})
        return made

    def unshare(self, attachment: str) -> None:
        self.api.ask('DELETE', f'/attachments/{attachment}')

    def take_snapshot(self) -> str:
        """The id of a snapshot of ``data``."""
        made = self.api.ask('POST', '/snapshots', {'snapshot': {
            'volume_id': self.volumes['data'], 'force': True},
        })['snapshot']['id']
        network.wait_for('the snapshot is available', lambda: self.api.ask(
            'GET', f'/snapshots/{made}')['snapshot']['status']
            == 'available', 300, every=0.5)
        return made

    def delete_snapshot(self, snapshot: str) -> None:
        self.api.ask('DELETE', f'/snapshots/{snapshot}')
        network.wait_for('the snapshot is deleted', lambda: not self.api.ask(
            'GET', '/snapshots')['snapshots'], 300, every=0.5)
