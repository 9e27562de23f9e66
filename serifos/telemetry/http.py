# SPDX-License-Identifier: Apache-2.0
"""One way to ask over HTTP, with passwords and certificates where needed."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from urllib import parse

from keystoneauth1 import exceptions
from keystoneauth1 import http_basic
from keystoneauth1 import plugin
from keystoneauth1 import session as ks
import requests

from serifos import errors


def session(*, username: str | None = None, password: str | None = None,
            auth: plugin.BaseAuthPlugin | None = None,
            cafile: str | None = None, certfile: str | None = None,
            keyfile: str | None = None, insecure: bool = False,
            timeout_s: float = 10.0) -> ks.Session:
    """A session that says who we are in every request.

    :param username: for HTTP's basic authentication
    :param auth: a plugin of keystoneauth1 instead, a Keystone token say
    :param cafile: certificates to trust instead of the machine's
    :param certfile: our own certificate, with ``keyfile``
    :param insecure: trust any certificate
    :raises InputError: where these do not go together
    """
    if username is not None and auth is not None:
        raise errors.InputError(
            'A username and a Keystone login exclude each other; give one.')
    if keyfile is not None and certfile is None:
        raise errors.InputError(
            f'The key {keyfile} needs the certificate that belongs to it.')
    if username is not None:
        auth = http_basic.HTTPBasicAuth(
            endpoint=None, username=username, password=password or '')
    return ks.Session(
        auth=auth, verify=False if insecure else cafile or True,
        cert=(certfile, keyfile) if keyfile else certfile,
        timeout=timeout_s)


def ask(session: ks.Session, url: str, *, method: str = 'GET',
        params: Mapping[str, Any] | None = None,
        json: Any = None) -> requests.Response:
    """What a server answers, its own errors included.

    :raises CloudError: where it does not answer, or refuses us
    """
    try:
        answer = session.request(
            url, method, params=params, json=json, raise_exc=False,
            redirect=False, authenticated=session.auth is not None,
            headers={'Accept': '*/*'})
    except (exceptions.ClientException, OSError) as exc:
        raise errors.CloudError(
            f'{shown(url)} does not answer: {_cause(exc)}.') from None
    if answer.status_code in (401, 403):
        raise errors.CloudError(
            f'{shown(url)} refuses the login it was given, or wants one '
            f'(HTTP {answer.status_code}).')
    return answer


def text(session: ks.Session, url: str) -> str:
    """:raises CloudError: where the answer is not 200"""
    answer = ask(session, url)
    _refuse(answer, url)
    return answer.text


def json(session: ks.Session, url: str, **others: Any) -> Any:
    """:raises CloudError: where the answer is not 200, or no JSON"""
    answer = ask(session, url, **others)
    _refuse(answer, url)
    try:
        return answer.json()
    except ValueError:
        raise errors.CloudError(
            f'{shown(url)} does not answer with JSON; is the URL '
            'right?') from None


def shown(url: str) -> str:
    """A URL without the password that may be in it."""
    parts = parse.urlsplit(url)
    return parts._replace(netloc=parts.netloc.rpartition('@')[2]).geturl()


def _refuse(answer: requests.Response, url: str) -> None:
    if answer.status_code != 200:
        said = ' '.join(answer.text.split())[:200]
        raise errors.CloudError(
            f'{shown(url)} answers HTTP {answer.status_code} '
            f'{answer.reason}{f": {said}" if said else ""}')


def _cause(exc: BaseException) -> str:
    """The innermost reason, which says more than its wrappings."""
    while (inner := exc.__cause__ or exc.__context__) is not None:
        exc = inner
    return str(exc).rstrip('.') or type(exc).__name__
