# SPDX-License-Identifier: Apache-2.0
"""A transport adapter of requests with limits on time and bytes.

A timeout of requests is one of silence: a server that sends a byte now and
then, in its headers or its body, keeps whoever asks for ever. Here every
wait for a connection and for bytes ends at one deadline, and what comes in
is counted before anything is made of it. The system's resolver of names
has bounds of its own and is not interrupted.
"""

from __future__ import annotations

from collections.abc import Callable
from collections.abc import Iterator
from collections.abc import Mapping
from collections.abc import Sequence
import contextlib
import errno
import http.client
import io
import os
import select
import socket
import threading
import time
from typing import Any
from urllib import parse

from keystoneauth1.session import TCPKeepAliveAdapter
import requests
import urllib3


_BY_SERVER = 500

Login = tuple[str, str]
"""A name and a password, for HTTP's basic authentication."""

_SLICE_S = 0.2
"""How often it is looked whether we are stopped."""

_mine = threading.local()


class CutOff(Exception):
    """Why an exchange was broken off by us, a clause."""


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

    def __init__(self, make: Callable[[], Budget],
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
        with within(self._make()) as allowed:
            try:
                answer = super().send(request, stream=True,
                                      timeout=allowed.left_s(), **others)
                self._take(answer)
            except CutOff as exc:
                raise Ended(str(exc), request=request) from None
            except urllib3.exceptions.HTTPError as exc:
                raise requests.ConnectionError(
                    exc, request=request) from None
        return answer

    def _take(self, answer: requests.Response) -> None:
        packed = answer.headers.get('Content-Encoding', 'identity').strip()
        try:
            if packed.lower() not in ('', 'identity'):
                raise CutOff(f'it answers in {packed[:40]}, which was '
                             'not asked for')
            body = b''.join(answer.raw.stream(2 ** 16, decode_content=False))
            _refuse_part(answer, body)
            if self._check is not None:
                self._check(answer.status_code, body)
        except ValueError as exc:
            raise CutOff(f'its answer cannot be used: {exc}') from None
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


class Budget:
    """The limits of one question, its login, retries and redirects included.

    :param seconds: from now on
    :param max_bytes: that may be received, headers too
    :param stopped: whether nobody waits for the answer any more
    """

    def __init__(self, seconds: float, max_bytes: int,
                 stopped: Callable[[], bool] | None = None) -> None:
        self._seconds = seconds
        self._end = time.monotonic() + seconds
        self._max_bytes = max_bytes
        self._received = 0
        self._stopped = stopped

    def left_s(self) -> float:
        """:raises CutOff: where no time is left, or we are stopped"""
        if self._stopped is not None and self._stopped():
            raise CutOff('we were stopped before it answered')
        left = self._end - time.monotonic()
        if left <= 0:
            raise CutOff(
                f'there was no whole answer within {self._seconds:g} s')
        return left

    def receive(self, sock: socket.socket, buffer: memoryview) -> int:
        """As ``recv_into``.

        :raises CutOff: at the deadline, at a stop, or at too many bytes
        """
        while True:
            sock.settimeout(self._slice_s())
            with contextlib.suppress(TimeoutError):
                count = sock.recv_into(buffer)
                break
        self._received += count
        if self._received > self._max_bytes:
            raise CutOff('its answer is longer than '
                         f'{self._max_bytes / 2 ** 20:g} MiB')
        return count

    def connect(self, host: str, port: int,
                options: Sequence[tuple[Any, ...]] = (),
                source: tuple[str, int] | None = None) -> socket.socket:
        """A connection to any of a host's addresses, all in their share.

        :param options: for ``setsockopt``
        :raises OSError: where there is none
        :raises CutOff: at the deadline or a stop
        """
        error: OSError = socket.gaierror(f'{host} has no address')
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
        for nth, (family, kind, proto, _, address) in enumerate(found):
            sock = socket.socket(family, kind, proto)
            try:
                for option in options:
                    sock.setsockopt(*option)
                if source is not None:
                    sock.bind(source)
                self._connected(sock, address, len(found) - nth)
                return sock
            except OSError as exc:
                sock.close()
                error = exc
            except BaseException:
                sock.close()
                raise
        raise error

    def _connected(self, sock: socket.socket, address: Any,
                   shares: int) -> None:
        """:raises OSError: where it is not, in its share of what is left"""
        end = time.monotonic() + self.left_s() / shares
        sock.setblocking(False)
        code = sock.connect_ex(address)
        poll = select.poll()
        poll.register(sock, select.POLLOUT)
        while code == errno.EINPROGRESS:
            if poll.poll(1000 * self._slice_s()):
                code = sock.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR)
            elif time.monotonic() > end:
                code = errno.ETIMEDOUT
        if code:
            raise OSError(code, os.strerror(code))
        sock.settimeout(self.left_s())

    def _slice_s(self) -> float:
        left = self.left_s()
        return left if self._stopped is None else min(left, _SLICE_S)


@contextlib.contextmanager
def within(budget: Budget) -> Iterator[Budget]:
    """Applies a budget to all requests of this thread in the block.

    An outer budget stays in force.
    """
    outer = getattr(_mine, 'budget', None)
    if outer is not None:
        yield outer
        return
    _mine.budget = budget
    try:
        yield budget
    finally:
        _mine.budget = None


def current() -> Budget:
    """The budget in force in this thread."""
    return _mine.budget


class _Reader(io.RawIOBase):
    """The bytes of a socket, within a budget."""

    def __init__(self, opened: io.BufferedIOBase, sock: socket.socket,
                 budget: Budget) -> None:
        # Closing a socket ends it only once no file of it is open.
        self._opened, self._sock, self._budget = opened, sock, budget

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        return self._budget.receive(self._sock, buffer)

    def close(self) -> None:
        if not self.closed:
            self._opened.close()
        super().close()


class _Response(http.client.HTTPResponse):
    def __init__(self, sock: socket.socket, *args: Any,
                 **others: Any) -> None:
        super().__init__(sock, *args, **others)
        self.fp = io.BufferedReader(_Reader(self.fp, sock, current()))


class _Connects:
    """A connection of urllib3 that is made, and read, within the budget."""

    response_class = _Response

    def _new_conn(self) -> socket.socket:
        conn: Any = self
        try:
            return current().connect(
                conn.host, conn.port, conn.socket_options or (),
                conn.source_address)
        except (OSError, UnicodeError) as exc:
            raise urllib3.exceptions.NewConnectionError(
                conn, f'Failed to establish a new connection: {exc}'
            ) from exc


class _HTTPConnection(_Connects, urllib3.connection.HTTPConnection):
    pass


class _HTTPSConnection(_Connects, urllib3.connection.HTTPSConnection):
    pass


class _HTTPPool(urllib3.HTTPConnectionPool):
    ConnectionCls = _HTTPConnection


class _HTTPSPool(urllib3.HTTPSConnectionPool):
    ConnectionCls = _HTTPSConnection


_POOLS = {'http': _HTTPPool, 'https': _HTTPSPool}
