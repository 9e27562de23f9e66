# SPDX-License-Identifier: Apache-2.0
"""What does Cinder have, and how is it asked to move a volume?

The one place where python-cinderclient is used: what Cinder replies is read
in :mod:`serifos.replies`, and its errors become one sentence. Questions are
asked twice where there is no answer, requests that change something never:
whether one arrived that got no answer is for the caller to find out.
"""

from __future__ import annotations

import collections
from collections.abc import Iterator
from collections.abc import Mapping
import contextlib
import re
from typing import Any
from urllib import parse

from cinderclient import client
from cinderclient.contrib import noauth as no
from cinderclient import exceptions
from keystoneauth1 import exceptions as ks_exceptions
from keystoneauth1 import session as ks_session

from serifos import errors
from serifos import inventory as inv
from serifos import replies

VERSION = '3.70'
"""The API's microversion: Cinder has known it since Xena."""

PAGE = 500
"""Items asked for at a time; Cinder may give fewer."""

_TIMEOUT_S = 60
_RETRIES = {'connect_retries': 1, 'status_code_retries': 1,
            'retriable_status_codes': [502, 503, 504]}
_REQUEST_TIMEOUT = 408
_OLD_COPY = 'migration src for '


class Refused(errors.CloudError):
    """Cinder answered, and said no; nothing has changed."""


def noauth(endpoint: str, project_id: str,
           user_id: str = 'admin') -> Cinder:
    """A Cinder with ``auth_strategy = noauth``.

    :param endpoint: such as ``http://10.0.0.1:8776/v3``
    """
    plugin = no.CinderNoAuthPlugin(user_id, project_id,
                                   endpoint=endpoint.rstrip('/'))
    return keystone(ks_session.Session(auth=plugin))


def keystone(session: ks_session.Session, **adapter: Any) -> Cinder:
    """The Cinder of a keystoneauth session's catalogue.

    A session without a timeout gets one: an API that hangs must not hang
    its caller.

    :param adapter: ``region_name``, ``interface``, ``endpoint_override``
    """
    if session.timeout is None:
        session.timeout = _TIMEOUT_S
    return Cinder(client.Client(VERSION, session=session, **adapter))


