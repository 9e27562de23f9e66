# SPDX-License-Identifier: Apache-2.0
"""Users, roles and application credentials in the testbed's Keystone."""

from __future__ import annotations

from collections.abc import Mapping
import json
import time
from typing import Any
import uuid

from tests.testbed import layout
from tests.testbed import network
from tests.testbed.nova import config
from tests.testbed import rest
from tests.testbed import testbed


class Accounts:
    """Each method gives keystoneauth's options for [cinder]."""

    def __init__(self, on: testbed.Testbed) -> None:
        self._network = network.Network(on.layout.network)
        self._identity = on.nova.identity

    def _admin(self, method: str, path: str,
               body: Mapping[str, Any] | None = None) -> Any:
        return self._identity.ask(method, config.KEYSTONE_PORT,
                                  f'/v3/{path}', body)

    def user(self, role: str) -> dict[str, object]:
        """A new user with one role in the project service."""
        found = {one['name']: one['id']
                 for one in self._admin('GET', 'roles')['roles']}
        role_id = found.get(role) or self._admin(
            'POST', 'roles', {'role': {'name': role}})['role']['id']
        project, = self._admin('GET', 'projects?name=service')['projects']
        name = f'{role}-{uuid.uuid4()}'
        user = self._admin('POST', 'users', {'user': {
            'name': name, 'domain_id': 'default',
            'password': config.PASSWORD}})['user']['id']
        self._admin('PUT', f'projects/{project["id"]}/users/{user}/roles/'
                    f'{role_id}')
        return config.auth(name)

    def credential(self, user: Mapping[str, object],
                   seconds: float | None = None) -> dict[str, object]:
        """A new application credential of a user.

        :param seconds: until it expires
        """
        token, user_id = self.token(user)
        expires = {} if seconds is None else {
            'expires_at': time.strftime('%Y-%m-%dT%H:%M:%S', time.gmtime(
                time.time() + seconds))}
        made = self._request(
            f'/v3/users/{user_id}/application_credentials',
            {'application_credential': {'name': str(uuid.uuid4()),
                                        **expires}}, token)[1]
        found = made['application_credential']
        return {'auth_type': 'v3applicationcredential',
                'auth_url': config.AUTH_URL, 'region_name': config.REGION,
                'application_credential_id': found['id'],
                'application_credential_secret': found['secret']}

    def delete(self, user: Mapping[str, object],
               credential: Mapping[str, object]) -> None:
        token, user_id = self.token(user)
        self._request(
            f'/v3/users/{user_id}/application_credentials/'
            f'{credential["application_credential_id"]}', None, token,
            method='DELETE')

    def token(self, user: Mapping[str, object],
              port: int = config.KEYSTONE_PORT) -> tuple[str, str]:
        """(token, user id) of a login at the Keystone of this port."""
        domain = {'id': 'default'}
        headers, said = self._request('/v3/auth/tokens', {'auth': {
            'identity': {'methods': ['password'], 'password': {'user': {
                'name': user['username'], 'domain': domain,
                'password': user['password']}}},
            'scope': {'project': {'name': user['project_name'],
                                  'domain': domain}}}}, port=port)
        return headers['X-Subject-Token'], said['token']['user']['id']

    def _request(self, path: str, body: Mapping[str, Any] | None,
                 token: str = '', port: int = config.KEYSTONE_PORT,
                 method: str = 'POST') -> tuple[Mapping, Any]:
        status, headers, said = self._network.request(
            method, layout.CONTROL, port, path,
            None if body is None else json.dumps(body).encode(),
            headers={'Content-Type': 'application/json',
                     'X-Auth-Token': token}, timeout=120)
        if status >= 300:
            raise rest.Refused(status, f'{path}: {status} {said!r}')
        return headers, json.loads(said) if said else None
