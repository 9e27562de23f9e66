# SPDX-License-Identifier: Apache-2.0
"""HTTP by sessions of keystoneauth, bounded in time and bytes.

A timeout of requests is one of silence: a server that sends a byte now and
then, in its headers or its body, keeps whoever asks for ever. Here another
thread exchanges, and its connection is shut down at the deadline. A question
has one deadline, whatever it takes: a token, redirects, another try. No log
of a library and no error shows a login that is written into a URL.
"""

from __future__ import annotations

from collections.abc import Callable
from collections.abc import Collection
from concurrent import futures
import contextlib
import contextvars
import io
import logging
import re
import socket
import threading
import time
from typing import Any

from keystoneauth1 import exceptions
from keystoneauth1 import identity
from keystoneauth1 import loading
from keystoneauth1 import plugin
from keystoneauth1 import session
import requests
import urllib3

from serifos import errors

TIMEOUT_S = 60.0
"""Default seconds for a whole answer."""

MAX_BYTES = 64 * 2 ** 20
"""Default most bytes of a whole answer."""

_LOGGERS = (
    *(f'keystoneauth.session{part}' for part in (
        '', '.request', '.response', '.body', '.request-id')),
    'keystoneauth.adapter', 'keystoneauth.discover',
    'keystoneauth.identity.base', 'keystoneauth.identity.generic.base',
    'keystoneauth.identity.v2', 'keystoneauth.identity.v3.base',
    'urllib3.connectionpool', 'urllib3.connection', 'cinderclient.client')
"""Loggers whose messages hold URLs."""

_UNREAD = (ArithmeticError, AttributeError, LookupError, RecursionError,
           TypeError, ValueError)
"""Errors that keystoneauth raises where no Keystone answers."""

_TOKENS = identity.Token, identity.V3Token
_BY_SERVER = 500

_SLICE_S = 0.2
"""How often it is looked whether we are stopped."""


class Ended(requests.RequestException):
    """An exchange that we broke off, or whose answer is no use; a clause."""


class NoToken(exceptions.ClientException):
    """Keystone gives no token; the request that needs it was not sent."""


class Session(session.Session):
    """A session of keystoneauth with bounds.

    :param timeout: seconds for a whole answer; the system's resolver of
        names is left to itself then
    :param max_bytes: of the body of an answer
    :param stopped: whether nobody waits for answers any more
    :param questions: the methods that change nothing, so that their answers
        need not be waited for once we are stopped
    :param check: raises ValueError, a clause, where a body cannot be used:
        (HTTP status, body)
    """

    def __init__(self, *, timeout: float | None = None,
                 max_bytes: int = MAX_BYTES,
                 stopped: Callable[[], bool] | None = None,
                 questions: Collection[str] = ('GET', 'HEAD'),
                 check: Callable[[int, bytes], None] | None = None,
                 **others: Any) -> None:
        super().__init__(
            timeout=TIMEOUT_S if timeout is None else timeout, **others)
        self._stopped = stopped
        self._questions = questions
        mounted = _Adapter(max_bytes, check, **{
            name: value for name, value in others.items()
            if name.startswith('tls_') and value is not None})
        for scheme in 'http://', 'https://':
            self.mount(scheme, mounted)

    def request(self, url: str, method: str, *args: Any,
                **others: Any) -> Any:
        """As that of keystoneauth.

        :raises UnknownConnectionError: where the answer was broken off; its
            text says why, a clause
        """
        override = others.get('endpoint_override')
        if override:  # it is a format, but not in its login
            others['endpoint_override'] = re.sub(
                '//[^/]*@', lambda login: login[0].replace('%', '%%'),
                override)
        others.setdefault('requests_auth', _by_url)
        outer = _asked.get(None)  # where this is its login, say
        token = _asked.set(outer or _Question(
            self.timeout,
            self._stopped if method in self._questions else None))
        try:
            return super().request(url, method, *args, **others)
        except exceptions.ConnectionError as exc:
            why = getattr(exc, 'original', None)
            exc.args = (errors.masked(str(
                why if isinstance(why, Ended) else exc)),)
            raise
        finally:
            _asked.reset(token)

    def get_auth_headers(self, auth: plugin.BaseAuthPlugin | None = None,
                         **others: Any) -> Any:
        """As that of keystoneauth.

        :raises NoToken: where there is no token
        """
        try:
            return super().get_auth_headers(auth, **others)
        except exceptions.ClientException as exc:
            raise NoToken(_why_no_token(exc, auth or self.auth)) from None
        except _UNREAD as exc:
            raise NoToken(
                'what answers is not Keystone as expected '
                f'({errors.one_line(str(exc))})') from None

    def get_endpoint(self, *args: Any, **others: Any) -> str | None:
        """As that of keystoneauth.

        None, too, where the catalogue has a service under several of its
        types (``block-storage`` and ``volumev3``, say) and none of them fits:
        keystoneauth takes that for an error of its own.

        :raises CatalogException: where the catalogue cannot be read
        """
        try:
            return super().get_endpoint(*args, **others)
        except _UNREAD as exc:
            said = errors.one_line(str(exc))
            if 'choosing an endpoint' in said:
                return None
            raise exceptions.CatalogException(
                f'it cannot be read ({said})') from None


