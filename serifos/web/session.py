# SPDX-License-Identifier: Apache-2.0
"""The keystoneauth session of all HTTP clients.

A question has one deadline, whatever it takes: a token, redirects, another
try. Logins that are written into a URL are taken out of it before
keystoneauth sees it, and no log of a library shows one.
"""

from __future__ import annotations

from collections.abc import Callable
from collections.abc import Collection
import logging
import re
from typing import Any
from urllib import parse

from keystoneauth1 import exceptions
from keystoneauth1 import identity
from keystoneauth1 import loading
from keystoneauth1 import plugin
from keystoneauth1 import session

from serifos import errors
from serifos.web import adapter

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


class Session(session.Session):
    """A session of keystoneauth with bounds.

    :param timeout: seconds for a whole answer
    :param max_bytes: of a whole answer
    :param stopped: whether nobody waits for answers any more
    :param questions: the methods that change nothing, so that their answers
        need not be waited for once we are stopped
    :param check: see :class:`.adapter.Adapter`
    """

    def __init__(self, *, timeout: float | None = None,
                 max_bytes: int = MAX_BYTES,
                 stopped: Callable[[], bool] | None = None,
                 questions: Collection[str] = ('GET', 'HEAD'),
                 check: Callable[[int, bytes], None] | None = None,
                 **others: Any) -> None:
        super().__init__(
            timeout=TIMEOUT_S if timeout is None else timeout, **others)
        self._max_bytes = max_bytes
        self._stopped = stopped
        self._questions = questions
        self._logins: dict[tuple[str, str], adapter.Login] = {}
        mounted = adapter.Adapter(
            self._budget, self._logins, check, **{
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
        url, login = without_login(url)
        if login is not None:
            others.setdefault('requests_auth', login)
        if others.get('endpoint_override'):
            others['endpoint_override'] = self._clean(
                others['endpoint_override'])
        with adapter.within(self._budget(method)):
            try:
                return super().request(url, method, *args, **others)
            except exceptions.UnknownConnectionError as exc:
                why = (exc.original if isinstance(exc.original, adapter.Ended)
                       else errors.masked(str(exc)))
                raise exceptions.UnknownConnectionError(
                    str(why), exc.original) from None
            except exceptions.ConnectionError as exc:
                exc.args = (errors.masked(str(exc)),)  # a redirect's, say
                raise

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
        """As that of keystoneauth, without a login that is written in it.

        None, too, where the catalogue has a service under several of its
        types (``block-storage`` and ``volumev3``, say) and none of them fits:
        keystoneauth takes that for an error of its own.

        :raises CatalogException: where the catalogue cannot be read
        """
        try:
            found = super().get_endpoint(*args, **others)
        except _UNREAD as exc:
            said = errors.one_line(str(exc))
            if 'choosing an endpoint' in said:
                return None
            raise exceptions.CatalogException(
                f'it cannot be read ({said})') from None
        return found if found is None else self._clean(found)

    def _clean(self, url: str) -> str:
        url, login = without_login(url)
        if login is not None:
            self._logins[adapter.origin(url)] = login
        return url

    def _budget(self, method: str = 'GET') -> adapter.Budget:
        return adapter.Budget(
            self.timeout, self._max_bytes,
            self._stopped if method in self._questions else None)


class Loader(loading.session.Session):
    """Makes one of the options that keystoneauth registers."""

    @property
    def plugin_class(self) -> type[Session]:
        return Session


def without_login(url: str) -> tuple[str, adapter.Login | None]:
    """A URL, and the login that was written into it."""
    try:
        parts = parse.urlsplit(url)
    except ValueError:
        return url, None
    login, at, place = parts.netloc.rpartition('@')
    if not at:
        return url, None
    name, _, password = login.partition(':')
    return (parts._replace(netloc=place).geturl(),
            (parse.unquote(name), parse.unquote(password)))


def _mask(record: logging.LogRecord) -> bool:
    record.msg, record.args = errors.masked(record.getMessage()), None
    return True


for _name in _LOGGERS:
    logging.getLogger(_name).addFilter(_mask)


class NoToken(exceptions.ClientException):
    """Keystone gives no token; the request that needs it was not sent."""


def _why_no_token(exc: exceptions.ClientException,
                  by: plugin.BaseAuthPlugin | None) -> str:
    """A clause.

    :param by: how the login was tried
    """
    said = ' '.join(str(exc).split()).rstrip('.')
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
