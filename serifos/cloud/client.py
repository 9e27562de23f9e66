# SPDX-License-Identifier: Apache-2.0
"""A client of Cinder's API: its inventory, and requests to move volumes.

Replies are read in :mod:`serifos.cloud.api_views`, errors in
:mod:`serifos.cloud.api_errors`. A request that changes something is never
retried: the caller has to find out whether one without an answer arrived.
"""

from __future__ import annotations

from collections.abc import Callable
from collections.abc import Mapping
from typing import Any
from urllib import parse

from cinderclient import client
from cinderclient.contrib.noauth import CinderNoAuthPlugin
from cinderclient import exceptions
from keystoneauth1 import session as ks_session

from serifos.cloud import api_errors
from serifos.cloud import api_views
from serifos.cloud import attachments
from serifos.cloud import pages
from serifos.cloud import pool_stats
from serifos.cloud import refused
from serifos.cloud import rights
from serifos import errors
from serifos.facts import fields
from serifos.facts.inventory import Inventory
from serifos.facts.inventory import Record
from serifos.facts.inventory import Type
from serifos.facts import names
from serifos.facts.servers import Attachment
from serifos.web import session as web

VERSION = '3.70'
"""The API's microversion, in Cinder since Xena."""

_OLD_COPY = 'migration src for '


def noauth(endpoint: str, project_id: str, user_id: str = 'admin',
           stopped: Callable[[], bool] | None = None) -> Cinder:
    """A Cinder with ``auth_strategy = noauth``.

    :param endpoint: such as ``http://10.0.0.1:8776/v3``
    :param stopped: whether the program is to stop, so that answers need not
        be waited for
    """
    plugin = CinderNoAuthPlugin(user_id, project_id,
                                endpoint=endpoint.rstrip('/'))
    return keystone(web.Session(auth=plugin, stopped=stopped,
                                check=api_views.usable))


def keystone(session: ks_session.Session, **adapter: Any) -> Cinder:
    """The Cinder of a keystoneauth session's catalogue.

    :param session: of :mod:`serifos.web`, with :func:`.api_views.usable` as
        its check: a slow or hanging API must not hang the caller
    :param adapter: ``region_name``, ``interface``, ``endpoint_override``
    """
    if session.timeout is None:
        session.timeout = web.TIMEOUT_S
    return Cinder(client.Client(VERSION, session=session, **adapter))