def _by_url(request: requests.PreparedRequest) -> requests.PreparedRequest:
    """Authenticate by the login of a URL, not by ~/.netrc as requests."""
    request.prepare_auth(None)
    return request


class Loader(loading.session.Session):
    """Makes one of the options that keystoneauth registers."""

    plugin_class = Session


def _mask(record: logging.LogRecord) -> bool:
    record.msg, record.args = errors.masked(record.getMessage()), None
    return True


for _name in _LOGGERS:
    logging.getLogger(_name).addFilter(_mask)


def _why_no_token(exc: exceptions.ClientException,
                  by: plugin.BaseAuthPlugin | None) -> str:
    """A clause.

    :param by: how the login was tried
    """
    said = ' '.join(errors.masked(str(exc)).split()).rstrip('.')
    if isinstance(exc, exceptions.SSLError):
        return tls(exc, 'Keystone')
    if isinstance(exc, exceptions.ConnectionError):
        return f'Keystone does not answer: {said.split(": HTTP")[0]}'
    status = getattr(exc, 'http_status', None)
    if isinstance(exc, exceptions.DiscoveryFailure):
        return f'no Keystone is found by auth_url: {said}'
    if status not in (401, 403, 404):
        return f'Keystone gives no token: {said}'
    if isinstance(by, identity.V3ApplicationCredential):
        hint = ('the application credential or its secret is wrong, or it '
                'has expired or was deleted')
    elif isinstance(by, _TOKENS):
        hint = ('the token has expired or was revoked, and cannot be '
                'renewed; give a password or an application credential')
    elif status == 404:
        hint = 'auth_url is wrong'
    else:
        hint = ('the user, the password, the project or one of their domains '
                'is wrong, or the user is disabled or has no role in the '
                'project')
    return f'Keystone refuses the login ({said}): {hint}'


def tls(exc: Exception, server: str) -> str:
    """Why there is no TLS with a server, a clause."""
    said = str(exc)
    found = re.search(r'certificate verify failed: ([^("\']+)', said)
    if found:
        return (f'the certificate of {server} cannot be verified '
                f'({found[1].strip()}); cafile has to name the certificates '
                'of the CA that signed it')
    found = re.search(r'\[SSL[^]]*\] ([^("\']+)', said)
    return (f'{server} does not speak TLS as expected '
            f'({found[1].strip() if found else said.split(": HTTPS")[0]})')


