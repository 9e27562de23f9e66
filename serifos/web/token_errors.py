# SPDX-License-Identifier: Apache-2.0
"""A login at Keystone that fails: why, in one clause."""

from __future__ import annotations

import re

from keystoneauth1 import exceptions
from keystoneauth1 import identity
from keystoneauth1 import plugin

_TOKENS = identity.Token, identity.V3Token


class NoToken(exceptions.ClientException):
    """Keystone gives no token; the request that needs it was not sent."""


def failed(exc: exceptions.ClientException,
           by: plugin.BaseAuthPlugin | None) -> NoToken:
    """The error of a login.

    :param by: how it was tried
    """
    return NoToken(_why(exc, by))


def _why(exc: exceptions.ClientException,
         by: plugin.BaseAuthPlugin | None) -> str:
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