class Cinder:
    """The port :class:`.inventory.Cloud` over Cinder's API."""

    def __init__(self, api: Any) -> None:
        self._api = api

    def inventory(self) -> inv.Inventory:
        """Everything, of all projects."""
        with _sentences():
            snapshots = collections.Counter(
                doc['volume_id'] for doc in self._list(
                    '/snapshots', 'snapshots', all_tenants=1))
            qos = {doc['id']: doc['specs']
                   for doc in self._list('/qos-specs', 'qos_specs')}
            return inv.Inventory(
                tuple(map(replies.pool, self._get(
                    '/scheduler-stats/get_pools', detail=True)['pools'])),
                tuple(map(replies.service, self._get(
                    '/os-services', binary='cinder-volume')['services'])),
                tuple(replies.record(doc, snapshots[doc['id']])
                      for doc in self._volumes()),
                tuple(inv.Type(doc['name'], doc.get('extra_specs') or {},
                               qos.get(doc.get('qos_specs_id'), {}))
                      for doc in self._list('/types', 'volume_types',
                                            is_public=None)))

    def volume(self, volume_id: str) -> inv.Record | None:
        """One volume as it is now, its snapshots not counted."""
        with _sentences():
            try:
                return replies.record(
                    self._get(f'/volumes/{volume_id}')['volume'])
            except exceptions.NotFound as exc:
                if volume_id not in str(exc):
                    raise
                return None

    def attachments(self) -> dict[str, tuple[str, str]]:
        """Volume → (instance, device) of each that one instance has."""
        with _sentences():
            return {doc['id']: (one['server_id'], one['device'])
                    for doc in self._volumes()
                    for one in doc.get('attachments') or ()
                    if len(doc['attachments']) == 1
                    and one.get('server_id') and one.get('device')}

    def halves(self, volume_id: str) -> tuple[inv.Record, ...]:
        """The hidden records of a volume's migration."""
        with _sentences():
            found = [replies.record(doc) for status in (
                f'target:{volume_id}', 'deleting')
                for doc in self._volumes(migration_status=status)]
        return tuple(half for half in found if volume_id in (
            half.target_of, (half.description or '').removeprefix(_OLD_COPY)))

    def migrate(self, volume_id: str, pool: str) -> None:
        """Asks for a migration that locks the volume, without force.

        :raises Refused: where Cinder says no
        :raises CloudError: where it does not answer, and may have begun
        """
        with _sentences():
            self._api.volumes.migrate_volume(
                volume_id, pool, force_host_copy=False, lock_volume=True)

    def reset(self, volume_id: str, status: str | None = None) -> None:
        """Clears the migration status, and sets the status where given."""
        with _sentences():
            self._api.volumes.reset_state(
                volume_id, status, migration_status='none')

    def delete(self, volume_id: str) -> None:
        """Deletes a volume; nothing where it is gone."""
        with _sentences():
            try:
                self._api.volumes.delete(volume_id)
            except exceptions.NotFound as exc:
                if volume_id not in str(exc):
                    raise

    def _volumes(self, **query: object) -> list[dict[str, Any]]:
        return self._list('/volumes/detail', 'volumes', all_tenants=1,
                          **query)

    def _list(self, path: str, key: str,
              **query: object) -> list[dict[str, Any]]:
        """All items, page by page, our own marker in each request.

        Cinder's links to the next page name its public endpoint, which we
        may not reach, and cinderclient does not find that of the types. A
        marker that is deleted meanwhile makes us begin anew, twice.
        """
        for last in False, False, True:
            with contextlib.nullcontext() if last else contextlib.suppress(
                    exceptions.NotFound):
                return list(self._pages(path, key, query))
        raise AssertionError

    def _pages(self, path: str, key: str,
               query: Mapping[str, object]) -> Iterator[dict[str, Any]]:
        marker: dict[str, str] = {}
        while True:
            page = self._get(path, **query, limit=PAGE, **marker)
            yield from page[key]
            if not any(name.endswith('_links') for name in page):
                return
            marker = {'marker': page[key][-1]['id']}

    def _get(self, path: str, **query: object) -> dict[str, Any]:
        """An answer to a question, which may be asked twice."""
        url = f'{path}?{parse.urlencode(query)}' if query else path
        return self._api.client.get(url, **_RETRIES)[1]


@contextlib.contextmanager
def _sentences() -> Iterator[None]:
    """Errors as one sentence; 4xx, as far as it is ours, as Refused."""
    try:
        yield
    except (exceptions.Unauthorized, exceptions.Forbidden,
            ks_exceptions.Unauthorized, ks_exceptions.Forbidden) as exc:
        raise Refused(
            f'Cinder does not let us ({_said(exc)}); look at [cinder] of '
            'serifos.conf, an administrator is needed.') from None
    except exceptions.ClientException as exc:
        if exc.code == 404 and 'The resource' in str(exc):
            raise Refused(
                f'Cinder says no: {_said(exc)}; look at the URL and the '
                'project in [cinder] of serifos.conf.') from None
        if 400 <= exc.code < 500 and exc.code != _REQUEST_TIMEOUT:
            raise Refused(f'Cinder says no: {_said(exc)}.') from None
        raise errors.CloudError(
            f'Cinder is in trouble: {_said(exc)}.') from None
    except ks_exceptions.ClientException as exc:
        raise errors.CloudError(
            f'Cinder does not answer: {_said(exc)}.') from None
    except (AttributeError, LookupError, TypeError, ValueError) as exc:
        raise errors.CloudError(
            f'What answers is no Cinder that we know ({exc!r}); look at the '
            'URL in [cinder] of serifos.conf.') from exc


def _said(exc: Exception) -> str:
    """Its words, without markup and without what urllib3 adds."""
    text = re.sub('<[^>]*>', '', str(exc)).split(': HTTPConnectionPool')[0]
    return ' '.join(text.split()).rstrip('.')
