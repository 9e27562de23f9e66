# SPDX-License-Identifier: Apache-2.0
"""A client of Nova's API that reads servers and compute services.

It changes nothing: Cinder asks Nova to copy a volume in use.
"""

from __future__ import annotations

from collections.abc import Callable
from collections.abc import Iterator
from typing import Any
from urllib import parse

from keystoneauth1 import adapter
from keystoneauth1 import exceptions
from keystoneauth1 import session as ks_session

from serifos.cloud import api_errors
from serifos.cloud import pages
from serifos.facts import fields
from serifos.facts.servers import Action
from serifos.facts.servers import ComputeService
from serifos.facts.servers import Doings
from serifos.facts.servers import Server
from serifos.facts.servers import Servers
from serifos import web

VERSION = '2.89'
"""The API's microversion, in Nova since Xena: it lists the servers of a cell
that is down, too, and names the attachments of Cinder."""

MOST = 200_000
"""Servers that are read at most."""

_STATE = 'OS-EXT-STS:vm_state'
_TASK = 'OS-EXT-STS:task_state'
_POWER = 'OS-EXT-STS:power_state'
_OFF = {0: 'NOSTATE', 4: 'SHUTDOWN', 6: 'CRASHED'}
"""Nova's numbers of the power states of a server without a QEMU process."""

_HOST = 'OS-EXT-SRV-ATTR:host'
_DOMAIN = 'OS-EXT-SRV-ATTR:instance_name'
_HYPERVISOR = 'OS-EXT-SRV-ATTR:hypervisor_hostname'
_MOST_ACTIONS = 20
"""Actions of one server of which the parts are read, the oldest of them."""


class _Hidden(exceptions.ClientException):
    """What Nova left out of an answer, a clause."""


class Nova:
    """The port :class:`.servers.Compute` over Nova's API.

    :param session: as for :func:`.client.keystone`
    :param others: ``region_name``, ``interface``, ``endpoint_override``
    """

    def __init__(self, session: ks_session.Session, **others: Any) -> None:
        self._api = adapter.Adapter(
            session, service_type='compute', default_microversion=VERSION,
            **others)

    def servers(self) -> Servers:
        """All servers, of all projects."""
        return self._asked(lambda: list(self._pages()))

    def server(self, server_id: str) -> Servers:
        """One server, none where it is gone, and its compute service."""
        return self._asked(lambda: self._one(server_id))

    def doings(self, server_id: str, volume_id: str,
               since: float) -> Doings:
        """The server's actions, and how it uses the volume."""
        try:
            return self._doings(server_id, volume_id, since)
        except _ERRORS as exc:
            return Doings(problem=_problem(exc))

    def _doings(self, server_id: str, volume_id: str,
                since: float) -> Doings:
        at = f'/servers/{server_id}'
        listed = self._or_none(server_id, f'{at}/os-instance-actions')
        if listed is None:
            return Doings(problem=(
                f'Nova shows no actions of server {server_id}; those of '
                'another project it shows only to the role admin'))
        begun = [each['request_id'].name()
                 for each in listed['instanceActions'].items()
                 if each['start_time'].moment() >= since]
        actions = [_action(self._get(f'{at}/os-instance-actions/{each}')
                           ['instanceAction'])
                   for each in begun[::-1][:_MOST_ACTIONS]]
        used = self._or_none(
            server_id, f'{at}/os-volume_attachments/{volume_id}')
        if used is None:
            return Doings((*actions,))
        doc = used['volumeAttachment']
        return Doings((*actions,), doc['attachment_id'].name_or_none(),
                      doc['device'].name_or_none())

    def _asked(self, read: Callable[[], list[Server]]) -> Servers:
        try:
            found = read()
            listed = self._get(
                '/os-services', binary='nova-compute')['services'].items()
            services = [_service(doc) for doc in listed]
        except exceptions.EndpointNotFound as exc:
            return Servers(absent=_problem(exc))
        except _ERRORS as exc:
            return Servers(problem=_problem(exc))
        if not found and any('state' not in doc.object() for doc in listed):
            return Servers(problem=(
                'a cell of it does not answer, and the server may be there'))
        return Servers({server.id: server for server in found},
                       {service.host: service for service in services})

    def _one(self, server_id: str) -> list[Server]:
        doc = self._or_none(server_id, f'/servers/{server_id}')
        if doc is not None:
            return [_server(doc['server'])]
        # Nova shows one of another project only to an administrator, but
        # lists it for whoever may list all; it may ignore the filter.
        return [server for server in self._pages(uuid=server_id)
                if server.id == server_id]

    def _or_none(self, server_id: str, path: str) -> fields.Field | None:
        """The object, None where Nova has no such one of the server."""
        try:
            return self._get(path)
        except exceptions.NotFound as exc:
            # A 404 of a wrong URL does not name the server.
            if exc.response is not None and server_id in exc.response.text:
                return None
            raise

    def _pages(self, **wanted: object) -> Iterator[Server]:
        """Servers by pages of as many as Nova gives, its ``max_limit``.

        Where a cell is down its servers lead the first page, as far as there
        is room, and Nova leaves them out where ``limit``, ``marker`` or a
        filter is given. None of them can be a marker.
        """
        query: dict[str, object] = {'all_tenants': 1, **wanted}
        seen: set[str] = set()
        while page := self._get('/servers/detail', **query)['servers'].items():
            servers = [_server(doc) for doc in page]
            if len(seen) > MOST or servers[-1].id in seen:
                raise ValueError('the pages of its servers do not end')
            seen.update(server.id for server in servers)
            yield from servers
            if servers[-1].vm_state is None:
                return
            query['marker'] = servers[-1].id

    def _get(self, path: str, **query: object) -> fields.Field:
        """The object that answers a GET request, retried once."""
        url = f'{path}?{parse.urlencode(query)}' if query else path
        return fields.Field(self._api.get(url, **pages.RETRIES).json())


