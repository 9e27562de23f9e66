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
from typing import Any
from urllib import parse

from keystoneauth1 import exceptions
from keystoneauth1 import loading
from keystoneauth1 import plugin
from keystoneauth1 import session

from serifos import errors
from serifos.web import adapter
from serifos.web import budget
from serifos.web import token_errors

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
        with budget.within(self._budget(method)):
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
            raise token_errors.failed(exc, auth or self.auth) from None
        except _UNREAD as exc:
            raise token_errors.NoToken(
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

    def _budget(self, method: str = 'GET') -> budget.Budget:
        return budget.Budget(
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