class _Question:
    """A question that is asked until its deadline.

    :param seconds: from now on
    :param stopped: whether nobody waits for the answer any more
    """

    sock: Any = None
    """Where its answer comes from."""

    def __init__(self, seconds: float, stopped: Callable[[], bool] | None
                 ) -> None:
        self._seconds, self._stopped = seconds, stopped
        self._end = time.monotonic() + seconds

    def left_s(self) -> float:
        """:raises Ended: where no time is left, or we are stopped"""
        if self._stopped is not None and self._stopped():
            raise Ended('we were stopped before it answered')
        left = self._end - time.monotonic()
        if left <= 0:
            raise Ended(
                f'there was no whole answer within {self._seconds:g} s')
        return left

    def wait(self, exchange: Callable[[], requests.Response]
             ) -> requests.Response:
        """What another thread gets in time.

        :raises Ended: at the deadline or a stop; the connection is shut down
        """
        self.left_s()
        answer: futures.Future[requests.Response] = futures.Future()

        def work() -> None:
            try:
                answer.set_result(exchange())
            except Exception as exc:
                answer.set_exception(exc)
        threading.Thread(target=contextvars.copy_context().run, args=(work,),
                         daemon=True).start()
        try:
            while not answer.done():
                futures.wait([answer], min(self.left_s(), _SLICE_S))
            return answer.result()
        finally:
            if not answer.done():
                with contextlib.suppress(AttributeError, OSError):
                    self.sock.shutdown(socket.SHUT_RDWR)


_asked: contextvars.ContextVar[_Question] = contextvars.ContextVar('asked')


class _Adapter(session.TCPKeepAliveAdapter):
    """Reads whole, uncompressed answers to the question that is asked.

    They are asked for uncompressed, since a few bytes can unpack to any
    number, and are text in UTF-8 whatever they say. A Retry-After is
    ignored: keystoneauth would sleep so long.
    """

    def __init__(self, max_bytes: int,
                 check: Callable[[int, bytes], None] | None,
                 **others: Any) -> None:
        self._max_bytes, self._check = max_bytes, check
        super().__init__(**others)

    def get_connection_with_tls_context(self, *args: Any,
                                        **others: Any) -> Any:
        pool = super().get_connection_with_tls_context(*args, **others)
        if not issubclass(pool.ConnectionCls, _Watched):
            pool.ConnectionCls = type(
                'Watched', (_Watched, pool.ConnectionCls), {})
        return pool

    def send(self, request: requests.PreparedRequest, stream: bool = False,
             timeout: Any = None, **others: Any) -> requests.Response:
        """As that of requests; ``stream`` and ``timeout`` are ignored."""
        request.headers['Accept-Encoding'] = 'identity'
        answer = _asked.get().wait(lambda: self._exchange(request, others))
        try:
            if self._check is not None:
                self._check(answer.status_code, answer.content)
        except ValueError as exc:
            raise Ended(f'its answer cannot be used: {exc}') from None
        return answer

    def _exchange(self, request: requests.PreparedRequest,
                  others: dict[str, Any]) -> requests.Response:
        # Later than the deadline, which ends it with a better text.
        timeout = 1.0 + _asked.get().left_s()
        answer = super().send(request, stream=True, timeout=timeout, **others)
        with contextlib.closing(answer):
            try:
                body = self._body(answer)
            except urllib3.exceptions.HTTPError as exc:
                raise requests.ConnectionError(exc) from None
        answer.raw = io.BytesIO(body)
        answer.encoding = 'utf-8'
        if answer.status_code >= _BY_SERVER:
            answer.headers.pop('Retry-After', None)
        return answer

    def _body(self, answer: requests.Response) -> bytearray:
        packed = answer.headers.get('Content-Encoding', '').strip()
        if packed.lower() not in ('', 'identity'):
            raise Ended(f'it answers in {packed[:40]}, which was not asked '
                        'for')
        answer.raw.enforce_content_length = True  # not so before urllib3 2
        body = bytearray()
        while more := answer.raw.read(2 ** 16, decode_content=False):
            body += more
            if len(body) > self._max_bytes:
                raise Ended('its answer is longer than '
                            f'{self._max_bytes / 2 ** 20:g} MiB')
        return body


class _Watched:
    """Part of a connection of urllib3 that its question can shut down."""

    def send(self, data: Any) -> None:
        conn: Any = self
        if conn.sock is None:
            conn.connect()
        question = _asked.get()
        question.sock = conn.sock
        question.left_s()  # nothing is sent once nobody waits
        super().send(data)  # type: ignore[misc]
