# SPDX-License-Identifier: Apache-2.0
"""Errors of python-cinderclient and keystoneauth as one sentence each."""

from __future__ import annotations

from collections.abc import Iterator
import contextlib
import re
from typing import Any
from urllib import parse

from cinderclient import exceptions
from keystoneauth1 import exceptions as ks_exceptions

from serifos import errors
from serifos.facts import cinder_errors
from serifos import web

_REQUEST_TIMEOUT = 408


@contextlib.contextmanager
def gone(volume_id: str) -> Iterator[None]:
    """Ignores the error of a volume that is gone already."""
    try:
        yield
    except exceptions.NotFound as exc:
        if volume_id not in str(exc):
            raise


def _where(api: Any) -> str:
    """The host of the API, without a password that its URL may have."""
    try:
        return parse.urlsplit(
            api.client.get_endpoint()).netloc.rpartition('@')[2]
    except Exception:  # the error that led here is the one to report
        return 'the URL'


@contextlib.contextmanager
def sentences(api: Any) -> Iterator[None]:
    """Errors as one sentence; 4xx, and what was not sent, as Refused."""
    try:
        yield
    except web.NoToken as exc:
        raise cinder_errors.Refused(
            f'Cinder cannot be asked, since {exc}; see [cinder] of '
            'serifos.conf.', 401) from None
    except ks_exceptions.CatalogException as exc:
        raise cinder_errors.Refused(
            f'Keystone\'s catalogue does not list Cinder: '
            f'{said(exc)}; look at region_name, valid_interfaces and the '
            'project in [cinder] of serifos.conf, or set endpoint_override.',
            cinder_errors.MISDIRECTED) from None
    except (exceptions.Unauthorized, ks_exceptions.Unauthorized) as exc:
        raise cinder_errors.Refused(
            f'Cinder does not accept the token ({said(exc)}); where [cinder] '
            'of serifos.conf gives a token, it has expired: give a password '
            'or an application credential.', exc.http_status) from None
    except (exceptions.Forbidden, ks_exceptions.Forbidden) as exc:
        raise denied(said(exc)) from None
    except exceptions.ClientException as exc:
        if exc.code == 404 and 'The resource' in str(exc):
            raise cinder_errors.Refused(
                f'Cinder refuses: {said(exc)}; look at the URL and the '
                'project in [cinder] of serifos.conf.',
                cinder_errors.MISDIRECTED) from None
        if 400 <= exc.code < 500 and exc.code != _REQUEST_TIMEOUT:
            raise cinder_errors.Refused(
                f'Cinder refuses: {said(exc)}.', exc.code) from None
        raise errors.CloudError(
            f'Cinder reports an error: {said(exc)}.') from None
    except ks_exceptions.SSLError as exc:
        raise errors.CloudError(
            f'Cinder cannot be asked, since {web.tls(exc, "Cinder")}'
            '; see [cinder] of serifos.conf.') from None
    except ks_exceptions.ClientException as exc:
        raise errors.CloudError(
            f'Cinder does not answer: {said(exc)}.') from None
    except (ArithmeticError, AttributeError, LookupError, RecursionError,
            TypeError, ValueError) as exc:
        raise errors.CloudError(
            f'The answer of {_where(api)} is not one of Cinder\'s API '
            f'({said(exc)}); look at the URL in [cinder] of serifos.conf.'
            ) from exc


def denied(why: str) -> cinder_errors.Refused:
    """The error of an account that lacks a right.

    :param why: a clause
    """
    return cinder_errors.Refused(
        f'Cinder denies access ({why}); give the account in [cinder] of '
        'serifos.conf the role admin, or a role that has this right.', 403)


def said(exc: Exception) -> str:
    """Its message, without markup and without what urllib3 adds."""
    try:
        text = str(exc)
    except RecursionError:
        return 'its message is nested too deeply'
    text = re.sub('<[^<>]*>', '', text).split(': HTTPConnectionPool')[0]
    return ' '.join(text.split()).rstrip('.')
