# SPDX-License-Identifier: Apache-2.0
"""The requests to Cinder's REST API that the testbed needs."""

from __future__ import annotations

from collections.abc import Mapping
import json
from typing import Any

from tests.testbed import layout
from tests.testbed import network

VERSION = 'volume 3.70'


class Refused(layout.TestbedError):
    """Cinder's answer is an error; ``status`` is its HTTP status."""

    def __init__(self, status: int, text: str) -> None:
        super().__init__(text)
        self.status = status


class Rest:
    """Requests to cinder-api as the project's admin."""

    port = layout.API_PORT
    project = layout.PROJECT
    token = f'admin:{layout.PROJECT}'
    url = f'http://{layout.CONTROL}:{layout.API_PORT}/v3'

    def __init__(self, where: network.Network) -> None:
        self._network = where

    def ask(self, method: str, path: str,
            body: Mapping[str, Any] | None = None) -> Any:
        """The answer's JSON, None where there is none."""
        status, _, said = self._network.request(
            method, layout.CONTROL, self.port,
            f'/v3/{self.project}{path}',
            json.dumps(body).encode() if body is not None else None,
            headers={'X-Auth-Token': self.token,
                     'OpenStack-API-Version': VERSION,
                     'Content-Type': 'application/json'}, timeout=90)
        if status >= 300:
            text = said.decode(errors='replace')
            raise Refused(status, f'{method} {path}: {status} {text}')
        return json.loads(said) if said.strip() else None

    def backends_up(self) -> list[str]:
        """The services whose driver works, which is later than a beat."""
        services = self.ask('GET', '/os-services')['services']
        return [service['host'] for service in services
                if service['binary'] == 'cinder-volume'
                and service['state'] == 'up'
                and service.get('backend_state') == 'up']

    def pools(self) -> dict[str, dict]:
        """What the scheduler knows: pool's name -> its capabilities."""
        found = self.ask('GET', '/scheduler-stats/get_pools?detail=True')
        return {pool['name']: pool['capabilities']
                for pool in found['pools']}

    def volumes(self) -> list[dict]:
        """All records, also those of migrations that are under way."""
        return self.ask('GET', '/volumes/detail?all_tenants=1')['volumes']

    def volume(self, volume: str) -> dict:
        return self.ask('GET', f'/volumes/{volume}')['volume']

    def create_volume(self, name: str, *, volume_type: str | None = None,
                      host: layout.Host | None = None,
                      hints: Mapping[str, str] | None = None) -> str:
        """The id of a new volume of 1 GiB, which host does not bind."""
        hints = dict(hints or {})
        if host:
            hints['query'] = json.dumps(['=', '$backend_id', host.pool])
        volume: dict[str, Any] = {'name': name, 'size': 1}
        if volume_type:
            volume['volume_type'] = volume_type
        return self.ask('POST', '/volumes', {
            'volume': volume, 'OS-SCH-HNT:scheduler_hints': hints,
        })['volume']['id']

    def create_type(self, name: str, extra_specs: Mapping[str, str],
                    encrypted: bool = False) -> str:
        """The id of a new volume type; of LUKS where it is encrypted."""
        found = self.ask('POST', '/types', {'volume_type': {
            'name': name, 'extra_specs': dict(extra_specs),
        }})['volume_type']['id']
        if encrypted:
            self.ask('POST', f'/types/{found}/encryption', {'encryption': {
                'provider': 'luks', 'cipher': 'aes-xts-plain64',
                'key_size': 256, 'control_location': 'front-end'}})
        return found

    def delete_type(self, volume_type: str) -> None:
        self.ask('DELETE', f'/types/{volume_type}')

    def migrate(self, volume: str, pool: str) -> None:
        self.ask('POST', f'/volumes/{volume}/action', {'os-migrate_volume': {
            'host': pool, 'lock_volume': True, 'force_host_copy': False}})

    def delete_volume(self, volume: str) -> None:
        self.ask('DELETE', f'/volumes/{volume}')

    def reset_status(self, volume: str, **states: str) -> None:
        """status=..., migration_status=... as os-reset_status has them."""
        self.ask('POST', f'/volumes/{volume}/action',
                 {'os-reset_status': states})
