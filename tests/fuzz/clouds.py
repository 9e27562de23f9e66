# SPDX-License-Identifier: Apache-2.0
"""Replies of OpenStack's APIs to our real clients, as functions of bytes.

An input is a JSON object: path → its reply, which is [status, body] or a body
alone; or it is the body of all replies. See :mod:`tests.fuzz.targets`.
"""

from __future__ import annotations

import io
import json
from typing import Any
from urllib import parse

from keystoneauth1 import identity
from keystoneauth1 import noauth
import requests
from requests import adapters

from serifos.cloud import api_views
from serifos.cloud import client
from serifos.cloud import nova as nova_client
from serifos import errors
from serifos.telemetry import http
from serifos import web

_URL = 'http://cloud:8774/v3'
_NO_WAIT = {429: 400, 502: 500, 503: 500, 504: 500}
"""Statuses after which keystoneauth waits, and asks again."""


class _Wire(adapters.BaseAdapter):
    """What the servers at the other end say."""

    def __init__(self, data: bytes) -> None:
        super().__init__()
        try:
            said = json.loads(data)
        except (RecursionError, ValueError):
            said = None
        self._said = said if isinstance(said, dict) else None
        self._all = (500 if len(data) % 2 else 200), data

    def send(self, request: requests.PreparedRequest,
             **_: Any) -> requests.Response:
        status, body = self._all if self._said is None else self._reply(
            self._said.get(parse.urlsplit(request.url).path))
        try:
            api_views.usable(status, body)
        except ValueError as exc:
            raise web.Ended(str(exc), request=request) from None
        answer = requests.Response()
        answer.status_code, answer.encoding = status, 'utf-8'
        answer.url, answer.request = request.url, request
        answer.headers.update({'Content-Type': 'application/json',
                               'X-Subject-Token': 'token'})
        answer.raw = io.BytesIO(body)
        return answer

    def close(self) -> None:
        """Nothing is open."""

    @staticmethod
    def _reply(found: Any) -> tuple[int, bytes]:
        status = 404 if found is None else 200
        if isinstance(found, list) and len(found) == 2:
            status, found = found
        if type(status) is not int or not 200 <= status < 600 or (
                300 <= status < 400):
            status = 200
        return _NO_WAIT.get(status, status), json.dumps(found).encode()


def _asking(data: bytes, **others: Any) -> web.Session:
    asking = web.Session(**others)
    for scheme in 'http://', 'https://':
        asking.mount(scheme, _Wire(data))
    return asking


def nova(data: bytes) -> None:
    """Nova's replies: servers, their actions, and compute services."""
    asked = nova_client.Nova(_asking(data, auth=noauth.NoAuth()),
                             endpoint_override=_URL)
    for said in (asked.servers(), asked.server('s'),
                 asked.doings('s', 'v', 0.0)):
        if said.problem is not None and '\n' in errors.one_line(said.problem):
            raise AssertionError(said.problem)


def volumes(data: bytes) -> None:
    """Cinder's replies over HTTP: to questions, and to what changes it."""
    asking = _asking(data, auth=noauth.NoAuth(endpoint=_URL))
    asked = client.keystone(asking, endpoint_override=_URL)
    for ask in (lambda: asked.inventory(), lambda: asked.under_way(),
                lambda: asked.volume('v'), lambda: asked.snapshots_of('v'),
                lambda: asked.attachments_of('v'),
                lambda: asked.volume_type('gold'),
                lambda: asked.migrate('v', 'b@ssd#ssd'),
                lambda: asked.complete('v', 'w'), lambda: asked.reset('v'),
                lambda: asked.delete('v'), lambda: asked.unmanage('v'),
                lambda: asked.logical_volumes('a@ssd#ssd')):
        try:
            ask()
        except errors.SerifosError as exc:
            str(exc).encode()


def keystone(data: bytes) -> None:
    """Keystone's replies: its versions, and a token with a catalogue."""
    auth = identity.Password('http://cloud:5000/v3', username='u',
                             password='p', project_name='p',
                             user_domain_id='d', project_domain_id='d')
    asking = _asking(data, auth=auth)
    cinder, nova_ = (client.keystone(asking), nova_client.Nova(asking))
    for ask in (lambda: http.ask(asking, 'http://gnocchi:8041/v1'),
                lambda: cinder.volume('v'), nova_.servers):
        try:
            ask()
        except errors.SerifosError as exc:
            str(exc).encode()
