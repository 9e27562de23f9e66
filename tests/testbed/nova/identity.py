# SPDX-License-Identifier: Apache-2.0
"""Keystone: its keys, users and endpoints, and requests with its tokens."""

from __future__ import annotations

import base64
from collections.abc import Mapping
import functools
import json
import os
from typing import Any

from tests.testbed import layout
from tests.testbed import network
from tests.testbed.nova import config
from tests.testbed import rest

SERVICES = ('nova', 'cinder', 'placement')
"""Those that have a user of their own, in the project service."""

_URL = f'http://{layout.CONTROL}'
ENDPOINTS = {
    'compute': f'{_URL}:{config.NOVA_PORT}/v2.1',
    'placement': f'{_URL}:{config.PLACEMENT_PORT}',
    'volumev3': f'{_URL}:{config.CINDER_PORT}/v3/%(project_id)s',
    'block-storage': f'{_URL}:{config.CINDER_PORT}/v3',
    'network': f'{_URL}:{config.NEUTRON_PORT}',
}


def write_keys(where: layout.Layout) -> None:
    """Keystone's, unless it has some: as keystone-manage would."""
    for name in ('fernet', 'credential'):
        directory = where.control / 'keystone' / name
        if not directory.exists():
            directory.mkdir(mode=0o700, parents=True)
            for number in '01':
                (directory / number).write_bytes(
                    base64.urlsafe_b64encode(os.urandom(32)))


class Identity:
    """Requests as the user admin of the project admin."""

    def __init__(self, where: network.Network) -> None:
        self._network = where

    @property
    def token(self) -> str:
        return self._login[0]

    @property
    def project(self) -> str:
        """The id of the project."""
        return self._login[1]

    @functools.cached_property
    def _login(self) -> tuple[str, str]:
        domain = {'id': 'default'}
        headers, said = self._request(
            'POST', config.KEYSTONE_PORT, '/v3/auth/tokens', {'auth': {
                'identity': {'methods': ['password'], 'password': {'user': {
                    'name': 'admin', 'domain': domain,
                    'password': config.PASSWORD}}},
                'scope': {'project': {'name': 'admin', 'domain': domain}},
            }}, {})
        return headers['X-Subject-Token'], said['token']['project']['id']

    def ask(self, method: str, port: int, path: str,
            body: Mapping[str, Any] | None = None, version: str = '') -> Any:
        """The answer's JSON, None where there is none."""
        return self._request(method, port, path, body, {
            'X-Auth-Token': self.token,
            'OpenStack-API-Version': version})[1]

    def _request(self, method: str, port: int, path: str,
                 body: Mapping[str, Any] | None,
                 headers: Mapping[str, str]) -> tuple[Mapping, Any]:
        status, found, said = self._network.request(
            method, layout.CONTROL, port, path,
            json.dumps(body).encode() if body is not None else None,
            headers={'Content-Type': 'application/json', **headers},
            timeout=120)
        if status >= 300:
            text = said.decode(errors='replace')
            raise rest.Refused(status, f'{method} {path}: {status} {text}')
        return found, json.loads(said) if said.strip() else None

    def register(self) -> None:
        """Users and endpoints, in a Keystone that was just bootstrapped."""
        roles = {role['name']: role['id'] for role in self.ask(
            'GET', config.KEYSTONE_PORT, '/v3/roles')['roles']}
        project = self._add('project', name='service', domain_id='default')
        for name in SERVICES:
            user = self._add('user', name=name, domain_id='default',
                             password=config.PASSWORD)
            for role in ('admin', 'service'):
                self.ask('PUT', config.KEYSTONE_PORT,
                         f'/v3/projects/{project}/users/{user}/roles/'
                         f'{roles[role]}')
        for kind, url in ENDPOINTS.items():
            service = self._add('service', name=kind, type=kind)
            for interface in ('public', 'internal'):
                self._add('endpoint', service_id=service, url=url,
                          interface=interface, region_id=config.REGION)

    def _add(self, kind: str, **body: str) -> str:
        """The id of what is new."""
        return self.ask('POST', config.KEYSTONE_PORT, f'/v3/{kind}s',
                        {kind: body})[kind]['id']


class KeystoneRest(rest.Rest):
    """Requests to the cinder-api behind Keystone."""

    port = config.CINDER_PORT

    def __init__(self, where: network.Network, who: Identity) -> None:
        super().__init__(where)
        self._identity = who

    @property
    def project(self) -> str:
        return self._identity.project

    @property
    def token(self) -> str:
        return self._identity.token
