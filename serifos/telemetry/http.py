# SPDX-License-Identifier: Apache-2.0
"""HTTP requests to telemetry servers, with credentials and certificates."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from keystoneauth1 import exceptions
from keystoneauth1 import http_basic
from keystoneauth1 import plugin
from keystoneauth1.session import Session
import requests

from serifos import errors
from serifos.facts import strict_json
from serifos import web


class Refused(errors.CloudError):
    """The server has nothing to this question (HTTP 400 or 404)."""


EXPORTER_BYTES = 16 * 2 ** 20
"""Most bytes of an exporter's answer; that of 10,000 LVs is shorter."""

MAX_BYTES = 256 * 2 ** 20
"""Most bytes of an answer of a server that observes all hosts."""


def session(*, username: str | None = None, password: str | None = None,
            auth: plugin.BaseAuthPlugin | None = None,
            cafile: str | None = None, certfile: str | None = None,
            keyfile: str | None = None, insecure: bool = False,
            timeout_s: float | None = None, max_bytes: int = EXPORTER_BYTES,
            stopped: Callable[[], bool] | None = None) -> web.Session:
    """A session that authenticates every request.

    :param username: for HTTP's basic authentication
    :param auth: a plugin of keystoneauth1 instead, for a Keystone token
    :param cafile: certificates to trust instead of the machine's
    :param certfile: our own certificate, with ``keyfile``
    :param insecure: trust any certificate
    :param timeout_s: for a whole answer; None for that of :mod:`.web`
    :param max_bytes: of a whole answer
    :param stopped: whether nobody waits for answers any more
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
    return web.Session(
        auth=auth, verify=False if insecure else cafile or True,
        cert=(certfile, keyfile) if keyfile else certfile,
        timeout=timeout_s, max_bytes=max_bytes, stopped=stopped,
        questions=('GET', 'POST'))


def ask(session: Session, url: str, method: str = 'GET',
        **others: Any) -> requests.Response:
    """The answer of a server.

    :param others: params, data or json, as requests has them
    :raises CloudError: where it does not answer, refuses us, or answers
        anything but 200
    """
    try:
        answer = session.request(
            url, method, raise_exc=False, redirect=False,
            authenticated=session.auth is not None, **others)
    except (exceptions.ClientException, OSError, ValueError) as exc:
        raise errors.CloudError(
            f'{shown(url)} does not answer: {_cause(exc)}.') from None
    if answer.status_code in (401, 403):
        raise errors.CloudError(
            f'{shown(url)} refuses the login, or wants one (HTTP '
            f'{answer.status_code}); see auth in [telemetry].')
    if answer.status_code != 200:
        said = ' '.join(answer.text.split())[:200]
        kind = Refused if answer.status_code in (400, 404) else (
            errors.CloudError)
        raise kind(
            f'{shown(url)} answers HTTP {answer.status_code} '
            f'{answer.reason}{f": {said}" if said else "."}')
    return answer


def json(answer: requests.Response) -> Any:
    """The JSON of an answer.

    :raises CloudError: where it is not JSON, or a number in it not finite
    """
    try:
        return strict_json.loads(answer.content)
    except ValueError as exc:
        raise errors.CloudError(
            f'{shown(answer.url)} does not answer with JSON ({exc}); is the '
            'URL right?') from None


def shown(url: str) -> str:
    """A URL without the login that may be in it."""
    return errors.masked(url).replace(f'{errors.MASK}@', '')


def _cause(exc: BaseException) -> str:
    """The innermost exception's message, which is the most specific."""
    while (inner := exc.__cause__ or exc.__context__) is not None:
        exc = inner
    return str(exc).rstrip('.') or type(exc).__name__
