# SPDX-License-Identifier: Apache-2.0
"""A transport adapter of requests that keeps within a budget."""

from __future__ import annotations

from collections.abc import Callable
from collections.abc import Mapping
import http.client
import io
import socket
from typing import Any
from urllib import parse

from keystoneauth1.session import TCPKeepAliveAdapter
import requests
import urllib3

from serifos.web import budget

_BY_SERVER = 500

Login = tuple[str, str]
"""A name and a password, for HTTP's basic authentication."""


class Ended(requests.RequestException):
    """An exchange that we broke off; it is not retried."""


class Adapter(TCPKeepAliveAdapter):
    """Reads whole, uncompressed answers within a budget.

    They are asked for uncompressed, since a few bytes can unpack to any
    number, and are text in UTF-8 whatever they say. A Retry-After is
    ignored: keystoneauth would sleep so long.

    :param make: a budget for what is asked outside of any
    :param logins: scheme and place of a server → what to log in with there
    :param check: raises ValueError, a clause, where a body cannot be used:
        (HTTP status, body)
    """

    def __init__(self, make: Callable[[], budget.Budget],
                 logins: Mapping[tuple[str, str], Login],
                 check: Callable[[int, bytes], None] | None = None,
                 **others: Any) -> None:
        self._make, self._logins, self._check = make, logins, check
        super().__init__(**others)

    def init_poolmanager(self, *args: Any, **others: Any) -> None:
        super().init_poolmanager(*args, **others)
        self.poolmanager.pool_classes_by_scheme = _POOLS

    def proxy_manager_for(self, proxy: str, **others: Any) -> Any:
        manager = super().proxy_manager_for(proxy, **others)
        if not proxy.lower().startswith('socks'):
            manager.pool_classes_by_scheme = _POOLS
        return manager

    def send(self, request: requests.PreparedRequest, stream: bool = False,
             timeout: Any = None, **others: Any) -> requests.Response:
        """As that of requests; ``stream`` and ``timeout`` are ignored.

        :raises Ended: where the answer is too long in time or bytes, is
            packed or cannot be used, or we were stopped
        """
        request.headers['Accept-Encoding'] = 'identity'
        login = self._logins.get(origin(request.url or ''))
        if login is not None and 'Authorization' not in request.headers:
            request.prepare_auth(login)
        with budget.within(self._make()) as allowed:
            try:
                answer = super().send(request, stream=True,
                                      timeout=allowed.left_s(), **others)
                self._take(answer)
            except budget.CutOff as exc:
                raise Ended(str(exc), request=request) from None
            except urllib3.exceptions.HTTPError as exc:
                raise requests.ConnectionError(
                    exc, request=request) from None
        return answer

    def _take(self, answer: requests.Response) -> None:
        packed = answer.headers.get('Content-Encoding', 'identity').strip()
        try:
            if packed.lower() not in ('', 'identity'):
                raise budget.CutOff(f'it answers in {packed[:40]}, which was '
                                    'not asked for')
            body = b''.join(answer.raw.stream(2 ** 16, decode_content=False))
            _refuse_part(answer, body)
            if self._check is not None:
                self._check(answer.status_code, body)
        except ValueError as exc:
            raise budget.CutOff(f'its answer cannot be used: {exc}') from None
        finally:
            answer.close()
        answer.raw = io.BytesIO(body)
        answer.encoding = 'utf-8'
        if answer.status_code >= _BY_SERVER:
            answer.headers.pop('Retry-After', None)


def _refuse_part(answer: requests.Response, body: bytes) -> None:
    """:raises ProtocolError: as urllib3 before 2.0 does not"""
    said = answer.headers.get('Content-Length', '')
    if (said.isdecimal() and len(body) < int(said)
            and 'Transfer-Encoding' not in answer.headers
            and answer.request.method != 'HEAD'
            and answer.status_code not in (204, 304)):
        raise urllib3.exceptions.ProtocolError(
            f'IncompleteRead({len(body)} bytes read, {said} said)')


def origin(url: str) -> tuple[str, str]:
    """The scheme and the place, HOST:PORT, of a URL without a login."""
    parts = parse.urlsplit(url)
    return parts.scheme.lower(), parts.netloc.lower()


class _Response(http.client.HTTPResponse):
    def __init__(self, sock: socket.socket, *args: Any,
                 **others: Any) -> None:
        super().__init__(budget.Metered(sock, budget.current()),
                         # type: ignore
                         *args, **others)


class _Connects:
    """A connection of urllib3 that is made, and read, within the budget."""

    response_class = _Response

    def _new_conn(self) -> socket.socket:
        conn: Any = self
        try:
            return budget.current().connect(
                conn.host, conn.port, conn.socket_options or (),
                conn.source_address)
        except (OSError, UnicodeError) as exc:
            raise urllib3.exceptions.NewConnectionError(
                conn, f'Failed to establish a new connection: {exc}'
            ) from exc


class HTTPConnection(_Connects, urllib3.connection.HTTPConnection):
    pass


class HTTPSConnection(_Connects, urllib3.connection.HTTPSConnection):
    pass


class HTTPConnectionPool(urllib3.HTTPConnectionPool):
    ConnectionCls = HTTPConnection


class HTTPSConnectionPool(urllib3.HTTPSConnectionPool):
    ConnectionCls = HTTPSConnection


_POOLS = {'http': HTTPConnectionPool, 'https': HTTPSConnectionPool}