_ERRORS = (exceptions.ClientException, LookupError, RecursionError, TypeError,
           ValueError)


def _problem(exc: Exception) -> str:
    """What is wrong, a clause."""
    if isinstance(exc, exceptions.EndpointNotFound):
        return 'the catalogue has no compute service'
    if isinstance(exc, web.NoToken):
        return f'{exc}; see serifos.conf'
    if isinstance(exc, (exceptions.Unauthorized, exceptions.Forbidden,
                        _Hidden)):
        return (f'Nova denies access ({_said(exc)}); the account '
                'needs to read all servers, their hosts and compute services')
    if isinstance(exc, exceptions.SSLError):
        return web.tls(exc, 'Nova')
    if isinstance(exc, exceptions.ClientException):
        return f'Nova does not answer: {_said(exc)}'
    return f'the answer is not one of Nova\'s API ({exc})'


def _said(exc: exceptions.ClientException) -> str:
    """Nova's own message where there is one, which keystoneauth overlooks."""
    try:
        only, = fields.Field(exc.response.json()).object().values()
        message = fields.Field(only)['message'].text()
    except (AttributeError, RecursionError, ValueError):
        return api_errors.said(exc)
    return f'{message} (HTTP {exc.http_status})'


def _action(doc: fields.Field) -> Action:
    """An action with its parts, which each begin and end."""
    parts = doc['events'].items()
    ends = [part['finish_time'].moment_or_none() for part in parts]
    return Action(
        doc['action'].name(), doc['start_time'].moment(),
        ended_at=max(filter(None, ends)) if ends and all(ends) else None,
        failed=any(part['result'].value == 'Error' for part in parts))


def _server(doc: fields.Field) -> Server:
    """A server; of a cell that is down Nova gives little but its id."""
    server_id = doc['id'].name()
    if _HOST not in doc.object() and _STATE in doc.object():
        raise _Hidden(
            'it does not say on which host a server is; policy '
            'os_compute_api:os-extended-server-attributes')
    return Server(
        server_id, doc['name'].text_or_none() or server_id,
        doc['status'].name_or_none(), vm_state=doc[_STATE].name_or_none(),
        task_state=doc[_TASK].name_or_none(),
        host=doc[_HOST].name_or_none(),
        domain=doc[_DOMAIN].name_or_none(),
        hypervisor=doc[_HYPERVISOR].name_or_none(),
        off=_OFF.get(doc[_POWER].value))


def _service(doc: fields.Field) -> ComputeService:
    return ComputeService(
        doc['host'].name(),
        up=doc['state'].value == 'up' and not doc['forced_down'].flag(
            absent=False))