class Cinder:
    """The port :class:`.inventory.Cloud` over Cinder's API.

    :param most: items of one kind that are read
    """

    def __init__(self, api: Any, most: int = pages.MOST) -> None:
        self._api, self._most = api, most
        self._reads = pages.Pages(api, most)
        self._clusters: frozenset[str] = frozenset()

    def inventory(self) -> Inventory:
        """Volumes, pools, services and types of all projects."""
        with api_errors.sentences(self._api):
            snapshots = api_views.snapshots(
                self._reads.items('/snapshots', 'snapshots', all_tenants=1))
            qos = api_views.qos(self._reads.items('/qos-specs', 'qos_specs'))
            pools, bad_pools = api_views.each('pool', self._reads.page(
                '/scheduler-stats/get_pools', 'pools', detail=True),
                pool_stats.pool)
            services, bad_services = api_views.each(
                'service', self._reads.page(
                    '/os-services', 'services', binary='cinder-volume'),
                api_views.service)
            volumes = self._volumes()
            types = self._types()
            self._refuse_hidden(volumes, types)
            records, bad_records = api_views.each(
                'volume', volumes, lambda doc: api_views.record(
                    doc, snapshots.get(api_views.id_of(doc), 0)))
            kinds, bad_kinds = api_views.each(
                'volume type', types, lambda doc: api_views.kind(doc, qos))
        found = Inventory(
            pools, services, records, kinds,
            (*bad_pools, *bad_services, *bad_records, *bad_kinds))
        self._clusters = found.clusters
        return found

    def volume(self, volume_id: str) -> Record | None:
        """One volume as it is now, its snapshots not counted; None if gone."""
        with (api_errors.sentences(self._api),
              api_errors.gone(volume_id)):
            doc = self._reads.get(f'/volumes/{volume_id}')
            return _record(volume_id, doc['volume'])
        return None

    def snapshots_of(self, volume_id: str) -> int:
        """How many snapshots a volume has."""
        with api_errors.sentences(self._api):
            return api_views.snapshots(self._reads.items(
                '/snapshots', 'snapshots', all_tenants=1,
                volume_id=volume_id)).get(volume_id, 0)

    def volume_type(self, name: str) -> Type | None:
        """A volume type as it is now, its QoS not read; None if gone."""
        with api_errors.sentences(self._api):
            types = self._types()
            why = rights.hidden(types, rights.TYPE)
            if why is not None:
                raise api_errors.denied(why)
            found, unread = api_views.each(
                'volume type', types, lambda doc: api_views.kind(doc, {}))
        kind = next((kind for kind in found if kind.name == name), None)
        if kind is None and unread:
            raise errors.CloudError(
                f'Cinder\'s answer for volume type {name} cannot be read: '
                f'{unread[0].why}.')
        return kind

    def attachments(self) -> dict[str, tuple[str, str, float]]:
        """Volume → (instance, device, since), where it has one attachment."""
        with api_errors.sentences(self._api):
            return dict(filter(None, map(api_views.attachment,
                                         self._volumes())))

    def halves(self, volume_id: str) -> tuple[Record, ...]:
        """The hidden records of a volume's migration."""
        with api_errors.sentences(self._api):
            found = [_record(api_views.id_of(doc), doc) for status in (
                f'target:{volume_id}', 'deleting')
                for doc in self._volumes(migration_status=status)
                if api_views.mentions(doc, volume_id)]
        return tuple(half for half in found if volume_id in (
            half.target_of, (half.description or '').removeprefix(_OLD_COPY)))

    def attachments_of(self, volume_id: str) -> tuple[Attachment, ...]:
        """The attachments of a volume, those that are not complete too."""
        with api_errors.sentences(self._api):
            return tuple(map(attachments.attachment, self._reads.items(
                '/attachments/detail', 'attachments', all_tenants=1,
                volume_id=volume_id)))

    def delete_attachment(self, attachment_id: str) -> None:
        """Ends an attachment and its export; nothing where it is gone."""
        with (api_errors.sentences(self._api),
              api_errors.gone(attachment_id)):
            self._api.attachments.delete(attachment_id)

    def migrate(self, volume_id: str, pool: str) -> None:
        """Asks for a migration that locks the volume, without force.

        To a cluster where the last inventory has one of that name.

        :raises refused.Refused: where Cinder refuses
        :raises CloudError: where it does not answer, and may have begun
        """
        with api_errors.sentences(self._api):
            kind = ('cluster' if names.backend(pool) in self._clusters
                    else 'host')
            answer, body = self._api.client.post(
                f'/volumes/{volume_id}/action', raise_exc=False,
                body={'os-migrate_volume': {
                    kind: pool, 'force_host_copy': False,
                    'lock_volume': True}})
            if answer.status_code in refused.FOR_NOW:
                raise refused.Refused(
                    'Cinder takes no more requests for now (HTTP '
                    f'{answer.status_code}).', answer.status_code,
                    answer.headers.get('Retry-After'))
            if answer.status_code >= 400:
                raise exceptions.from_response(answer, body)

    def complete(self, volume_id: str, copy_id: str) -> None:
        """Asks for the copy to become the volume, as Nova does."""
        with api_errors.sentences(self._api):
            self._api.volumes.migrate_volume_completion(
                volume_id, copy_id, False)

    def reset(self, volume_id: str, status: str | None = None) -> None:
        """Clears the migration status, and sets the status where given."""
        with api_errors.sentences(self._api):
            self._api.volumes.reset_state(
                volume_id, status, migration_status='none')

    def relabel(self, volume_id: str, named: Mapping[str, str],
                metadata: Mapping[str, str | None]) -> None:
        """Sets name and description, and items of metadata.

        :raises refused.Refused: where the account may not, or the volume is
            locked
        """
        kept = {key: value for key, value in metadata.items()
                if value is not None}
        with api_errors.sentences(self._api):
            if named:
                self._api.volumes.update(volume_id, **named)
            if kept:
                self._api.volumes.set_metadata(volume_id, kept)
        for key in {*metadata} - {*kept}:
            with api_errors.sentences(self._api), api_errors.gone(volume_id):
                self._api.client.delete(
                    f'/volumes/{volume_id}/metadata/{parse.quote(key)}')

    def delete(self, volume_id: str) -> None:
        """Deletes a volume; nothing where it is gone."""
        with (api_errors.sentences(self._api),
              api_errors.gone(volume_id)):
            self._api.volumes.delete(volume_id)

    def unmanage(self, volume_id: str) -> None:
        """Removes only the record; nothing where it is gone."""
        with (api_errors.sentences(self._api),
              api_errors.gone(volume_id)):
            self._api.volumes.unmanage(volume_id)

    def logical_volumes(self, pool: str) -> frozenset[str] | None:
        """The names that the backend's own driver lists, page by page.

        None where there are none, since Cinder lists none also for a driver
        that cannot list them.
        """
        found: list[Any] = []
        with api_errors.sentences(self._api):
            while page := self._reads.page(
                    '/manageable_volumes', 'manageable-volumes', host=pool,
                    limit=pages.PAGE, offset=len(found)):
                found += page
                if len(found) > self._most:
                    return None
            return frozenset(
                fields.Field(one)['reference']['source-name'].name()
                for one in found) or None

    def _refuse_hidden(self, volumes: list[Any], types: list[Any]) -> None:
        """:raises Refused: where the account does not see all that we need"""
        why = (rights.hidden(volumes, rights.VOLUME)
               or rights.hidden(types, rights.TYPE))
        if why is None and not volumes:
            why = rights.of_one_project(self._reads.items(
                '/types', 'volume_types', is_public=False))
        if why is not None:
            raise api_errors.denied(why)

    def _types(self) -> list[Any]:
        return self._reads.items('/types', 'volume_types', is_public=None)

    def _volumes(self, **query: object) -> list[Any]:
        return self._reads.items(
            '/volumes/detail', 'volumes', all_tenants=1, **query)


def _record(name: str, doc: object) -> Record:
    """:raises CloudError: where the volume cannot be read"""
    try:
        return api_views.record(doc)
    except ValueError as exc:
        raise errors.CloudError(
            f'Cinder\'s answer for volume {name} cannot be read: {exc}.'
            ) from None
